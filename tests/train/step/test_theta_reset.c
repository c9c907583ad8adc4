/* A model whose theta is reset to another value, in double. */

#include "train/step/training.h"

#include "train/step/measurements.h"

#include <stdatomic.h>

TEST(a_model_depends_on_theta_if_a_reset_costs_accuracy_or_loss)
{
    static const struct {
        rt_theta_reset reset;
        bool hurts;
    } rows[] = {{{0.1, 0.95, 0.1, 0.95}, false},
                {{0.1, 1, 0.1, 0.99}, false},
                {{0.1, 1, 0.1, 0.9899}, true},
                {{0.1, 0.95, 0.16, 0.95}, false},
                {{0.1, 0.95, 0.1601, 0.95}, true},
                {{0.1, 0.9, 0.16, 0.9}, false},
                {{0.1, 0.8999, 0.1601, 0.9}, true},
                {{0.1, 0.8999, 0.1099, 0.9}, false},
                {{0.1, 0.8999, 0.1101, 0.9}, true},
                {{2, 0.3, 2.02, 0.3}, true},
                {{2, 0.3, 2.009, 0.3}, false},
                {{2, 0.3, 1.5, 0.2}, true},
                {{2, 0.95, 2.9, 0.95}, false},
                {{0, 1, 0.0099, 1}, false},
                {{0, 1, 0.0101, 1}, true},
                {{0.1, 1, (double)NAN, 1}, true},
                {{0.1, 1, (double)INFINITY, 1}, true},
                {{0.1, 0.02, 0.05, 0.02}, false}};
    for (int i = 0; i < ROWS(rows); i++)
        ck_assert_msg(rt_theta_reset_hurts(&rows[i].reset) == rows[i].hurts, "row %d", i);
}

static const char tiny[] = "[model]\nlayers = 2\ndim = 16\nheads = 2\n"
                           "[theta]\nlearn = yes\n"
                           "[data]\ntask = shift\ndistance = 2\nlength = 12\nvocab = 10\n"
                           "[optimizer]\nlr = 0.01\nschedule = constant\n"
                           "[train]\nbatch_size = 16\neval_batches = 3\nshards = 1\n"
                           "[run]\nthreads = 1\n";

static training *t;
static rt_transformer *model;
static bool stopped;

static void begin(const char *const *overrides)
{
    t = new_training(tiny, overrides);
    model = t->state->model;
}

static rt_evaluation evaluate_with(const double *theta, int batches)
{
    rt_evaluation e;
    expect_ok(rt_theta_evaluate(t->trainer, t->config.data.length, batches, theta, NULL, &e));
    return e;
}

static bool same(rt_evaluation a, rt_evaluation b)
{
    return a.loss == b.loss && a.accuracy == b.accuracy && a.labels == b.labels &&
           a.sequences == b.sequences;
}

TEST_ROWS(an_evaluation_with_another_theta_leaves_the_model_to_the_bit, 0, 3)
{
    static const char *const scopes[] = {"theta.scope=model", "theta.scope=layer",
                                         "theta.scope=head"};
    double other[16], own[16];
    begin(OVERRIDES(scopes[_i]));
    take_steps(t, 40);
    const rt_parameters *p = &model->parameters;
    const size_t count = rt_transformer_theta_count(&model->options);
    real *before = rt_alloc(p->block_size, sizeof *before);
    ck_assert(before && count <= 16);
    memcpy(before, p->values, p->block_size * sizeof *before);
    rt_transformer_theta(model, own);
    for (size_t n = 0; n < count; n++)
        other[n] = own[n] * (n % 2 ? 1.3 : 0.6);
    const rt_evaluation kept = evaluate(t), reset = evaluate_with(other, 3),
                        few = evaluate_with(other, 1);
    ck_assert(!memcmp(before, p->values, p->block_size * sizeof *before));
    ck_assert(same(evaluate(t), kept));
    ck_assert_int_eq(few.sequences, 16);
    ck_assert_int_eq(reset.sequences, 48);
    rt_transformer_set_theta(model, other);
    ck_assert(same(evaluate(t), reset) && same(evaluate_batches(t, 1), few));
    ck_assert_double_ne(reset.loss, kept.loss);
    rt_free(before);
}

