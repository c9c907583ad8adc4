#include "core/gradcheck.h"
#include "new_model.h"

#include <math.h>

static rt_transformer_options small(void)
{
    return (rt_transformer_options){.vocab = 7,
                                    .layers = 2,
                                    .dim = 8,
                                    .heads = 2,
                                    .norm_eps = 1e-12,
                                    .tie_embeddings = true,
                                    .position = {.frequencies = {.base = 10000}, .fraction = 1},
                                    .theta = {.learn = true, .scope = RT_THETA_LAYER}};
}

/* Expects a model to have a parameter of that name and shape; NULL: none. */
static void expect_parameter(const rt_transformer *m, const char *name, const char *shape)
{
    const rt_parameter *p = rt_parameters_find(&m->parameters, name);
    ck_assert_msg(!p == !shape, "there is %s %s", p ? "a" : "no", name);
    if (p)
        ck_assert_str_eq(rt_shape_text(&p->tensor), shape);
}

static void expect_parameters(const rt_transformer_options *o, const char *const (*rows)[2],
                              size_t count)
{
    rt_transformer *m = new_model(o, 1);
    for (size_t i = 0; i < count; i++)
        expect_parameter(m, rows[i][0], rows[i][1]);
}

#define EXPECT_PARAMETERS(o, ...)                                                                  \
    expect_parameters(o, (const char *const[][2]){__VA_ARGS__},                                    \
                      sizeof((const char *const[][2]){__VA_ARGS__}) / sizeof(const char *[2]))

TEST(theta_has_its_name_and_shape_by_scope)
{
    static const char layer[] = "layers.1.attention.theta";
    rt_transformer_options o = small();
    EXPECT_PARAMETERS(&o, {layer, "(2)"});
    o.theta.scope = RT_THETA_HEAD;
    EXPECT_PARAMETERS(&o, {layer, "(2, 2)"});
    o.theta.scope = RT_THETA_MODEL;
    EXPECT_PARAMETERS(&o, {"theta", "(2)"}, {layer, NULL});
    o.theta.learn = false;
    EXPECT_PARAMETERS(&o, {"theta", NULL});
}

/* The last seven logits of a text of T tokens. */
static void last_logits(rt_transformer *m, int T, real *logits)
{
    static const int32_t ids[] = {3, 5, 1, 6, 2, 4, 3, 3, 6, 0};
    const int row = m->options.head == RT_HEAD_SEQUENCE ? 0 : T - 1;
    memcpy(logits, logits_of(m, ids, NULL, T) + row * 7, 7 * sizeof *logits);
}

TEST_ROWS(a_theta_that_depends_on_the_length_follows_it, 0, 2)
{
    rt_transformer_options o = small();
    real first[7], again[7], longer[7], fresh[7], plain[7];
    o.theta.learn = false;
    o.position.frequencies = (rt_frequency_options){.base = 10000, .original_len = 6, .scale = 2};
    rt_transformer *unscaled = new_model(&o, 1);
    o.position.frequencies.scaling = _i ? RT_SCALING_DYNAMIC : RT_SCALING_LONGROPE;
    o.position.frequencies.short_factors = (rt_factors){2, (const double[]){1, 1.5}};
    o.position.frequencies.long_factors = (rt_factors){2, (const double[]){2, 3}};
    rt_transformer *m = new_model(&o, 1), *other = new_model(&o, 1);
    last_logits(m, 5, first);
    last_logits(m, 9, longer);
    last_logits(m, 5, again);
    last_logits(other, 9, fresh);
    last_logits(unscaled, 9, plain);
    ck_assert(!memcmp(first, again, sizeof first));
    ck_assert(!memcmp(longer, fresh, sizeof longer));
    ck_assert(memcmp(longer, plain, sizeof longer) != 0);
}

TEST_ROWS(theta_starts_at_the_geometric_series_in_both_forms, RT_THETA_LOG, RT_THETA_RAW + 1)
{
    double theta[4];
    rt_transformer_options o = small();
    o.theta.form = (rt_theta_form)_i;
    rt_transformer_theta(new_model(&o, 1), theta);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol(theta[i], i % 2 ? 0.01 : 1, 1e-15);
}

/* Of each projection every row has one number, so that its length is that number. */
static void set_rows(const rt_tensor *weight, const double *lengths, int count, int shift)
{
    memset(weight->data, 0, rt_size(weight) * sizeof(real));
    for (int row = 0; row < weight->shape[0]; row++)
        weight->data[row * weight->shape[1] + row % 3] = (real)lengths[(row + shift) % count];
}

