/* The tree in which gradients are summed, written out as an expression. */

#include "suite.h"
#include "train/step/summation.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 33, ROOM = 1024 };

/* What block 0 holds after a step: "((0+1)+(2+3))" and the like. */
static void expression(char *text, int shards, int group)
{
    static char blocks[MOST][ROOM];
    rt_summation sums[MOST];
    const int count = rt_summation_blocks(shards, group);
    for (int first = 0; first < shards; first += group) {
        const int block = rt_summation_block(first, group);
        for (int i = 0; i < group && first + i < shards; i++) {
            ck_assert_int_lt(block + i, count);
            snprintf(blocks[block + i], ROOM, "%d", first + i);
        }
        const int planned = rt_summation_plan(sums, shards, group, first);
        ck_assert_int_lt(planned, shards);
        for (int i = 0; i < planned; i++) {
            char sum[2 * ROOM + 8];
            snprintf(sum, sizeof sum, "(%s+%s)", blocks[sums[i].to], blocks[sums[i].from]);
            ck_assert_uint_lt(strlen(sum), ROOM);
            strcpy(blocks[sums[i].to], sum);
        }
    }
    strcpy(text, blocks[0]);
}

START_TEST(pairs_of_pairs_are_summed)
{
    char text[ROOM];
    expression(text, 1, 1);
    ck_assert_str_eq(text, "0");
    expression(text, 4, 4);
    ck_assert_str_eq(text, "((0+1)+(2+3))");
    expression(text, 7, 8);
    ck_assert_str_eq(text, "(((0+1)+(2+3))+((4+5)+6))");
}
END_TEST

START_TEST(the_tree_is_the_same_however_many_work_at_it)
{
    const int shards = _i;
    char all[ROOM], some[ROOM];
    expression(all, shards, rt_summation_group(shards, shards));
    for (int workers = 1; workers < shards; workers++) {
        const int group = rt_summation_group(shards, workers);
        ck_assert_int_ge(rt_summation_blocks(shards, group), workers);
        expression(some, shards, group);
        ck_assert_str_eq(some, all);
    }
}
END_TEST

START_TEST(few_workers_need_few_blocks)
{
    ck_assert_int_eq(rt_summation_blocks(16, rt_summation_group(16, 1)), 5);
    ck_assert_int_eq(rt_summation_blocks(16, rt_summation_group(16, 2)), 6);
    ck_assert_int_eq(rt_summation_blocks(16, rt_summation_group(16, 16)), 16);
    ck_assert_int_eq(rt_summation_blocks(1, rt_summation_group(1, 1)), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("summation");
    TCase *tests = tcase_create("tree");
    tcase_add_test(tests, pairs_of_pairs_are_summed);
    tcase_add_loop_test(tests, the_tree_is_the_same_however_many_work_at_it, 1, MOST);
    tcase_add_test(tests, few_workers_need_few_blocks);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
