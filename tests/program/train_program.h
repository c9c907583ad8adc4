#ifndef ROTOR_TESTS_TRAIN_PROGRAM_H
#define ROTOR_TESTS_TRAIN_PROGRAM_H

/* A suite of tests that run `train`, each in its own workplace, and checks of the output. */

#include "program.h"

#define BF16 "oneDNN and a processor with bf16"

static workplace *w;

/* Enters a fresh folder that holds tiny.ini. */
static void enter(void)
{
    w = rt_alloc(1, sizeof *w);
    ck_assert_ptr_nonnull(w);
    strcpy(w->folder, "/tmp/rotor-program-XXXXXX");
    ck_assert(getcwd(w->before, sizeof w->before) && mkdtemp(w->folder) && !chdir(w->folder));
    write_file("tiny.ini", tiny_config);
}

static void leave(void)
{
    ck_assert_int_eq(chdir(w->before), 0);
    ck_assert_int_eq(system(lasting("rm -rf '%s'", w->folder)), 0);
    rt_free(w);
}

/* A workplace for each test, and the time of a sanitized program on a busy machine. */
#define PROGRAM_FIXTURE .setup = enter, .teardown = leave
#define PROGRAM_OPTIONS PROGRAM_FIXTURE, .timeout = 300

/* A training of tiny.ini that prints results alone. */
#define TINY "$TRAIN tiny.ini --quiet "

/* Options of sed that remove times from a report. */
#define WITHOUT_TIMES "-e '/<th>time</d' -e '/loss_by_time-gnuplot_canvas/,/<.figcaption>/d'"

/* Commands that note the content of all files of all runs, and that compare it. */
#define FILES_OF_RUNS "find runs -type f -exec cksum {} + | sort "
#define NOTE_FILES    FILES_OF_RUNS ">.before"
#define COMPARE_FILES FILES_OF_RUNS "| cmp - .before"

/* A loop of the shell that waits for the row of a step in a file, or for the trainer's end. */
#define WAIT_FOR_ROW(step, file)                                                                   \
    "until grep -q '^" step ",' " file " 2>.grep; do kill -0 $! || exit 99; sleep 0.01; done; "

/* A loop of the shell that waits until the last SIGINT is no longer pending: two would merge. */
#define WAIT_FOR_HANDLER "while grep -q '^S[hi][dg]Pnd:.*[2367abef]$' /proc/$!/status; do :; done; "

enum { LINE_SIZE = 512 };

/* Returns the first line of a text that begins so, without its end. */
static inline const char *line_of(const char *text, const char *beginning)
{
    const char *at = text;
    while (at && strncmp(at, beginning, strlen(beginning)) != 0) {
        at = strchr(at, '\n');
        at += at != NULL;
    }
    ck_assert_msg(at != NULL, "no line begins with \"%s\" in:\n%s", beginning, text);
    const size_t size = strcspn(at, "\n");
    return size ? lasting("%.*s", (int)size, at) : "";
}

/* Returns the number that follows the beginning of a line. */
static inline double number_behind(const char *text, const char *beginning)
{
    double number;
    const char *line = line_of(text, beginning);
    ck_assert_msg(sscanf(line + strlen(beginning), "%lf", &number) == 1, "%s", line);
    return number;
}

/* Runs a command, which must end with exit code 0. */
#define run(...) expect_exit(w, 0, __VA_ARGS__)

/* Runs a command, which must end with this exit code, and then a check. */
#define expect_then(check, code, ...)                                                              \
    do {                                                                                           \
        expect_exit(w, code, __VA_ARGS__);                                                         \
        check;                                                                                     \
    } while (0)

/* Run a command and check its messages or, after exit code 0, its output: expect_stderr and
 * expect_stdout a part, expect_message and expect_output the whole, expect_no_stderr and
 * expect_no_stdout the absence of a part. */
#define expect_stderr(code, says, ...) expect_then(expect_text(w->err, says), code, __VA_ARGS__)
#define expect_message(code, text, ...)                                                            \
    expect_then(ck_assert_str_eq(w->err, text), code, __VA_ARGS__)
#define expect_stdout(says, ...)    expect_then(expect_text(w->out, says), 0, __VA_ARGS__)
#define expect_output(text, ...)    expect_then(ck_assert_str_eq(w->out, text), 0, __VA_ARGS__)
#define expect_no_stdout(part, ...) expect_then(expect_no_text(w->out, part), 0, __VA_ARGS__)
#define expect_no_stderr(part, ...) expect_then(expect_no_text(w->err, part), 0, __VA_ARGS__)

