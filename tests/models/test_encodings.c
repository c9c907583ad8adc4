/* Parameters and tables of the kinds of position and the initial values of theta, in double. */

#include "models/encodings/encoding.h"
#include "models/keys.h"
#include "new_model.h"

#include <math.h>
#include <string.h>

static rt_transformer_options small(rt_position_kind kind)
{
    return (rt_transformer_options){.vocab = 7,
                                    .layers = 2,
                                    .dim = 16,
                                    .heads = 2,
                                    .norm_eps = 1e-12,
                                    .tie_embeddings = true,
                                    .position = {.kind = kind,
                                                 .frequencies = {.base = 10000, .scale = 1},
                                                 .fraction = 1,
                                                 .max_len = 6}};
}

TEST(learnable_positions_have_public_names_and_shapes)
{
    static const struct {
        rt_position_kind kind;
        const char *name, *shape;
    } rows[] = {
        {RT_POSITION_LEARNED, "embeddings.positions.weight", "(6, 16)"},
        {RT_POSITION_T5, "positions.bias.weight", "(32, 2)"},
        {RT_POSITION_SHAW, "layers.1.attention.distance_keys.weight", "(33, 8)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rt_transformer_options o = small(rows[i].kind);
        rt_transformer *m = new_model(&o, 1);
        const rt_parameter *p = rt_parameters_find(&m->parameters, rows[i].name);
        ck_assert_msg(p != NULL, "there is no %s", rows[i].name);
        ck_assert_str_eq(rt_shape_text(&p->tensor), rows[i].shape);
    }
}

/* Returns whether position.init_std has an effect with a kind. */
static bool names_deviation(const char *kind)
{
    for (int i = 0; i < rt_model_keys.count; i++) {
        const rt_key *key = &rt_model_keys.keys[i];
        for (int k = 0; !strcmp(key->section, "position") && !strcmp(key->name, "init_std") &&
                        key->needs->words[k];
             k++)
            if (!strcmp(key->needs->words[k], kind))
                return true;
    }
    return false;
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

/* The hidden states of six tokens, 6 x 16. */
static void encode_six(rt_transformer *m, real *hidden)
{
    static const int32_t ids[6] = {1, 2, 3, 4, 5, 6};
    const rt_transformer_input in = {.B = 1, .T = 6, .ids = ids, .padding_id = RT_NO_PADDING};
    rt_graph *g = rt_graph_new();
    const rt_tensor *y = rt_transformer_encode(m, g, &in);
    ck_assert_msg(y != NULL, "%s", rt_graph_status(g).message);
    memcpy(hidden, y->data, 6 * 16 * sizeof *hidden);
    rt_graph_free(g);
}

TEST_ROWS(all_that_is_learned_of_positions_matters, 0, RT_POSITION_NONE + 1)
{
    rt_transformer_options o = small((rt_position_kind)_i);
    real before[6 * 16], after[6 * 16];
    o.theta.learn = rt_encoding_of(&o)->rotation;
    o.theta.scope = RT_THETA_LAYER;
    o.init_std = 0.5;
    rt_transformer *m = new_model(&o, 1);
    for (int l = -1; l < o.layers; l++) {
        const rt_tensor *weight = l < 0 ? m->encoding.weight : m->layers[l].encoding;
        encode_six(m, before);
        for (size_t i = 0; weight && i < rt_size(weight); i++)
            weight->data[i] += (real)sin((double)i + 1);
        encode_six(m, after);
        ck_assert_int_eq(memcmp(before, after, sizeof before) != 0, weight != NULL);
    }
}

TEST(a_sequence_beyond_the_learned_table_is_refused)
{
    static const int32_t ids[7] = {1, 2, 3, 4, 5, 6, 1};
    const rt_transformer_options o = small(RT_POSITION_LEARNED);
    rt_transformer *m = new_model(&o, 1);
    rt_graph *g = rt_graph_new();
    const rt_transformer_input fits = {.B = 1, .T = 6, .ids = ids, .padding_id = RT_NO_PADDING};
    const rt_transformer_input longer = {.B = 1, .T = 7, .ids = ids, .padding_id = RT_NO_PADDING};
    ck_assert_ptr_nonnull(rt_transformer_encode(m, g, &fits));
    ck_assert_ptr_null(rt_transformer_encode(m, g, &longer));
    ck_assert_str_eq(rt_graph_status(g).message,
                     "[roformer] the model has positions for 6 tokens; got 7");
    rt_graph_free(g);
}

/* Embeddings of zeros, of which the table is left. A longer sequence makes it grow; the rows that
 * were there stay. */
TEST(the_sinusoidal_table_grows_on_demand)
{
    enum { E = 16, MOST = 9 };
    real zeros[MOST * E] = {0}, first[E];
    const rt_transformer_options o = small(RT_POSITION_SINUSOIDAL);
    rt_transformer *m = new_model(&o, 1);
    for (int T = 3; T <= MOST; T += 3) {
        rt_graph *g = rt_graph_new();
        rt_tensor x = rt_tensor_of(zeros, NULL, RT_SHAPE_OF(1, T, E));
        const rt_token_span all = {0, T, T};
        const rt_tensor *y = rt_encoding_of(&o)->embeddings(m, g, &x, all);
        ck_assert_ptr_nonnull(y);
        if (T == 3)
            memcpy(first, y->data + E, sizeof first);
        ck_assert(!memcmp(first, y->data + E, sizeof first));
        ck_assert_double_eq_tol((double)y->data[(T - 1) * E], sin(T - 1), 1e-15);
        rt_graph_free(g);
    }
    ck_assert_double_eq_tol(first[0], sin(1), 1e-15);
    ck_assert_double_eq_tol(first[1], cos(1), 1e-15);
}

/* ---- the start of theta ---- */

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

TEST(scaling_changes_where_theta_starts)
{
    rt_transformer_options o = learned(RT_THETA_FREQUENCIES);
    double theta[THETAS];
    o.position.frequencies.scaling = RT_SCALING_LINEAR;
    o.position.frequencies.scale = 4;
    rt_transformer *m = new_model(&o, 1);
    rt_transformer_theta(m, theta);
    for (int i = 0; i < THETAS; i++)
        ck_assert_double_eq_tol(theta[i], pow(10000, -(i % 4) / 4.0) / 4, 1e-15);
}

TEST(a_perturbed_start_differs_by_layer_and_head_and_seed_and_is_remembered)
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

TEST(a_uniform_start_lies_between_the_extremes)
{
    const rt_transformer_options o = learned(RT_THETA_UNIFORM);
    double theta[THETAS], least = 1, most = 0;
    rt_transformer *m = new_model(&o, 1);
    rt_transformer_theta(m, theta);
    for (int i = 0; i < THETAS; i++) {
        least = fmin(least, theta[i]);
        most = fmax(most, theta[i]);
    }
    ck_assert_double_ge(least, 1e-3);
    ck_assert_double_le(most, 1);
    ck_assert_double_gt(log(most / least), 2); /* not all in one place */
}

/* Between 1 and 1e-3, with a logarithm that is uniform: as many in each decade. */
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

/* Each failure leaves a model that works when there is memory again, and none goes unseen. */
TEST(a_table_of_sines_that_cannot_grow_fails_the_graph)
{
    static const int32_t ids[6] = {1, 2, 3, 4, 5, 6};
    const rt_transformer_options o = small(RT_POSITION_SINUSOIDAL);
    const rt_transformer_input in = {.B = 1, .T = 6, .ids = ids, .padding_id = RT_NO_PADDING};
    real expected[6 * 16], again[6 * 16];
    size_t n = 0;
    rt_status status;
    rt_transformer *whole = new_model(&o, 1);
    encode_six(whole, expected);
    do {
        rt_transformer *m = new_model(&o, 1);
        rt_graph *g = rt_graph_new();
        rt_memory_fail_at(++n);
        const rt_tensor *x = rt_transformer_encode(m, g, &in);
        rt_memory_fail_at(0);
        status = rt_graph_status(g);
        ck_assert(x ? !status.code : status.code == RT_MEMORY);
        ck_assert(!x || !memcmp(x->data, expected, sizeof expected));
        rt_graph_free(g);
        encode_six(m, again);
        ck_assert(!memcmp(again, expected, sizeof expected));
    } while (status.code);
    ck_assert_uint_gt(n, 2);
}

TEST(every_allocation_may_fail)
{
    for (int kind = RT_POSITION_ROPE; rt_encoding_word(kind); kind++) {
        const rt_transformer_options o = small((rt_position_kind)kind);
        rt_transformer *m = NULL;
        for (size_t n = 1; !m; n++) {
            rt_memory_fail_at(n);
            rt_status status = rt_transformer_new(&m, &o, 1, NULL);
            ck_assert(m ? !status.code : status.code == RT_MEMORY);
            ck_assert_uint_lt(n, 1000);
        }
        rt_memory_fail_at(0);
        rt_transformer_free(m);
    }
}
