#define _GNU_SOURCE /* pipe2 */
#include "train/world/helper.h"

#include "core/memory.h"
#include "util/files.h"
#include "util/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct rt_helper {
    pid_t process;
    int to, from; /* pipes to and from the helper */
    pid_t job;    /* running job, or 0 */
};

/* Reads all bytes. Returns false at the end of the pipe or on an error. */
static bool read_all(int fd, void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got = read(fd, (char *)data + done, size - done);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Runs jobs until the other end of the pipe is closed. Replies for each job with its process, an
 * int below 0 if it could not be started, and its wait status. Its end sends SIGTERM to a job.
 *
 * Blocks SIGCHLD and the signals that request a stop, to wait for both. A stop is passed on to the
 * job; the helper continues, to report the end of the job. */
static void serve(int from, int to, void (*listen)(void), rt_helper_job *job, const void *context)
{
    const struct timespec now = {0};
    int numbers[RT_STOP_SIGNALS];
    const int count = rt_process_stop_signals(numbers);
    sigset_t blocked;
    size_t size;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    for (int i = 0; i < count; i++)
        sigaddset(&blocked, numbers[i]);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    listen();
    while (read_all(from, &size, sizeof size)) {
        RT_OWNED char *text = rt_alloc(size, 1);
        if (!text || !read_all(from, text, size))
            return;
        while (sigtimedwait(&blocked, NULL, &now) > 0) { /* those that came without a job */
        }
        const int process = (int)rt_process_fork(SIGTERM);
        if (process == 0)
            _exit(job(context, text));
        if (!rt_write_all(to, &process, sizeof process))
            return;
        if (process < 0)
            continue;
        int how;
        while (!rt_process_ended(process, &how)) {
            const int number = sigwaitinfo(&blocked, NULL);
            if (number > 0 && number != SIGCHLD)
                kill(process, SIGTERM);
        }
        if (!rt_write_all(to, &how, sizeof how))
            return;
    }
}

rt_status rt_helper_begin(rt_helper **helper_new, void (*listen)(void), rt_helper_job *job,
                          const void *context)
{
    int pipes[4];
    *helper_new = NULL;
    rt_helper *h = rt_alloc(1, sizeof *h);
    RT_TRY(rt_allocated(h, "a helper"));
    /* closed by exec: a daemon that MPI starts must not keep the pipes */
    const bool first = !pipe2(pipes, O_CLOEXEC), second = first && !pipe2(pipes + 2, O_CLOEXEC);
    h->process = second ? rt_process_fork(SIGKILL) : -1;
    if (h->process == 0) {
        close(pipes[1]);
        close(pipes[2]);
        serve(pipes[0], pipes[3], listen, job, context);
        _exit(0);
    }
    if (h->process < 0) {
        rt_status status = rt_error(RT_IO, "a helper cannot be started: %s", strerror(errno));
        for (int i = 0; i < 2 * first + 2 * second; i++)
            close(pipes[i]);
        rt_free(h);
        return status;
    }
    close(pipes[0]);
    close(pipes[3]);
    h->to = pipes[1];
    h->from = pipes[2];
    *helper_new = h;
    return rt_ok();
}

void rt_helper_end(rt_helper *h)
{
    if (!h)
        return;
    int how;
    close(h->to);
    rt_process_wait(h->process, &how);
    close(h->from);
    rt_free(h);
}

bool rt_helper_start(rt_helper *h, const char *text)
{
    const size_t size = strlen(text) + 1;
    int process;
    if (!rt_write_all(h->to, &size, sizeof size) || !rt_write_all(h->to, text, size) ||
        !read_all(h->from, &process, sizeof process) || process < 0)
        return false;
    h->job = process;
    return true;
}

void rt_helper_signal(rt_helper *h, int number)
{
    if (h->job > 0)
        kill(h->job, number);
}

bool rt_helper_ended(rt_helper *h, int *how)
{
    struct pollfd ready = {.fd = h->from, .events = POLLIN};
    if (!h->job || poll(&ready, 1, 0) < 1)
        return false;
    h->job = 0;
    if (!read_all(h->from, how, sizeof *how))
        *how = 1 << 8; /* exit code 1 */
    return true;
}
