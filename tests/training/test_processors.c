/* The processors that may be used, on machines of any size: what the kernel says is made up. */

#define _GNU_SOURCE /* sched_getaffinity */

#include "train/world/world.h"

#include "suite.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

/* A kernel that is built for so many processors, and allows some of them; 0 of them: it has no such
 * call. */
static size_t built_for;
static size_t allowed[3];
static int allowed_count;

/* In the place of that of the C library. */
int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set)
{
    (void)process;
    errno = built_for ? EINVAL : ENOSYS;
    if (!built_for || bytes * 8 < built_for)
        return -1;
    memset(set, 0, bytes);
    for (int i = 0; i < allowed_count; i++)
        CPU_SET_S(allowed[i], bytes, set);
    return 0;
}

static void allow(size_t kernel, size_t a, size_t b, size_t c)
{
    built_for = kernel;
    allowed_count = 3;
    allowed[0] = a;
    allowed[1] = b;
    allowed[2] = c;
}

TEST(processors_are_counted_on_machines_of_any_size)
{
    static const size_t kernels[] = {64, 1024, 1025, 8192, 65536};
    for (int i = 0; i < ROWS(kernels); i++) {
        allow(kernels[i], 0, kernels[i] / 2, kernels[i] - 1);
        ck_assert_int_eq(rt_processors(), 3);
    }
}

TEST(the_same_processors_have_the_same_digest)
{
    allow(8192, 1, 2, 8000);
    const uint64_t one = rt_processors_digest();
    ck_assert(one && one == rt_processors_digest());
    allow(8192, 1, 2, 8001);
    ck_assert(rt_processors_digest() != one);
}

TEST(where_the_kernel_does_not_tell_all_that_are_online_count)
{
    built_for = 0;
    ck_assert_int_eq(rt_processors(), (int)sysconf(_SC_NPROCESSORS_ONLN));
    ck_assert(!rt_processors_digest());
    allow(8192, 1, 2, 8000);
    rt_memory_fail_at(1);
    ck_assert_int_ge(rt_processors(), 1);
}
