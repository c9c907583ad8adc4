/* Decoders written as folders of Llama and Mistral, and read again. */

#include "suite.h"
#include "training/hf_export.h"

#include "io/huggingface/json.h"

#include <math.h>

static rt_transformer_options usual(void)
{
    return (rt_transformer_options){
        .kind = RT_KIND_DECODER,
        .vocab = 11,
        .layers = 2,
        .dim = 32,
        .heads = 4,
        .ffn_dim = 20,
        .norm = RT_NORM_PRE,
        .norm_kind = RT_NORM_RMS,
        .ffn = RT_FFN_SWIGLU,
        .bias = RT_BIAS_NONE,
        .norm_eps = 1e-5,
        .init_std = 0.3,
        .causal = true,
        .position = {.pairing = RT_HALF, .frequencies = {RT_FREQUENCY_DEFAULTS}, .fraction = 1},
    };
}

static rt_status write_model(const rt_transformer *model)
{
    return rt_huggingface_write(in_scratch("out"), model,
                                &(rt_huggingface_export){.length = 8, .overwrite = true});
}

/* ---- what cannot be expressed ---- */

static void break_rule(rt_transformer_options *o, int rule)
{
    switch (rule) {
    case 0:
        o->head = RT_HEAD_SEQUENCE;
        o->labels = 2;
        o->pool = RT_POOL_MEAN;
        break;
    case 1:
        o->norm = RT_NORM_POST;
        break;
    case 2:
        o->norm_kind = RT_NORM_LAYER;
        break;
    case 3:
        o->ffn = RT_FFN_PLAIN;
        break;
    case 4:
        o->attention = RT_ATTENTION_LINEAR_ELU;
        break;
    case 5:
        o->causal = false;
        break;
    case 6:
        o->embedding_dim = 16;
        break;
    case 7:
        o->token_types = 2;
        break;
    case 8:
        o->bias = RT_BIAS_ALL;
        o->window = 4;
        break;
    case 9:
        o->position.kind = RT_POSITION_ALIBI;
        break;
    case 10:
        o->position.rotate_value = true;
        break;
    case 11:
        o->position.every = 2; /* which a SmolLM3 without biases has */
        o->bias = RT_BIAS_ALL;
        break;
    case 14:
        o->position.xpos = 12.5;
        break;
    case 12:
        o->position.frequencies.scaling = RT_SCALING_DYNAMIC;
        o->position.frequencies.original_len = 8;
        o->position.fraction = 0.5;
        break;
    case 13:
        o->heads = 1;
        o->dim = 1024;
        o->theta = (rt_theta_options){.learn = true, .scope = RT_THETA_MODEL};
        break;
    case 15:
        o->embedding_norm = RT_EMBEDDING_NORM_YES;
        break;
    case 16:
        o->first_norm = RT_WITHOUT;
        break;
    case 17:
        o->window = 4;
        o->layer_types = (rt_layer_words){o->layers, {RT_LAYER_FULL, RT_LAYER_SLIDING}};
        o->position.local_base = 100;
        break;
    default:
        break;
    }
}

#define HAS " cannot be exported: a Llama of Hugging Face has "
static const char *const rules[] = {
    "model.pool = mean" HAS "no class for it",
    "model.norm = post" HAS "its norms before the blocks",
    "model.norm_kind = layer" HAS "RMS norms",
    "model.ffn = plain" HAS "gates",
    "model.attention = linear_elu" HAS "softmax attention",
    "model.causal = no" HAS "causal attention",
    "model.embedding_dim = 16" HAS "embeddings as wide as its layers",
    "token types = 2" HAS "none",
    "model.bias = all cannot be exported with model.window = 4: a Mistral of Hugging Face has no "
    "biases",
    "position.kind = alibi" HAS "rotary positions",
    "position.rotate_value = yes" HAS "values that are not rotated",
    "position.every = 2" HAS "positions in every layer",
    "position.scaling = dynamic" HAS "it for all of a head and frequencies that are geometric",
    "theta of heads of 1024 cannot be exported: they must be listed, which rotor does for 512 at "
    "most",
    "position.xpos = 12.5" HAS "no decay of its scores",
    "model.embedding_norm = yes" HAS "no norm over its embeddings",
    "model.first_norm = no" HAS "a norm before the attention of every layer",
    "position.local_base = 100 cannot be exported: a SmolLM3 of Hugging Face has one base for all "
    "layers",
};
enum { RULES = sizeof rules / sizeof *rules };

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(what_transformers_cannot_express_is_refused_by_its_key, 0, RULES)
{
    rt_transformer_options o = usual();
    break_rule(&o, _i);
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_CONFIG, rules[_i]);
    ck_assert(!exists(in_scratch("out")));
    rt_transformer_free(model);
}

