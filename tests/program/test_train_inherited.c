/* `train` whatever it inherits: ignored and blocked signals, limits, closed streams, an alarm. */

#include "train_program.h"

#include <sys/resource.h>
#include <time.h>

/* State with which a program is started. */
typedef struct inheritance {
    int ignored;       /* a signal, or 0 */
    int not_ignored;   /* the same */
    bool all_blocked;  /* all signals */
    long largest_file; /* bytes, or 0 */
    int closed;        /* a bit for each standard stream */
    unsigned alarm;    /* seconds, or 0 */
} inheritance;

static void inherit(const inheritance *i)
{
    sigset_t all;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (i->largest_file)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)i->largest_file, (rlim_t)i->largest_file});
    for (int stream = 0; stream < 3; stream++)
        if (i->closed >> stream & 1)
            close(stream);
    alarm(i->alarm);
    signal(SIGTERM, SIG_DFL); /* Check has a handler */
    if (i->not_ignored)
        signal(i->not_ignored, SIG_DFL);
    if (i->ignored)
        signal(i->ignored, SIG_IGN);
    sigfillset(&all);
    if (i->all_blocked)
        sigprocmask(SIG_BLOCK, &all, NULL);
}

/* Starts `train` with the words of a line as its arguments; its streams are the files out and
 * err, but for a pipe as its output if there is one. */
static pid_t start(const inheritance *i, int output, const char *line)
{
    char text[512];
    char *arguments[32] = {(char *)"train"};
    int count = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word && count < 31; word = strtok(NULL, " "))
        arguments[count++] = word;
    if (with_reports)
        unsetenv("ROTOR_NO_REPORT");
    else
        setenv("ROTOR_NO_REPORT", "1", 1);
    const pid_t child = fork();
    if (child == 0) {
        const int out = output < 0 ? open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666) : output;
        const int err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        const int in = open("/dev/null", O_RDONLY);
        if (dup2(in, 0) || dup2(out, 1) != 1 || dup2(err, 2) != 2)
            _exit(99);
        for (int fd = 3; fd < 32; fd++)
            close(fd);
        inherit(i);
        execv(TEST_BINARIES "/train", arguments);
        _exit(99);
    }
    return child;
}