/* A command that is refused, its exit code and a part of its messages. */
typedef struct refused_command {
    int code;
    const char *command, *says;
} refused_command;

/* Expects each of the commands, with `before` in front of it, to be refused so, and to print
 * nothing but which checkpoint it has read. */
static inline void expect_refusals(const char *before, const refused_command *rows, int count)
{
    for (const refused_command *row = rows; row < rows + count; row++) {
        const int code = shell(w, "%s %s", before, row->command);
        const bool quiet = !*w->out || (!strncmp(w->out, "checkpoint: ", 12) &&
                                        strchr(w->out, '\n') == strrchr(w->out, '\n'));
        ck_assert_msg(code == row->code && strstr(w->err, row->says) && quiet,
                      "%s %s: exit code %d instead of %d, \"%.99s\", or no \"%s\" in:\n%.3000s",
                      before, row->command, code, row->code, w->out, row->says, w->err);
    }
}
#define expect_each_refused(before, ...)                                                           \
    expect_refusals(before, (const refused_command[]){__VA_ARGS__},                                \
                    ROWS(((const refused_command[]){__VA_ARGS__})))

/* Expects none of these parts in a text; all of these parts in a file. */
#define expect_no_text(text, ...)                                                                  \
    do {                                                                                           \
        const char *const all_parts[] = {__VA_ARGS__};                                             \
        for (int nth = 0; nth < ROWS(all_parts); nth++)                                            \
            ck_assert_msg(!strstr(text, all_parts[nth]), "\"%s\" in:\n%.3000s", all_parts[nth],    \
                          text);                                                                   \
    } while (0)
#define expect_in_file(path, ...)                                                                  \
    do {                                                                                           \
        const char *text_of_file = read_file(path);                                                \
        expect_text(text_of_file, __VA_ARGS__);                                                    \
    } while (0)

static inline int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

/* The text of a report, for suites that include "markup.h". */
#define page_text(path) text_of(read_file(path))

static inline void expect_number(double got, double low, double high)
{
    ck_assert_msg(got >= low && got <= high, "%g is not from %g to %g", got, low, high);
}

/* Returns the accuracy of the evaluation that a text has. */
static inline double accuracy_of(const char *text)
{
    double accuracy;
    const char *line = line_of(text, "eval: ");
    ck_assert_msg(sscanf(line, "eval: loss %*f, accuracy %lf", &accuracy) == 1, "%s", line);
    return accuracy;
}

/* Returns a number of result.csv of a run by its name; NAN without it. */
static inline double result_of(const char *of_run, const char *name)
{
    run("sed -n 's/^%s,//p' runs/%s/result.csv", name, of_run);
    return *w->out ? atof(w->out) : (double)NAN;
}

/* Compares files of two runs; their names are separated by blanks. */
static inline void expect_same_in(const char *one, const char *other, const char *files)
{
    run("for f in %s; do cmp runs/%s/$f runs/%s/$f || exit 1; done", files, one, other);
}

/* Compares checkpoints of two runs. h5diff ends with 0 if types or shapes differ, but prints. */
static inline void expect_same_model(const char *one, const char *other, int step)
{
    run("for g in /model /optimizer /data; do h5diff runs/%s/checkpoints/step-%08d.h5 "
        "runs/%s/checkpoints/step-%08d.h5 $g $g >.diff 2>&1 && test ! -s .diff || { cat .diff; "
        "exit 1; }; done; rm .diff",
        one, step, other, step);
}

/* Returns the line of an evaluation, from the loss on. */
static inline const char *evaluate(const char *arguments)
{
    run("$TRAIN --eval --quiet %s", arguments);
    return line_of(w->out, "eval: loss ");
}

/* Exports a run to "out" and that to "again", which must evaluate as the run does on its file and
 * be the same in these files. Theta is written as radians; in the form log its logarithm can come
 * back one digit off. */
static inline void expect_export_of(const char *of_run, const char *file, const char *files)
{
    const char *line = evaluate(lasting("--checkpoint runs/%s", of_run));
    expect_output("export: out\n", "$TRAIN --checkpoint runs/%s --export out", of_run);
    const char *again = evaluate(lasting("--checkpoint out data.file=%s", file));
    const double ratio = number_behind(again, "eval: loss ") / number_behind(line, "eval: loss ");
    expect_number(ratio, 1 - 2e-5, 1 + 2e-5);
    ck_assert_str_eq(strchr(line, ','), strchr(again, ','));
    run("$TRAIN --checkpoint out --export again");
    run("for f in %s; do cmp out/$f again/$f || exit 1; done", files);
    ck_assert_str_eq(evaluate(lasting("--checkpoint again data.file=%s", file)), again);
}

#endif
