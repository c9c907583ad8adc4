/* A gnuplot that does not end is ended with its children. The clock here runs fast on demand. */

#define _DEFAULT_SOURCE /* syscall */

#include "train/report/figures.h"

#include "train_program.h"

#include <sys/syscall.h>

static bool hurried;

/* Replaces the function of the C library. In a hurry every call is a second later. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    static time_t ahead;
    const long result = syscall(SYS_clock_gettime, clock, now);
    ahead += hurried;
    now->tv_sec += ahead;
    return (int)result;
}

/* A gnuplot that waits for a process that it has started, whose number is in the file "started". */
static void make_endless_gnuplot(void)
{
    write_file("gnuplot", "#!/bin/sh\nsleep 100 &\necho $! >started.new\n"
                          "mv started.new ../started\nwait\n");
    ck_assert(!chmod("gnuplot", 0777));
    char *here = getcwd(NULL, 0);
    setenv("PATH", lasting("%s:%s", here, getenv("PATH")), 1);
    free(here);
}

/* Returns whether a process runs, and is not merely waiting to be reaped. */
static bool runs(int process)
{
    char state = 'Z';
    FILE *from = fopen(lasting("/proc/%d/stat", process), "r");
    const bool there = from && fscanf(from, "%*d (%*[^)]) %c", &state) == 1 && state != 'Z';
    if (from)
        fclose(from);
    return there;
}

static int started(void)
{
    int process = 0;
    for (int i = 0; i < 5000 && !exists("started"); i++)
        usleep(2000);
    FILE *from = fopen("started", "r");
    ck_assert(from && fscanf(from, "%d", &process) == 1 && !fclose(from));
    return process;
}

static void expect_gone(int process)
{
    for (int i = 0; i < 5000 && runs(process); i++)
        usleep(2000);
    const bool there = runs(process);
    if (there)
        kill(process, SIGKILL);
    ck_assert_msg(!there, "what gnuplot had started is still there");
}

static rt_status draw(void)
{
    rt_figures f;
    rt_drawing line = {.figure = {.name = "line"}};
    rt_figures_begin(&f, ".");
    rt_writer_add(&line.commands, "plot x\n");
    rt_figures_add(&f, &line);
    return rt_figures_draw(&f);
}

SUITE(PROGRAM_FIXTURE, .prepare = make_endless_gnuplot, .timeout = 60)

TEST(children_of_a_gnuplot_that_is_killed_end_with_it)
{
    char *path = strdup(getenv("PATH"));
    hurried = true;
    rt_status status;
    do
        status = draw(); /* again if time was up before it had begun */
    while (!exists("started") && status.code == RT_IO);
    hurried = false;
    ck_assert_str_eq(status.message, "the figures could not be drawn: gnuplot did not end");
    expect_gone(started());
    setenv("PATH", path, 1);
    free(path);
}

TEST_ROWS(gnuplot_and_its_children_end_with_the_program, 0, 2)
{
    static const int signals[] = {SIGKILL, SIGTERM};
    const pid_t program = fork();
    if (program == 0) {
        signal(SIGTERM, SIG_DFL); /* Check has a handler */
        _exit(draw().code == RT_OK);
    }
    const int process = started();
    ck_assert(runs(process));
    kill(program, signals[_i]);
    ck_assert_int_eq(waitpid(program, NULL, 0), program);
    expect_gone(process);
}
