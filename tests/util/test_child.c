/* Results of a child process that answers, crashes, hangs, or lies. */

#include "util/process.h"

#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A function that a child runs. */
#define WORK(name)                                                                                 \
    static rt_status name(void *context __attribute__((unused)),                                   \
                          unsigned char **answer_new __attribute__((unused)),                      \
                          size_t *size __attribute__((unused)))

static const rt_child_limits limits = {64 << 20, 8 << 20, 10, -1};

/* Expects no child and no descriptor of the pipe to be left. */
static rt_status run_within(rt_child_limits l, rt_child_work *work, void *context,
                            unsigned char **answer, size_t *size)
{
    const int before = dup(STDIN_FILENO);
    rt_status status = rt_child_run(work, context, &l, answer, size);
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
    ck_assert_int_eq(errno, ECHILD);
    close(before);
    const int after = dup(STDIN_FILENO);
    ck_assert_int_eq(before, after);
    close(after);
    ck_assert_int_eq(!status.code, *answer != NULL);
    return status;
}

static void expect_with(rt_child_limits l, rt_child_work *work, void *context, rt_code code,
                        const char *message)
{
    unsigned char *answer;
    size_t size;
    const rt_status status = run_within(l, work, context, &answer, &size);
    rt_free(answer);
    is_status(status, code, message);
}

