#define _GNU_SOURCE /* pipe2 */
#include "train/world/helper.h"

#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a helper tells: the process of a job that it has started, or how it has ended. */
typedef struct news {
    enum { STARTED, ENDED } kind;
    int value;
} news;

struct rt_helper {
    pid_t process;
    int to, from; /* pipes */
    pid_t job;    /* under way, or 0 */
};

/* A signal to all processes of the group is for the job: the helper stays to tell its end. */
static void pass_over(int number)
{
    (void)number;
}

static void stay(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};
    struct sigaction action = {.sa_handler = pass_over, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static bool write_all(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got = write(fd, (const char *)data + done, size - done);
        if (got < 0 && errno != EINTR)
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

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

/* The job of a process whose launcher has gone ends as one that is asked to stop. */
static pid_t start_job(rt_helper_job *job, const void *context, const char *text)
{
    const pid_t process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(job(context, text));
    }
    return process;
}

/* The life of the helper. */
static void serve(int from, int to, rt_helper_job *job, const void *context)
{
    size_t size;
    int how;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    stay();
    while (read_all(from, &size, sizeof size)) {
        char *text = rt_alloc(size, 1);
        if (!text || !read_all(from, text, size))
            return;
        const pid_t process = start_job(job, context, text);
        rt_free(text);
        news started = {STARTED, (int)process};
        if (!write_all(to, &started, sizeof started))
            return;
        if (process < 0)
            continue;
        while (waitpid(process, &how, 0) < 0 && errno == EINTR) {
        }
        news ended = {ENDED, how};
        if (!write_all(to, &ended, sizeof ended))
            return;
    }
}

static void close_all(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

rt_status rt_helper_begin(rt_helper **helper_new, rt_helper_job *job, const void *context)
{
    int pipes[4];
    *helper_new = NULL;
    rt_helper *h = rt_alloc(1, sizeof *h);
    if (!h)
        return rt_out_of_memory("a helper");
    /* Closed on exec: a daemon that MPI starts must not keep them. */
    const bool first = !pipe2(pipes, O_CLOEXEC), second = first && !pipe2(pipes + 2, O_CLOEXEC);
    h->process = second ? fork() : -1;
    if (h->process == 0) {
        close(pipes[1]);
        close(pipes[2]);
        serve(pipes[0], pipes[3], job, context);
        _exit(0);
    }
    if (h->process < 0) {
        rt_status status = rt_error(RT_IO, "a helper cannot be started: %s", strerror(errno));
        close_all(pipes, 2 * first + 2 * second);
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
    close(h->to);
    while (waitpid(h->process, NULL, 0) < 0 && errno == EINTR) {
    }
    close(h->from);
    rt_free(h);
}

bool rt_helper_start(rt_helper *h, const char *text)
{
    const size_t size = strlen(text) + 1;
    news started;
    if (!write_all(h->to, &size, sizeof size) || !write_all(h->to, text, size) ||
        !read_all(h->from, &started, sizeof started) || started.value < 0)
        return false;
    h->job = started.value;
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
    news ended;
    if (!h->job || poll(&ready, 1, 0) < 1)
        return false;
    h->job = 0;
    *how = read_all(h->from, &ended, sizeof ended) ? ended.value : 1 << 8; /* exit code 1 */
    return true;
}
