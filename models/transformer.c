#include "models/encodings/encoding.h"

#include "core/memory.h"

#include <stdio.h>

/* Adds NAME.weight and, if biased, NAME.bias, of the length of the first axis; in a layer,
 * layers.N.NAME. */
static rt_affine add_affine(rt_transformer *m, const char *name, rt_shape shape, bool biased)
{
    rt_parameters *p = &m->parameters;
    const bool in_layer = p->component == RT_COMPONENT_LAYER, is_map = shape.ndim > 1;
    const rt_role role = !is_map ? RT_ROLE_BIAS : in_layer ? RT_ROLE_MATRIX : RT_ROLE_WEIGHT;
    const rt_init init = is_map ? RT_INIT_NORMAL : RT_INIT_ONE;
    char prefix[RT_NAME_SIZE] = "";
    if (in_layer)
        snprintf(prefix, sizeof prefix, "layers.%d.", p->layer);
    rt_affine a = {.weight = rt_parameters_add(p, role, init, shape, "%s%s.weight", prefix, name)};
    if (biased)
        a.bias = rt_parameters_add(p, RT_ROLE_BIAS, RT_INIT_ZERO, RT_SHAPE_OF(shape.axis[0]),
                                   "%s%s.bias", prefix, name);
    return a;
}

static rt_affine add_norm(rt_transformer *m, const char *name, int size, rt_norm_kind kind)
{
    const bool biased = kind == RT_NORM_LAYER && m->options.norm_bias == RT_WITH;
    rt_affine a = add_affine(m, name, RT_SHAPE_OF(size), biased);
    a.norm_kind = kind;
    return a;
}

static void add_embeddings(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    const int E = o->embedding_dim;
    m->parameters.component = RT_COMPONENT_EMBEDDINGS;
    m->embeddings.tokens =
        add_affine(m, "embeddings.tokens", RT_SHAPE_OF(o->vocab, E), false).weight;
    if (o->token_types > 0)
        m->embeddings.types =
            add_affine(m, "embeddings.types", RT_SHAPE_OF(o->token_types, E), false).weight;
    if (o->patch > 0)
        m->embeddings.patches =
            add_affine(m, RT_PATCHES_NAME, RT_SHAPE_OF(E, o->patch), false).weight;
    if (o->embedding_norm == RT_EMBEDDING_NORM_YES)
        m->embeddings.norm = add_norm(m, "embeddings.norm", E, o->norm_kind);
    if (E != o->dim)
        m->embeddings.project =
            add_affine(m, "embeddings.project", RT_SHAPE_OF(o->dim, E), o->bias == RT_BIAS_ALL);
}