/* Two of four pairs are turned, by both pairings, in each scope. */
TEST_ROWS(the_use_of_theta_is_what_goes_through_it, 0, 6)
{
    enum { DIM = 16, HEADS = 2, LAYERS = 2, PAIRS = 2, ROWS = 7 };
    static const double q[ROWS] = {3, 4, 5, 12, 100, 8, 0.5}, k[ROWS] = {8, 15, 7, 24, 0.1, 2, 9};
    static const int rows_of[2][PAIRS][2] = {{{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}};
    rt_transformer_options o = small();
    o.dim = DIM;
    o.position.fraction = 0.5;
    o.theta.scope = (rt_theta_scope)(_i % 3);
    o.position.pairing = _i / 3 ? RT_HALF : RT_INTERLEAVED;
    double expected[LAYERS][HEADS][PAIRS] = {{{0}}}, use[LAYERS * HEADS * PAIRS];
    const int layers = o.theta.scope == RT_THETA_MODEL ? 1 : LAYERS;
    const int heads = o.theta.scope == RT_THETA_HEAD ? HEADS : 1;
    rt_transformer *m = new_model(&o, 1);
    for (int l = 0; l < LAYERS; l++) {
        set_rows(m->layers[l].query.weight, q, ROWS, 2 * l);
        set_rows(m->layers[l].key.weight, k, ROWS, l);
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < PAIRS; i++) {
                const int a = 8 * h + rows_of[_i / 3][i][0], b = 8 * h + rows_of[_i / 3][i][1];
                expected[layers > 1 ? l : 0][heads > 1 ? h : 0][i] +=
                    hypot(q[(a + 2 * l) % ROWS], q[(b + 2 * l) % ROWS]) *
                    hypot(k[(a + l) % ROWS], k[(b + l) % ROWS]);
            }
    }
    rt_transformer_theta_use(m, use);
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++)
            for (int i = 0; i < PAIRS; i++)
                ck_assert_double_eq_tol(use[(l * heads + h) * PAIRS + i],
                                        expected[l][h][i] / (expected[l][h][0] + expected[l][h][1]),
                                        1e-14);
    if (o.theta.scope == RT_THETA_HEAD && o.position.pairing == RT_INTERLEAVED)
        ck_assert_double_eq_tol(use[0], 5.0 * 17 / (5 * 17 + 13 * 25), 1e-14); /* by hand */
}

TEST(the_other_parameters_have_public_names_and_shapes)
{
    rt_transformer_options o = small();
    o.embedding_dim = 6;
    o.token_types = 2;
    o.norm = RT_NORM_PRE;
    o.tie_embeddings = false;
    EXPECT_PARAMETERS(&o, {"embeddings.tokens.weight", "(7, 6)"},
                      {"embeddings.types.weight", "(2, 6)"},
                      {"embeddings.project.weight", "(8, 6)"},
                      {"layers.0.ffn.up.weight", "(32, 8)"}, {"norm.weight", "(8)"},
                      {"head.dense.weight", "(6, 8)"}, {"head.output.weight", "(7, 6)"},
                      {"head.output.bias", "(7)"});
    o = small();
    rt_transformer *m = new_model(&o, 1);
    ck_assert_ptr_null(rt_parameters_find(&m->parameters, "head.output.weight"));
    ck_assert_ptr_eq(m->head.output.weight, m->embeddings.tokens);
}

TEST(a_decoder_has_what_it_needs_under_the_same_names)
{
    rt_transformer_options o = small();
    o.kind = RT_KIND_DECODER;
    o.norm = RT_NORM_PRE;
    o.norm_kind = RT_NORM_RMS;
    o.ffn = RT_FFN_SWIGLU;
    o.bias = RT_BIAS_NONE;
    o.heads = 4;
    o.kv_heads = 2;
    o.tie_embeddings = false;
    rt_transformer *m = new_model(&o, 1);
    EXPECT_PARAMETERS(&o, {"layers.1.attention.query.weight", "(8, 8)"},
                      {"layers.1.attention.key.weight", "(4, 8)"},
                      {"layers.1.attention.value.weight", "(4, 8)"},
                      {"layers.1.ffn.gate.weight", "(32, 8)"},
                      {"layers.1.ffn.up.weight", "(32, 8)"}, {"norm.weight", "(8)"},
                      {"head.output.weight", "(7, 8)"}, {"embeddings.norm.weight", NULL},
                      {"head.dense.weight", NULL});
    for (int i = 0; i < m->parameters.count; i++)
        ck_assert_msg(!strstr(m->parameters.list[i]->name, "bias"), "there is a %s",
                      m->parameters.list[i]->name);
    o.bias = RT_BIAS_ALL;
    EXPECT_PARAMETERS(&o, {"layers.1.ffn.gate.bias", "(32)"},
                      {"layers.1.attention.key.bias", "(4)"}, {"layers.1.ffn_norm.bias", NULL},
                      {"head.output.bias", NULL} /* as transformers have it */);
    o.embedding_dim = 6;
    EXPECT_PARAMETERS(&o, {"embeddings.project.weight", "(8, 6)"},
                      {"head.output.weight", "(7, 8)"});
}