/* ---- what is computed ---- */

enum { ROWS = 2, TOKENS = 9, COUNT = ROWS * TOKENS * 11 };

/* Biases and norms, too, are to be told apart. Factors of heads are powers of 2, by which a float
 * is multiplied exactly. */
static void shake(rt_transformer *model)
{
    const rt_parameters *p = &model->parameters;
    for (int i = 0; i < p->count; i++)
        for (size_t k = 0; k < rt_size(&p->list[i]->tensor); k++) {
            if (p->list[i]->role == RT_ROLE_BIAS)
                p->list[i]->tensor.data[k] += (real)(0.3 * sin((double)i + 0.7 * (double)k));
            if (p->list[i]->role == RT_ROLE_FACTOR)
                p->list[i]->tensor.data[k] = (real)ldexp(1, (i + (int)k) % 4 - 1);
        }
}

static void compute(rt_transformer *model, double logits[COUNT])
{
    int32_t ids[ROWS * TOKENS];
    rt_graph *g = rt_graph_new();
    for (int n = 0; n < ROWS * TOKENS; n++)
        ids[n] = 1 + n * 3 % 10;
    const rt_transformer_input in = {.B = ROWS,
                                     .T = TOKENS,
                                     .ids = ids,
                                     .padding_id = RT_NO_PADDING};
    const rt_tensor *out = rt_transformer_forward(model, g, &in);
    assert_status(rt_graph_status(g), RT_OK, "");
    ck_assert_uint_eq(rt_size(out), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        logits[i] = (double)out->data[i];
    rt_graph_free(g);
}

/* Files are float, so the values of the model are first rounded to floats. */
static void round_values(rt_transformer *model)
{
    const rt_parameters *p = &model->parameters;
    for (int i = 0; i < p->count; i++)
        for (size_t k = 0; k < rt_size(&p->list[i]->tensor); k++)
            if (p->list[i]->role != RT_ROLE_THETA)
                p->list[i]->tensor.data[k] = (real)(float)p->list[i]->tensor.data[k];
}

static rt_transformer *shaken_model(const rt_transformer_options *o)
{
    rt_transformer *model = new_model(o);
    shake(model);
    round_values(model);
    return model;
}

static void choose(rt_transformer_options *o, int variant)
{
    rt_position_options *p = &o->position;
    rt_frequency_options *f = &p->frequencies;
    o->tie_embeddings = variant == 1;
    o->theta.head_scale = variant % 3 != 0;
    o->kv_heads = variant == 2 ? 2 : 4;
    o->window = variant == 3 ? 4 : 0;
    o->bias = variant == 4 ? RT_BIAS_ALL : RT_BIAS_NONE;
    o->ffn = variant == 5 ? RT_FFN_GEGLU : RT_FFN_SWIGLU;
    p->pairing = variant == 6 || variant == 7 ? RT_INTERLEAVED : RT_HALF;
    p->fraction = variant == 7 || variant == 8 ? 0.75 : 1;
    if (variant == 9)
        f->family = RT_FREQUENCIES_RECIPROCAL;
    if (variant < 10)
        return;
    f->base = 30;
    f->scaling = (rt_scaling)(variant - 10 + 1);
    f->scale = 2.5;
    f->original_len = 6;
    static const double short_factors[] = {1, 1.1, 1.2, 1.5}, long_factors[] = {1.5, 2, 3, 4};
    f->short_factors = (rt_factors){4, short_factors};
    f->long_factors = (rt_factors){4, long_factors};
}
enum { VARIANTS = 16 };

TEST_ROWS(what_is_exported_computes_the_same, 0, VARIANTS)
{
    double here[COUNT], again[COUNT];
    rt_transformer_options o = usual();
    choose(&o, _i);
    rt_transformer *model = shaken_model(&o);
    compute(model, here);
    assert_status(write_model(model), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings, "");
    ck_assert_str_eq(there->architecture, o.window ? "MistralForCausalLM" : "LlamaForCausalLM");
    ck_assert(!there->options.theta.learn);
    rt_transformer *read = model_of_folder(there);
    compute(read, again);
    const double tolerance = sizeof(real) == sizeof(double) ? 1e-11 : 2e-5;
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(fabs(here[i] - again[i]) <= tolerance, "logit %d: %.9g, again %.9g", i,
                      here[i], again[i]);
    rt_transformer_free(model);
    rt_transformer_free(read);
    rt_huggingface_close(there);
    remove_out();
}

/* ---- learned theta ---- */

static rt_transformer_options learning(int scope, rt_theta_form form)
{
    rt_transformer_options o = usual();
    o.theta = (rt_theta_options){.learn = true,
                                 .scope = (rt_theta_scope)scope,
                                 .form = form,
                                 .init = RT_THETA_PERTURBED,
                                 .init_sigma = 1};
    o.position.frequencies.base = 700;
    return o;
}

TEST(a_theta_that_is_not_finite_is_not_exported)
{
    const rt_transformer_options o = learning(RT_THETA_LAYER, RT_THETA_LOG);
    rt_transformer *model = shaken_model(&o);
    model->layers[0].encoding->data[1] = (real)NAN;
    assert_status(write_model(model), RT_NONFINITE, "theta is nan at 1: it is not exported");
    ck_assert(!exists(in_scratch("out")));
    rt_transformer_free(model);
    remove_out();
}

TEST_ROWS(learned_theta_are_read_again, 0, 24)
{
    rt_huggingface_taken taken;
    double here[COUNT], again[COUNT], a[32], b[32];
    rt_transformer_options o = learning(_i % 3, (rt_theta_form)(_i / 3 % 2));
    o.position.fraction = _i / 6 % 2 ? 0.5 : 1;
    if (_i >= 18) /* with scope head, a theta for each head of keys */
        o.kv_heads = 2;
    if (_i >= 12) { /* cosines and sines are longer */
        o.position.frequencies.scaling = RT_SCALING_YARN;
        o.position.frequencies.scale = 4;
        o.position.frequencies.original_len = 6;
    }
    const size_t count = rt_transformer_theta_count(&o);
    rt_transformer *model = shaken_model(&o);
    compute(model, here);
    assert_status(write_model(model), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    const rt_transformer_options *read = &there->options;
    ck_assert_str_eq(there->warnings, "");
    ck_assert(read->theta.learn && read->position.frequencies.base == 700);
    ck_assert_int_eq(read->theta.scope, o.theta.scope);
    ck_assert_int_eq(read->theta.form, o.theta.form);
    ck_assert(read->position.fraction == o.position.fraction);
    rt_transformer *copy = new_model(read);
    assert_status(rt_huggingface_load(there, copy, &taken), RT_OK, "");
    ck_assert(taken.head && taken.theta && count <= 32);
    rt_transformer_theta(model, a);
    rt_transformer_theta(copy, b);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs(a[i] / b[i] - 1) < 1e-14, "theta %zu: %.17g, again %.17g", i, a[i],
                      b[i]);
    for (int i = 0; i < model->parameters.count; i++) {
        const rt_parameter *p = model->parameters.list[i], *q = copy->parameters.list[i];
        ck_assert_msg(p->role == RT_ROLE_THETA || !memcmp(p->tensor.data, q->tensor.data,
                                                          rt_size(&p->tensor) * sizeof(real)),
                      "%s has other values", p->name);
    }
    compute(copy, again);
    for (int i = 0; i < COUNT; i++)
        ck_assert(fabs(here[i] - again[i]) <= 1e-11);
    rt_transformer_free(model);
    rt_transformer_free(copy);
    rt_huggingface_close(there);
    remove_out();
}

/* theta = 1 / (factor base^(2i/D)), which is what transformers computes of longrope. */
TEST(rope_parameters_have_a_learned_theta)
{
    static const double own[] = {1.5, -0.25, 0, 1e-4};
    rt_transformer_options o = learning(RT_THETA_MODEL, RT_THETA_RAW);
    rt_transformer *model = new_model(&o);
    rt_transformer_set_theta(model, own);
    assert_status(write_model(model), RT_OK, "");
    json_t *config = read_config();
    const json_t *rope = json_object_get(config, "rope_parameters");
    const json_t *factors = json_object_get(rope, "short_factor");
    ck_assert_str_eq(json_string_value(json_object_get(rope, "rope_type")), "longrope");
    ck_assert_int_eq(json_array_size(factors), 4);
    ck_assert(json_equal(factors, json_object_get(rope, "long_factor")));
    ck_assert(json_equal(rope, json_object_get(config, "rope_scaling")));
    for (size_t i = 0; i < 4; i++) {
        const double factor = json_number_value(json_array_get(factors, i));
        const double theta = pow(700, -(double)i / 4) / factor;
        ck_assert_msg(fabs(theta - own[i]) <= 1e-7 * fabs(own[i]) + 1e-38, "%zu: %.17g", i, theta);
    }
    json_decref(config);
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->warnings, "");
    ck_assert(there->options.theta.learn && there->theta[2] == 0);
    rt_huggingface_close(there);
    rt_transformer_free(model);
    remove_out();
}

