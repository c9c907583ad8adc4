#ifndef ROTOR_TESTS_TRAINING_PROGRAM_H
#define ROTOR_TESTS_TRAINING_PROGRAM_H

/* Runs `train` as a user would, in a folder of its own that is removed afterwards. */

#include "core/memory.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

enum { OUTPUT_SIZE = 1 << 16 };

/* A tiny copy task. What a test changes it gives on the command line. */
static const char tiny_config[] = "[model]\n"
                                  "layers = 2\n"
                                  "dim = 16\n"
                                  "heads = 2\n"
                                  "[theta]\n"
                                  "learn = yes\n"
                                  "[data]\n"
                                  "length = 12\n"
                                  "vocab = 10\n"
                                  "[optimizer]\n"
                                  "lr = 1e-2\n"
                                  "schedule_steps = 60\n"
                                  "[train]\n"
                                  "steps = 60\n"
                                  "batch_size = 8\n"
                                  "eval_every = 20\n"
                                  "eval_batches = 2\n"
                                  "checkpoint_every = 20\n";

typedef struct workplace {
    char folder[64];
    char before[4096];
    char out[OUTPUT_SIZE]; /* of the last program */
    char err[OUTPUT_SIZE];
} workplace;

static inline void write_file(const char *path, const char *text)
{
    FILE *to = fopen(path, "w");
    ck_assert_msg(to && fputs(text, to) >= 0 && !fclose(to), "%s cannot be written", path);
}

/* The content, with a final zero; the caller frees it. */
static inline char *read_file(const char *path)
{
    char *text = rt_alloc(1 << 20, 1);
    FILE *from = fopen(path, "r");
    ck_assert_msg(from && text, "%s cannot be read", path);
    text[fread(text, 1, (1 << 20) - 1, from)] = '\0';
    fclose(from);
    return text;
}

/* Enters a fresh folder that holds tiny.ini. */
static inline workplace *enter_workplace(void)
{
    workplace *w = rt_alloc(1, sizeof *w);
    ck_assert_ptr_nonnull(w);
    strcpy(w->folder, "/tmp/rotor-program-XXXXXX");
    ck_assert(getcwd(w->before, sizeof w->before) && mkdtemp(w->folder) && !chdir(w->folder));
    write_file("tiny.ini", tiny_config);
    return w;
}

static inline void leave_workplace(workplace *w)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", w->folder);
    ck_assert_int_eq(chdir(w->before), 0);
    ck_assert_int_eq(system(command), 0);
    rt_free(w);
}

static inline void take_output(const char *path, char *text)
{
    FILE *from = fopen(path, "r");
    text[from ? fread(text, 1, OUTPUT_SIZE - 1, from) : 0] = '\0';
    if (from)
        fclose(from);
    remove(path);
}

/* Whether trainings end with their reports, which take time: a choice of each suite. */
static bool with_reports;

/* The name in messages, of the C library. */
extern char *program_invocation_short_name;

/* The main of `train`, if it is linked into the executable of the tests. */
__attribute__((weak)) int train_main(int argc, char **argv);

/* Expands one command as a shell would. Returns false unless it is a plain call of $TRAIN: it has
 * no redirection, pipe, substitution or other syntax of a shell. */
static inline bool expand_call(const char *command, wordexp_t *words)
{
    if (wordexp(command, words, WRDE_NOCMD | WRDE_UNDEF))
        return false;
    if (words->we_wordc && !strcmp(words->we_wordv[0], getenv("TRAIN")))
        return true;
    wordfree(words);
    return false;
}

/* Calls the program in a child process, its output appended to .out and .err. Returns its status
 * as waitpid does. */
static inline int call_program(const wordexp_t *words)
{
    static const int reset[] = {SIGINT, SIGTERM, SIGALRM, SIGHUP}; /* Check handles some of them */
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
            signal(reset[i], SIG_DFL);
        const int out = open(".out", O_WRONLY | O_CREAT | O_APPEND, 0666);
        const int err = open(".err", O_WRONLY | O_CREAT | O_APPEND, 0666);
        const int in = open("/dev/null", O_RDONLY);
        if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
            _exit(126);
        close(in);
        close(out);
        close(err);
        program_invocation_short_name = (char *)"train";
        exit(train_main((int)words->we_wordc, words->we_wordv));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Runs "CALL && CALL ..." in the process of the test, without a shell and without starting a
 * program. Returns false, and does nothing, if a part of the command is no plain call. */
static inline bool run_calls(const char *command, int *status)
{
    enum { MOST_CALLS = 16 };
    char copy[2048], *calls[MOST_CALLS];
    wordexp_t words;
    int count = 0;
    if (!train_main)
        return false;
    snprintf(copy, sizeof copy, "%s", command);
    for (char *at = copy; at && count < MOST_CALLS; count++) {
        char *end = strstr(at, " && ");
        calls[count] = at;
        at = end ? end + 4 : NULL;
        if (end)
            *end = '\0';
        if (!expand_call(calls[count], &words) || (at && count + 1 == MOST_CALLS))
            return false;
        wordfree(&words);
    }
    *status = 0;
    for (int i = 0; i < count && *status == 0; i++) {
        ck_assert(expand_call(calls[i], &words)); /* again: patterns match the files of before */
        *status = call_program(&words);
        wordfree(&words);
    }
    return true;
}

/* Runs a shell command in which $TRAIN and $TRAIN64 are the programs; returns its exit code. What
 * needs no shell is called in the process. */
static inline int shell(workplace *w, const char *format, ...)
{
    char command[2048], whole[2400];
    int status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    setenv("TRAIN", TEST_BINARIES "/train", 1);
    setenv("TRAIN64", TEST_BINARIES "/train-f64", 1);
    setenv("COLUMNS", "120", 1);
    if (with_reports)
        unsetenv("ROTOR_NO_REPORT");
    else
        setenv("ROTOR_NO_REPORT", "1", 1);
    if (!run_calls(command, &status)) {
        snprintf(whole, sizeof whole, "{ %s ; } >.out 2>.err </dev/null", command);
        status = system(whole);
    }
    take_output(".out", w->out);
    take_output(".err", w->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define expect_exit(w, code, ...)                                                                  \
    do {                                                                                           \
        const int got = shell(w, __VA_ARGS__);                                                     \
        ck_assert_msg(got == (code), "exit code %d instead of %d\n%s%s", got, code, (w)->out,      \
                      (w)->err);                                                                   \
    } while (0)

/* Check cannot take a message of any length. */
#define expect_text(text, part)                                                                    \
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%.3000s", part, text)

static inline bool exists(const char *path)
{
    return !access(path, F_OK);
}

static inline void expect_same_files(const char *one, const char *other)
{
    char *a = read_file(one), *b = read_file(other);
    ck_assert_msg(!strcmp(a, b), "%s and %s differ", one, other);
    rt_free(a);
    rt_free(b);
}

#endif
