/* A command writes one file (a model for llama.cpp, ids, vectors, a tokenizer) or the folder of a
 * model while every call fails once, or the program is killed at it: there is the older one or the
 * newer one, whole, and the next command goes well. */

#include "faults/faults.h"
#include "suite.h"

#include <unistd.h>

enum { KILLED = 137 };

static const char config[] = "[run]\nthreads = 1\n[model]\nkind = decoder\nlayers = 1\ndim = 8\n"
                             "heads = 1\n[data]\ntask = text\nfile = lines.txt\nlevel = byte\n"
                             "length = 16\n[train]\nsteps = 2\nbatch_size = 2\n"
                             "checkpoint_every = 1\n";

#define MODEL  "--quiet", "--checkpoint", "runs/text/checkpoints/step-00000002.h5"
#define FOLDER "--export", "out", "--overwrite"

/* The output may stand there from before, made of another text or with other options. */
typedef struct command {
    const char *output;
    const char *newer[10], *older[10];
    const char *kept; /* the folder with the newer output */
} command;

#define ENCODED(file)                                                                              \
    {                                                                                              \
        file, {"--quiet", "--encode", "../text.ini", file, "--overwrite"},                         \
            {"--quiet", "--encode", "../text.ini", file, "data.file=../more.txt"}, "newer"         \
    }
static const command commands[] = {
    {"out.gguf",
     {MODEL, "--export", "out.gguf", "--overwrite"},
     {MODEL, "--export", "out.gguf", "--dtype", "f16"},
     "newer"},
    ENCODED("out.npy"),
    ENCODED("out.bin"),
    ENCODED("ids.h5"),
    {"vectors.h5",
     {MODEL, "--embed", "../lines.txt", "--output", "vectors.h5", "--overwrite"},
     {MODEL, "--embed", "../more.txt", "--output", "vectors.h5"},
     "newer"},
    {"out",
     {MODEL, FOLDER},
     {"--quiet", "--checkpoint", "runs/text/checkpoints/step-00000001.h5", FOLDER},
     "newer"},
    /* exported onto its own source, whose files may be written in another order */
    {"out", {"--quiet", "--checkpoint", "out", FOLDER}, {NULL}, "itself"},
};
enum { FILES = 5, NEWER = FILES, ITSELF, COMMANDS };

static int run(const char *fault, int what)
{
    return trial_wait(trial_command(fault, commands[what].newer));
}

static int run_over(const char *fault, int what)
{
    trial_copy("older");
    return run(fault, what);
}

static bool holds(const char *line)
{
    return !system(line);
}

static void write_text(const char *name, const char *text, int times)
{
    FILE *to = fopen(name, "w");
    ck_assert_ptr_nonnull(to);
    for (int i = 0; i < times; i++)
        fputs(text, to);
    ck_assert_int_eq(fclose(to), 0);
}

/* Folders older/, newer/ and itself/ with the outputs of all commands. */
static void enter(void)
{
    faults_enter(1, 1);
    write_text("text.ini", config, 1);
    write_text("lines.txt", "one line\nanother line of text\n", 200);
    write_text("more.txt", "words\nother words\n", 300);
    trial_empty();
    const char *const train[] = {"../text.ini", "--quiet", NULL};
    ck_assert_int_eq(trial_wait(trial_command(NULL, train)), 0);
    for (int i = 0; i < ITSELF; i++)
        ck_assert_msg(!trial_wait(trial_command(NULL, commands[i].older)), "%s", trial_errors());
    trial_keep("older");
    ck_assert_int_eq(run(NULL, ITSELF), 0);
    trial_keep("itself");
    trial_copy("older");
    for (int i = 0; i < ITSELF; i++)
        ck_assert_msg(!run(NULL, i), "%s", trial_errors());
    trial_keep("newer");
    ck_assert(!holds("diff -r older/out newer/out >/dev/null"));
}

#define STAGING ".rotor-export"