static void expect_place(const rt_parameter *p)
{
    static const struct {
        const char *beginning;
        rt_model_part part;
    } rows[] = {{"embeddings.", RT_PART_EMBEDDINGS},
                {"theta", RT_PART_POSITIONS},
                {"positions.", RT_PART_POSITIONS},
                {"layers.", RT_PART_LAYER},
                {"norm.", RT_PART_NORM},
                {"head.", RT_PART_HEAD}};
    int layer = -1, part = RT_PART_NONE;
    sscanf(p->name, "layers.%d.", &layer);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strncmp(p->name, rows[i].beginning, strlen(rows[i].beginning)))
            part = rows[i].part;
    ck_assert_msg(part != RT_PART_NONE && p->part == (rt_model_part)part && p->layer == layer,
                  "%s has part %d and layer %d", p->name, (int)p->part, p->layer);
    ck_assert_msg(!strstr(p->name, "theta") == (p->role != RT_ROLE_THETA), "the role of %s",
                  p->name);
}

TEST(a_parameter_knows_its_part_and_its_layer)
{
    enum { KINDS = RT_POSITION_NONE + 1, HEADS = RT_HEAD_TOKEN + 1, SCOPES = RT_THETA_HEAD + 1 };
    for (int i = 0; i < 2 * KINDS * HEADS * SCOPES; i++) {
        rt_transformer_options o = small();
        o.norm = i % 2 ? RT_NORM_PRE : RT_NORM_POST;
        o.ffn = i % 2 ? RT_FFN_SWIGLU : RT_FFN_PLAIN;
        o.position.kind = (rt_position_kind)(i / 2 % KINDS);
        o.position.max_len = 5;
        o.head = (rt_head)(i / 2 / KINDS % HEADS);
        o.labels = 3;
        o.tie_embeddings = false;
        o.token_types = 2;
        o.embedding_dim = 6;
        o.theta.learn = o.position.kind == RT_POSITION_ROPE;
        o.theta.scope = (rt_theta_scope)(i / 2 / KINDS / HEADS);
        rt_transformer *m = new_model(&o, 1);
        for (int n = 0; n < m->parameters.count; n++)
            expect_place(m->parameters.list[n]);
    }
}

TEST(layers_without_positions_have_no_keys_of_distances)
{
    rt_transformer_options o = small();
    o.theta.learn = false;
    o.position.kind = RT_POSITION_SHAW;
    o.position.every = 2;
    EXPECT_PARAMETERS(&o, {"layers.0.attention.distance_keys.weight", "(33, 4)"},
                      {"layers.1.attention.distance_keys.weight", NULL});
}

TEST(an_initial_value_depends_on_its_name_alone)
{
    rt_transformer_options o = small(), deeper = small();
    deeper.layers = 5;
    deeper.vocab = 9;
    rt_transformer *a = new_model(&o, 1), *b = new_model(&deeper, 1);
    static const char name[] = "layers.1.ffn.down.weight";
    const rt_tensor *x = &rt_parameters_find(&a->parameters, name)->tensor;
    const rt_tensor *y = &rt_parameters_find(&b->parameters, name)->tensor;
    double squares = 0;
    ck_assert(!memcmp(x->data, y->data, rt_size(x) * sizeof(real)));
    for (size_t i = 0; i < rt_size(x); i++)
        squares += x->data[i] * x->data[i];
    ck_assert_double_eq_tol(sqrt(squares / (double)rt_size(x)), 0.02, 0.003);
}

/* All zeros but theta, until each parameter is drawn. */
TEST(a_blank_model_becomes_the_one_that_is_drawn)
{
    rt_transformer_options o = small();
    o.theta.init = RT_THETA_PERTURBED;
    o.theta.init_sigma = 1;
    rt_transformer *drawn = new_model(&o, 7), *blank;
    expect_ok(rt_transformer_new_from(&blank, &o, &(rt_model_start){.seed = 7, .blank = true}));
    const rt_parameters *a = &drawn->parameters, *b = &blank->parameters;
    for (int i = 0; i < b->count; i++) {
        const rt_tensor *t = &b->list[i]->tensor;
        for (size_t k = 0; k < rt_size(t) && b->list[i]->role != RT_ROLE_THETA; k++)
            ck_assert(t->data[k] == 0);
        if (b->list[i]->role != RT_ROLE_THETA)
            rt_parameter_draw(b, b->list[i]);
    }
    ck_assert(!memcmp(a->values, b->values, a->block_size * sizeof *a->values));
    ck_assert(!memcmp(rt_transformer_theta_start(drawn), rt_transformer_theta_start(blank),
                      rt_transformer_theta_count(&o) * sizeof(double)));
    rt_transformer_free(blank);
}

