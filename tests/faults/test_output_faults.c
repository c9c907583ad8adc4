/* A command writes one file (a model for llama.cpp, ids, vectors, a tokenizer) while every call
 * fails once, or the program is killed at it: there is the older file or the newer one, whole. */

#include "faults/faults.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>
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

static const command commands[] = {
    {"out.gguf",
     {MODEL, "--export", "out.gguf", "--overwrite"},
     {MODEL, "--export", "out.gguf", "--dtype", "f16"}},
    {"out.npy",
     {"--quiet", "--encode", "../text.ini", "out.npy", "--overwrite"},
     {"--quiet", "--encode", "../text.ini", "out.npy", "data.file=../more.txt"}},
    {"out.bin",
     {"--quiet", "--encode", "../text.ini", "out.bin", "--overwrite"},
     {"--quiet", "--encode", "../text.ini", "out.bin", "data.file=../more.txt"}},
    {"ids.h5",
     {"--quiet", "--encode", "../text.ini", "ids.h5", "--overwrite"},
     {"--quiet", "--encode", "../text.ini", "ids.h5", "data.file=../more.txt"}},
    {"vectors.h5",
     {MODEL, "--embed", "../lines.txt", "--output", "vectors.h5", "--overwrite"},
     {MODEL, "--embed", "../more.txt", "--output", "vectors.h5"}},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

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

typedef struct row {
    const char *kind;
    const char *how;
    shim_kind counter;
} row;

static const row rows[] = {
    {"open", "EIO", SHIM_OPEN},      {"write", "ENOSPC", SHIM_WRITE}, {"write", "full", SHIM_WRITE},
    {"fsync", "EIO", SHIM_FSYNC},    {"rename", "EIO", SHIM_RENAME},  {"close", "EIO", SHIM_CLOSE},
    {"rename", "kill", SHIM_RENAME}, {"write", "half", SHIM_WRITE},   {"fsync", "kill", SHIM_FSYNC},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void fail_each(const command *c, const row *r, long calls)
{
    for (long n = 1; n <= calls; n++) {
        char fault[32];
        snprintf(fault, sizeof fault, "%s %ld %s", r->kind, n, r->how);
        trial_copy("older");
        const int code = run(fault, c->newer);
        const bool older = is_that_of("older", c->file), newer = is_that_of("newer", c->file);
        ck_assert_msg(older || newer, "%s, %s: neither file, exit code %d: %s", c->file, fault,
                      code, trial_errors());
        ck_assert_msg(code || newer, "%s, %s: exit code 0 and the older file", c->file, fault);
        ck_assert_msg(code == 0 || code == 137 || (code >= 1 && code <= 4),
                      "%s, %s: exit code %d: %s", c->file, fault, code, trial_errors());
        ck_assert_msg(!code || code == 137 || strstr(trial_errors(), ": "), "%s, %s: %s", c->file,
                      fault, trial_errors());
        ck_assert_msg(code == 137 || !files_beside(), "%s, %s: something is left", c->file, fault);
    }
}

SUITE(.setup = enter, .teardown = faults_leave, .once = true, .timeout = 300)

TEST_ROWS(a_file_is_the_older_or_the_newer_one, 0, COMMANDS *ROWS)
{
    const command *c = &commands[_i / ROWS];
    const row *r = &rows[_i % ROWS];
    char none[32];
    snprintf(none, sizeof none, "%s 0 EIO", r->kind);
    trial_copy("older");
    ck_assert_int_eq(run(none, c->newer), 0);
    const long calls = trial_calls(r->counter);
    ck_assert_int_gt(calls, 0);
    fail_each(c, r, calls);
    trial_copy("older");
    ck_assert_int_eq(run(NULL, c->newer), 0);
    ck_assert(is_that_of("newer", c->file));
}

/* ---- a tokenizer, which is printed ---- */

enum { TRIES = 120 };

static bool printed_whole(void)
{
    return !system("cmp -s out tokenizer.json");
}

static bool printed_nothing(void)
{
    return !system("test ! -s out");
}

TEST(a_tokenizer_is_printed_whole_or_not_at_all)
{
    static const char *const training[] = {"--quiet", "--train-tokenizer", "300", "../lines.txt",
                                           NULL};
    trial_copy("older");
    ck_assert_int_eq(run("memory 0 ENOMEM", training), 0);
    ck_assert(!system("test -s out && cp out tokenizer.json"));
    const long calls = trial_calls(SHIM_MEMORY), stride = calls / TRIES + 1;
    ck_assert_int_gt(calls, 10);
    for (long n = 1; n <= calls; n += stride) {
        char fault[48];
        snprintf(fault, sizeof fault, "memory %ld ENOMEM", n);
        const int code = run(fault, training);
        ck_assert_msg(code ? printed_nothing() : printed_whole(), "%s of %ld: exit code %d: %s",
                      fault, calls, code, trial_errors());
        ck_assert_msg(!code || (code == 1 && strstr(trial_errors(), "memory")),
                      "%s of %ld: exit code %d: %s", fault, calls, code, trial_errors());
    }
}