/* Returns whether e^step times its n-th theta hurts the model, by the definition. */
static bool hurts_at(size_t n, double step)
{
    double theta[16];
    rt_transformer_theta(model, theta);
    const rt_evaluation own = evaluate_with(theta, 1);
    theta[n] *= exp(step);
    const rt_evaluation other = evaluate_with(theta, 1);
    const double most = own.accuracy < 0.9 ? own.loss + 0.01 : 1.5 * own.loss + 0.01;
    return other.accuracy < own.accuracy - 0.01 || other.loss > most;
}

/* The range between two rungs, a factor of about 3, is halved three times at least. */
static int stop_at_once(void)
{
    return 1;
}

TEST(a_tolerance_is_the_farthest_step_that_does_no_harm)
{
    const double resolution = pow(10.0 / 3, 1.0 / 8) * (1 + 1e-9);
    rt_theta_tolerance tolerances[16], none[16];
    int far = 0, near = 0;
    begin(OVERRIDES("theta.scope=layer"));
    take_steps(t, 400);
    ck_assert_double_gt(evaluate_batches(t, 1).accuracy, 0.9);
    const size_t count = rt_transformer_theta_count(&model->options);
    const long before = atomic_load(rt_workers_progress(rt_trainer_workers(t->trainer)));
    evaluate_with(rt_transformer_theta_start(model), 1);
    const long one = atomic_load(rt_workers_progress(rt_trainer_workers(t->trainer))) - before;
    expect_ok(rt_theta_tolerances(t->trainer, t->config.data.length, tolerances, NULL, &stopped));
    const long all =
        atomic_load(rt_workers_progress(rt_trainer_workers(t->trainer))) - before - one;
    ck_assert_int_gt(one, 0);
    ck_assert_int_le(all, one * (1 + 16 * (long)count));
    expect_ok(rt_theta_tolerances(t->trainer, t->config.data.length, none, stop_at_once, &stopped));
    ck_assert(stopped && atomic_load(rt_workers_progress(rt_trainer_workers(t->trainer))) <=
                             before + one + all + one);
    for (size_t n = 0; n < count; n++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const double found = sign < 0 ? tolerances[n].down : tolerances[n].up;
            ck_assert(found >= 0 && found <= 3);
            ck_assert_msg(!hurts_at(n, sign * found), "%zu: %g is too far", n, sign * found);
            far += found == 3;
            if (found == 3)
                continue;
            near++;
            ck_assert_msg(hurts_at(n, sign * fmax(found, 0.003) * resolution),
                          "%zu: %g is not the farthest", n, sign * found);
        }
    ck_assert(far > 0 && near > 0);
}

/* One pair of theta = 0.98763. At e^3 times that each distance is rotated by as much plus full
 * turns: the model works as well there, but not in between. */
TEST(a_tolerance_ends_at_the_first_theta_that_hurts)
{
    rt_theta_tolerance tolerances[16];
    double theta[16];
    begin(OVERRIDES("theta.scope=model", "model.layers=1", "model.heads=1",
                    "position.fraction=0.125", "theta.lr_scale=0"));
    theta[0] = 6 * acos(-1) / (exp(3) - 1);
    rt_transformer_set_theta(model, theta);
    take_steps(t, 400);
    ck_assert(!hurts_at(0, 3));
    ck_assert(hurts_at(0, 1));
    expect_ok(rt_theta_tolerances(t->trainer, t->config.data.length, tolerances, NULL, &stopped));
    ck_assert_double_lt(tolerances[0].up, 1);
}

