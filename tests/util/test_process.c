/* A process and its children have default signals and streams whatever it inherits. */

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, syscall */

#include "util/process.h"

#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Replaces the C library's: the parent of an orphan has ended before the call. */
static bool orphan;

pid_t getppid(void)
{
    return orphan ? 1 : (pid_t)syscall(SYS_getppid);
}

static int ending_of(void (*life)(void))
{
    int how;
    const pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGTERM, SIG_DFL); /* Check has a handler */
        life();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    return how;
}

#define expect_end_of(life, code)                                                                  \
    do {                                                                                           \
        const int how = ending_of(life);                                                           \
        ck_assert_int_eq(WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how), code);           \
    } while (0)

SUITE(.timeout = 60)

/* A test whose body is the life of a process, which ends with that code. */
#define TEST_OF_LIFE(name, code)                                                                   \
    static void name##_life(void);                                                                 \
    TEST(name)                                                                                     \
    {                                                                                              \
        expect_end_of(name##_life, code);                                                          \
    }                                                                                              \
    static void name##_life(void)

static void require(bool holds, int code)
{
    if (!holds)
        _exit(code);
}

static bool has_empty_mask(void)
{
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    int blocked = 0;
    for (int number = 1; number < 32; number++)
        blocked += sigismember(&now, number);
    return !blocked;
}

static void block_all(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static bool handled_as(int number, void (*how)(int))
{
    struct sigaction now;
    return !sigaction(number, NULL, &now) && now.sa_handler == how;
}

/* Each set of closed streams is a number of three bits. */
static int closed;

static void open_with_closed_streams(void)
{
    char byte;
    for (int stream = 0; stream < 3; stream++)
        if (closed >> stream & 1)
            close(stream);
    rt_process_normalize();
    require(open("/dev/null", O_RDONLY) > STDERR_FILENO, 1);
    require(!(closed & 1) || !read(STDIN_FILENO, &byte, 1), 2);
    for (int stream = 1; stream < 3; stream++)
        require(!(closed >> stream & 1) || (write(stream, "x", 1) < 0 && errno == EBADF), 3);
}

TEST_ROWS(a_closed_standard_stream_is_replaced_before_files_are_opened, 0, 8)
{
    closed = _i;
    expect_end_of(open_with_closed_streams, 0);
}

/* nohup, and a shell for a program in the background. */
TEST_OF_LIFE(signals_that_nohup_ignores_stay_ignored, 0)
{
    int numbers[RT_STOP_SIGNALS];
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    rt_process_normalize();
    require(handled_as(SIGHUP, SIG_IGN) && handled_as(SIGINT, SIG_IGN), 1);
    require(handled_as(SIGQUIT, SIG_IGN), 2);
    const int count = rt_process_stop_signals(numbers);
    require(count == RT_STOP_SIGNALS - 1, 3);
    for (int i = 0; i < count; i++)
        require(numbers[i] != SIGHUP, 4);
    signal(SIGHUP, SIG_DFL);
    require(rt_process_stop_signals(numbers) == RT_STOP_SIGNALS, 5);
}

TEST_OF_LIFE(a_child_has_default_signals_whatever_its_parent_ignores, 7)
{
    int how, ends[2];
    char byte;
    require(!pipe(ends), 1);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_DFL);
    block_all();
    close(STDIN_FILENO);
    const pid_t child = rt_process_fork(SIGKILL);
    if (child == 0) {
        require(handled_as(SIGCHLD, SIG_DFL) && handled_as(SIGPIPE, SIG_DFL), 2);
        require(handled_as(SIGXFSZ, SIG_IGN), 3);
        require(has_empty_mask(), 4);
        require(fcntl(STDIN_FILENO, F_GETFD) >= 0, 5);
        require(!close(ends[1]) && !read(ends[0], &byte, 1), 6);
        _exit(7);
    }
    signal(SIGCHLD, SIG_DFL);
    close(ends[1]);
    require(rt_process_wait(child, &how) && WIFEXITED(how), 8);
    _exit(WEXITSTATUS(how));
}

TEST_OF_LIFE(a_child_whose_parent_has_ended_already_ends, 0)
{
    int how;
    orphan = true;
    const pid_t child = rt_process_fork(SIGTERM);
    if (child == 0)
        _exit(0);
    require(rt_process_wait(child, &how), 1);
    require(WIFSIGNALED(how) && WTERMSIG(how) == SIGTERM, 2);
}

static volatile sig_atomic_t heard;

static void hear(int number)
{
    heard = number;
}

/* The parent kills itself once the child can receive signals. Shared memory shows the signal
 * received. */
TEST(a_child_gets_its_signal_when_its_parent_is_killed)
{
    const struct timespec moment = {0, 2000000L};
    volatile int *state =
        mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t parent = fork();
    if (parent == 0) {
        const pid_t child = rt_process_fork(SIGTERM);
        if (child == 0) {
            signal(SIGTERM, hear);
            *state = -1;
            alarm(30);
            while (!heard)
                nanosleep(&moment, NULL);
            *state = heard;
            _exit(0);
        }
        while (*state != -1)
            nanosleep(&moment, NULL);
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
    for (int i = 0; i < 5000 && *state <= 0; i++)
        nanosleep(&moment, NULL);
    ck_assert_int_eq(*state, SIGTERM);
    munmap((void *)state, sizeof *state);
}

TEST(a_child_that_cannot_be_waited_for_has_ended_with_exit_code_1)
{
    int how = -1, how_of_wait = -1;
    signal(SIGCHLD, SIG_IGN);
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    ck_assert(!rt_process_wait(child, &how_of_wait));
    ck_assert(rt_process_ended(child, &how));
    signal(SIGCHLD, SIG_DFL);
    ck_assert(WIFEXITED(how_of_wait) && WIFEXITED(how));
    ck_assert_int_eq(WEXITSTATUS(how_of_wait), 1);
    ck_assert_int_eq(WEXITSTATUS(how), 1);
}

TEST(a_running_child_is_not_reported_as_ended)
{
    int how = -1, ends[2];
    ck_assert(!pipe(ends));
    const pid_t child = rt_process_fork(SIGKILL);
    if (child == 0) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 9 : 1);
    }
    ck_assert(!rt_process_ended(child, &how));
    close(ends[0]);
    close(ends[1]);
    ck_assert(rt_process_wait(child, &how));
    ck_assert_int_eq(WEXITSTATUS(how), 9);
}

static const char *signal_name;

/* A shell that signals itself goes on where the signal is ignored. */
static void become_a_shell_that_is_signalled(void)
{
    char *const arguments[] = {(char *)"sh", (char *)"-c",
                               (char *)lasting("kill -%s $$; exit 2", signal_name), NULL};
    rt_process_normalize();
    block_all();
    rt_process_exec(arguments);
    _exit(1);
}

TEST(a_started_program_has_default_signals)
{
    signal_name = "XFSZ";
    expect_end_of(become_a_shell_that_is_signalled, 128 + SIGXFSZ);
    signal_name = "PIPE";
    expect_end_of(become_a_shell_that_is_signalled, 128 + SIGPIPE);
}
