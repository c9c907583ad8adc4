/* The schedule and clipping by hand; the update rules are held against public trajectories in
 * tests/reference. */

#include "optim/options.h"
#include "optim/rules.h"
#include "suite.h"

TEST(the_learning_rate_follows_its_schedule)
{
    rt_optimizer_options o = {.lr = 1,
                              .warmup_steps = 4,
                              .schedule_steps = 14,
                              .min_lr_ratio = 0.1};
    o.schedule = RT_SCHEDULE_COSINE;
    ck_assert_double_eq(rt_learning_rate(&o, 1), 0.25);
    ck_assert_double_eq(rt_learning_rate(&o, 4), 1);
    ck_assert_double_eq(rt_learning_rate(&o, 5), 1);
    ck_assert_double_eq_tol(rt_learning_rate(&o, 10), 0.55, 1e-12); /* half way */
    ck_assert_double_eq_tol(rt_learning_rate(&o, 15), 0.1, 1e-12);
    ck_assert_double_eq_tol(rt_learning_rate(&o, 1000), 0.1, 1e-12);
    o.schedule = RT_SCHEDULE_LINEAR;
    ck_assert_double_eq_tol(rt_learning_rate(&o, 6), 0.91, 1e-12);
    o.schedule = RT_SCHEDULE_CONSTANT;
    ck_assert_double_eq(rt_learning_rate(&o, 1000), 1);
}

TEST(clipping_shortens_to_the_norm_and_never_lengthens)
{
    ck_assert_double_eq_tol(rt_clip_factor(10, 1), 0.1, 1e-7);
    ck_assert_double_eq(rt_clip_factor(0.5, 1), 1);
    ck_assert_double_eq(rt_clip_factor(10, 0), 1);
}
