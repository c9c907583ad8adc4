#include "models/encodings/encoding.h"

#include "core/memory.h"
#include "models/options.h"

#include <stdio.h>

/* ---- construction ---- */

/* "layers.2.attention.query" and the like. */
static rt_affine add_matrix(rt_transformer *m, int l, const char *rest, rt_shape shape, bool biased)
{
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "layers.%d.%s", l, rest);
    return rt_add_linear(&m->parameters, RT_ROLE_MATRIX, name, shape.axis[0], shape.axis[1],
                         biased);
}

/* Adds a norm of the kind that the options name. */
static rt_affine add_norm(rt_transformer *m, const char *name, int size)
{
    return rt_add_norm(&m->parameters, name, size, m->options.norm_kind,
                       m->options.norm_bias == RT_WITH);
}

static rt_affine add_layer_norm(rt_transformer *m, int l, const char *rest)
{
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "layers.%d.%s", l, rest);
    return add_norm(m, name, m->options.dim);
}

static rt_affine add_head_norm(rt_transformer *m, int l, const char *rest)
{
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "layers.%d.attention.%s", l, rest);
    return rt_add_norm(&m->parameters, name, m->options.head_dim, RT_NORM_RMS, false);
}

static void add_attention(rt_transformer *m, int l)
{
    const rt_transformer_options *o = &m->options;
    const rt_encoding *encoding = rt_encoding_of(o);
    rt_transformer_layer *layer = m->layers + l;
    const int D = o->head_dim, width = o->heads * D, kv_width = o->kv_heads * D;
    const bool all = o->bias == RT_BIAS_ALL, qkv = all || o->bias == RT_BIAS_QKV;
    layer->query = add_matrix(m, l, "attention.query", RT_SHAPE_OF(width, o->dim), qkv);
    layer->key = add_matrix(m, l, "attention.key", RT_SHAPE_OF(kv_width, o->dim), qkv);
    layer->value = add_matrix(m, l, "attention.value", RT_SHAPE_OF(kv_width, o->dim), qkv);
    if (o->qk_norm) {
        layer->query_norm = add_head_norm(m, l, "query_norm");
        layer->key_norm = add_head_norm(m, l, "key_norm");
    }
    if (encoding->add_layer && layer->row.has_positions)
        layer->encoding = encoding->add_layer(m, l);
    if (o->theta.head_scale)
        layer->head_scale =
            rt_parameters_add(&m->parameters, RT_ROLE_FACTOR, RT_INIT_ONE, RT_SHAPE_OF(o->heads),
                              "layers.%d.attention.head_scale", l);
    layer->output = add_matrix(m, l, "attention.output", RT_SHAPE_OF(o->dim, width), all);
}

static void add_feed_forward(rt_transformer *m, int l)
{
    const rt_transformer_options *o = &m->options;
    rt_transformer_layer *layer = m->layers + l;
    const rt_shape up = RT_SHAPE_OF(o->ffn_dim, o->dim), down = RT_SHAPE_OF(o->dim, o->ffn_dim);
    const bool biased = o->bias == RT_BIAS_ALL || o->bias == RT_BIAS_FFN;
    if (o->ffn != RT_FFN_PLAIN)
        layer->gate = add_matrix(m, l, "ffn.gate", up, biased);
    layer->up = add_matrix(m, l, "ffn.up", up, biased);
    layer->down = add_matrix(m, l, "ffn.down", down, biased);
}

static void add_layer(rt_transformer *m, int l)
{
    const rt_transformer_options *o = &m->options;
    rt_transformer_layer *layer = m->layers + l;
    rt_parameters_begin_part(&m->parameters, RT_PART_LAYER, l);
    layer->row = rt_layer_row_of(o, l);
    add_attention(m, l);
    if (layer->row.has_attention_norm)
        layer->attention_norm = add_layer_norm(m, l, "attention_norm");
    add_feed_forward(m, l);
    layer->ffn_norm = add_layer_norm(m, l, "ffn_norm");
}

static void add_embeddings(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    rt_parameters *p = &m->parameters;
    const int E = o->embedding_dim;
    rt_parameters_begin_part(p, RT_PART_EMBEDDINGS, -1);
    m->embeddings.tokens = rt_add_table(p, "embeddings.tokens", o->vocab, E);
    if (o->token_types > 0)
        m->embeddings.types = rt_add_table(p, "embeddings.types", o->token_types, E);
    if (o->embedding_norm == RT_EMBEDDING_NORM_YES)
        m->embeddings.norm = add_norm(m, "embeddings.norm", E);
    if (E != o->dim)
        m->embeddings.project = rt_add_linear(p, RT_ROLE_WEIGHT, "embeddings.project", o->dim, E,
                                              o->bias == RT_BIAS_ALL);
}