TEST(a_worker_reads_the_values_of_the_first_and_keeps_its_gradients)
{
    rt_transformer_options o = small();
    rt_transformer *first = new_model(&o, 1), *worker;
    expect_ok(rt_transformer_new(&worker, &o, 99, first));
    ck_assert_ptr_eq(worker->embeddings.tokens->data, first->embeddings.tokens->data);
    ck_assert_ptr_ne(worker->embeddings.tokens->grad, first->embeddings.tokens->grad);
    rt_transformer_free(worker);
}

/* The last hidden states of a graph that records nothing, and its fullest; `states` keeps those of
 * every layer. */
static size_t encode_apart(const rt_transformer_options *o, bool states, real *last)
{
    enum { TOKENS = 40 };
    int32_t text[TOKENS];
    rt_tensor *all[16];
    rt_transformer *m = new_model(o, 1);
    rt_graph *g = new_graph();
    for (int i = 0; i < TOKENS; i++)
        text[i] = i % o->vocab;
    const rt_transformer_input in =
        INPUT(.B = 1, .T = TOKENS, .ids = text, .hidden_states = states ? all : NULL);
    rt_graph_record(g, false);
    const rt_tensor *hidden = made(g, rt_transformer_encode(m, g, &in));
    memcpy(last, hidden->data, rt_size(hidden) * sizeof *last);
    return rt_graph_peak(g);
}

TEST_ROWS(layers_that_are_not_recorded_share_their_memory, 0, 4)
{
    static real one[40 * 8], other[40 * 8];
    rt_transformer_options o = small();
    o.theta.scope = _i % 2 ? RT_THETA_MODEL : RT_THETA_LAYER;
    o.norm = _i / 2 ? RT_NORM_PRE : RT_NORM_POST;
    const size_t two = encode_apart(&o, false, one);
    o.layers = 12;
    const size_t twelve = encode_apart(&o, false, one), apart = encode_apart(&o, true, other);
    ck_assert_uint_eq(twelve, two);
    ck_assert_uint_gt(apart, 4 * twelve);
    ck_assert(!memcmp(one, other, sizeof one));
}

/* ---- gradients of whole models; gradients/grid.c has those of models without labels ---- */

static const int32_t ids[] = {1, 5, 2, 6, 3, 3, 4, 1}, labels[] = {2, RT_IGNORE, 0, 6, 5, 1, 1, 4};
static const uint8_t mask[] = {1, 1, 1, 1, 1, 1, 1, 0};

static rt_tensor *loss(rt_graph *g, rt_tensor *const *inputs, void *context)
{
    rt_transformer *m = context;
    (void)inputs;
    rt_tensor *logits =
        rt_transformer_forward(m, g, &INPUT(.B = 2, .T = 4, .ids = ids, .key_mask = mask));
    return rt_cross_entropy(g, logits, labels, 0, logits ? (double)rt_rows(logits) : 1);
}

static void redraw(rt_parameters *p)
{
    for (int i = 0; i < p->count; i++)
        for (size_t k = 0; k < rt_size(&p->list[i]->tensor); k++)
            p->list[i]->tensor.data[k] =
                rt_random_uniform((rt_random){4, (uint32_t)i, RT_STREAM_CHECK}, k) - 0.5 +
                (p->list[i]->init == RT_INIT_ONE);
}

static void expect_right_gradients(const rt_transformer_options *o)
{
    rt_transformer *m = new_model(o, 1);
    rt_tensor *inputs[64];
    rt_gradcheck_options options = {.samples = 20};
    redraw(&m->parameters);
    for (int i = 0; i < m->parameters.count; i++)
        inputs[i] = &m->parameters.list[i]->tensor;
    expect_ok(rt_gradcheck(loss, m, inputs, m->parameters.count, &options, NULL));
}

