#ifndef ROTOR_TESTS_TRAINING_TRAIN_PROGRAM_H
#define ROTOR_TESTS_TRAINING_TRAIN_PROGRAM_H

/* A suite of tests that run `train`, each in a workplace of its own, and what several of
 * them ask of its output. */

#include "program.h"
#include "suite.h"

static workplace *w;

static void enter(void)
{
    w = enter_workplace();
}

static void leave(void)
{
    leave_workplace(w);
}

/* A workplace for each test, and the time of a sanitized program on a busy machine. */
#define PROGRAM_FIXTURE .setup = enter, .teardown = leave
#define PROGRAM_OPTIONS PROGRAM_FIXTURE, .timeout = 300

/* Lines of sed that take out of a report what the clock says. */
#define WITHOUT_TIMES "-e '/<th>time</d' -e '/loss_by_time-gnuplot_canvas/,/<.figcaption>/d'"

/* A loop of the shell that waits until a file has a row of that step: training is then under
 * way, however slow the machine. It gives up if the trainer in the background is gone. */
#define WAIT_FOR_ROW(step, file)                                                                   \
    "until grep -q '^" step ",' " file " 2>.grep; do kill -0 $! || exit 99; sleep 0.01; done; "

/* A loop of the shell that waits until the process in the background has taken the last SIGINT: it
 * is no longer pending. A second one would otherwise be merged with it. */
#define WAIT_FOR_HANDLER "while grep -q '^S[hi][dg]Pnd:.*[2367abef]$' /proc/$!/status; do :; done; "

enum { LINE_SIZE = 512 };

/* The first line that begins so, without its end. */
static inline const char *line_of(const char *text, const char *beginning, char line[LINE_SIZE])
{
    const char *at = text;
    while (at && strncmp(at, beginning, strlen(beginning)) != 0) {
        at = strchr(at, '\n');
        at += at != NULL;
    }
    ck_assert_msg(at != NULL, "no line begins with \"%s\" in:\n%s", beginning, text);
    snprintf(line, LINE_SIZE, "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

/* Expect the exit code of a command, and a part of its messages, or all of them; an exit code of 0,
 * and a part of what it prints, or all of it; an exit code of 0, and messages, or what it prints,
 * without a text. */
#define expect_told(code, says, ...)                                                               \
    do {                                                                                           \
        expect_exit(w, code, __VA_ARGS__);                                                         \
        expect_text(w->err, says);                                                                 \
    } while (0)
#define expect_message(code, text, ...)                                                            \
    do {                                                                                           \
        expect_exit(w, code, __VA_ARGS__);                                                         \
        ck_assert_str_eq(w->err, text);                                                            \
    } while (0)
#define expect_printed(says, ...)                                                                  \
    do {                                                                                           \
        expect_exit(w, 0, __VA_ARGS__);                                                            \
        expect_text(w->out, says);                                                                 \
    } while (0)

#define expect_output(text, ...)                                                                   \
    do {                                                                                           \
        expect_exit(w, 0, __VA_ARGS__);                                                            \
        ck_assert_str_eq(w->out, text);                                                            \
    } while (0)
#define expect_unprinted(part, ...)                                                                \
    do {                                                                                           \
        expect_exit(w, 0, __VA_ARGS__);                                                            \
        expect_no_text(w->out, part);                                                              \
    } while (0)
#define expect_untold(part, ...)                                                                   \
    do {                                                                                           \
        expect_exit(w, 0, __VA_ARGS__);                                                            \
        expect_no_text(w->err, part);                                                              \
    } while (0)

static inline void expect_in_file(const char *path, const char *part)
{
    char *text = read_file(path);
    expect_text(text, part);
    rt_free(text);
}

static inline int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static inline void expect_no_text(const char *text, const char *part)
{
    ck_assert_msg(!strstr(text, part), "\"%s\" in:\n%s", part, text);
}

static inline void expect_number(double got, double low, double high)
{
    ck_assert_msg(got >= low && got <= high, "%g is not from %g to %g", got, low, high);
}

/* The line of an evaluation, from the loss on. */
static inline void evaluate(const char *arguments, char line[LINE_SIZE])
{
    expect_exit(w, 0, "$TRAIN --eval --quiet %s", arguments);
    line_of(w->out, "eval: loss ", line);
}

/* Exports a run to "out" and that to "again", which must evaluate as the run does on its file and
 * be the same in these files. Theta is written as radians; in the form log its logarithm can come
 * back one digit off. */
static inline void expect_export_of(const char *run, const char *file, const char *files)
{
    char line[LINE_SIZE], again[LINE_SIZE], arguments[128];
    double before, after;
    snprintf(arguments, sizeof arguments, "--checkpoint runs/%s", run);
    evaluate(arguments, line);
    expect_exit(w, 0, "$TRAIN --checkpoint runs/%s --export out", run);
    ck_assert_str_eq(w->out, "export: out\n");
    snprintf(arguments, sizeof arguments, "--checkpoint out data.file=%s", file);
    evaluate(arguments, again);
    ck_assert_int_eq(sscanf(line, "eval: loss %lf", &before), 1);
    ck_assert_int_eq(sscanf(again, "eval: loss %lf", &after), 1);
    expect_number(after / before, 1 - 2e-5, 1 + 2e-5);
    ck_assert_str_eq(strchr(line, ','), strchr(again, ','));
    expect_exit(w, 0, "$TRAIN --checkpoint out --export again");
    expect_exit(w, 0, "for f in %s; do cmp out/$f again/$f || exit 1; done", files);
    snprintf(arguments, sizeof arguments, "--checkpoint again data.file=%s", file);
    evaluate(arguments, line);
    ck_assert_str_eq(line, again);
}

#endif
