#include "models/encodings/encoding.h"
#include "new_model.h"
#include "option_words.h"

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

#define LAYER "layers.1.attention."
#define WIDE  "model.embedding_dim=6 types=2 model.norm=pre model.tie_embeddings=no"
#define DECODER                                                                                    \
    "model.kind=decoder model.norm=pre model.norm_kind=rms model.ffn=swiglu model.heads=4 "        \
    "model.kv_heads=2 model.tie_embeddings=no model.bias="
#define BARE     "model.norm=pre model.norm_bias=no model.first_norm=no"
#define OWN_SIZE "model.heads=4 model.kv_heads=2 model.head_dim=6 model.qk_norm=yes model.bias=qkv"
#define SELECTIVE                                                                                  \
    "position.kind=selective model.causal=yes position.rank=3 position.taps=5 "                    \
    "position.phase_bias=yes position.phase_gate=yes"
#define SHAW "theta.learn=no position.kind=shaw position.every=2"

/* Expected shapes of parameters; NULL: the model has no parameter of that name. Folders of Hugging
 * Face have the names of their families. */
static const struct {
    const char *words, *name, *shape;
} parameters[] = {
    {"", LAYER "theta", "(2)"},
    {"theta.scope=head", LAYER "theta", "(2, 2)"},
    {"theta.scope=model", "theta", "(2)"},
    {"theta.scope=model", LAYER "theta", NULL},
    {"theta.scope=model theta.learn=no", "theta", NULL},
    {"", "head.output.weight", NULL},
    {WIDE, "embeddings.tokens.weight", "(7, 6)"},
    {WIDE, "embeddings.types.weight", "(2, 6)"},
    {WIDE, "embeddings.project.weight", "(8, 6)"},
    {WIDE, "layers.0.ffn.up.weight", "(32, 8)"},
    {WIDE, "norm.weight", "(8)"},
    {WIDE, "head.dense.weight", "(6, 8)"},
    {WIDE, "head.output.weight", "(7, 6)"},
    {WIDE, "head.output.bias", "(7)"},
    {DECODER "none", "head.dense.weight", NULL},
    {DECODER "all model.embedding_dim=6", "embeddings.project.weight", "(8, 6)"},
    {DECODER "all model.embedding_dim=6", "head.output.weight", "(7, 8)"},
    {"model.norm=pre", "embeddings.norm.bias", "(8)"},
    {"model.norm=pre", "layers.0.attention_norm.bias", "(8)"},
    {BARE, "layers.0.attention_norm.weight", NULL},
    {BARE " model.embedding_norm=no", "embeddings.norm.weight", NULL},
    {"model.kind=decoder", "embeddings.norm.weight", NULL},
    {"model.kind=decoder model.embedding_norm=yes", "embeddings.norm.bias", "(8)"},
    {OWN_SIZE, LAYER "query_norm.bias", NULL},
    {"model.bias=ffn", "layers.0.ffn.up.bias", "(32)"},
    {"model.bias=ffn", "layers.0.ffn.down.bias", "(8)"},
    {"model.bias=ffn", "layers.0.attention.query.bias", NULL},
    {"model.bias=ffn", "head.dense.bias", NULL},
    {"model.bias=output", "head.output.bias", "(7)"},
    {"model.bias=output head=sequence labels=7", "head.classifier.bias", "(7)"},
    {"model.bias=output head=token labels=7", "head.classifier.bias", "(7)"},
    {SHAW, "layers.0.attention.distance_keys.weight", "(33, 4)"},
    {SHAW, LAYER "distance_keys.weight", NULL},
    {"theta.learn=no position.kind=learned position.max_len=6", "embeddings.positions.weight",
     "(6, 8)"},
    {SELECTIVE, LAYER "phase.down.weight", "(3, 8)"},
    {SELECTIVE, LAYER "phase.up.weight", "(4, 3)"},
    {SELECTIVE, LAYER "phase.taps", "(4, 5)"},
    {SELECTIVE, LAYER "phase.bias", "(2, 2)"},
    {SELECTIVE, LAYER "phase.gate.weight", "(2, 8)"},
    {SELECTIVE, LAYER "phase.gate.bias", "(2)"},
    {SELECTIVE, LAYER "theta", "(2)"},
    {SELECTIVE " position.taps=0", LAYER "phase.taps", NULL},
    {SELECTIVE " position.phase_bias=no", LAYER "phase.bias", NULL},
    {SELECTIVE " position.phase_gate=no", LAYER "phase.gate.bias", NULL},
    {"theta.learn=no position.kind=t5", "positions.bias.weight", "(32, 2)"},
};

