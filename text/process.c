#include "text/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- inherited state ---- */

/* A file that is opened while a standard stream is closed would take its place, and get what
 * is printed. Results that are printed to a closed stream must fail: it is not written to. */
static void occupy_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

void rt_process_normalize(void)
{
    sigset_t none;
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    occupy_standard_streams();
}

static bool is_ignored(int number)
{
    struct sigaction now;
    return !sigaction(number, NULL, &now) && now.sa_handler == SIG_IGN;
}

int rt_process_stop_signals(int numbers[RT_STOP_SIGNALS])
{
    int count = 0;
    numbers[count++] = SIGINT;
    numbers[count++] = SIGTERM;
    numbers[count++] = SIGUSR1;
    if (!is_ignored(SIGHUP))
        numbers[count++] = SIGHUP;
    return count;
}

/* ---- children ---- */

pid_t rt_process_fork(int ending)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        rt_process_normalize();
        prctl(PR_SET_PDEATHSIG, ending);
        if (getppid() != parent)
            raise(ending);
    }
    return child;
}

void rt_process_exec(char *const *arguments)
{
    rt_process_normalize();
    signal(SIGXFSZ, SIG_DFL);
    execvp(arguments[0], arguments);
}

/* 0 as long as the child has not ended, below 0 if it cannot be waited for. */
static pid_t collect(pid_t child, int *how, int options)
{
    const int exit_code_1 = 1 << 8;
    pid_t ended;
    do
        ended = waitpid(child, how, options);
    while (ended < 0 && errno == EINTR);
    if (ended < 0)
        *how = exit_code_1;
    return ended;
}

bool rt_process_wait(pid_t child, int *how)
{
    return collect(child, how, 0) > 0;
}

bool rt_process_ended(pid_t child, int *how)
{
    return collect(child, how, WNOHANG) != 0;
}
