/* The line that a run updates in place, as it stands on a terminal: on a pseudo-terminal whose
 * screen is drawn here, with a clock that the test sets. */

#include "suite.h"

#include "train/run/progress.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Takes the place of the clock of train/step/observers.c. */
enum { BEGINNING = 5000 };
static double seconds;

double rt_seconds(void)
{
    return seconds;
}

typedef struct terminal {
    int master, slave, stderr_before;
    size_t columns;
    char text[4096]; /* its lines, without what was written over or cleared */
    size_t at;       /* of the cursor in the text */
    int colors;      /* sequences that set one */
    bool is_open;    /* false where the machine has no pseudo-terminals */
} terminal;

static terminal t;

#define NEEDS_TERMINAL NEEDS(t.is_open, "a pseudo-terminal")

static void open_terminal(int columns)
{
    struct winsize size = {.ws_row = 6, .ws_col = (unsigned short)columns};
    t = (terminal){.columns = (size_t)columns};
    t.is_open = !openpty(&t.master, &t.slave, NULL, NULL, &size);
    if (!t.is_open)
        return;
    t.stderr_before = dup(STDERR_FILENO);
    ck_assert_int_eq(dup2(t.slave, STDERR_FILENO), STDERR_FILENO);
}

static void close_terminal(void)
{
    if (!t.is_open)
        return;
    t.is_open = false;
    dup2(t.stderr_before, STDERR_FILENO);
    close(t.stderr_before);
    close(t.slave);
    close(t.master);
}

static char next_character(void)
{
    char c;
    ck_assert_int_eq(read(t.master, &c, 1), 1);
    return c;
}

/* Obeys "\033[K" and "\033[...m". */
static void apply_sequence(void)
{
    char c;
    ck_assert_int_eq(next_character(), '[');
    while ((c = next_character()) >= '0' && c <= '9')
        continue;
    if (c == 'K')
        memset(t.text + t.at, 0, sizeof t.text - t.at);
    else
        t.colors += c == 'm';
    ck_assert(c == 'K' || c == 'm');
}

/* Reads all output so far, behind which a mark is written. No line may wrap. */
static void draw(void)
{
    const char mark = 1;
    size_t start = t.at;
    char c;
    while (start && t.text[start - 1] != '\n')
        start--;
    ck_assert_int_eq(write(t.slave, &mark, 1), 1);
    while ((c = next_character()) != mark) {
        if (c == '\r')
            t.at = start;
        else if (c == '\033')
            apply_sequence();
        else if (c == '\n')
            start = t.at = strlen(strcat(t.text, "\n"));
        else
            t.text[t.at++] = c;
        ck_assert_uint_le(t.at - start, t.columns);
    }
}

static void expect_screen(const char *expected)
{
    draw();
    ck_assert_str_eq(t.text, expected);
}

static void expect_beginning(const char *expected)
{
    draw();
    ck_assert_msg(!strncmp(t.text, expected, strlen(expected)), "%s", t.text);
}

static rt_progress progress;

static void begin(bool quiet, bool no_color)
{
    static rt_config config;
    config.train.steps = 100;
    config.run.log_every = 25;
    rt_progress_begin(&progress, &config, 0, quiet, no_color);
}

/* A step that ends at a time after the beginning, after so many more tokens. */
static void step_at(double time, int step, double loss, long tokens)
{
    const rt_step_result result = {.loss = loss, .accuracy = 0.5, .lr = 1e-3, .tokens = tokens};
    seconds = BEGINNING + time;
    rt_progress_step(&progress, step, &result);
}

static void enter(void)
{
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    seconds = BEGINNING;
}

static void enter_80(void)
{
    enter();
    open_terminal(80);
}

static const test_options tests_options = {.setup = enter_80, .teardown = close_terminal};
static const test_options widths_options = {.setup = enter, .teardown = close_terminal};

/* clang-format off */
#define FIRST {100, 25, 2.5, 1200000}
#define LINE   "smoothed loss 2.5000, accuracy 0.500  "
#define NARROW "25/100 smoothed loss 2.5000, accuracy 0"

/* The line after a step, and after another one in its place. The first is that of 1.2 million
 * tokens in 100 seconds; three quarters are left. A line is one less than the terminal is wide; a
 * narrow terminal has no bar. */
static const struct {
    int columns;
    struct {
        double time;
        int step;
        double loss;
        long tokens;
    } steps[2];
    const char *variable; /* COLUMNS at the last step */
    bool evaluated;       /* at the last step */
    const char *line;
} lines[] = {
    {80, {FIRST}, NULL, false, "25/100 [==>        ] " LINE "12k tok/s  5:00 left"},
    {80, {FIRST}, "wide", false, "25/100 [==>        ] " LINE "12k tok/s  5:00 left"},
    {136, {FIRST}, NULL, true,
     "25/100 [===>           ] smoothed loss 2.5000, accuracy 0.500  eval loss 2.1250, "
     "accuracy 0.750  lr 1.0e-03  12k tok/s  1:40, 5:00 left"},
    {40, {FIRST}, NULL, false, NARROW},
    {80, {FIRST}, "40", false, NARROW},
    {12, {FIRST}, NULL, false, "25/100 smoo"},
    {6, {FIRST}, NULL, false, "25/10"},
    /* 0.95 * 2.5 + 0.05 * 0.5 = 2.4, and 150 seconds for half of it */
    {80, {FIRST, {150, 50, 0.5, 149850000}}, NULL, true,
     "50/100 smoothed loss 2.4000  eval loss 2.1250, accuracy 0.750  2:30 left"},
    {80, {FIRST, {101, 26, 2.5, 0}}, "12", false, "26/100 smoo"},
    {80, {{3600, 50, 2.5, 3600000}}, NULL, false,
     "50/100 [====>    ] " LINE "1k tok/s  1:00:00 left"},
    {80, {{3599.4 * 4, 80, 2.5, 3600000}}, NULL, false,
     "80/100 [========>  ] " LINE "0k tok/s  59:59 left"},
};
/* clang-format on */