TEST_ROWS(factors_of_heads_change_no_bit_at_the_start, 0, 6)
{
    rt_transformer_options o = small();
    real without[7], with[7];
    o.theta.scope = (rt_theta_scope)(_i % 3);
    o.kv_heads = _i % 2 ? 1 : 2;
    rt_transformer *plain = new_model(&o, 1);
    o.theta.head_scale = true;
    rt_transformer *scaled = new_model(&o, 1);
    expect_parameter(scaled, "layers.1.attention.head_scale", "(2)");
    ck_assert_int_eq(scaled->parameters.count, plain->parameters.count + o.layers);
    last_logits(plain, 9, without);
    last_logits(scaled, 9, with);
    ck_assert(!memcmp(without, with, sizeof with));
    scaled->layers[0].head_scale->data[1] = 3;
    last_logits(scaled, 9, with);
    ck_assert(memcmp(without, with, sizeof with) != 0);
}

/* A factor is what its rows of the queries' weight and bias can be multiplied by instead. */
TEST(a_factor_of_a_head_is_one_of_its_queries)
{
    rt_transformer_options o = small();
    real scaled[7], folded[7];
    o.theta.head_scale = true;
    rt_transformer *m = new_model(&o, 1);
    rt_transformer_layer *layer = m->layers + 1;
    layer->query.bias->data[5] = 1;
    layer->head_scale->data[1] = 4;
    last_logits(m, 9, scaled);
    layer->head_scale->data[1] = 1;
    for (int row = 4; row < 8; row++) {
        layer->query.bias->data[row] *= 4;
        for (int i = 0; i < 8; i++)
            layer->query.weight->data[row * 8 + i] *= 4;
    }
    last_logits(m, 9, folded);
    ck_assert(!memcmp(scaled, folded, sizeof folded));
}

TEST(norms_are_there_as_the_options_say)
{
    rt_transformer_options o = small();
    o.norm = RT_NORM_PRE;
    EXPECT_PARAMETERS(&o, {"embeddings.norm.bias", "(8)"}, {"layers.0.attention_norm.bias", "(8)"});
    o.norm_bias = RT_WITHOUT;
    o.first_norm = RT_WITHOUT;
    EXPECT_PARAMETERS(&o, {"embeddings.norm.weight", "(8)"}, {"embeddings.norm.bias", NULL},
                      {"layers.0.ffn_norm.weight", "(8)"}, {"layers.0.ffn_norm.bias", NULL},
                      {"layers.1.attention_norm.weight", "(8)"},
                      {"layers.1.attention_norm.bias", NULL}, {"norm.weight", "(8)"},
                      {"norm.bias", NULL}, {"head.norm.weight", "(8)"}, {"head.norm.bias", NULL},
                      {"layers.0.attention_norm.weight", NULL},
                      {"layers.0.attention.query.bias", "(8)"});
    o.embedding_norm = RT_EMBEDDING_NORM_NO;
    EXPECT_PARAMETERS(&o, {"embeddings.norm.weight", NULL});
    o = small();
    o.kind = RT_KIND_DECODER;
    EXPECT_PARAMETERS(&o, {"embeddings.norm.weight", NULL});
    ck_assert_int_eq(new_model(&o, 1)->options.embedding_norm, RT_EMBEDDING_NORM_NO);
    o.embedding_norm = RT_EMBEDDING_NORM_YES;
    EXPECT_PARAMETERS(&o, {"embeddings.norm.bias", "(8)"});
}

TEST(a_norm_without_a_bias_has_a_bias_of_0)
{
    rt_transformer_options o = small();
    real with[7], without[7], other[7];
    o.norm = RT_NORM_PRE;
    last_logits(new_model(&o, 1), 9, with);
    o.norm_bias = RT_WITHOUT;
    last_logits(new_model(&o, 1), 9, without);
    for (int i = 0; i < 7; i++)
        ck_assert_double_eq_tol((double)with[i], (double)without[i], 1e-13);
    o.first_norm = RT_WITHOUT;
    last_logits(new_model(&o, 1), 9, other);
    ck_assert(memcmp(other, without, sizeof other) != 0);
}

TEST(parameters_of_variants_have_their_names_and_shapes)
{
    rt_transformer_options o = small();
    o.heads = 4;
    o.kv_heads = 2;
    o.head_dim = 6;
    o.qk_norm = true;
    o.bias = RT_BIAS_QKV;
    EXPECT_PARAMETERS(&o, {"layers.1.attention.query.weight", "(24, 8)"},
                      {"layers.1.attention.query.bias", "(24)"},
                      {"layers.1.attention.key.weight", "(12, 8)"},
                      {"layers.1.attention.value.bias", "(12)"},
                      {"layers.1.attention.output.weight", "(8, 24)"},
                      {"layers.1.attention.query_norm.weight", "(6)"},
                      {"layers.1.attention.key_norm.weight", "(6)"},
                      {"layers.1.attention.query_norm.bias", NULL},
                      {"layers.1.attention.output.bias", NULL}, {"layers.1.ffn.up.bias", NULL},
                      {"head.output.bias", NULL});
    o.bias = RT_BIAS_FFN;
    EXPECT_PARAMETERS(&o, {"layers.0.ffn.up.bias", "(32)"}, {"layers.0.ffn.down.bias", "(8)"},
                      {"layers.0.attention.query.bias", NULL}, {"head.dense.bias", NULL});
}

