/* The learning rate of a run that was extended, and the table of the schedules that it had. */

#include "suite.h"

#include "train/config/config.h"

#define HEADING "until_step,lr,schedule,min_lr_ratio,schedule_steps\n"

static const rt_optimizer_options first = {.lr = 1,
                                           .schedule = RT_SCHEDULE_LINEAR,
                                           .min_lr_ratio = 0.1,
                                           .schedule_steps = 10};

static void add(rt_optimizer_options *o, const rt_optimizer_options *before, int step)
{
    expect_ok(rt_past_schedules_add(o, before, step));
}

TEST(each_step_has_the_rate_of_its_schedule)
{
    rt_optimizer_options second = first, third;
    second.lr = 8;
    second.schedule = RT_SCHEDULE_CONSTANT;
    add(&second, &first, 10);
    third = second;
    third.lr = 4;
    third.schedule_steps = 100;
    third.schedule = RT_SCHEDULE_LINEAR;
    add(&third, &second, 20);
    ck_assert_int_eq(third.past_count, 2);
    for (int step = 1; step <= 10; step++)
        ck_assert_double_eq(rt_learning_rate(&third, step), rt_learning_rate(&first, step));
    ck_assert_double_eq(rt_learning_rate(&third, 11), 8);
    ck_assert_double_eq(rt_learning_rate(&third, 20), 8);
    ck_assert_double_eq_tol(rt_learning_rate(&third, 21), 4 * (0.1 + 0.9 * 0.8), 1e-12);
    ck_assert_double_eq_tol(rt_learning_rate(&third, 101), 0.4, 1e-12);
}

TEST(an_unchanged_schedule_is_not_recorded)
{
    rt_optimizer_options o = first;
    o.settings.momentum = 0.5;
    add(&o, &first, 10);
    ck_assert_int_eq(o.past_count, 0);
    for (int i = 0; i < 4; i++) {
        rt_optimizer_options other = first;
        other.lr += i == 0;
        other.min_lr_ratio += i == 1;
        other.schedule_steps += i == 2;
        other.schedule = i == 3 ? RT_SCHEDULE_COSINE : other.schedule;
        add(&other, &first, 10);
        ck_assert_int_eq(other.past_count, 1);
        ck_assert_int_eq(other.past[0].until, 10);
    }
}

TEST(a_table_reads_as_it_was_written)
{
    rt_optimizer_options o = first, again = {0};
    o.lr = 0.1;
    add(&o, &first, 10);
    o.schedule = RT_SCHEDULE_COSINE;
    const char *table = owned(rt_past_schedules_write(&o, 0), rt_free);
    const char *whole = owned(rt_past_schedules_write(&o, 30), rt_free);
    ck_assert_str_eq(table, HEADING "10,1,linear,0.1,10\n");
    ck_assert_str_eq(whole, HEADING "10,1,linear,0.1,10\n30,0.1,cosine,0.1,10\n");
    expect_ok(rt_past_schedules_read(&again, whole, 30));
    ck_assert_str_eq(owned(rt_past_schedules_write(&again, 0), rt_free), whole);
}

static const char *const damaged[] = {
    "",
    "x",
    "until_step,lr\n",
    HEADING "10,1,linear,0.1\n",
    HEADING "10,1,linear,0.1,10",
    HEADING "10,1,linear,0.1,10,5\n",
    HEADING "10,1,linear,0.1,10\n\n",
    HEADING "10,1,linear,0.1,10\n10,1,linear,0.1,10\n",
    HEADING "10,1,linear,0.1,10\n9,1,linear,0.1,10\n",
    HEADING "31,1,linear,0.1,10\n",
    HEADING "0,1,linear,0.1,10\n",
    HEADING "10,-1,linear,0.1,10\n",
    HEADING "10,nan,linear,0.1,10\n",
    HEADING "10,1,quadratic,0.1,10\n",
    HEADING "10,1,linear,2,10\n",
    HEADING "10,1,linear,0.1,-10\n",
    HEADING "10,1,linear,0.1,1000000000000000000000000000000000000000000000000000000000000000000\n",
};

TEST_ROWS(a_damaged_table_is_refused, 0, ROWS(damaged))
{
    rt_optimizer_options o = {0};
    ck_assert_int_eq(rt_past_schedules_read(&o, damaged[_i], 30).code, RT_CONFIG);
    ck_assert_int_eq(o.past_count, 0);
}

TEST(the_number_of_past_schedules_is_limited)
{
    rt_optimizer_options o = first, again = {0};
    for (int i = 0; i < RT_MOST_PAST_SCHEDULES; i++) {
        const rt_optimizer_options before = o;
        o.lr++;
        add(&o, &before, 10 + i);
    }
    const char *full = owned(rt_past_schedules_write(&o, 0), rt_free);
    const char *more = owned(rt_past_schedules_write(&o, 1000), rt_free);
    ck_assert_int_eq(rt_past_schedules_add(&o, &first, 100).code, RT_CONFIG);
    expect_ok(rt_past_schedules_read(&again, full, 1000));
    ck_assert_int_eq(again.past_count, RT_MOST_PAST_SCHEDULES);
    ck_assert_int_eq(rt_past_schedules_read(&again, more, 1000).code, RT_CONFIG);
}