TEST_WITH(widths_options, a_line_fits_the_terminal_and_replaces_the_line_before, 0,
          (int)(sizeof lines / sizeof *lines))
{
    open_terminal(lines[_i].columns);
    NEEDS_TERMINAL;
    begin(false, false);
    for (int i = 0; i < 2 && lines[_i].steps[i].step; i++) {
        if (i || !lines[_i].steps[1].step) {
            if (lines[_i].variable)
                setenv("COLUMNS", lines[_i].variable, 1);
            progress.eval_accuracy = lines[_i].evaluated ? 0.75 : -1;
            progress.eval_loss = 2.125;
        }
        step_at(lines[_i].steps[i].time, lines[_i].steps[i].step, lines[_i].steps[i].loss,
                lines[_i].steps[i].tokens);
    }
    expect_screen(lines[_i].line);
}

TEST_WITH(tests_options, the_line_is_updated_ten_times_a_second_and_at_the_end, 0, 1)
{
    NEEDS_TERMINAL;
    begin(false, false);
    step_at(1, 25, 2.5, 0);
    step_at(1.09, 26, 2.5, 0);
    expect_beginning("25/100 ");
    step_at(1.11, 27, 2.5, 0);
    expect_beginning("27/100 ");
    step_at(1.12, 100, 2.5, 0);
    expect_beginning("100/100 [====");
}

TEST_WITH(tests_options, the_bar_is_coloured_unless_that_is_unwanted, 0, 4)
{
    NEEDS_TERMINAL;
    static const struct {
        const char *no_color; /* the variable */
        bool option;
        int sequences;
    } rows[] = {{NULL, false, 2}, {"", false, 2}, {"1", false, 0}, {NULL, true, 0}};
    if (rows[_i].no_color)
        setenv("NO_COLOR", rows[_i].no_color, 1);
    begin(false, rows[_i].option);
    step_at(100, 25, 2.5, 1200000);
    draw();
    ck_assert_int_eq(t.colors, rows[_i].sequences);
}

#define SAID "test_training: checkpoint of step 25\ntest_training: another\n"
TEST_WITH(tests_options, a_message_is_printed_above_the_line_of_progress, 0, 1)
{
    NEEDS_TERMINAL;
    begin(false, false);
    step_at(100, 25, 2.5, 1200000);
    rt_progress_say(&progress, "checkpoint of step %d", 25);
    expect_screen("test_training: checkpoint of step 25\n");
    rt_progress_say(&progress, "another");
    setenv("COLUMNS", "12", 1);
    step_at(101, 26, 2.5, 0);
    expect_screen(SAID "26/100 smoo");
    rt_progress_clear(&progress);
    expect_screen(SAID);
    rt_progress_end(&progress); /* there is no line to end */
    expect_screen(SAID);
    step_at(102, 100, 2.5, 0);
    rt_progress_end(&progress);
    expect_screen(SAID "100/100 smo\n");
}

TEST_WITH(tests_options, a_quiet_run_prints_only_messages, 0, 1)
{
    NEEDS_TERMINAL;
    begin(true, false);
    step_at(100, 25, 2.5, 1200000);
    expect_screen("");
    rt_progress_say(&progress, "checkpoint");
    rt_progress_end(&progress);
    expect_screen("test_training: checkpoint\n");
}

/* Steps that run.log_every asks for, and the last one; but not two of them in a minute. */
TEST(without_a_terminal_there_is_at_most_a_line_a_minute)
{
    char text[4096] = "";
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    ck_assert(file && dup2(fileno(file), STDERR_FILENO) >= 0);
    enter();
    begin(false, false);
    progress.log_every = 5;
    step_at(0, 4, 2.5, 1000);
    step_at(0, 5, 2.5, 1000);
    step_at(59.9, 10, 2.5, 1000);
    step_at(60, 11, 2.5, 1000);
    step_at(61, 15, 2.5, 1000);
    step_at(62, 20, 2.5, 1000);
    step_at(63, 100, 2.5, 1000);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(text, "step 5/100  " LINE "lr 1.0e-03  2k tok/s  0:00, 0:00 left\n"
                           "step 15/100  " LINE "lr 1.0e-03  0k tok/s  1:01, 5:46 left\n"
                           "step 100/100  " LINE "lr 1.0e-03  0k tok/s  1:03, 0:00 left\n");
}