TEST(theta_that_do_not_make_the_parameters_are_left)
{
    rt_transformer_options o = learning(RT_THETA_LAYER, RT_THETA_LOG);
    o.theta.init = RT_THETA_FREQUENCIES;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_OK, "");
    change_file("out/config.json", "[[1, ", "[[1.01, ");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(
        there->warnings,
        "config.json: rotor_theta does not match rope_parameters; rotor uses rope_parameters\n");
    ck_assert(!there->options.theta.learn);
    ck_assert_int_eq(there->options.position.frequencies.scaling, RT_SCALING_LONGROPE);
    rt_huggingface_close(there);
    rt_transformer_free(model);
    remove_out();
}

/* ---- config.json and the card ---- */

TEST_ROWS(the_positions_are_those_that_a_scaling_asks_for, 0, 7)
{
    static const struct {
        rt_scaling scaling;
        double scale;
        int original, positions;
    } cases[] = {
        {RT_SCALING_NONE, 1, 0, 8},         {RT_SCALING_YARN, 4, 1000, 4000},
        {RT_SCALING_YARN, 1.3, 1001, 1001}, {RT_SCALING_DYNAMIC, 2, 77, 77},
        {RT_SCALING_LLAMA3, 2, 4, 8},       {RT_SCALING_LLAMA3, 2, 1536, 1537},
        {RT_SCALING_YARN, 1e6, 1000, 1000},
    };
    rt_transformer_options o = usual();
    o.position.frequencies.scaling = cases[_i].scaling;
    o.position.frequencies.scale = cases[_i].scale;
    o.position.frequencies.original_len = cases[_i].original;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->max_positions, cases[_i].positions);
    ck_assert_int_eq(there->length, 8);
    rt_huggingface_close(there);
    rt_transformer_free(model);
    remove_out();
}

