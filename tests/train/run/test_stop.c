#include "suite.h"
#include "train/run/stop.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SURVIVED = 3, PATIENCE = 2, LIFE = 5 }; /* seconds */

/* Returns the exit code of a child. */
static int code_of(pid_t child)
{
    int how;
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert_msg(WIFEXITED(how), "ended by signal %d", WTERMSIG(how));
    return WEXITSTATUS(how);
}

static void busy_for(int seconds, atomic_long *progress)
{
    const time_t end = time(NULL) + seconds;
    while (time(NULL) < end)
        if (progress)
            atomic_fetch_add(progress, 1);
}

/* Returns the exit code of a process that gets a signal to stop and then lives for some seconds. */
static int ending(int number, bool watched, bool moves)
{
    const pid_t child = fork();
    if (child == 0) {
        atomic_long progress = 0;
        close(STDERR_FILENO);
        rt_stop_on_signals();
        if (watched)
            rt_stop_watch(&progress, PATIENCE);
        raise(number);
        busy_for(LIFE, moves ? &progress : NULL);
        _exit(rt_stop_requested() == number ? SURVIVED : 1);
    }
    return code_of(child);
}

SAMPLED_ROWS(a_step_that_does_not_end_is_ended_by_any_signal, 0, 4, 4)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    ck_assert_int_eq(ending(signals[_i], true, false), 130);
}

/* Row 0 reports progress, row 1 is not watched. */
NIGHTLY_ROWS(a_step_that_progresses_or_is_not_watched_is_not_ended, 0, 2)
{
    ck_assert_int_eq(ending(SIGTERM, !_i, !_i), SURVIVED);
}

/* Signals that come faster than the alarm do not keep a step alive. */
TEST(repeated_signals_do_not_postpone_the_end)
{
    const pid_t child = fork();
    if (child == 0) {
        atomic_long progress = 0;
        const struct timespec moment = {0, 200000000L};
        close(STDERR_FILENO);
        rt_stop_on_signals();
        rt_stop_watch(&progress, 1);
        for (int i = 0; i < 5 * LIFE; i++) {
            raise(SIGTERM);
            nanosleep(&moment, NULL);
        }
        _exit(SURVIVED);
    }
    ck_assert_int_eq(code_of(child), 130);
}

/* Only a second interrupt ends at once, whatever signal came first. */
/* The alarm of row 3 was set before the program began, or comes from elsewhere. */
TEST_ROWS(only_a_second_interrupt_ends_at_once, 0, 4)
{
    static const struct {
        int first, second, code;
    } rows[] = {{SIGTERM, SIGINT, SURVIVED},
                {SIGINT, SIGTERM, SURVIVED},
                {SIGINT, SIGINT, 130},
                {SIGALRM, 0, SURVIVED}};
    const pid_t child = fork();
    if (child == 0) {
        rt_stop_on_signals();
        raise(rows[_i].first);
        if (rows[_i].second)
            raise(rows[_i].second);
        _exit(rows[_i].second || rt_stop_requested() == SIGALRM ? SURVIVED : 1);
    }
    ck_assert_int_eq(code_of(child), rows[_i].code);
}

TEST(patience_grows_with_the_steps)
{
    ck_assert_int_eq(rt_stop_patience(0), 20);
    ck_assert_int_eq(rt_stop_patience(0.5), 22);
    ck_assert_int_eq(rt_stop_patience(100), 520);
    ck_assert_int_eq(rt_stop_patience(17275.9), 86399);
    ck_assert_int_eq(rt_stop_patience(1e12), 86400);
}