TEST_ROWS(parameters_have_their_public_names_and_shapes, 0, ROWS(parameters))
{
    rt_transformer_options o = small();
    set_options(&o, parameters[_i].words);
    rt_transformer *m = new_model(&o, 1);
    expect_parameter(m, parameters[_i].name, parameters[_i].shape);
    if (!_i)
        ck_assert_ptr_eq(m->head.output.weight, m->embeddings.tokens);
    int biases = 0;
    for (int i = 0; i < m->parameters.count; i++)
        biases += !strstr(m->parameters.list[i]->name, "norm") &&
                  strstr(m->parameters.list[i]->name, ".bias");
    if (o.bias == RT_BIAS_NONE || o.bias == RT_BIAS_OUTPUT)
        ck_assert_int_eq(biases, o.bias == RT_BIAS_OUTPUT);
}

/* The seven logits of the last token of a text. */
static void last_logits(rt_transformer *m, real *logits)
{
    static const int32_t ids[] = {3, 5, 1, 6, 2, 4, 3, 3, 6};
    memcpy(logits, logits_of(m, ids, NULL, 9) + 8 * 7, 7 * sizeof *logits);
}

/* Rows: both forms, scaled and not. */
TEST_ROWS(theta_starts_at_the_geometric_series, 0, 4)
{
    const double scale = _i / 2 ? 4 : 1;
    double theta[4];
    rt_transformer_options o = small();
    o.theta.form = (rt_theta_form)(_i % 2);
    o.position.frequencies.scaling = _i / 2 ? RT_SCALING_LINEAR : RT_SCALING_NONE;
    o.position.frequencies.scale = scale;
    o.dim = 16; /* two of four pairs: the series is that of the rotated ones */
    o.position.fraction = 0.5;
    rt_transformer_theta(new_model(&o, 1), theta);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol(theta[i], (i % 2 ? 0.01 : 1) / scale, 1e-15);
}

static void expect_place(const rt_parameter *p)
{
    static const char *const beginnings[] = {
        [RT_COMPONENT_EMBEDDINGS] = "embeddings.",
        [RT_COMPONENT_POSITIONS] = "positions.",
        [RT_COMPONENT_LAYER] = "layers.",
        [RT_COMPONENT_NORM] = "norm.",
        [RT_COMPONENT_HEAD] = "head.",
    };
    const char *name = strcmp(p->name, "theta") ? p->name : "positions.theta";
    int layer = -1;
    sscanf(name, "layers.%d.", &layer);
    ck_assert_msg(p->component != RT_COMPONENT_NONE && p->layer == layer &&
                      !strncmp(name, beginnings[p->component], strlen(beginnings[p->component])),
                  "%s has component %d and layer %d", p->name, (int)p->component, p->layer);
    ck_assert_msg(!strstr(p->name, "theta") == (p->role != RT_ROLE_THETA), "the role of %s",
                  p->name);
}

TEST(a_parameter_has_its_part_and_its_layer)
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
        o.causal = rt_encoding_of(&o)->causal;
        o.theta.learn = rt_encoding_of(&o)->pairs != NULL;
        o.theta.scope = (rt_theta_scope)(i / 2 / KINDS / HEADS);
        rt_transformer *m = new_model(&o, 1);
        for (int n = 0; n < m->parameters.count; n++)
            expect_place(m->parameters.list[n]);
    }
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