TEST(the_base_of_ntk_is_written)
{
    rt_transformer_options o = usual();
    o.position.frequencies.scaling = RT_SCALING_NTK;
    o.position.frequencies.scale = 8;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->options.position.frequencies.scaling, RT_SCALING_NONE);
    ck_assert(fabs(there->options.position.frequencies.base / 160000 - 1) < 1e-14);
    rt_huggingface_close(there);
    rt_transformer_free(model);
    remove_out();
}

TEST(ids_have_a_meaning_if_there_is_a_vocabulary)
{
    rt_vocabulary *v;
    rt_transformer_options o = usual();
    rt_transformer *model = new_model(&o);
    assert_status(rt_vocabulary_of_text(&v, "text", (const unsigned char *)"bca\n", 4), RT_OK, "");
    rt_huggingface_export export = {.vocabulary = v, .length = 8, .overwrite = true};
    assert_status(rt_huggingface_write(in_scratch("out"), model, &export), RT_OK, "");
    json_t *config = read_config();
    ck_assert_int_eq(json_integer_value(json_object_get(config, "bos_token_id")), 1);
    ck_assert(json_is_null(json_object_get(config, "eos_token_id"))); /* it has learned none */
    ck_assert(json_is_integer(json_object_get(config, "pad_token_id")));
    json_decref(config);
    for (v->ends = (rt_end_ids){1, {3, 0, 5}}; v->ends.count < 4; v->ends.count += 2) {
        assert_status(rt_huggingface_write(in_scratch("out"), model, &export), RT_OK, "");
        config = read_config();
        const json_t *ends = json_object_get(config, "eos_token_id");
        ck_assert_int_eq((int)json_array_size(ends), v->ends.count > 1 ? 3 : 0);
        ck_assert_int_eq(json_integer_value(json_is_array(ends) ? json_array_get(ends, 0) : ends),
                         3);
        json_decref(config);
        rt_huggingface *there = opened_folder(in_scratch("out"));
        ck_assert(!memcmp(there->ends.ids, v->ends.ids, (size_t)v->ends.count * sizeof(int32_t)));
        ck_assert_int_eq(there->ends.count, v->ends.count);
        rt_huggingface_close(there);
    }
    assert_status(write_model(model), RT_OK, "");
    config = read_config();
    ck_assert(json_is_null(json_object_get(config, "bos_token_id")));
    ck_assert(json_is_null(json_object_get(config, "eos_token_id")));
    ck_assert(json_is_null(json_object_get(config, "pad_token_id")));
    json_decref(config);
    rt_vocabulary_free(v);
    rt_transformer_free(model);
    remove_out();
}