/* Ignores the card, which has fewer facts of a run with unreadable tables. */
static bool is_that_of(const char *folder, int what)
{
    const char *output = commands[what].output;
    char line[256];
    snprintf(line, sizeof line,
             "diff -r -x " STAGING " -x notes -x README.md 'trial/%s' '%s/%s' >/dev/null 2>&1",
             output, folder, output);
    return (what < FILES || !access("trial/out/README.md", F_OK)) && holds(line);
}

/* Expects the next command to succeed and to leave no staging folder. */
static void expect_next(int what, const char *fault)
{
    if (what == ITSELF && access("trial/out/config.json", F_OK))
        what = NEWER; /* there is nothing to export again */
    const int code = run(NULL, what);
    ck_assert_msg(!code, "%s: exit code %d of the next command: %s", fault, code, trial_errors());
    ck_assert_msg(what == ITSELF || is_that_of("newer", what), "%s: the next is another one",
                  fault);
    ck_assert(access("trial/out/" STAGING, F_OK) && access("trial/.out" STAGING, F_OK));
}

static const faulty rows[] = {
    {SHIM_OPEN, "EIO", 0},
    {SHIM_WRITE, "ENOSPC", 0},
    {SHIM_WRITE, "full", 0},
    {SHIM_FSYNC, "EIO", 0},
    {SHIM_RENAME, "EIO", 0},
    {SHIM_CLOSE, "EIO", 0},
    {SHIM_RENAME, "kill", 0},
    {SHIM_WRITE, "half", 0},
    {SHIM_FSYNC, "kill", 0},
    /* of a folder, which is exchanged */
    {SHIM_MKDIR, "ENOSPC", 0},
    {SHIM_UNLINK, "EIO", 0},
    {SHIM_OPEN, "kill", 0},
    {SHIM_MKDIR, "after", 0},
    {SHIM_RENAME, "after", 0},
    {SHIM_UNLINK, "after", 0},
};
enum { ROWS_OF_FILES = 9 };

static void expect_one_of_both(const faulty *f, const char *fault, int code)
{
    const char *output = commands[f->what].output;
    const bool older = is_that_of("older", f->what),
               newer = is_that_of(commands[f->what].kept, f->what);
    const bool killed = code == KILLED;
    const bool deadly =
        !strcmp(f->how, "kill") || !strcmp(f->how, "after") || !strcmp(f->how, "half");
    static int kills;
    /* a child that parses the checkpoint may be killed as well, which ends in 4 */
    ck_assert_msg(deadly ? killed || code == 4 : trial_failed(), "%s, %s: nothing failed: code %d",
                  output, fault, code);
    ck_assert_msg(older || newer, "%s, %s: neither, exit code %d: %s", output, fault, code,
                  trial_errors());
    ck_assert_msg(code || newer, "%s, %s: exit code 0 and the older one", output, fault);
    ck_assert_msg(killed || (code >= 0 && code <= 4), "%s, %s: exit code %d: %s", output, fault,
                  code, trial_errors());
    ck_assert_msg(!code || killed || strstr(trial_errors(), ": "), "%s, %s: %s", output, fault,
                  trial_errors());
    ck_assert_msg(killed || f->what >= FILES ||
                      holds("test \"$(ls -A trial)\" = \"$(ls -A older)\""),
                  "%s, %s: a temporary name is left", output, fault);
    if (killed && (f->kind == SHIM_RENAME || f->kind == SHIM_MKDIR || kills++ % 8 == 4))
        expect_next(f->what, fault);
}

SUITE(.setup = enter, .teardown = faults_leave, .once = true, .timeout = 300)

static void expect_each(int what, int row)
{
    faulty f = rows[row];
    f.what = what;
    ck_assert_int_gt(trial_each(&f, run_over, 1, expect_one_of_both), 0);
    expect_next(what, f.how);
}

TEST_ROWS(a_failing_call_leaves_the_older_or_the_newer_file, 0, FILES *ROWS_OF_FILES)
{
    expect_each(_i / ROWS_OF_FILES, _i % ROWS_OF_FILES);
}

TEST_ROWS(a_failing_call_leaves_the_older_or_the_newer_folder, 0, ROWS(rows))
{
    expect_each(NEWER, _i);
}

