/* The tree in which gradients are summed, written out as an expression. */

#include "suite.h"
#include "train/step/private.h"

enum { MOST = 33, ROOM = 1024 };

static void add(char *to, const char *from)
{
    char sum[2 * ROOM + 8];
    snprintf(sum, sizeof sum, "(%s+%s)", to, from);
    ck_assert_uint_lt(strlen(sum), ROOM);
    strcpy(to, sum);
}

/* Works through a range of the shards in groups; the subtrees that it leaves are written to
 * nodes[*count] and so on. Returns the number of blocks. */
static int leave(char (*nodes)[ROOM], rt_subtree *left, int *count, int shards, int first, int end,
                 int group)
{
    static char blocks[MOST][ROOM];
    rt_summation sums[MOST];
    static rt_shard planned[MOST];
    rt_subtrees own = {.shards = shards};
    const int used = rt_subtrees_plan(&own, first, end, group, planned, sums);
    int done = 0;
    for (int start = first; start < end; start += group) {
        const int next = end - start < group ? end : start + group;
        for (int i = start; i < next; i++) {
            ck_assert_int_lt(planned[i].block, used);
            snprintf(blocks[planned[i].block], ROOM, "%d", i);
        }
        for (; done < planned[next - 1].sums; done++)
            add(blocks[sums[done].to], blocks[sums[done].from]);
    }
    for (int i = 0; i < own.count; i++, (*count)++) {
        strcpy(nodes[*count], blocks[own.at[i].block]);
        left[*count] = own.at[i];
        left[*count].block = *count;
    }
    return used;
}

static int count_blocks(int shards, int first, int end, int group)
{
    static char nodes[MOST][ROOM];
    rt_subtree left[MOST];
    int count = 0;
    return leave(nodes, left, &count, shards, first, end, group);
}

/* Writes the sum that processes compute together: "((0+1)+(2+3))" and the like. */
static void expression(char *text, int shards, int processes, int group)
{
    static char nodes[MOST][ROOM];
    rt_subtree left[MOST];
    rt_summation sums[MOST];
    rt_subtrees all = {.shards = shards};
    int count = 0;
    for (int p = 0; p < processes; p++)
        leave(nodes, left, &count, shards, shards * p / processes, shards * (p + 1) / processes,
              group);
    for (int i = 0; i < count; i++) {
        const int planned = rt_subtrees_take(&all, left[i], sums);
        for (int k = 0; k < planned; k++)
            add(nodes[sums[k].to], nodes[sums[k].from]);
    }
    ck_assert_int_eq(all.count, 1);
    ck_assert_int_eq(all.at[0].end - all.at[0].first, shards);
    strcpy(text, nodes[0]);
}

SUITE(.may_leak = true)

TEST(sums_follow_a_binary_tree)
{
    char text[ROOM];
    expression(text, 1, 1, 1);
    ck_assert_str_eq(text, "0");
    expression(text, 4, 1, 4);
    ck_assert_str_eq(text, "((0+1)+(2+3))");
    expression(text, 7, 1, 8);
    ck_assert_str_eq(text, "(((0+1)+(2+3))+((4+5)+6))");
}

TEST_ROWS(the_tree_does_not_depend_on_workers_and_processes, 1, MOST)
{
    const int shards = _i;
    char all[ROOM], some[ROOM];
    expression(all, shards, 1, rt_summation_group(shards, shards));
    for (int processes = 1; processes <= shards; processes++)
        for (int workers = 1; workers < shards; workers++) {
            const int group = rt_summation_group(shards, workers);
            ck_assert_int_ge(count_blocks(shards, 0, shards, group), workers);
            expression(some, shards, processes, group);
            ck_assert_str_eq(some, all);
        }
}

/* A process whose shards are a subtree sends one block; others send a few. */
TEST(a_range_leaves_few_subtrees)
{
    static char nodes[MOST][ROOM];
    static const struct {
        int first, end, count;
    } rows[] = {{0, 16, 1}, {4, 8, 1}, {0, 5, 2}, {5, 10, 3}, {10, 16, 2}, {1, 15, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rt_subtree left[MOST];
        int count = 0;
        leave(nodes, left, &count, 16, rows[i].first, rows[i].end, 2);
        ck_assert_int_eq(count, rows[i].count);
    }
}

TEST(few_workers_need_few_blocks)
{
    ck_assert_int_eq(count_blocks(16, 0, 16, rt_summation_group(16, 1)), 5);
    ck_assert_int_eq(count_blocks(16, 0, 16, rt_summation_group(16, 2)), 6);
    ck_assert_int_eq(count_blocks(16, 0, 16, rt_summation_group(16, 16)), 16);
    ck_assert_int_eq(count_blocks(1, 0, 1, rt_summation_group(1, 1)), 1);
    ck_assert_int_eq(count_blocks(16, 8, 12, rt_summation_group(4, 1)), 3);
}
