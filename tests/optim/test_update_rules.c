/* The update rules, each row of RT_OPTIMIZER_RULES: common properties of all; the schedule and
 * clipping by hand. */

#include "optim/optimizer.h"
#include "optim/options.h"
#include "optim/rules.h"
#include "suite.h"

/* Source of the expected trajectories of every row; tests/reference compares them. */
static const char *const references[] = {
    [RT_OPTIMIZER_ADAMW] = "adamw_vectors.h5", [RT_OPTIMIZER_ADAM] = "adamw_vectors.h5",
    [RT_OPTIMIZER_SGD] = "adamw_vectors.h5",   [RT_OPTIMIZER_LION] = "lion_muon.h5",
    [RT_OPTIMIZER_MUON] = "lion_muon.h5",
};

TEST(every_update_rule_has_its_functions_and_a_reference)
{
    ck_assert_ptr_null(rt_optimizer_rule_word(ROWS(references)));
    for (int i = 0; i < ROWS(references); i++) {
        const rt_optimizer_settings s = rt_optimizer_defaults((rt_optimizer_rule)i);
        const rt_update_rule *rule = rt_update_rule_of(&s);
        ck_assert_str_eq(rule->word, rt_optimizer_rule_word(i));
        ck_assert_msg(references[i], "%s has no reference", rule->word);
        ck_assert(rule->span && rule->state_count >= 0 && rule->state_count <= RT_MOST_STATES);
        for (int k = 0; k < rule->state_count; k++)
            ck_assert_ptr_nonnull(rule->states[k].name);
        ck_assert(!rule->matrix == !rule->matrix_scratch);
        ck_assert_int_le(rule->matrix_states, rule->state_count);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(rule->word, rt_optimizer_rule_word(k));
    }
}

enum { ROWS = 5, COLUMNS = 7, WORDS = 3000 };

static rt_parameters model;

static void make_parameters(void)
{
    model = (rt_parameters){.init_std = 1};
    rt_parameters_add(&model, RT_ROLE_WEIGHT, RT_INIT_NORMAL, RT_SHAPE_OF(WORDS, COLUMNS), "table");
    rt_parameters_add(&model, RT_ROLE_MATRIX, RT_INIT_NORMAL, RT_SHAPE_OF(ROWS, COLUMNS), "matrix");
    rt_parameters_add(&model, RT_ROLE_BIAS, RT_INIT_NORMAL, RT_SHAPE_OF(COLUMNS), "bias");
    rt_parameters_add(&model, RT_ROLE_THETA, RT_INIT_NORMAL, RT_SHAPE_OF(3), "theta");
    expect_ok(rt_parameters_allocate(&model, 7, NULL));
}

static void free_parameters(void)
{
    rt_parameters_free(&model);
}

SUITE(.setup = make_parameters, .teardown = free_parameters)

TEST_ROWS(only_weights_and_matrices_decay_and_theta_has_its_rate, 0, ROWS(references))
{
    rt_optimizer_settings s = rt_optimizer_defaults((rt_optimizer_rule)_i);
    s.theta_lr_scale = 3;
    for (int i = 0; i < model.count; i++) {
        const rt_parameter *parameter = model.list[i];
        const rt_update u = rt_update_of(&s, parameter, (rt_rates){0.5, 0.25}, 1, 1);
        const bool decays = parameter->role == RT_ROLE_WEIGHT || parameter->role == RT_ROLE_MATRIX;
        ck_assert_double_eq(u.decay, decays ? s.weight_decay : 0);
        ck_assert_double_eq(u.lr, rt_moves_as_matrix(rt_update_rule_of(&s), parameter) ? 0.25
                                  : parameter->role == RT_ROLE_THETA                   ? 1.5
                                                                                       : 0.5);
    }
}

TEST_ROWS(spans_are_the_whole_parameter_once, 0, ROWS(references))
{
    const rt_optimizer_settings s = rt_optimizer_defaults((rt_optimizer_rule)_i);
    const rt_update_rule *rule = rt_update_rule_of(&s);
    for (int i = 0; i < model.count; i++) {
        size_t numbers = 0;
        for (size_t k = 0; k < rt_span_count(rule, model.list[i]); k++) {
            const rt_span part = rt_span_at(rule, &model, i, k);
            ck_assert_uint_eq(part.offset, model.list[i]->offset + numbers);
            ck_assert_int_eq(part.parameter, i);
            ck_assert(part.size > 0);
            ck_assert(part.size <= RT_SPAN || rt_moves_as_matrix(rule, model.list[i]));
            numbers += part.size;
        }
        ck_assert_uint_eq(numbers, rt_size(&model.list[i]->tensor));
    }
    ck_assert_uint_eq(rt_span_count(rule, model.list[0]), 2);
}

/* A step of SGD from -1, -4 and -6 by gradients of -2, 0 and 1. */
TEST(a_phase_ends_from_minus_2_pi_to_0)
{
    const double two_pi = 6.283185307179586;
    rt_parameters p = {.seed = 1};
    rt_optimizer_settings s = rt_optimizer_defaults(RT_OPTIMIZER_SGD);
    rt_optimizer *o;
    const rt_tensor *x =
        rt_parameters_add(&p, RT_ROLE_PHASE, RT_INIT_ZERO, RT_SHAPE_OF(3), "phase");
    expect_ok(rt_parameters_allocate(&p, 1, NULL));
    s.clip_norm = 0;
    expect_ok(rt_optimizer_new(&o, &p, &s));
    for (int i = 0; i < 3; i++) {
        x->data[i] = (const real[]){-1, -4, -6}[i];
        x->grad[i] = (const real[]){-2, 0, 1}[i];
    }
    expect_ok(rt_optimizer_step(o, 1, NULL));
    ck_assert_double_eq((double)x->data[0], 0);
    ck_assert_double_eq((double)x->data[1], -4);
    ck_assert_double_eq((double)x->data[2], (double)(real)-two_pi);
    rt_optimizer_free(o);
    rt_parameters_free(&p);
}

TEST(a_matrix_without_a_gradient_stays)
{
    rt_optimizer_settings s = rt_optimizer_defaults(RT_OPTIMIZER_MUON);
    const rt_tensor *matrix = &model.list[1]->tensor;
    real before[ROWS * COLUMNS];
    s.weight_decay = s.clip_norm = 0;
    memcpy(before, matrix->data, sizeof before);
    rt_optimizer *o;
    expect_ok(rt_optimizer_new(&o, &model, &s));
    expect_ok(rt_optimizer_step(o, 1, NULL));
    rt_optimizer_free(o);
    ck_assert_mem_eq(before, matrix->data, sizeof before);
}

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
