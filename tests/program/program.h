#ifndef ROTOR_TESTS_PROGRAM_H
#define ROTOR_TESTS_PROGRAM_H

/* Runs `train` as a user would, in a temporary folder. */

#include "suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_SIZE = 1 << 16 };

/* A tiny copy task. A test overrides keys on the command line. */
static const char tiny_config[] =
    "[model]\nlayers = 2\ndim = 16\nheads = 2\n[theta]\nlearn = yes\n[data]\nlength = 12\n"
    "vocab = 10\n[optimizer]\nlr = 1e-2\nschedule_steps = 60\n[train]\nsteps = 60\n"
    "batch_size = 8\neval_every = 20\neval_batches = 2\ncheckpoint_every = 20\n";

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

/* Returns the content, with a final zero, which is freed after the test. */
static inline char *read_file(const char *path)
{
    char *text = rt_alloc(1 << 20, 1);
    FILE *from = fopen(path, "r");
    ck_assert_msg(from && text, "%s cannot be read", path);
    text[fread(text, 1, (1 << 20) - 1, from)] = '\0';
    fclose(from);
    return owned(text, rt_free);
}

/* Set by a suite whose trainings draw their reports, which takes time. */
static bool with_reports;

/* Runs a shell command in which $TRAIN and $TRAIN64 are the programs; returns its exit code. A
 * single call of $TRAIN runs in a child of the test, without starting a program. */
int run_command(workplace *w, bool reports, const char *command);

static inline int shell(workplace *w, const char *format, ...)
{
    char command[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return run_command(w, with_reports, command);
}

#define expect_exit(w, code, ...)                                                                  \
    do {                                                                                           \
        const int got = shell(w, __VA_ARGS__);                                                     \
        ck_assert_msg(got == (code), "exit code %d instead of %d\n%s%s", got, code, (w)->out,      \
                      (w)->err);                                                                   \
    } while (0)

/* Expects all of these parts in a text. Check cannot take a message of any length. */
#define expect_text(text, ...)                                                                     \
    do {                                                                                           \
        const char *const all_parts[] = {__VA_ARGS__};                                             \
        for (int nth = 0; nth < ROWS(all_parts); nth++)                                            \
            ck_assert_msg(strstr(text, all_parts[nth]) != NULL, "no \"%s\" in:\n%.3000s",          \
                          all_parts[nth], text);                                                   \
    } while (0)

static inline bool exists(const char *path)
{
    return !access(path, F_OK);
}

static inline void expect_same_files(const char *one, const char *other)
{
    ck_assert_msg(!strcmp(read_file(one), read_file(other)), "%s and %s differ", one, other);
}

#endif
