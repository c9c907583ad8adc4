/* Variables of launchers that a process reads from its environment. */

#include "suite.h"

#include "train/world/world.h"

static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",  "SLURM_STEP_NUM_TASKS",
                                    "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                    "SLURM_PROCID"};
enum { NAMES = sizeof names / sizeof *names };

/* Whoever runs the tests may have been launched, too. */
static void leave_launcher(void)
{
    for (int i = 0; i < NAMES; i++)
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

/* As if there were no such variable, so that the next one counts. */
TEST(what_is_no_number_of_processes_is_passed_over)
{
    static const char *const values[] = {"",   "4x",  "4 ",      "four",
                                         "-1", "4.5", "1048576", "99999999999999999999"};
    leave_launcher();
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
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