/* All parameters but theta are zeros until they are drawn. */
TEST(a_blank_model_equals_the_drawn_one_once_drawn)
{
    rt_transformer_options o = small();
    set_options(&o, "theta.init=perturbed theta.init_sigma=1");
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

TEST(a_worker_shares_values_and_has_its_own_gradients)
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

static const int32_t ids[] = {1, 5, 2, 6, 3, 3, 4, 1};
static const uint8_t mask[] = {1, 1, 1, 1, 1, 1, 1, 0};

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
    last_logits(plain, without);
    last_logits(scaled, with);
    ck_assert(!memcmp(without, with, sizeof with));
    scaled->layers[0].head_scale->data[1] = 3;
    last_logits(scaled, with);
    ck_assert(memcmp(without, with, sizeof with) != 0);
}

/* Multiplying the rows of the weight and bias of the queries by the factor gives the same outputs.
 */
TEST(a_head_factor_equals_scaled_queries)
{
    rt_transformer_options o = small();
    real scaled[7], folded[7];
    o.theta.head_scale = true;
    rt_transformer *m = new_model(&o, 1);
    rt_transformer_layer *layer = m->layers + 1;
    layer->query.bias->data[5] = 1;
    layer->head_scale->data[1] = 4;
    last_logits(m, scaled);
    layer->head_scale->data[1] = 1;
    for (int row = 4; row < 8; row++) {
        layer->query.bias->data[row] *= 4;
        for (int i = 0; i < 8; i++)
            layer->query.weight->data[row * 8 + i] *= 4;
    }
    last_logits(m, folded);
    ck_assert(!memcmp(scaled, folded, sizeof folded));
}

static const double by_layer[2][2] = {{1, 0.1}, {1, 0.01}};

static rt_transformer_options two_bases(void)
{
    rt_transformer_options o = small();
    set_options(&o, "model.window=2 model.layer_types=sliding,full position.local_base=100");
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
    set_options(&o, "theta.init=uniform model.head_dim=64 position.local_base=10");
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

TEST_ROWS(embeddings_are_scaled_for_the_masks_of_their_text, 0, 3)
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
    set_options(&o, "model.embedding_norm=no model.token_dropout=yes mask=3");
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

/* ESM-2 and RoFormer have dropout before both maps, ModernBERT only behind the norm. */
TEST(dropout_of_a_classifier_is_at_the_place_of_its_reference)
{
    static const char *const rows[][2] = {
        /* options, and ops from the logits to the input */
        {"model.classifier=dense", "linear dropout linear_activation dropout "},
        {"model.classifier=tanh", "linear dropout linear_activation dropout "},
        {"model.classifier=norm", "linear dropout layer_norm linear_activation "}};
    static real pooled[2 * 8], gradient[2 * 8];
    for (int i = 0; i < ROWS(rows); i++) {
        char ops[256] = "";
        rt_transformer_options o = small();
        set_options(&o, "head=sequence labels=3 model.dropout=0.5");
        set_options(&o, rows[i][0]);
        rt_transformer *m = new_model(&o, 1);
        rt_graph *g = new_graph();
        rt_tensor x = rt_tensor_of(pooled, gradient, RT_SHAPE_OF(2, 8));
        rt_graph_set_random(g, 1, 1, 0);
        ck_assert_ptr_nonnull(rt_transformer_logits(m, g, &x));
        for (const rt_node *n = rt_graph_tape(g); n; n = n->older)
            snprintf(ops + strlen(ops), sizeof ops - strlen(ops), "%s ", n->op->name);
        ck_assert_str_eq(ops, rows[i][1]);
    }
}

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

/* If it were ignored, an evaluation would report a loss of 0. */
TEST(a_missing_parameter_is_an_error)
{
    const rt_transformer_options o = small();
    const rt_transformer_input in = INPUT(.B = 2, .T = 4, .ids = ids, .key_mask = mask);
    rt_transformer *m = new_model(&o, 1);
    rt_graph *g = new_graph();
    rt_tensor *weight = m->layers[1].key.weight;
    m->layers[1].key.weight = NULL;
    ck_assert_ptr_null(rt_transformer_forward(m, g, &in));
    ck_assert_str_eq(rt_graph_status(g).message, "[linear] weight is NULL");
    m->layers[1].key.weight = weight;
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_transformer_encode(m, g, NULL));
    ck_assert_str_eq(rt_graph_status(g).message, "[transformer] input is NULL");
    rt_graph_clear(g);
    ck_assert_ptr_nonnull(rt_transformer_forward(m, g, &in));
}
