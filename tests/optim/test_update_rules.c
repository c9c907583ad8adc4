/* The update rules, each row of RT_OPTIMIZER_RULES: what must hold of all of them. */

#include "optim/optimizer.h"
#include "optim/rules.h"
#include "suite.h"

#include <math.h>

/* Source of the expected trajectories of every row; tests/reference compares them. */
static const char *const references[] = {
    [RT_OPTIMIZER_ADAMW] = "adamw_vectors.h5", [RT_OPTIMIZER_ADAM] = "adamw_vectors.h5",
    [RT_OPTIMIZER_SGD] = "adamw_vectors.h5",   [RT_OPTIMIZER_LION] = "lion_muon.h5",
    [RT_OPTIMIZER_MUON] = "lion_muon.h5",
};

static int rule_count(void)
{
    int count = 0;
    while (rt_optimizer_rule_word(count))
        count++;
    return count;
}

TEST(every_row_is_whole)
{
    ck_assert_int_eq((int)(sizeof references / sizeof *references), rule_count());
    for (int i = 0; i < rule_count(); i++) {
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

/* ---- a model of a matrix, a table of several spans, a bias and a theta ---- */

enum { ROWS = 5, COLUMNS = 7, WORDS = 3000 };

static rt_parameters new_parameters(void)
{
    rt_parameters p = {.init_std = 1};
    rt_parameters_add(&p, RT_ROLE_WEIGHT, RT_INIT_NORMAL, RT_SHAPE_OF(WORDS, COLUMNS), "table");
    rt_parameters_add(&p, RT_ROLE_MATRIX, RT_INIT_NORMAL, RT_SHAPE_OF(ROWS, COLUMNS), "matrix");
    rt_parameters_add(&p, RT_ROLE_BIAS, RT_INIT_NORMAL, RT_SHAPE_OF(COLUMNS), "bias");
    rt_parameters_add(&p, RT_ROLE_THETA, RT_INIT_NORMAL, RT_SHAPE_OF(3), "theta");
    ck_assert(!rt_parameters_allocate(&p, 7, NULL).code);
    return p;
}

/* Half the squared distance to 0: its gradient is the parameters themselves. */
static double loss_of(const rt_parameters *p)
{
    double squares = 0;
    for (int i = 0; i < p->count; i++)
        for (size_t k = 0; k < rt_size(&p->list[i]->tensor); k++)
            squares += pow((double)p->list[i]->tensor.data[k], 2);
    return squares / 2;
}

static rt_optimizer *new_optimizer(rt_parameters *p, const rt_optimizer_settings *s)
{
    rt_optimizer *o;
    const rt_status status = rt_optimizer_new(&o, p, s);
    ck_assert_msg(!status.code, "%s", status.message);
    return o;
}

static void take_steps(rt_optimizer *o, rt_parameters *p, int steps, double lr)
{
    for (int step = 0; step < steps; step++) {
        memcpy(p->grads, p->values, p->block_size * sizeof *p->grads);
        ck_assert(!rt_optimizer_step(o, lr, NULL).code);
    }
}

TEST_ROWS(every_rule_finds_a_minimum, 0, rule_count())
{
    const rt_optimizer_settings s = rt_optimizer_defaults((rt_optimizer_rule)_i);
    rt_parameters p = new_parameters();
    const double before = loss_of(&p);
    rt_optimizer *o = new_optimizer(&p, &s);
    take_steps(o, &p, 400, s.rule == RT_OPTIMIZER_SGD ? 1 : 0.02);
    ck_assert_msg(loss_of(&p) < before / 3, "%s: %g, from %g", rt_optimizer_rule_word(_i),
                  loss_of(&p), before);
    rt_optimizer_free(o);
    rt_parameters_free(&p);
}

TEST_ROWS(only_weights_and_matrices_decay_and_theta_has_its_rate, 0, rule_count())
{
    rt_optimizer_settings s = rt_optimizer_defaults((rt_optimizer_rule)_i);
    rt_parameters p = new_parameters();
    s.theta_lr_scale = 3;
    for (int i = 0; i < p.count; i++) {
        const rt_parameter *parameter = p.list[i];
        const rt_update u = rt_update_of(&s, parameter, (rt_rates){0.5, 0.25}, 1, 1);
        const bool decays = parameter->role == RT_ROLE_WEIGHT || parameter->role == RT_ROLE_MATRIX;
        ck_assert_double_eq(u.decay, decays ? s.weight_decay : 0);
        ck_assert_double_eq(u.lr, rt_moves_as_matrix(rt_update_rule_of(&s), parameter) ? 0.25
                                  : parameter->role == RT_ROLE_THETA                   ? 1.5
                                                                                       : 0.5);
    }
    rt_parameters_free(&p);
}

/* A parameter that is updated span by span, in any order and by any number of threads, equals one
 * that is updated as a whole. */
TEST_ROWS(spans_are_the_whole_parameter_once, 0, rule_count())
{
    const rt_optimizer_settings s = rt_optimizer_defaults((rt_optimizer_rule)_i);
    const rt_update_rule *rule = rt_update_rule_of(&s);
    rt_parameters p = new_parameters();
    for (int i = 0; i < p.count; i++) {
        size_t numbers = 0;
        for (size_t k = 0; k < rt_span_count(rule, p.list[i]); k++) {
            const rt_span part = rt_span_at(rule, &p, i, k);
            ck_assert_uint_eq(part.offset, p.list[i]->offset + numbers);
            ck_assert_int_eq(part.parameter, i);
            ck_assert(part.size > 0);
            ck_assert(part.size <= RT_SPAN || rt_moves_as_matrix(rule, p.list[i]));
            numbers += part.size;
        }
        ck_assert_uint_eq(numbers, rt_size(&p.list[i]->tensor));
    }
    ck_assert_uint_eq(rt_span_count(rule, p.list[0]), 2);
    rt_parameters_free(&p);
}

/* ---- muon ---- */

static void move(real *value, const real *gradient, int rows, int columns, double lr)
{
    rt_optimizer_settings s = rt_optimizer_defaults(RT_OPTIMIZER_MUON);
    rt_parameters p = {0};
    s.weight_decay = s.clip_norm = 0;
    rt_parameters_add(&p, RT_ROLE_MATRIX, RT_INIT_ZERO, RT_SHAPE_OF(rows, columns), "matrix");
    ck_assert(!rt_parameters_allocate(&p, 1, NULL).code);
    rt_optimizer *o = new_optimizer(&p, &s);
    memcpy(p.grads, gradient, (size_t)rows * (size_t)columns * sizeof(real));
    ck_assert(!rt_optimizer_step(o, lr, NULL).code);
    memcpy(value, p.values, (size_t)rows * (size_t)columns * sizeof(real));
    rt_optimizer_free(o);
    rt_parameters_free(&p);
}

/* The move is nearly orthogonal (the five steps take singular values to 0.7 ... 1.2, about), and
 * that of the transposed gradient is its transpose. */
TEST(a_matrix_moves_by_an_orthogonal_one)
{
    enum { R = 4, C = 9 };
    real gradient[R * C], turned[R * C], moved[R * C], moved_turned[R * C];
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++)
            turned[j * R + i] = gradient[i * C + j] = (real)sin(1.7 * (i * C + j) + i);
    move(moved, gradient, R, C, 1);
    move(moved_turned, turned, C, R, 1);
    for (int i = 0; i < R; i++) {
        for (int k = 0; k < R; k++) {
            double product = 0;
            for (int j = 0; j < C; j++)
                product += (double)moved[i * C + j] * (double)moved[k * C + j];
            ck_assert_double_lt(fabs(product - (i == k ? 0.95 : 0)), 0.7);
        }
        for (int j = 0; j < C; j++) /* a tall matrix moves sqrt(rows / columns) as far */
            ck_assert_double_eq_tol((double)moved_turned[j * R + i],
                                    sqrt((double)C / R) * (double)moved[i * C + j], 1e-5);
    }
}

TEST(a_matrix_without_a_gradient_stays)
{
    const real gradient[6] = {0};
    real moved[6];
    move(moved, gradient, 2, 3, 1);
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq((double)moved[i], 0);
}