/* A tokenizer of it that cannot be opened is a warning, and another model: from row 1 on. */
TEST_ROWS(a_folder_exported_onto_itself_stays_complete, 1, ROWS(rows))
{
    expect_each(ITSELF, _i);
}

TEST_ROWS(a_file_size_limit_keeps_the_older_model, NEWER, COMMANDS)
{
    for (long bytes = 100; bytes < 8000; bytes += 1900) {
        trial_limit(bytes);
        const int code = run_over(NULL, _i);
        trial_limit(0);
        ck_assert_int_ne(code, 0);
        ck_assert_msg(is_that_of("older", _i), "%ld bytes", bytes);
        expect_next(_i, "ulimit -f");
    }
}

TEST_ROWS(a_folder_with_the_name_of_a_file_keeps_the_older_model, NEWER, COMMANDS)
{
    trial_copy("older");
    ck_assert(holds("rm trial/out/README.md && mkdir trial/out/README.md && "
                    "touch trial/out/README.md/mine && rm -rf kept && cp -r trial/out kept"));
    ck_assert_int_eq(run(NULL, _i), 1);
    ck_assert_msg(strstr(trial_errors(), "README.md: Is a directory"), "%s", trial_errors());
    ck_assert(holds("diff -r trial/out kept"));
}

static const faulty beside_others[] = {{SHIM_RENAME, "kill", NEWER},
                                       {SHIM_RENAME, "after", NEWER},
                                       {SHIM_UNLINK, "after", NEWER},
                                       {SHIM_FSYNC, "kill", NEWER}};

static int run_beside(const char *fault, int what)
{
    trial_copy("older");
    ck_assert(holds("mkdir trial/out/notes && echo mine >trial/out/notes/a"));
    return run(fault, what);
}

/* Returns whether the folder is no model yet, and its staging folder has all missing files. */
static bool is_on_its_way(void)
{
    return access("trial/out/config.json", F_OK) &&
           holds("rm -rf moved && cp -r trial/out moved && mv moved/" STAGING "/* moved && "
                 "diff -r -x " STAGING " -x notes moved newer/out >/dev/null");
}

static void expect_notes(const faulty *f, const char *fault, int code)
{
    (void)code;
    ck_assert_msg(is_that_of("older", f->what) || is_that_of("newer", f->what) || is_on_its_way(),
                  "%s: %s", fault, trial_errors());
    ck_assert(holds("grep -q mine trial/out/notes/a"));
}

TEST_ROWS(other_files_of_the_folder_survive_a_failing_call, 0, ROWS(beside_others))
{
    ck_assert_int_eq(run_beside(NULL, NEWER), 0);
    ck_assert(is_that_of("newer", NEWER));
    ck_assert_int_gt(trial_each(&beside_others[_i], run_beside, 1, expect_notes), 0);
    expect_next(NEWER, beside_others[_i].how);
}

enum { TRIES = 120 };

static int train_tokenizer(const char *fault, int what)
{
    static const char *const words[] = {"--quiet", "--train-tokenizer", "300", "../lines.txt",
                                        NULL};
    (void)what;
    trial_copy("older");
    return trial_wait(trial_command(fault, words));
}

static void expect_whole_or_nothing(const faulty *f, const char *fault, int code)
{
    (void)f;
    ck_assert_msg(holds(code ? "test ! -s out" : "cmp -s out tokenizer.json"),
                  "%s: exit code %d: %s", fault, code, trial_errors());
    ck_assert_msg(!code || (code == 1 && strstr(trial_errors(), "memory")), "%s: exit code %d: %s",
                  fault, code, trial_errors());
}

TEST(a_tokenizer_is_printed_whole_or_not_at_all)
{
    const faulty f = {SHIM_MEMORY, "ENOMEM", 0};
    ck_assert_int_eq(train_tokenizer("memory 0 ENOMEM", 0), 0);
    ck_assert(holds("test -s out && cp out tokenizer.json"));
    const long stride = trial_calls(SHIM_MEMORY) / TRIES + 1;
    ck_assert_int_gt(trial_each(&f, train_tokenizer, stride, expect_whole_or_nothing), 10);
}