static void add_encoder(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    const rt_encoding *encoding = rt_encoding_of(o);
    add_embeddings(m);
    rt_parameters_begin_part(&m->parameters, RT_PART_POSITIONS, -1);
    m->encoding.weight = encoding->add ? encoding->add(m) : NULL;
    for (int l = 0; l < o->layers; l++)
        add_layer(m, l);
    if (o->norm != RT_NORM_PRE)
        return;
    rt_parameters_begin_part(&m->parameters, RT_PART_NORM, -1);
    m->norm = add_norm(m, "norm", o->dim);
}

static bool has_output_bias(const rt_transformer_options *o)
{
    return o->bias == RT_BIAS_ALL || o->bias == RT_BIAS_OUTPUT;
}

static void add_lm_head(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    rt_parameters *p = &m->parameters;
    const bool transforms = o->kind == RT_KIND_ROFORMER;
    const int E = transforms ? o->embedding_dim : o->dim;
    if (transforms) {
        m->head.dense =
            rt_add_linear(p, RT_ROLE_WEIGHT, "head.dense", E, o->dim, o->bias == RT_BIAS_ALL);
        m->head.norm = rt_add_norm(p, "head.norm", E, o->norm_kind, o->norm_bias == RT_WITH);
    }
    m->head.output.weight =
        o->tie_embeddings ? m->embeddings.tokens : rt_add_table(p, "head.output", o->vocab, E);
    if (transforms && has_output_bias(o))
        m->head.output.bias = rt_parameters_add(p, RT_ROLE_BIAS, RT_INIT_ZERO,
                                                RT_SHAPE_OF(o->vocab), RT_OUTPUT_BIAS_NAME);
}

static bool has_dense(const rt_transformer_options *o)
{
    return o->kind == RT_KIND_ROFORMER &&
           (o->head == RT_HEAD_SEQUENCE || o->classifier == RT_CLASSIFIER_NORM);
}

/* The last map for a label of a text has no bias in a decoder, whatever its other maps have; that
 * for labels of tokens has one, as in transformers. */
static bool has_classifier_bias(const rt_transformer_options *o)
{
    if (o->kind == RT_KIND_DECODER)
        return o->head == RT_HEAD_TOKEN;
    return has_output_bias(o);
}

static void add_label_head(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    rt_parameters *p = &m->parameters;
    if (has_dense(o))
        m->head.dense =
            rt_add_linear(p, RT_ROLE_WEIGHT, "head.dense", o->dim, o->dim, o->bias == RT_BIAS_ALL);
    if (has_dense(o) && o->classifier == RT_CLASSIFIER_NORM)
        m->head.norm = rt_add_norm(p, "head.norm", o->dim, o->norm_kind, o->norm_bias == RT_WITH);
    m->head.classifier = rt_add_linear(p, RT_ROLE_WEIGHT, "head.classifier", o->labels, o->dim,
                                       has_classifier_bias(o));
}

static void add_head(rt_transformer *m)
{
    rt_parameters_begin_part(&m->parameters, RT_PART_HEAD, -1);
    if (m->options.head == RT_HEAD_LM)
        add_lm_head(m);
    else
        add_label_head(m);
}

/* ---- life ---- */

/* A model with its list of parameters, which has no memory yet. */
static rt_status list_parameters(rt_transformer **model_new, const rt_transformer_options *options)
{
    *model_new = NULL;
    const rt_status status = rt_transformer_check(options);
    if (status.code)
        return status;
    rt_transformer *m = rt_alloc(1, sizeof *m);
    if (!m)
        return rt_out_of_memory("a model");
    m->options = *options;
    rt_transformer_resolve(&m->options);
    m->parameters.init_std = m->options.init_std;
    m->layers = rt_alloc((size_t)options->layers, sizeof *m->layers);
    if (m->layers) {
        add_encoder(m);
        add_head(m);
        *model_new = m;
        return m->parameters.status;
    }
    rt_transformer_free(m);
    return rt_out_of_memory("a model");
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
    if (!status.code && rt_encoding_of(options)->start)
        status = rt_encoding_of(options)->start(m);
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
    const rt_encoding *encoding = rt_encoding_of(&m->options);
    if (encoding->free && m->encoding.state)
        encoding->free(m->encoding.state);
    rt_free(m->encoding.state);
    rt_parameters_free(&m->parameters);
    rt_free(m->layers);
    rt_free(m);
}