/* Its exit code, or 128 and the signal that ended it; one that hangs is killed. */
static int end_of(pid_t program)
{
    const struct timespec moment = {0, 10000000L};
    int how, looks = 0;
    while (waitpid(program, &how, WNOHANG) == 0) {
        if (++looks > 9000)
            kill(program, SIGKILL);
        nanosleep(&moment, NULL);
    }
    take_output("out", w->out);
    take_output("err", w->err);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

#define expect_end(code, inheritance, line)                                                        \
    do {                                                                                           \
        const int end = end_of(start(inheritance, -1, line));                                      \
        ck_assert_msg(end == (code), "%s: %d instead of %d\n%s%s", line, end, code, w->out,        \
                      w->err);                                                                     \
    } while (0)

static void expect_no_temporary_file(void)
{
    expect_output("", "find . -name '*.tmp'");
}

SUITE(PROGRAM_OPTIONS)

/* As under a program that waits for none of its children. */
TEST(a_sweep_ends_although_children_were_ignored)
{
    const inheritance i = {.ignored = SIGCHLD};
    expect_end(0, &i, "tiny.ini --quiet train.steps=4 sweep.run.seed=1,2,3");
    expect_text(w->out, "sweep: runs/tiny\n");
    expect_in_file("runs/tiny/runs.csv", "\nseed=3,3,0,4,");
}

TEST(a_report_is_drawn_although_children_were_ignored)
{
    const inheritance i = {.ignored = SIGCHLD};
    NEEDS_PROGRAM("gnuplot");
    run("$TRAIN tiny.ini --quiet train.steps=4");
    expect_end(0, &i, "--report runs/tiny");
    ck_assert_str_eq(w->err, "");
    expect_in_file("runs/tiny/report.html", "<svg");
}

/* A limit on files ends no command without a word, and leaves nothing that is half written. */
TEST(a_file_that_may_not_grow_is_a_message_of_every_command)
{
    static const struct {
        const char *line, *message;
        long limit;
        int code;
    } rows[] = {
        {"tiny.ini --quiet --resume train.steps=8", "step-00000008.h5.tmp: File too large", 8192,
         6},
        {"tiny.ini --export model", "model.safetensors.tmp: File too large", 2048, 1},
        {"--report runs/tiny", "report.html.tmp: File too large", 4096, 1},
        {"--train-tokenizer 200 --level wordpiece words.txt", "the results could not be printed",
         128, 1},
        {"--train-tokenizer 200 --level wordpiece words.txt --lowercase",
         "the results could not be printed", 128, 1},
        {"tiny.ini --eval", "the results could not be printed", 128, 1},
        {"tiny.ini --print-config --quiet", "the results could not be printed", 128, 1},
        {"tiny.ini --decay", "the results could not be printed", 128, 1},
        {"--help", "the results could not be printed", 128, 1},
        {"lm.ini --quiet --predict y --tokens 400", "the results could not be printed", 128, 1},
    };
    write_file("words.txt", "every word of a text is a piece and some of them are longer than "
                            "others while several are the same\n");
    write_file("lm.ini", "[run]\nname = lm\n[model]\nlayers = 1\ndim = 8\nheads = 1\n"
                         "causal = yes\n[data]\ntask = text\nfile = words.txt\nlevel = byte\n"
                         "objective = lm\nlength = 8\neval_fraction = 0.2\n[train]\nsteps = 2\n"
                         "batch_size = 2\neval_batches = 1\n");
    run("$TRAIN tiny.ini --quiet train.steps=4");
    run("$TRAIN lm.ini --quiet");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const inheritance with = {.largest_file = rows[i].limit, .not_ignored = SIGXFSZ};
        expect_end(rows[i].code, &with, rows[i].line);
        expect_text(w->err, rows[i].message);
        expect_no_temporary_file();
    }
}

/* A program that blocks signals often means only itself. */
TEST(a_training_can_be_stopped_although_signals_were_blocked)
{
    const inheritance i = {.all_blocked = true};
    const pid_t program = start(&i, -1, "tiny.ini --quiet train.steps=10000000");
    run("for i in $(seq 6000); do grep -q '^20,' runs/tiny/metrics.csv 2>.grep && exit 0; sleep "
        "0.01; done; exit 1");
    kill(program, SIGTERM);
    ck_assert_int_eq(end_of(program), 75);
    expect_text(w->err, "stopped by a signal after step ");
}

TEST(an_alarm_of_before_asks_for_a_stop)
{
    const inheritance i = {.alarm = 1};
    expect_end(75, &i, "tiny.ini --quiet train.steps=10000000");
    expect_text(w->err, "stopped by a signal after step ");
}

/* A reader that goes away ends who prints, also if whoever started it had ignored that. */
TEST(a_reader_that_is_gone_ends_who_prints)
{
    const inheritance i = {.ignored = SIGPIPE};
    int ends[2];
    ck_assert(!pipe(ends) && !close(ends[0]));
    const pid_t program = start(&i, ends[1], "--help");
    close(ends[1]);
    ck_assert_int_eq(end_of(program), 128 + SIGPIPE);
    ck_assert_str_eq(w->err, "");
}

/* Each closed stream, and all of them; what cannot be printed must fail, and get into no file. */
TEST_ROWS(a_training_with_closed_streams_has_the_files_of_any_other, 0, 4)
{
    static const int closed[] = {1, 2, 4, 7};
    const inheritance i = {.closed = closed[_i]};
    const bool printed = !(closed[_i] & 2);
    expect_end(printed ? 0 : 1, &i, "tiny.ini run.name=closed train.steps=4");
    run("$TRAIN tiny.ini --quiet train.steps=4 run.name=open");
    expect_same_files("runs/open/metrics.csv", "runs/closed/metrics.csv");
    expect_same_files("runs/open/theta.csv", "runs/closed/theta.csv");
    expect_same_files("runs/open/result.csv", "runs/closed/result.csv");
    run("$TRAIN --checkpoint runs/closed --eval --quiet");
}
