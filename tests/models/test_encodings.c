/* Parameters and tables of the kinds of position and the initial values of theta, in double. */

#include "models/encodings/encoding.h"
#include "models/keys.h"
#include "new_model.h"
#include "option_words.h"

static rt_transformer_options small(rt_position_kind kind)
{
    rt_transformer_options o = {.position = {.kind = kind, .max_len = 6}};
    set_options(&o, "vocab=7 model.layers=2 model.dim=16 model.heads=2 model.norm_eps=1e-12 "
                    "model.tie_embeddings=yes position.base=10000 position.scale=1 "
                    "position.fraction=1");
    o.causal = rt_encoding_of(&o)->causal;
    return o;
}

/* Returns whether position.init_std is of a kind of position. */
static bool names_deviation(const char *kind)
{
    const char *const *words = rt_keys_find(&rt_model_keys, "position.init_std")->needs->words;
    while (*words && strcmp(*words, kind) != 0)
        words++;
    return *words != NULL;
}

/* The factor between two starts of a parameter, which are the same draws; 0 if it is not drawn. */
static double factor_of(const rt_parameter *p, const rt_parameter *before)
{
    if (p->init != RT_INIT_NORMAL || !(before->init_std > 0))
        return 0;
    for (size_t k = 0; k < rt_size(&p->tensor); k++)
        ck_assert_double_eq_tol(p->tensor.data[k],
                                before->tensor.data[k] * p->init_std / before->init_std, 1e-14);
    return p->init_std / before->init_std;
}

/* The draws are the same up to a factor: 0.02 by default; parameters of positions follow the model
 * unless they have a deviation of their own, which the key sets. */
TEST_ROWS(the_deviation_of_the_start_is_that_of_the_options, 0, RT_POSITION_NONE + 1)
{
    static const double of_model[] = {0.02, 0.1, 0.1, 0}, of_positions[] = {0, 0, 0.5, 0.5};
    rt_transformer_options o = small((rt_position_kind)_i);
    rt_transformer *unsaid = new_model(&o, 1);
    for (int row = 0; row < 4; row++) {
        const double model_std = of_model[row] > 0 ? of_model[row] : 0.02;
        bool has_own = false;
        o.init_std = of_model[row];
        o.position.init_std = of_positions[row];
        rt_transformer *m = new_model(&o, 1);
        for (int i = 0; i < m->parameters.count; i++) {
            const double factor =
                factor_of(m->parameters.list[i], unsaid->parameters.list[i]) * 0.02 / model_std;
            if (factor == 0 || fabs(factor - 1) < 1e-12)
                continue;
            ck_assert_double_eq_tol(factor, of_positions[row] / model_std, 1e-12);
            has_own = true;
        }
        ck_assert_int_eq(has_own, of_positions[row] > 0 && names_deviation(rt_encoding_word(_i)));
    }
}

static const int32_t ids[] = {1, 2, 3, 4, 5, 6, 1};
static const rt_transformer_input six = {.B = 1, .T = 6, .ids = ids, .padding_id = RT_NO_PADDING};

TEST(a_sequence_beyond_the_learned_table_is_refused)
{
    const rt_transformer_options o = small(RT_POSITION_LEARNED);
    rt_transformer *m = new_model(&o, 1);
    rt_graph *g = new_graph();
    made(g, rt_transformer_encode(m, g, &six));
    ck_assert_ptr_null(rt_transformer_encode(m, g, &INPUT(.B = 1, .T = 7, .ids = ids)));
    ck_assert_str_eq(rt_graph_status(g).message,
                     "[transformer] the model has positions for at most 6 tokens; got 7");
}

/* Embeddings of zeros, of which the sines are left. The rows of a shorter text are the same. */
TEST(sinusoids_depend_only_on_the_position)
{
    enum { E = 16, MOST = 9 };
    real zeros[MOST * E] = {0}, first[E];
    const rt_transformer_options o = small(RT_POSITION_SINUSOIDAL);
    rt_transformer *m = new_model(&o, 1);
    for (int T = 3; T <= MOST; T += 3) {
        rt_graph *g = new_graph();
        rt_tensor x = rt_tensor_of(zeros, NULL, RT_SHAPE_OF(1, T, E));
        const rt_token_span all = {.count = T, .length = T};
        const rt_tensor *y = rt_encoding_of(&o)->embeddings(m, g, &x, all);
        ck_assert_ptr_nonnull(y);
        if (T == 3)
            memcpy(first, y->data + E, sizeof first);
        ck_assert(!memcmp(first, y->data + E, sizeof first));
        ck_assert_double_eq_tol((double)y->data[(T - 1) * E], sin(T - 1), 1e-15);
    }
    ck_assert_double_eq_tol(first[0], sin(1), 1e-15);
    ck_assert_double_eq_tol(first[1], cos(1), 1e-15);
}