TEST(a_theta_of_0_has_the_widest_tolerance)
{
    rt_theta_tolerance tolerances[16];
    double theta[16];
    begin(OVERRIDES("theta.form=raw"));
    rt_transformer_theta(model, theta);
    theta[0] = 0;
    rt_transformer_set_theta(model, theta);
    expect_ok(rt_theta_tolerances(t->trainer, t->config.data.length, tolerances, NULL, &stopped));
    ck_assert_double_eq(tolerances[0].down, 3);
    ck_assert_double_eq(tolerances[0].up, 3);
}

/* Central differences of the loss of the evaluation, whose sequences have equally many labels. */
TEST_ROWS(the_gradient_by_ln_theta_is_that_of_the_evaluation, 0, 3)
{
    static const char *const forms[][2] = {{"theta.scope=layer", "theta.form=log"},
                                           {"theta.scope=head", "theta.form=raw"},
                                           {"theta.scope=model", "train.freeze=theta"}};
    const double h = 1e-4;
    double theta[16];
    rt_theta_gradients one, other;
    begin(OVERRIDES(forms[_i][0], forms[_i][1], "model.dropout=0.3", "train.shards=4"));
    take_steps(t, 40);
    rt_transformer_theta(model, theta);
    const size_t count = rt_transformer_theta_count(&model->options);
    const rt_evaluation before = evaluate(t);
    expect_ok(rt_trainer_theta_gradients(t->trainer, t->config.data.length, &one));
    ck_assert_int_eq(one.sequences, 48);
    ck_assert(same(evaluate(t), before));
    double largest = 0;
    for (size_t n = 0; n < count; n++) {
        const double own = theta[n];
        theta[n] = own * exp(h);
        const double above = evaluate_with(theta, 3).loss;
        theta[n] = own * exp(-h);
        const double below = evaluate_with(theta, 3).loss;
        theta[n] = own;
        ck_assert_double_eq_tol(one.mean[n], (above - below) / (2 * h), 1e-8);
        ck_assert_double_gt(one.deviation[n], 0);
        largest = fmax(largest, fabs(one.mean[n]));
    }
    ck_assert_double_gt(largest, 1e-6);
    take_steps(t, 1); /* all parameters have gradients again */
    ck_assert_double_ne(evaluate(t).loss, before.loss);
    rt_free(one.mean);
    begin(OVERRIDES("theta.learn=no"));
    is_status_with(rt_trainer_theta_gradients(t->trainer, 12, &other), RT_CONFIG,
                   "theta.learn = yes");
}

TEST(the_deviation_of_gradients_is_that_of_single_sequences)
{
    rt_theta_gradients all, first, both;
    begin(OVERRIDES("train.batch_size=1", "train.eval_batches=2"));
    take_steps(t, 20);
    expect_ok(rt_trainer_theta_gradients(t->trainer, 12, &both));
    t->config.train.eval_batches = 1;
    expect_ok(rt_trainer_theta_gradients(t->trainer, 12, &first));
    ck_assert(isnan(first.deviation[0]));
    /* of two values a and b: mean (a + b) / 2, deviation |a - b| / sqrt 2 */
    ck_assert_double_eq_tol(both.deviation[0], sqrt(2) * fabs(both.mean[0] - first.mean[0]), 1e-12);
    const size_t live = rt_memory_live();
    expect_ok_after_refusals(3, rt_trainer_theta_gradients(t->trainer, 12, &all));
    rt_free(all.mean);
    ck_assert_uint_eq(rt_memory_live(), live);
    rt_free(both.mean);
    rt_free(first.mean);
}

TEST(every_refusal_of_the_heap_is_a_status)
{
    rt_theta_tolerance tolerances[16];
    begin(OVERRIDES("theta.scope=model", "train.batch_size=2"));
    expect_ok(rt_theta_tolerances(t->trainer, t->config.data.length, tolerances, NULL,
                                  &stopped)); /* graphs keep room */
    const size_t live = rt_memory_live();
    expect_ok_after_refusals(5, rt_theta_tolerances(t->trainer, t->config.data.length, tolerances,
                                                    NULL, &stopped));
    ck_assert_uint_eq(rt_memory_live(), live);
}
