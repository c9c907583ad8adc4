#define _GNU_SOURCE /* program_invocation_short_name, close_range, pipe2 */

#include "util/process.h"

#include "core/memory.h"
#include "util/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void rt_process_normalize(void)
{
    sigset_t none;
    int fd;
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* Occupies closed standard streams, because the next opened file would take their place and
     * receive printed text. They are read-only, so printing results to a closed stream fails. */
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int rt_process_stop_signals(int numbers[RT_STOP_SIGNALS])
{
    static const int all[RT_STOP_SIGNALS] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};
    struct sigaction hangup;
    memcpy(numbers, all, sizeof all);
    return !sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler == SIG_IGN ? 3 : 4;
}

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

/* Waits for a child. Returns 0 while it runs, a negative number if it cannot be waited for. */
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

const char *rt_program_name(void)
{
    static const char *const names[] = {"train", "rotor"};
    const char *name = program_invocation_short_name;
    for (int i = 0; i < 2; i++) {
        const size_t length = strlen(names[i]);
        if (!strncmp(name, names[i], length) && !strcmp(name + length, "-f64"))
            return names[i];
    }
    return name;
}

/* A sanitizer reserves terabytes of addresses, and reports on standard error. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum {
    CLOCK_FACTOR = 3,         /* seconds of wall-clock time per second of processor time */
    AFTER_SIGNAL = 1,         /* seconds left to a child after a signal */
    SLICE = 250,              /* milliseconds of one wait */
    LEAST_SECONDS = 10,       /* for the smallest file */
    BYTES_A_SECOND = 8 << 20, /* in addition, for larger files */
    BROKEN = 1                /* exit code of a child that could not answer */
};

/* Header of a message in the pipe, followed by `size` bytes: the answer, or an error message. */
typedef struct header {
    uint64_t code;
    uint64_t size;
} header;

unsigned rt_child_seconds(size_t bytes)
{
    return LEAST_SECONDS + (unsigned)(bytes / BYTES_A_SECOND);
}

static void limit_resources(const rt_child_limits *limits)
{
    char text[32] = ""; /* begins with the address space of the process, in pages */
    const int file = SANITIZED ? -1 : open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    const size_t had = got > 0 ? strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE) : 0;
    if (file >= 0)
        close(file);
    const bool known = had && limits->memory < SIZE_MAX - had;
    const rlim_t most[] = {known ? had + limits->memory : RLIM_INFINITY, limits->seconds, 0};
    for (int i = 0; i < 3; i++) {
        static const int resources[] = {RLIMIT_AS, RLIMIT_CPU, RLIMIT_CORE};
        struct rlimit limit;
        if (getrlimit(resources[i], &limit) || limit.rlim_cur <= most[i])
            continue; /* RLIM_INFINITY is the largest value */
        limit.rlim_cur = most[i];
        setrlimit(resources[i], &limit);
    }
}

/* Redirects the standard streams to /dev/null and closes all other descriptors except `one` and
 * `other`; -1 stands for none. */
static void leave_descriptors(int one, int other)
{
    const unsigned kept[] = {(unsigned)one,
                             (unsigned)other}; /* -1 becomes UINT_MAX: never reached */
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream = 0; stream <= (SANITIZED ? STDOUT_FILENO : STDERR_FILENO); stream++)
        if (null >= 0 && stream != one && stream != other)
            dup2(null, stream);
    for (unsigned first = STDERR_FILENO + 1, end; first; first = end + 1) {
        end = UINT32_MAX;
        for (int i = 0; i < 2; i++)
            if (kept[i] >= first && kept[i] < end)
                end = kept[i];
        if (first < end)
            (void)close_range(first, end - 1, 0);
    }
}

/* Writes the counters of a coverage build. */
extern void __gcov_dump(void) __attribute__((weak));

static _Noreturn void be_child(rt_child_work *work, void *context, const rt_child_limits *limits,
                               int to)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU};
    unsigned char *answer = NULL;
    size_t size = 0;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], SIG_DFL); /* only the parent reports a crash */
    leave_descriptors(to, limits->keep);
    limit_resources(limits);
    const rt_status status = work(context, &answer, &size);
    const header h = {status.code, status.code ? strlen(status.message) : size};
    const bool told =
        rt_write_all(to, &h, sizeof h) &&
        rt_write_all(to, status.code ? (const void *)status.message : (const void *)answer,
                     (size_t)h.size);
    if (__gcov_dump)
        __gcov_dump();
    _exit(told ? 0 : BROKEN);
}

typedef struct listener {
    int from;
    int64_t left;     /* of its time, in milliseconds */
    bool interrupted; /* by a signal with a handler */
    bool late;
    bool ended; /* the end of the pipe was reached */
} listener;