static void add_layer(rt_transformer *m, int l)
{
    const rt_transformer_options *o = &m->options;
    const rt_encoding *encoding;
    rt_transformer_layer *layer = m->layers + l;
    const int D = o->head_dim, width = o->heads * D, kv_width = o->kv_heads * D;
    const bool all = o->bias == RT_BIAS_ALL, qkv = all || o->bias == RT_BIAS_QKV;
    m->parameters.component = RT_COMPONENT_LAYER;
    m->parameters.layer = l;
    layer->row = rt_layer_row_of(o, l);

    layer->query = add_affine(m, "attention.query", RT_SHAPE_OF(width, o->dim), qkv);
    layer->key = add_affine(m, "attention.key", RT_SHAPE_OF(kv_width, o->dim), qkv);
    layer->value = add_affine(m, "attention.value", RT_SHAPE_OF(kv_width, o->dim), qkv);
    if (o->qk_norm) {
        layer->query_norm = add_norm(m, "attention.query_norm", D, RT_NORM_RMS);
        layer->key_norm = add_norm(m, "attention.key_norm", D, RT_NORM_RMS);
    }
    for (int n = 0; (encoding = rt_encoding_at(o, n)); n++) {
        m->parameters.joins = n > 0 || encoding->joins ? RT_JOINS : RT_NEVER_JOINS;
        if (encoding->add_layer && rt_encoding_acts(encoding, o, l))
            encoding->add_layer(m, l);
    }
    m->parameters.joins = RT_JOINS;
    if (o->theta.head_scale)
        layer->head_scale =
            rt_parameters_add(&m->parameters, RT_ROLE_FACTOR, RT_INIT_ONE, RT_SHAPE_OF(o->heads),
                              "layers.%d.attention.head_scale", l);
    m->parameters.joins = RT_NEVER_JOINS;
    layer->output = add_affine(m, "attention.output", RT_SHAPE_OF(o->dim, width), all);
    if (layer->row.has_attention_norm)
        layer->attention_norm = add_norm(m, "attention_norm", o->dim, o->norm_kind);

    const rt_shape up = RT_SHAPE_OF(o->ffn_dim, o->dim), down = RT_SHAPE_OF(o->dim, o->ffn_dim);
    const bool biased = all || o->bias == RT_BIAS_FFN;
    if (o->ffn != RT_FFN_PLAIN)
        layer->gate = add_affine(m, "ffn.gate", up, biased);
    layer->up = add_affine(m, "ffn.up", up, biased);
    layer->down = add_affine(m, "ffn.down", down, biased);
    layer->ffn_norm = add_norm(m, "ffn_norm", o->dim, o->norm_kind);
}

static void add_head(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    const bool is_lm = o->head == RT_HEAD_LM, is_decoder = o->kind == RT_KIND_DECODER;
    const bool normed = is_lm || o->classifier == RT_CLASSIFIER_NORM;
    const bool transforms = !is_decoder && (normed || o->head == RT_HEAD_SEQUENCE);
    const bool has_output_bias = o->bias == RT_BIAS_ALL || o->bias == RT_BIAS_OUTPUT;
    const int E = is_lm && transforms ? o->embedding_dim : o->dim;
    m->parameters.component = RT_COMPONENT_HEAD;
    if (transforms)
        m->head.dense = add_affine(m, "head.dense", RT_SHAPE_OF(E, o->dim), o->bias == RT_BIAS_ALL);
    if (transforms && normed)
        m->head.norm = add_norm(m, "head.norm", E, o->norm_kind);
    if (!is_lm) {
        /* As in transformers, a decoder has a bias for labels of tokens, not for those of texts. */
        const bool biased = is_decoder ? o->head == RT_HEAD_TOKEN : has_output_bias;
        m->head.classifier =
            add_affine(m, "head.classifier", RT_SHAPE_OF(o->labels, o->dim), biased);
        return;
    }
    m->head.output.weight =
        o->tie_embeddings ? m->embeddings.tokens
                          : add_affine(m, "head.output", RT_SHAPE_OF(o->vocab, E), false).weight;
    if (transforms && has_output_bias)
        m->head.output.bias = rt_parameters_add(&m->parameters, RT_ROLE_BIAS, RT_INIT_ZERO,
                                                RT_SHAPE_OF(o->vocab), RT_OUTPUT_BIAS_NAME);
}

/* Creates a model and lists its parameters, without allocating them. The caller frees the model
 * even after an error. */
static rt_status list_parameters(rt_transformer **model_new, const rt_transformer_options *options)
{
    *model_new = NULL;
    RT_TRY(rt_transformer_check(options));
    const rt_encoding *encoding = rt_encoding_of(options);
    rt_transformer *m = *model_new = rt_alloc(1, sizeof *m);
    RT_TRY(rt_allocated(m, "a model"));
    m->options = *options;
    rt_transformer_resolve(&m->options);
    m->parameters.init_std = m->options.init_std;
    m->layers = rt_alloc((size_t)options->layers, sizeof *m->layers);
    RT_TRY(rt_allocated(m->layers, "a model"));
    add_embeddings(m);
    m->parameters.component = RT_COMPONENT_POSITIONS;
    m->encoding.weight = encoding->add ? encoding->add(m) : NULL;
    for (int l = 0; l < options->layers; l++)
        add_layer(m, l);
    if (options->norm == RT_NORM_PRE) {
        m->parameters.component = RT_COMPONENT_NORM;
        m->norm = add_norm(m, "norm", options->dim, options->norm_kind);
    }
    add_head(m);
    return m->parameters.status;
}