enum { THETAS = 2 * 2 * 4 }; /* layers, heads, pairs */

static rt_transformer_options learned(rt_theta_init init)
{
    rt_transformer_options o = small(RT_POSITION_ROPE);
    o.theta.learn = true;
    o.theta.scope = RT_THETA_HEAD;
    o.theta.init = init;
    o.theta.init_sigma = 0.5;
    return o;
}

TEST(a_perturbed_theta_differs_by_layer_head_and_seed_and_is_stored)
{
    const rt_transformer_options o = learned(RT_THETA_PERTURBED);
    double theta[THETAS], other[THETAS], sum = 0, squares = 0;
    rt_transformer *m = new_model(&o, 1), *again = new_model(&o, 1), *seeded = new_model(&o, 2);
    rt_transformer_theta(m, theta);
    rt_transformer_theta(again, other);
    ck_assert(!memcmp(theta, other, sizeof theta));
    rt_transformer_theta(seeded, other);
    for (int i = 0; i < THETAS; i++) {
        const double z = log(theta[i] / pow(10000, -(i % 4) / 4.0)) / 0.5;
        ck_assert_double_eq_tol(theta[i] / rt_transformer_theta_start(m)[i], 1, 1e-14);
        ck_assert_double_gt(fabs(theta[i] - other[i]), 0);
        for (int k = 0; k < i; k++) /* not only neighbours: no layer or head repeats another */
            ck_assert_double_gt(fabs(log(theta[k] / pow(10000, -(k % 4) / 4.0)) / 0.5 - z), 1e-9);
        sum += z;
        squares += z * z;
    }
    ck_assert_double_lt(fabs(sum / THETAS), 1);
    ck_assert_double_gt(squares / THETAS, 0.2);
    ck_assert_double_lt(squares / THETAS, 3);
}

TEST(a_uniform_start_is_uniform_in_the_logarithm)
{
    enum { LAYERS = 24, HEADS = 16, N = LAYERS * HEADS * 4 };
    rt_transformer_options o = learned(RT_THETA_UNIFORM);
    static double theta[N];
    int decades[3] = {0};
    double sum = 0;
    o.layers = LAYERS;
    o.heads = HEADS;
    o.dim = 8 * HEADS;
    rt_transformer *m = new_model(&o, 3);
    rt_transformer_theta(m, theta);
    for (int i = 0; i < N; i++) {
        const double share = -log10(theta[i]) / 3;
        ck_assert(share >= 0 && share <= 1 + 1e-12);
        sum += share;
        decades[share < 1.0 / 3 ? 0 : share < 2.0 / 3 ? 1 : 2]++;
        for (int k = 0; k < i; k++)
            ck_assert(theta[k] != theta[i]);
    }
    ck_assert_double_eq_tol(sum / N, 0.5, 5 * sqrt(1.0 / 12 / N));
    for (int d = 0; d < 3; d++)
        ck_assert_double_eq_tol((double)decades[d] / N, 1.0 / 3, 5 * sqrt(2.0 / 9 / N));
}

/* A theta of each layer is learned in the last row. */
TEST_ROWS(every_allocation_may_fail, RT_POSITION_ROPE, RT_POSITION_NONE + 2)
{
    const bool learns = _i > RT_POSITION_NONE;
    rt_transformer_options o = small(learns ? RT_POSITION_ROPE : (rt_position_kind)_i);
    rt_transformer *m = NULL;
    rt_code code = RT_MEMORY;
    o.theta = (rt_theta_options){.learn = learns, .scope = RT_THETA_LAYER};
    FOR_EACH_REFUSAL(code, 1)
    {
        code = rt_transformer_new(&m, &o, 1, NULL).code;
        ck_assert_int_eq(m != NULL, code == RT_OK);
    }
    ck_assert_int_eq(code, RT_OK);
    rt_transformer_free(m);
}
