/* The best of the evaluations of a run, and the patience with those that bring no improvement. */

#include "suite.h"
#include "train/run/state.h"

/* Adds the losses as evaluations every 10 steps. The letter of each is b for the best so far, e
 * where the patience has run out, and E for both. */
static void expect_course(double min_delta, int patience, const double *losses,
                          const char *expected)
{
    const rt_train_options o = {.eval_every = 10, .patience = patience, .min_delta = min_delta};
    rt_evaluations e = RT_NO_EVALUATIONS;
    char course[32] = "";
    for (int i = 0; losses[i] > 0; i++) {
        const bool best = rt_evaluations_add(&e, &o, 10 * (i + 1), losses[i]);
        const bool ended = rt_evaluations_stalled(&e, &o);
        course[i] = best ? (ended ? 'E' : 'b') : ended ? 'e' : '-';
    }
    ck_assert_str_eq(course, expected);
}

#define LOSSES(...) ((const double[]){__VA_ARGS__, 0})

TEST(patience_is_a_number_of_evaluations_in_a_row)
{
    expect_course(0, 2, LOSSES(3, 2, 2.5, 1, 1, 0.5, 0.6, 0.7, 0.8, 0.1), "bb-b-b-eeb");
    expect_course(0, 1, LOSSES(3, 3), "be");
    expect_course(0, 3, LOSSES(1, 2, 2, 0.9, 2, 2, 2), "b--b--e");
}

TEST(without_patience_no_run_ends)
{
    expect_course(0, 0, LOSSES(1, 2, 3, 4, 5), "b----");
}

/* A slowly falling loss counts as improved once it has fallen by enough since the last improvement.
 */
TEST(an_improvement_is_measured_from_the_last_one)
{
    expect_course(0.5, 2, LOSSES(3, 2.75, 2.5, 2.25, 2, 1.75), "bbbbbb");
    expect_course(0.5, 2, LOSSES(3, 2.75, 2.625, 2.5), "bbEb");
    expect_course(0.5, 2, LOSSES(3, 2.875, 3, 2.75), "bbeE");
}

TEST(an_extra_evaluation_of_the_last_step_does_not_count_for_patience)
{
    const rt_train_options o = {.eval_every = 10, .patience = 1};
    rt_evaluations e = RT_NO_EVALUATIONS;
    ck_assert(rt_evaluations_add(&e, &o, 10, 2));
    ck_assert(!rt_evaluations_add(&e, &o, 15, 1));
    ck_assert(!rt_evaluations_stalled(&e, &o));
    ck_assert(e.loss == 1);
    ck_assert(e.best_loss == 2 && e.best_step == 10 && e.reference == 2 && !e.stalled);
    ck_assert(rt_evaluations_add(&e, &o, 20, 1.5));
}
