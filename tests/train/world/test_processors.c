/* The usable processors on machines of any size, with an invented kernel; and the variables of
 * launchers. */

#define _GNU_SOURCE /* sched_getaffinity */

#include "train/world/world.h"

#include "suite.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

/* A kernel that is built for so many processors, and allows some of them; 0 of them: it has no such
 * call. */
static size_t built_for;
static size_t allowed[3];
static int allowed_count;

/* Replaces the function of the C library. */
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
        ck_assert_int_eq(rt_processors(NULL), 3);
    }
}

TEST(the_same_processors_have_the_same_digest)
{
    uint64_t one, other;
    allow(8192, 1, 2, 8000);
    ck_assert(rt_processors(&one) == 3 && rt_processors(&other) == 3 && one && one == other);
    allow(8192, 1, 2, 8001);
    ck_assert(rt_processors(&other) == 3 && one != other);
}

TEST(online_processors_are_counted_where_the_affinity_is_unknown)
{
    uint64_t digest;
    built_for = 0;
    ck_assert_int_eq(rt_processors(&digest), (int)sysconf(_SC_NPROCESSORS_ONLN));
    ck_assert(!digest);
    allow(8192, 1, 2, 8000);
    rt_memory_fail_at(1);
    ck_assert_int_ge(rt_processors(NULL), 1);
}

static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",  "SLURM_STEP_NUM_TASKS",
                                    "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                    "SLURM_PROCID"};

/* Removes the variables of a launcher, which may have started the tests, too. */
static void leave_launcher(void)
{
    for (int i = 0; i < ROWS(names); i++)
        unsetenv(names[i]);
}

TEST_ROWS(size_and_rank_are_those_of_the_launcher, 0, 4)
{
    static const struct {
        const char *size, *rank;
    } launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                     {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"},
                     {"PMI_SIZE", "PMI_RANK"},
                     {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
    leave_launcher();
    setenv(launchers[_i].rank, "2", 1);
    ck_assert_int_eq(rt_world_launched_size(), 1);
    ck_assert_int_eq(rt_world_launched_rank(), 0); /* of one process */
    setenv(launchers[_i].size, "3", 1);
    ck_assert_int_eq(rt_world_launched_size(), 3);
    ck_assert_int_eq(rt_world_launched_rank(), 2);
}

/* The next variable counts instead. */
TEST(a_launcher_variable_that_is_no_number_is_ignored)
{
    static const char *const values[] = {"",   "4x",  "4 ",      "four",
                                         "-1", "4.5", "1048576", "99999999999999999999"};
    leave_launcher();
    for (int i = 0; i < ROWS(values); i++) {
        setenv("OMPI_COMM_WORLD_SIZE", values[i], 1);
        setenv("OMPI_COMM_WORLD_RANK", values[i], 1);
        ck_assert_msg(rt_world_launched_size() == 1, "'%s' is %d", values[i],
                      rt_world_launched_size());
        setenv("PMI_SIZE", "2", 1);
        setenv("PMI_RANK", "1", 1);
        ck_assert_msg(rt_world_launched_size() == 2 && rt_world_launched_rank() == 1,
                      "'%s' hides what comes after it", values[i]);
        unsetenv("PMI_SIZE");
        unsetenv("PMI_RANK");
    }
    leave_launcher();
}