static void expect(rt_child_limits l, rt_child_work *work, rt_code code, const char *message)
{
    expect_with(l, work, NULL, code, message);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

WORK(count_up)
{
    *size = *(size_t *)context;
    *answer_new = rt_alloc(*size, 1);
    for (size_t i = 0; *answer_new && i < *size; i++)
        (*answer_new)[i] = (unsigned char)(i * 7);
    return *answer_new ? rt_ok() : rt_out_of_memory("an answer");
}

SUITE(.timeout = 60)

TEST(an_answer_of_any_size_is_returned)
{
    static const size_t sizes[] = {0, 1, 65536, 65537, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *answer;
        size_t wanted = sizes[i], size;
        rt_status status = run_within(limits, count_up, &wanted, &answer, &size);
        ck_assert_str_eq(status.message, "");
        ck_assert_uint_eq(size, wanted);
        size_t same = 0;
        while (same < size && answer[same] == (unsigned char)(same * 7))
            same++;
        ck_assert_uint_eq(same, size);
        rt_free(answer);
    }
    /* an answer longer than allowed is refused */
    expect_with(limits, count_up, &(size_t){limits.answer + 1}, RT_CHECK,
                "the parser returned an invalid reply");
    /* children that are not waited for answer too */
    signal(SIGCHLD, SIG_IGN);
    expect_with(limits, count_up, &(size_t){5}, RT_OK, "");
    signal(SIGCHLD, SIG_DFL);
}

WORK(complain)
{
    return rt_error(RT_DATA, "a\033[2J\nb \xc3\xa9");
}

WORK(claim_success_of_a_check)
{
    return rt_error(RT_CHECK, "all is well");
}

WORK(crash)
{
    abort();
}

WORK(die)
{
    raise(SIGKILL);
    return rt_ok();
}

WORK(leave)
{
    _exit(3);
}

static volatile int endless = 1;

WORK(compute)
{
    while (endless)
        continue;
    return rt_ok();
}

WORK(sleep_on)
{
    while (endless)
        pause();
    return rt_ok();
}

TEST(a_child_that_exceeds_its_time_is_killed)
{
    const rt_child_limits short_limits = {64 << 20, 100, 1, -1};
    expect(short_limits, compute, RT_CHECK, "reading it took more than 1 s");
    const double start = seconds();
    expect(short_limits, sleep_on, RT_CHECK, "reading it took more than 1 s");
    ck_assert_double_le(seconds() - start, 3.9);
}

static void wait_for(double time)
{
    const struct timespec t = {(time_t)time, (long)(1e9 * fmod(time, 1))};
    nanosleep(&t, NULL);
}

/* The context is the descriptor to which it tells that it has begun. */
WORK(answer_late)
{
    if (write(*(const int *)context, "", 1) != 1)
        return rt_error(RT_IO, "nobody listens");
    wait_for(3.8);
    *answer_new = rt_alloc(*size = 1, 1);
    return rt_ok();
}

/* A terminal suspends all processes of a job. The limit of the clock is 3 seconds here. */
TEST(time_in_which_a_process_is_suspended_does_not_count)
{
    int how, begun[2];
    char byte;
    ck_assert_int_eq(pipe(begun), 0);
    const rt_child_limits short_limits = {64 << 20, 100, 1, begun[1]};
    const pid_t process = fork();
    if (process == 0) {
        unsigned char *answer;
        size_t size;
        const rt_status status =
            rt_child_run(answer_late, &begun[1], &short_limits, &answer, &size);
        _exit(status.code != RT_OK);
    }
    ck_assert_int_gt(process, 0);
    close(begun[1]);
    ck_assert_int_eq(read(begun[0], &byte, 1), 1);
    close(begun[0]);
    kill(process, SIGSTOP);
    wait_for(3.2);
    kill(process, SIGCONT);
    ck_assert_int_eq(waitpid(process, &how, 0), process);
    ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
WORK(want_much)
{
    size_t much = (size_t)1 << 30;
    return count_up(&much, answer_new, size);
}

TEST_ROWS(memory_is_limited, 0, UNSANITIZED)
{
    expect(limits, want_much, RT_MEMORY, "out of memory for an answer");
}
#endif

/* Answer of a child that is taken over. */
typedef struct lie {
    uint64_t code;
    uint64_t size;
    size_t bytes; /* that follow */
} lie;

static const lie lies[] = {
    {RT_OK, UINT64_MAX, 0}, {RT_OK, (8 << 20) + 1, 0}, {RT_OK, 10, 9},
    {RT_OK, 10, 11},        {RT_OK, 0, 70000},         {RT_DATA, RT_MESSAGE_SIZE, RT_MESSAGE_SIZE},
    {RT_DATA, 1 << 30, 5},  {RT_CONFIG, 3, 3},         {12345, 3, 3},
    {UINT64_MAX, 3, 3},
};

/* The pipe is the only descriptor that is left beside the standard ones. */
static int find_pipe(void)
{
    int file = STDERR_FILENO + 1;
    while (fcntl(file, F_GETFD) < 0)
        file++;
    return file;
}

WORK(lie_about_it)
{
    static char bytes[70000];
    const lie *l = context;
    const int pipe = find_pipe();
    memset(bytes, 'x', sizeof bytes);
    if (write(pipe, l, 2 * sizeof(uint64_t)) < 0 || write(pipe, bytes, l->bytes) < 0)
        _exit(9);
    _exit(0);
}

TEST_ROWS(an_invalid_reply_of_a_child_is_refused, 0, ROWS(lies))
{
    lie l = lies[_i];
    expect_with(limits, lie_about_it, &l, RT_CHECK, "the parser returned an invalid reply");
}

WORK(say_nothing)
{
    _exit(0);
}

WORK(hang_up)
{
    close(find_pipe());
    return sleep_on(context, answer_new, size);
}

static const struct {
    rt_child_work *work;
    rt_code code;
    const char *message;
} ends[] = {
    {complain, RT_DATA, "a?[2J?b \xc3\xa9"}, /* without what would control a terminal */
    {claim_success_of_a_check, RT_CHECK, "the parser returned an invalid reply"},
    {crash, RT_CHECK, "reading it crashed (signal 6)"},
    {die, RT_CHECK, "reading it crashed (signal 9)"},
    {leave, RT_CHECK, "reading it ended with code 3"},
    {say_nothing, RT_CHECK, "the parser returned no reply"},
    {hang_up, RT_CHECK, "reading it crashed (signal 9)"},
};

TEST_ROWS(the_way_a_child_ends_is_reported, 0, ROWS(ends))
{
    expect(limits, ends[_i].work, ends[_i].code, ends[_i].message);
}

WORK(tell_descriptors)
{
    const int *files = context;
    size_t one = 1;
    if (fcntl(files[0], F_GETFD) < 0 || fcntl(files[1], F_GETFD) >= 0)
        return rt_error(RT_DATA, "the wrong descriptor is open");
    return count_up(&one, answer_new, size);
}

TEST(a_child_has_only_one_descriptor)
{
    for (int turn = 0; turn < 2; turn++) {
        const int opened[2] = {open("/dev/null", O_RDWR), open("/dev/null", O_RDWR)};
        int files[2] = {opened[turn], opened[!turn]};
        rt_child_limits l = limits;
        l.keep = files[0];
        expect_with(l, tell_descriptors, files, RT_OK, "");
        close(files[0]);
        close(files[1]);
    }
}

static void do_nothing(int number)
{
    (void)number;
}

TEST(a_signal_does_not_wait_for_the_limit)
{
    struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART}, before;
    const double start = seconds();
    sigaction(SIGALRM, &action, &before);
    const unsigned left = alarm(1);
    expect(limits, sleep_on, RT_IO, "interrupted by a signal while a file was read");
    ck_assert_double_le(seconds() - start, 5);
    sigaction(SIGALRM, &before, NULL);
    alarm(left);
}

WORK(answer_nothing)
{
    return rt_ok();
}

TEST(exhausted_descriptors_and_memory_are_errors)
{
    struct rlimit before, none;
    unsigned char *answer;
    size_t wanted = 5, size;
    getrlimit(RLIMIT_NOFILE, &before);
    const int next = dup(STDIN_FILENO);
    close(next);
    none = before;
    none.rlim_cur = (rlim_t)next + 1;
    setrlimit(RLIMIT_NOFILE, &none);
    const rt_status status = rt_child_run(count_up, &wanted, &limits, &answer, &size);
    setrlimit(RLIMIT_NOFILE, &before);
    is_status(status, RT_IO, "cannot make a pipe: Too many open files");
    ck_assert_ptr_null(answer);
    rt_memory_fail_at(1);
    expect(limits, answer_nothing, RT_MEMORY, "out of memory for what was read of a file");
}

/* A slow disk reads 8 MiB in a second. */
TEST(a_larger_file_has_more_time)
{
    ck_assert_uint_eq(rt_child_seconds(0), 10);
    ck_assert_uint_eq(rt_child_seconds((size_t)8 << 20), 11);
    ck_assert_uint_eq(rt_child_seconds((size_t)800 << 20), 110);
}