TEST_ROWS(the_card_says_how_it_turns, 0, 6)
{
    static const char *const sentences[] = {
        "theta_i = 10000^(-2i/8), which is fixed.\n",
        "theta_i = 10000^(-2i/8), which is fixed and scaled (position.scaling = linear).\n",
        "was learned with the weights; `rope_parameters` in config.json has it",
        "was learned separately for every layer. transformers has one theta for all: `rope_parame",
        "was learned separately for every head. ",
        "was learned separately for every head of keys. ",
    };
    char card[8192];
    rt_transformer_options o = _i > 1 ? learning(_i < 5 ? _i - 2 : 2, RT_THETA_LOG) : usual();
    o.kv_heads = _i == 5 ? 1 : 4;
    if (_i == 1) {
        o.position.frequencies.scaling = RT_SCALING_LINEAR;
        o.position.frequencies.scale = 2;
    }
    o.window = _i == 0 ? 3 : 0;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_OK, "");
    read_into(card, sizeof card, "out/README.md");
    expect_in(card, _i == 0 ? "\n- mistral\n" : "\n- llama\n");
    expect_in(card, "\n# A Llama\n");
    expect_in(card, sentences[_i]);
    ck_assert((strstr(card, "attention.q_proj).register_forward_hook(rotate)") != NULL) ==
              (_i >= 3));
    rt_transformer_free(model);
    remove_out();
}

TEST(every_allocation_can_fail)
{
    rt_transformer_options o = learning(RT_THETA_HEAD, RT_THETA_LOG);
    rt_transformer *model = new_model(&o);
    rt_code code = RT_MEMORY;
    size_t n = 0;
    while (code && n < 10000) {
        rt_memory_fail_at(++n);
        code = write_model(model).code;
        rt_memory_fail_at(0);
        ck_assert(code == RT_OK || code == RT_MEMORY);
        ck_assert(exists(in_scratch("out/config.json")) == (code == RT_OK));
    }
    ck_assert_uint_gt(n, 10);
    rt_transformer_free(model);
    remove_out();
}