rt_status rt_transformer_new_from(rt_transformer **model_new, const rt_transformer_options *options,
                                  const rt_model_start *start)
{
    rt_transformer *m;
    rt_status status = list_parameters(&m, options);
    if (!status.code) {
        m->parameters.blank = start->blank;
        m->parameters.account = start->account;
        status = rt_parameters_allocate(&m->parameters, start->seed,
                                        start->values_of ? &start->values_of->parameters : NULL);
    }
    const rt_encoding *encoding;
    for (int n = 0; !status.code && (encoding = rt_encoding_at(options, n)); n++)
        if (encoding->start)
            status = encoding->start(m);
    *model_new = status.code ? NULL : m;
    if (status.code)
        rt_transformer_free(m);
    return status;
}

rt_status rt_transformer_new(rt_transformer **model_new, const rt_transformer_options *options,
                             uint64_t seed, const rt_transformer *values_of)
{
    const rt_model_start start = {.seed = seed, .values_of = values_of};
    return rt_transformer_new_from(model_new, options, &start);
}

rt_status rt_transformer_size(const rt_transformer_options *options, size_t *size)
{
    rt_transformer *m;
    rt_status status = list_parameters(&m, options);
    *size = status.code ? 0 : m->parameters.block_size;
    rt_transformer_free(m);
    return status;
}

void rt_transformer_free(rt_transformer *m)
{
    if (!m || !m->options.vocab)
        return;
    rt_free(m->encoding.state);
    rt_parameters_free(&m->parameters);
    rt_free(m->layers);
    rt_free(m);
}

rt_tensor *rt_transformer_norm(const rt_transformer *m, rt_graph *g, rt_tensor *x, rt_affine a)
{
    if (!a.weight)
        return x;
    return a.norm_kind == RT_NORM_LAYER ? rt_layer_norm(g, x, a.weight, a.bias, m->options.norm_eps)
                                        : rt_rms_norm(g, x, a.weight, m->options.norm_eps);
}

rt_tensor *rt_transformer_logits(rt_transformer *m, rt_graph *g, rt_tensor *hidden)
{
    const rt_transformer_options *o = &m->options;
    const bool is_lm = o->head == RT_HEAD_LM;
    const rt_affine dense = m->head.dense, output = is_lm ? m->head.output : m->head.classifier;
    const bool is_tanh = !is_lm && o->classifier == RT_CLASSIFIER_TANH;
    if (!is_lm && o->head != RT_HEAD_SEQUENCE && o->head != RT_HEAD_TOKEN)
        return rt_graph_fail(g, RT_ARGUMENT, "[transformer] unknown head %d", (int)o->head);
    if (o->head == RT_HEAD_SEQUENCE && hidden && hidden->ndim != 2)
        return rt_graph_fail(g, RT_SHAPE, "[sequence head] x must be (B, C); got %s",
                             rt_shape_text(hidden));
    /* For labels, dropout comes before every map, but with a norm only before the last one. */
    if (dense.weight) {
        if (!is_lm && o->classifier != RT_CLASSIFIER_NORM)
            hidden = rt_dropout(g, hidden, o->dropout);
        hidden = rt_linear_activate(g, hidden, dense.weight, dense.bias,
                                    is_tanh ? RT_TANH : o->activation);
        hidden = rt_transformer_norm(m, g, hidden, m->head.norm);
    }
    if (!is_lm)
        hidden = rt_dropout(g, hidden, o->dropout);
    else if (dense.weight)
        hidden = rt_for_products(g, hidden);
    return rt_linear(g, hidden, output.weight, output.bias);
}
