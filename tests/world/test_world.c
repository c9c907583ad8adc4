/* Communication of processes. Without a launcher the program starts itself as three. */

#include "suite.h"

#include "train/world/world.h"

#include <unistd.h>

enum { SIZE = 3 };

static rt_world *world;

TEST(bytes_that_are_gathered_are_counted)
{
    const size_t starts[SIZE + 1] = {0, 2, 3, 7};
    const int rank = rt_world_rank(world);
    const double before = rt_world_sent(world);
    double numbers[7] = {0};
    for (size_t i = starts[rank]; i < starts[rank + 1]; i++)
        numbers[i] = (double)i + 0.5;
    rt_world_gather(world, numbers, starts, sizeof *numbers);
    for (int i = 0; i < 7; i++)
        ck_assert_double_eq(numbers[i], i + 0.5);
    ck_assert_double_eq(rt_world_sent(world) - before,
                        (double)(starts[rank + 1] - starts[rank]) * 8 * (SIZE - 1));
}

/* Each process sends its number of bytes to both others. */
TEST(bytes_that_are_exchanged_are_counted)
{
    enum { MOST = 30 };
    char sent[MOST], got[SIZE][MOST] = {{0}};
    rt_parcel to[SIZE], from[SIZE];
    const int rank = rt_world_rank(world);
    const double before = rt_world_sent(world);
    int count = 0;
    memset(sent, 'a' + rank, sizeof sent);
    for (int other = 0; other < SIZE; other++)
        if (other != rank) {
            to[count] = (rt_parcel){other, sent, (size_t)(rank + 1) * 10};
            from[count++] = (rt_parcel){other, got[other], (size_t)(other + 1) * 10};
        }
    rt_world_exchange(world, to, count, from, count);
    for (int other = 0; other < SIZE; other++)
        for (int i = 0; i < MOST; i++)
            ck_assert_int_eq(got[other][i],
                             other != rank && i < (other + 1) * 10 ? 'a' + other : 0);
    ck_assert_double_eq(rt_world_sent(world) - before, (rank + 1) * 10 * (SIZE - 1));
}

TEST(other_bytes_are_not_counted)
{
    const double before = rt_world_sent(world);
    int64_t numbers[] = {rt_world_rank(world), 1};
    char text[] = "ab";
    text[0] = (char)('0' + rt_world_rank(world));
    rt_world_broadcast(world, text, 1);
    rt_world_sum(world, numbers, 2);
    ck_assert_str_eq(text, "0b");
    ck_assert_int_eq(numbers[0], 0 + 1 + 2);
    ck_assert_int_eq(numbers[1], SIZE);
    ck_assert_double_eq(rt_world_sent(world), before);
}

/* Process 0 prints the messages, so its own need no name. */
TEST_ROWS(all_ranks_report_the_first_failure, 0, 6)
{
    static const struct {
        bool fails[SIZE];
        int first;
    } rows[] = {{{true, false, false}, 0}, {{false, true, false}, 1}, {{false, false, true}, 2},
                {{true, true, true}, 0},   {{false, true, true}, 1},  {{false}, -1}};
    static const rt_code codes[SIZE] = {RT_IO, RT_DATA, RT_CONFIG};
    const int rank = rt_world_rank(world), first = rows[_i].first;
    char expected[sizeof((rt_status *)0)->message] = "";
    rt_status status = rows[_i].fails[rank] ? rt_error(codes[rank], "%d is full", rank) : rt_ok();
    status = rt_world_agree(world, status);
    if (first > 0)
        snprintf(expected, sizeof expected, "process %d on %s: %d is full", first,
                 rt_world_host(world, first), first);
    ck_assert_str_eq(status.message, first ? expected : "0 is full");
    ck_assert_int_eq(status.code, first < 0 ? RT_OK : codes[first]);
    ck_assert_int_eq(rt_world_any(world, rank == first), first >= 0);
}

TEST(a_differing_text_is_reported_by_its_first_differing_line)
{
    char expected[sizeof((rt_status *)0)->message];
    const int rank = rt_world_rank(world);
    const char *text = rank ? "one\ntwo\nthree" : "one\n2\n3";
    rt_status status = rt_world_compare(world, RT_DATA, "the list is", text, "count again");
    snprintf(expected, sizeof expected,
             "process 1 on %s: the list is not the same on all processes: 'two' here, '2' at "
             "process 0 on %s; count again",
             rt_world_host(world, 1), rt_world_host(world, 0));
    ck_assert_str_eq(status.message, expected);
    ck_assert_int_eq(status.code, RT_DATA);
    ck_assert(!rt_world_compare(world, RT_DATA, "the list is", "one\ntwo", NULL).code);
}

/* Copying between processes without a buffer is not allowed in many containers. */
static int launch(const char *program)
{
    static const char *const settings[][2] = {{"CK_FORK", "no"},
                                              {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                              {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                              {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                              {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                              /* those two in Open MPI 5 */
                                              {"PRTE_MCA_rmaps_default_mapping_policy",
                                               ":OVERSUBSCRIBE"},
                                              {"PRTE_MCA_hwloc_default_binding_policy", "none"},
                                              {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setenv(settings[i][0], settings[i][1], 1);
    if (system("command -v mpirun >/dev/null")) {
        printf("SKIP test_world: needs mpirun\n");
        return 77;
    }
    execlp("timeout", "timeout", "60", "mpirun", "--mca", "btl", "self,vader", "-n", "3", program,
           (char *)NULL);
    perror("timeout");
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc == 1 && rt_world_launched_size() == 1)
        return launch(argv[0]);
    const rt_status status = rt_world_begin(&world);
    if (status.code || rt_world_size(world) != SIZE) {
        fprintf(stderr, "%s; needs %d processes\n", status.message, SIZE);
        return EXIT_FAILURE;
    }
    const int result = suite_main(1, argv);
    rt_world_end(world);
    return result;
}