/* Returns the time in milliseconds. */
static int64_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for an answer, and subtracts the wait from the time that is left: at most a slice, because
 * only a process that was suspended waits longer. Returns the result of poll. */
static int wait_for(listener *l)
{
    struct pollfd ready = {.fd = l->from, .events = POLLIN};
    const int64_t slice = l->left < SLICE ? l->left : SLICE, start = clock_now();
    const int count = poll(&ready, 1, (int)slice), error = errno;
    const int64_t passed = clock_now() - start;
    l->left -= count == 0 || passed > slice ? slice : passed;
    errno = error;
    return count;
}

/* Returns the number of bytes read: fewer than `size` only at the end or when no time is left. A
 * signal shortens the time, because a user who sends one does not wait for the limit. */
static size_t listen_for(listener *l, void *to, size_t size)
{
    size_t done = 0;
    while (done < size && !l->late) {
        const int count = wait_for(l);
        if (count < 0 && errno == EINTR) {
            if (!l->interrupted)
                l->left = AFTER_SIGNAL * 1000;
            l->interrupted = true;
            continue;
        }
        l->late = count == 0 && l->left <= 0;
        if (count == 0)
            continue;
        if (count < 0)
            break;
        const ssize_t got = read(l->from, (char *)to + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        l->ended = got <= 0;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static rt_status invalid_answer(void)
{
    return rt_error(RT_CHECK, "the parser returned an invalid reply");
}

static rt_status listen_to(listener *l, const rt_child_limits *limits, unsigned char **answer_new,
                           size_t *size)
{
    char message[RT_MESSAGE_SIZE] = "", more;
    header h;
    if (listen_for(l, &h, sizeof h) < sizeof h)
        return rt_error(RT_CHECK, "the parser returned no reply");
    if (h.size > (h.code ? sizeof message - 1 : limits->answer))
        return invalid_answer();
    if (!h.code && !(*answer_new = rt_alloc_unset((size_t)h.size, 1)))
        return rt_out_of_memory("what was read of a file");
    *size = (size_t)h.size;
    if (listen_for(l, h.code ? (void *)message : *answer_new, *size) < *size ||
        listen_for(l, &more, 1))
        return invalid_answer();
    for (char *c = message; *c; c++) /* control characters could change the terminal */
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    switch (h.code) {
    case RT_OK:
        return rt_ok();
    case RT_MEMORY:
    case RT_IO:
    case RT_DATA:
    case RT_CHECKPOINT:
        return rt_error((rt_code)h.code, "%s", message);
    default:
        return invalid_answer();
    }
}

/* Returns the final status. An answer counts only if the child then ended normally; a child killed
 * while writing did not finish its answer. */
static rt_status judge(rt_status said, const listener *l, const rt_child_limits *limits, int how)
{
    if (l->late && l->interrupted)
        return rt_error(RT_IO, "interrupted by a signal while a file was read");
    if (l->late || (WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU))
        return rt_error(RT_CHECK, "reading it took more than %u s", limits->seconds);
    if (l->ended && WIFSIGNALED(how))
        return rt_error(RT_CHECK, "reading it crashed (signal %d)", WTERMSIG(how));
    if (l->ended && WIFEXITED(how) && WEXITSTATUS(how))
        return rt_error(RT_CHECK, "reading it ended with code %d", WEXITSTATUS(how));
    return said;
}

/* A child whose pipe has closed is already ending, so SIGKILL only affects a child that is late,
 * sends invalid data, or closed the pipe itself. If the child cannot be waited for (SIGCHLD
 * ignored), its answer counts. */
rt_status rt_child_run(rt_child_work *work, void *context, const rt_child_limits *limits,
                       unsigned char **answer_new, size_t *size)
{
    int ends[2];
    *answer_new = NULL;
    *size = 0;
    if (pipe2(ends, O_CLOEXEC))
        return rt_error(RT_IO, "cannot make a pipe: %s", strerror(errno));
    const pid_t child = rt_process_fork(SIGKILL);
    if (child == 0)
        be_child(work, context, limits, ends[1]);
    rt_status status =
        child < 0 ? rt_error(RT_IO, "cannot start a process: %s", strerror(errno)) : rt_ok();
    close(ends[1]);
    if (child > 0) {
        listener l = {.from = ends[0], .left = (int64_t)CLOCK_FACTOR * limits->seconds * 1000};
        int how;
        status = listen_to(&l, limits, answer_new, size);
        kill(child, SIGKILL);
        status = judge(status, &l, limits, rt_process_wait(child, &how) ? how : 0);
    }
    close(ends[0]);
    if (status.code) {
        rt_free(*answer_new);
        *answer_new = NULL;
        *size = 0;
    }
    return status;
}