TEST(a_list_of_layers_says_what_a_key_says_of_all)
{
    rt_transformer_options o = small();
    real of_key[7], of_list[7], other[7];
    o.causal = true;
    o.window = 2;
    o.position.every = 2;
    last_logits(new_model(&o, 1), 9, of_key);
    o.position.every = 1;
    o.position.layers = (rt_layer_words){2, {RT_LAYER_WITH_POSITIONS, RT_LAYER_WITHOUT_POSITIONS}};
    o.layer_types = (rt_layer_words){2, {RT_LAYER_SLIDING, RT_LAYER_SLIDING}};
    last_logits(new_model(&o, 1), 9, of_list);
    ck_assert(!memcmp(of_key, of_list, sizeof of_key));
    o.layer_types.at[1] = RT_LAYER_FULL;
    last_logits(new_model(&o, 1), 9, other);
    ck_assert(memcmp(of_key, other, sizeof of_key) != 0);
}

/* ---- layers with a base of their own ---- */

static const double by_layer[2][2] = {{1, 0.1}, {1, 0.01}};

static rt_transformer_options two_bases(void)
{
    rt_transformer_options o = small();
    o.window = 2;
    o.layer_types = (rt_layer_words){2, {RT_LAYER_SLIDING, RT_LAYER_FULL}};
    o.position.local_base = 100;
    return o;
}

TEST_ROWS(theta_of_a_layer_starts_at_the_base_of_the_layer, 0, 2)
{
    rt_transformer_options o = two_bases();
    double theta[8], geometric[8], turning[8];
    o.theta.scope = _i ? RT_THETA_HEAD : RT_THETA_LAYER;
    rt_transformer *m = new_model(&o, 1);
    const int rows = _i ? 2 : 1;
    rt_transformer_theta(m, theta);
    rt_transformer_theta_geometric(&m->options, rt_transformer_theta_shape(&m->options), geometric);
    rt_transformer_rotation(m, 5, turning);
    for (int i = 0; i < 4 * rows; i++) {
        const double expected = by_layer[i / 2 / rows][i % 2];
        ck_assert_double_eq_tol(theta[i], expected, 1e-7);
        ck_assert_double_eq_tol(rt_transformer_theta_start(m)[i], expected, 1e-15);
        ck_assert_double_eq_tol(geometric[i], expected, 1e-15);
    }
    for (int i = 0; i < 8; i++)
        ck_assert_double_eq_tol(turning[i], by_layer[i / 4][i % 2], 1e-7);
}

/* A uniform start lies between the extremes of the layer. */
TEST(a_start_at_random_is_drawn_around_the_base_of_the_layer)
{
    rt_transformer_options o = two_bases();
    double least[2] = {1, 1};
    o.theta.init = RT_THETA_UNIFORM;
    o.head_dim = 64;
    o.position.local_base = 10;
    rt_transformer *m = new_model(&o, 1);
    for (int i = 0; i < 64; i++)
        least[i / 32] = fmin(least[i / 32], rt_transformer_theta_start(m)[i]);
    ck_assert_double_gt(least[0], 0.1);
    ck_assert_double_lt(least[1], 0.01);
    o.position.local_base = 0; /* and every layer draws its own */
    m = new_model(&o, 1);
    const double *start = rt_transformer_theta_start(m);
    ck_assert(memcmp(start, start + 32, 32 * sizeof *start) != 0);
}

TEST_ROWS(a_fixed_theta_rotates_each_layer_by_its_base, 0, 2)
{
    rt_transformer_options o = two_bases();
    real fixed[7], learned[7], one_base[7];
    o.position.every = _i ? 1 : 0;
    o.causal = _i;
    o.theta.form = RT_THETA_RAW;
    o.theta.learn = false;
    last_logits(new_model(&o, 1), 9, fixed);
    o.position.local_base = 0;
    last_logits(new_model(&o, 1), 9, one_base);
    o.theta.learn = true;
    rt_transformer *m = new_model(&o, 1);
    rt_transformer_set_theta(m, by_layer[0]);
    last_logits(m, 9, learned);
    for (int i = 0; i < 7; i++)
        ck_assert_double_eq_tol((double)fixed[i], (double)learned[i], 1e-13);
    ck_assert(memcmp(fixed, one_base, sizeof fixed) != 0);
}

