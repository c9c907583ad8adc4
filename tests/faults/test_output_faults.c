/* A command writes one file (a model for llama.cpp, ids, vectors, a tokenizer) while every call
 * fails once, or the program is killed at it: there is the older file or the newer one, whole. */

#include "faults/faults.h"
#include "suite.h"

#include <unistd.h>

static const char config[] = "[run]\nthreads = 1\n[model]\nkind = decoder\nlayers = 1\ndim = 8\n"
                             "heads = 1\n[data]\ntask = text\nfile = lines.txt\nlevel = byte\n"
                             "length = 16\n[train]\nsteps = 1\nbatch_size = 2\n";

#define MODEL "--quiet", "--checkpoint", "runs/text"

/* The file may stand there from before, made of another text or with other options. */
typedef struct command {
    const char *file;
    const char *newer[10], *older[10];
} command;

#define ENCODED(file)                                                                              \
    {                                                                                              \
        file, {"--quiet", "--encode", "../text.ini", file, "--overwrite"},                         \
        {                                                                                          \
            "--quiet", "--encode", "../text.ini", file, "data.file=../more.txt"                    \
        }                                                                                          \
    }
static const command commands[] = {
    {"out.gguf",
     {MODEL, "--export", "out.gguf", "--overwrite"},
     {MODEL, "--export", "out.gguf", "--dtype", "f16"}},
    ENCODED("out.npy"),
    ENCODED("out.bin"),
    ENCODED("ids.h5"),
    {"vectors.h5",
     {MODEL, "--embed", "../lines.txt", "--output", "vectors.h5", "--overwrite"},
     {MODEL, "--embed", "../more.txt", "--output", "vectors.h5"}},
};
enum { COMMANDS = ROWS(commands) };

static int run(const char *fault, const char *const *arguments)
{
    return trial_wait(trial_command(fault, arguments));
}

static void write_text(const char *name, const char *text, int times)
{
    FILE *to = fopen(name, "w");
    ck_assert_ptr_nonnull(to);
    for (int i = 0; i < times; i++)
        fputs(text, to);
    ck_assert_int_eq(fclose(to), 0);
}

/* Folders older/ and newer/ with the files of all commands. */
static void enter(void)
{
    faults_enter(1, 1);
    write_text("text.ini", config, 1);
    write_text("lines.txt", "one line\nanother line of text\n", 200);
    write_text("more.txt", "words\nother words\n", 300);
    trial_empty();
    ck_assert_int_eq(run(NULL, (const char *const[]){"../text.ini", "--quiet", NULL}), 0);
    for (int i = 0; i < COMMANDS; i++)
        ck_assert_msg(!run(NULL, commands[i].older), "%s", trial_errors());
    trial_keep("older");
    for (int i = 0; i < COMMANDS; i++)
        ck_assert_msg(!run(NULL, commands[i].newer), "%s", trial_errors());
    trial_keep("newer");
}

static bool is_that_of(const char *folder, const char *file)
{
    char line[256];
    snprintf(line, sizeof line, "cmp -s trial/%s %s/%s", file, folder, file);
    return !system(line);
}

/* No temporary name is left behind, but by a kill. */
static int files_beside(void)
{
    return system("test \"$(ls -A trial)\" = \"$(ls -A older)\"");
}

static const faulty rows[] = {
    {SHIM_OPEN, "EIO", 0},    {SHIM_WRITE, "ENOSPC", 0}, {SHIM_WRITE, "full", 0},
    {SHIM_FSYNC, "EIO", 0},   {SHIM_RENAME, "EIO", 0},   {SHIM_CLOSE, "EIO", 0},
    {SHIM_RENAME, "kill", 0}, {SHIM_WRITE, "half", 0},   {SHIM_FSYNC, "kill", 0},
};

static int run_newer(const char *fault, int what)
{
    trial_copy("older");
    return run(fault, commands[what].newer);
}

static void expect_one_of_both(const faulty *f, const char *fault, int code)
{
    const char *file = commands[f->what].file;
    const bool older = is_that_of("older", file), newer = is_that_of("newer", file);
    ck_assert_msg(older || newer, "%s, %s: neither file, exit code %d: %s", file, fault, code,
                  trial_errors());
    ck_assert_msg(code || newer, "%s, %s: exit code 0 and the older file", file, fault);
    ck_assert_msg(code == 137 || (code >= 0 && code <= 4), "%s, %s: exit code %d: %s", file, fault,
                  code, trial_errors());
    ck_assert_msg(!code || code == 137 || strstr(trial_errors(), ": "), "%s, %s: %s", file, fault,
                  trial_errors());
    ck_assert_msg(code == 137 || !files_beside(), "%s, %s: something is left", file, fault);
}

SUITE(.setup = enter, .teardown = faults_leave, .once = true, .timeout = 300)

TEST_ROWS(a_file_is_the_older_or_the_newer_one, 0, COMMANDS *ROWS(rows))
{
    faulty f = rows[_i % ROWS(rows)];
    f.what = _i / ROWS(rows);
    ck_assert_int_gt(trial_each(&f, run_newer, 1, expect_one_of_both), 0);
    ck_assert_int_eq(run_newer(NULL, f.what), 0);
    ck_assert(is_that_of("newer", commands[f.what].file));
}

/* ---- a tokenizer, which is printed ---- */

enum { TRIES = 120 };

static int train_tokenizer(const char *fault, int what)
{
    (void)what;
    trial_copy("older");
    return run(fault,
               (const char *const[]){"--quiet", "--train-tokenizer", "300", "../lines.txt", NULL});
}

static void expect_whole_or_nothing(const faulty *f, const char *fault, int code)
{
    (void)f;
    ck_assert_msg(!system(code ? "test ! -s out" : "cmp -s out tokenizer.json"),
                  "%s: exit code %d: %s", fault, code, trial_errors());
    ck_assert_msg(!code || (code == 1 && strstr(trial_errors(), "memory")), "%s: exit code %d: %s",
                  fault, code, trial_errors());
}

TEST(a_tokenizer_is_printed_whole_or_not_at_all)
{
    const faulty f = {SHIM_MEMORY, "ENOMEM", 0};
    ck_assert_int_eq(train_tokenizer("memory 0 ENOMEM", 0), 0);
    ck_assert(!system("test -s out && cp out tokenizer.json"));
    const long stride = trial_calls(SHIM_MEMORY) / TRIES + 1;
    ck_assert_int_gt(trial_each(&f, train_tokenizer, stride, expect_whole_or_nothing), 10);
}
