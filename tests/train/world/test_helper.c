/* The child process that starts the runs of a world's sweep, and reports how they end. */

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "train/world/helper.h"

#include "suite.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Facts that a job shares with the test. */
typedef struct facts {
    atomic_int helper; /* the process of the helper */
    atomic_int heard;  /* the signal that has ended the job */
} facts;

static facts *shared;
static volatile sig_atomic_t heard;
static rt_helper *helper;

static void hear(int number)
{
    heard = number;
}

static void listen_to_it(void)
{
    struct sigaction action = {.sa_handler = hear};
    sigaction(SIGTERM, &action, NULL);
}

static void pause_shortly(void)
{
    const struct timespec moment = {0, 2000000L};
    nanosleep(&moment, NULL);
}

/* "7" is a job that ends with this code; "wait" one that waits for a signal to end with 75. */
static int work(const void *context, const char *text)
{
    (void)context;
    atomic_store(&shared->helper, (int)getppid());
    if (*text != 'w')
        return atoi(text);
    for (int i = 0; i < 15000 && !heard; i++)
        pause_shortly();
    atomic_store(&shared->heard, heard);
    return heard ? 75 : 1;
}

static void begin(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    heard = 0;
    expect_ok(rt_helper_begin(&helper, listen_to_it, work, NULL));
}

static void end(void)
{
    rt_helper_end(helper);
    munmap(shared, sizeof *shared);
}

static const test_options begun = {.setup = begin, .teardown = end, .timeout = 60};

static void start(const char *text)
{
    atomic_store(&shared->helper, 0);
    ck_assert(rt_helper_start(helper, text));
    while (!atomic_load(&shared->helper))
        pause_shortly();
}

static void expect_end(int code)
{
    int how = -1;
    while (!rt_helper_ended(helper, &how))
        pause_shortly();
    ck_assert_msg(WIFEXITED(how), "status %d", how);
    ck_assert_int_eq(WEXITSTATUS(how), code);
}

static void run_job(const char *text, int code)
{
    start(text);
    expect_end(code);
}

SUITE(.timeout = 60)

/* In row 1 the launcher waits for none of its children. */
TEST_ROWS(a_job_returns_its_exit_code_even_if_sigchld_was_ignored, 0, 2)
{
    signal(SIGCHLD, _i ? SIG_IGN : SIG_DFL);
    begin();
    run_job("7", 7);
    run_job("0", 0);
    end();
    signal(SIGCHLD, SIG_DFL);
}

TEST_WITH(begun, the_helper_passes_signals_on_to_its_job, 0, 4)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1};
    start("wait");
    kill(atomic_load(&shared->helper), signals[_i]);
    expect_end(75);
    ck_assert_int_eq(atomic_load(&shared->heard), SIGTERM);
    run_job("7", 7); /* and the helper is there for the next one */
}

/* The job may not have run one line yet. */
TEST_WITH(begun, a_signal_reaches_a_job_that_has_just_started, 0, 1)
{
    for (int i = 0; i < 200; i++) {
        ck_assert(rt_helper_start(helper, "wait"));
        rt_helper_signal(helper, SIGTERM);
        expect_end(75);
    }
}

TEST_WITH(begun, a_signal_between_two_jobs_ends_neither, 0, 1)
{
    run_job("0", 0);
    kill(atomic_load(&shared->helper), SIGHUP);
    start("wait");
    rt_helper_signal(helper, SIGTERM);
    expect_end(75);
    run_job("7", 7);
}

/* A closed terminal does not end programs started by nohup. */
TEST(a_signal_that_nohup_ignores_is_not_passed_on)
{
    signal(SIGHUP, SIG_IGN);
    begin();
    start("wait");
    const int process = atomic_load(&shared->helper);
    kill(process, SIGHUP);
    for (int i = 0; i < 50; i++)
        pause_shortly();
    int how;
    ck_assert(!rt_helper_ended(helper, &how));
    kill(process, SIGUSR1);
    expect_end(75);
    end();
    signal(SIGHUP, SIG_DFL);
}