/* ---- token dropout ---- */

TEST_ROWS(embeddings_make_up_for_the_masks_of_their_text, 0, 3)
{
    /* 0.88 / (1 - 0), 0.88 / (1 - 2 / 3), and with all of four tokens 0.88 / (1 - 2 / 4); a text of
     * masks alone is 0 */
    static const double factors[3][8] = {{0.88, 0.88, 0.88, 0.88, 0, 0, 2.64, 0},
                                         {0.88, 0.88, 0.88, 0.88, 0, 0, 1.76, 1.76}};
    static const int32_t masks[] = {3, 3, 3, 3, 3, 3, 3, 3};
    static const uint8_t first_four[8] = {1, 1, 1, 1};
    const int32_t *text = _i == 2 ? masks : ids;
    rt_transformer_options o = small();
    rt_tensor *states[3];
    rt_graph *g = new_graph();
    o.embedding_norm = RT_EMBEDDING_NORM_NO;
    o.token_dropout = true;
    o.mask_id = 3;
    rt_transformer *m = new_model(&o, 1);
    const rt_transformer_input in = INPUT(.B = 2, .T = 4, .ids = text, .hidden_states = states,
                                          .key_mask = _i == 0   ? mask
                                                      : _i == 1 ? NULL
                                                                : first_four);
    made(g, rt_transformer_encode(m, g, &in));
    for (int i = 0; i < 64; i++)
        ck_assert_double_eq_tol((double)states[0]->data[i],
                                factors[_i][i / 8] *
                                    (double)m->embeddings.tokens->data[8 * text[i / 8] + i % 8],
                                _i == 2 ? 1e-300 : 1e-7);
}

/* ---- heads for labels ---- */

/* The last rows are decoders, whose words are read with token types and a theta of the model. */
TEST_ROWS(gradients_of_heads_for_labels_agree_with_differences, 0, 15)
{
    rt_transformer_options o = small();
    const bool decoder = _i >= 12;
    o.head = decoder ? (rt_head)(_i % 3) : _i % 2 ? RT_HEAD_SEQUENCE : RT_HEAD_TOKEN;
    o.labels = 7;
    o.theta.form = (rt_theta_form)(_i / 3 % 2);
    if (decoder) {
        o.kind = RT_KIND_DECODER;
        o.norm = RT_NORM_PRE;
        o.bias = _i == 13 ? RT_BIAS_ALL : RT_BIAS_NONE;
        o.causal = true;
        o.window = 2;
        o.token_types = 2;
        o.tie_embeddings = false;
        o.embedding_dim = _i == 12 ? 6 : 0;
        o.theta.scope = RT_THETA_MODEL;
    } else {
        o.token_types = _i % 4;
        o.pool = (rt_pooling)(_i % 3);
        o.classifier = (rt_classifier)(_i / 2 % 3);
        o.bias = _i / 6 ? RT_BIAS_OUTPUT : RT_BIAS_ALL;
        o.norm_bias = _i / 6 ? RT_WITHOUT : RT_WITH;
        o.token_dropout = _i / 6;
        o.mask_id = 3; /* two of three tokens of the second text */
    }
    expect_right_gradients(&o);
}

/* Copies the parameters of the same name, and those of the head for words to that for labels. */
static void copy_for_labels(const rt_parameters *to, const rt_parameters *from)
{
    for (int i = 0; i < to->count; i++) {
        const char *name = to->list[i]->name, *last = strstr(name, "head.classifier.");
        const rt_parameter *p =
            rt_parameters_find(from,
                               last ? lasting("head.output.%s", last + strlen("head.classifier."))
                                    : name);
        ck_assert_msg(p != NULL, "there is no parameter for %s", name);
        memcpy(to->list[i]->tensor.data, p->tensor.data, rt_size(&p->tensor) * sizeof(real));
    }
}

/* Labels of tokens are read as words are, and tanh is the activation of that head alone. */
TEST(a_classifier_is_what_its_word_says)
{
    rt_transformer_options o = small();
    real words[7], labels_of[7], with_tanh[7], as_activation[7];
    o.tie_embeddings = false;
    o.ffn = RT_FFN_GEGLU;
    o.labels = 7;
    rt_transformer *lm = new_model(&o, 1);
    o.head = RT_HEAD_TOKEN;
    o.classifier = RT_CLASSIFIER_NORM;
    rt_transformer *m = new_model(&o, 1);
    redraw(&lm->parameters);
    copy_for_labels(&m->parameters, &lm->parameters);
    last_logits(lm, 9, words);
    last_logits(m, 9, labels_of);
    ck_assert(!memcmp(words, labels_of, sizeof words));
    o.head = RT_HEAD_SEQUENCE;
    for (int tanh_by_key = 0; tanh_by_key < 2; tanh_by_key++) {
        o.classifier = tanh_by_key ? RT_CLASSIFIER_TANH : RT_CLASSIFIER_DENSE;
        o.activation = tanh_by_key ? RT_GELU : RT_TANH;
        m = new_model(&o, 1);
        redraw(&m->parameters);
        last_logits(m, 9, tanh_by_key ? with_tanh : as_activation);
    }
    ck_assert(!memcmp(with_tanh, as_activation, sizeof with_tanh));
}

/* In ESM-2 and RoFormer before both maps, in ModernBERT behind the norm alone. */
TEST(dropout_of_a_classifier_stands_where_its_model_has_it)
{
    static const struct {
        rt_classifier classifier;
        const char *ops; /* from the logits to the input */
    } rows[] = {{RT_CLASSIFIER_DENSE, "linear dropout linear_activation dropout "},
                {RT_CLASSIFIER_TANH, "linear dropout linear_activation dropout "},
                {RT_CLASSIFIER_NORM, "linear dropout layer_norm linear_activation "}};
    static real pooled[2 * 8], gradient[2 * 8];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char ops[256] = "";
        rt_transformer_options o = small();
        o.head = RT_HEAD_SEQUENCE;
        o.labels = 3;
        o.dropout = 0.5;
        o.classifier = rows[i].classifier;
        rt_transformer *m = new_model(&o, 1);
        rt_graph *g = new_graph();
        rt_tensor x = rt_tensor_of(pooled, gradient, RT_SHAPE_OF(2, 8));
        rt_graph_set_random(g, 1, 1, 0);
        ck_assert_ptr_nonnull(rt_transformer_logits(m, g, &x));
        for (const rt_node *n = rt_graph_tape(g); n; n = n->older)
            snprintf(ops + strlen(ops), sizeof ops - strlen(ops), "%s ", n->op->name);
        ck_assert_str_eq(ops, rows[i].ops);
    }
}

TEST(a_bias_of_the_output_is_of_the_last_map_alone)
{
    rt_transformer_options o = small();
    o.bias = RT_BIAS_OUTPUT;
    o.labels = 7;
    for (int head = RT_HEAD_LM; head <= RT_HEAD_TOKEN; head++) {
        o.head = (rt_head)head;
        rt_transformer *m = new_model(&o, 1);
        int biases = 0;
        for (int i = 0; i < m->parameters.count; i++)
            biases += !strstr(m->parameters.list[i]->name, "norm") &&
                      strstr(m->parameters.list[i]->name, ".bias");
        ck_assert_int_eq(biases, 1);
        expect_parameter(m, head == RT_HEAD_LM ? "head.output.bias" : "head.classifier.bias",
                         "(7)");
    }
}

/* ---- failures ---- */

TEST(a_size_is_that_of_the_block_of_parameters)
{
    rt_transformer_options o = small();
    size_t size = 7;
    rt_transformer *m = new_model(&o, 1);
    ck_assert_int_eq(rt_transformer_size(&o, &size).code, RT_OK);
    ck_assert_uint_eq(size, m->parameters.block_size);
    o.heads = 0;
    ck_assert_int_eq(rt_transformer_size(&o, &size).code, RT_ARGUMENT);
    ck_assert_uint_eq(size, 0);
    o = small();
    o.vocab = 1 << 30;
    ck_assert_int_eq(rt_transformer_new(&m, &o, 1, NULL).code, RT_ARGUMENT);
    ck_assert_ptr_null(m);
}

/* Were it passed over in silence, an evaluation would report a loss of 0. */
TEST(a_missing_parameter_is_an_error)
{
    const rt_transformer_options o = small();
    rt_transformer *m = new_model(&o, 1);
    rt_graph *g = new_graph();
    rt_tensor *weight = m->layers[1].key.weight;
    m->layers[1].key.weight = NULL;
    ck_assert_ptr_null(loss(g, NULL, m));
    ck_assert_str_eq(rt_graph_status(g).message, "[linear] weight is NULL");
    m->layers[1].key.weight = weight;
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_transformer_encode(m, g, NULL));
    ck_assert_str_eq(rt_graph_status(g).message, "[roformer] input is NULL");
    rt_graph_clear(g);
    ck_assert_ptr_nonnull(loss(g, NULL, m));
}
