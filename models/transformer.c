#include "models/encodings/encoding.h"

#include "core/memory.h"
#include "models/options.h"

#include <stdio.h>

/* Adds NAME.weight and, if biased, NAME.bias, of the length of the first axis. */
static rt_affine add_affine(rt_transformer *m, rt_role role, rt_shape shape, bool biased,
                            const char *name)
{
    rt_parameters *p = &m->parameters;
    const rt_init init = shape.ndim == 1 ? RT_INIT_ONE : RT_INIT_NORMAL;
    rt_affine a = {.weight = rt_parameters_add(p, role, init, shape, "%s.weight", name)};
    if (biased)
        a.bias = rt_parameters_add(p, RT_ROLE_BIAS, RT_INIT_ZERO, RT_SHAPE_OF(shape.axis[0]),
                                   "%s.bias", name);
    return a;
}

/* Adds a norm of the kind that the options name. */
static rt_affine add_norm(rt_transformer *m, const char *name, int size)
{
    const rt_norm_kind kind = m->options.norm_kind;
    const bool biased = kind == RT_NORM_LAYER && m->options.norm_bias == RT_WITH;
    rt_affine a = add_affine(m, RT_ROLE_BIAS, RT_SHAPE_OF(size), biased, name);
    a.norm_kind = kind;
    return a;
}

/* Writes "layers.2.attention.query" and the like. Returns `name`. */
static const char *name_in_layer(char name[RT_NAME_SIZE], int l, const char *rest)
{
    snprintf(name, RT_NAME_SIZE, "layers.%d.%s", l, rest);
    return name;
}

static rt_affine add_matrix(rt_transformer *m, int l, const char *rest, rt_shape shape, bool biased)
{
    return add_affine(m, RT_ROLE_MATRIX, shape, biased,
                      name_in_layer((char[RT_NAME_SIZE]){""}, l, rest));
}

static rt_affine add_layer_norm(rt_transformer *m, int l, const char *rest)
{
    return add_norm(m, name_in_layer((char[RT_NAME_SIZE]){""}, l, rest), m->options.dim);
}

static rt_affine add_head_norm(rt_transformer *m, int l, const char *rest)
{
    rt_affine a = add_affine(m, RT_ROLE_BIAS, RT_SHAPE_OF(m->options.head_dim), false,
                             name_in_layer((char[RT_NAME_SIZE]){""}, l, rest));
    a.norm_kind = RT_NORM_RMS;
    return a;
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
        layer->query_norm = add_head_norm(m, l, "attention.query_norm");
        layer->key_norm = add_head_norm(m, l, "attention.key_norm");
    }
    if (encoding->add_layer && layer->row.has_positions)
        layer->encoding = encoding->add_layer(m, l);
    if (o->theta.head_scale)
        layer->head_scale =
            rt_parameters_add(&m->parameters, RT_ROLE_FACTOR, RT_INIT_ONE, RT_SHAPE_OF(o->heads),
                              "layers.%d.attention.head_scale", l);
    layer->output = add_matrix(m, l, "attention.output", RT_SHAPE_OF(o->dim, width), all);
}

static void add_layer(rt_transformer *m, int l)
{
    const rt_transformer_options *o = &m->options;
    rt_transformer_layer *layer = m->layers + l;
    const rt_shape up = RT_SHAPE_OF(o->ffn_dim, o->dim), down = RT_SHAPE_OF(o->dim, o->ffn_dim);
    const bool biased = o->bias == RT_BIAS_ALL || o->bias == RT_BIAS_FFN;
    rt_parameters_begin_part(&m->parameters, RT_PART_LAYER, l);
    layer->row = rt_layer_row_of(o, l);
    add_attention(m, l);
    if (layer->row.has_attention_norm)
        layer->attention_norm = add_layer_norm(m, l, "attention_norm");
    if (o->ffn != RT_FFN_PLAIN)
        layer->gate = add_matrix(m, l, "ffn.gate", up, biased);
    layer->up = add_matrix(m, l, "ffn.up", up, biased);
    layer->down = add_matrix(m, l, "ffn.down", down, biased);
    layer->ffn_norm = add_layer_norm(m, l, "ffn_norm");
}

static void add_embeddings(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    const int E = o->embedding_dim;
    rt_parameters_begin_part(&m->parameters, RT_PART_EMBEDDINGS, -1);
    m->embeddings.tokens =
        add_affine(m, RT_ROLE_WEIGHT, RT_SHAPE_OF(o->vocab, E), false, "embeddings.tokens").weight;
    if (o->token_types > 0)
        m->embeddings.types =
            add_affine(m, RT_ROLE_WEIGHT, RT_SHAPE_OF(o->token_types, E), false, "embeddings.types")
                .weight;
    if (o->patch > 0)
        m->embeddings.patches =
            add_affine(m, RT_ROLE_WEIGHT, RT_SHAPE_OF(E, o->patch), false, RT_PATCHES_NAME).weight;
    if (o->embedding_norm == RT_EMBEDDING_NORM_YES)
        m->embeddings.norm = add_norm(m, "embeddings.norm", E);
    if (E != o->dim)
        m->embeddings.project = add_affine(m, RT_ROLE_WEIGHT, RT_SHAPE_OF(o->dim, E),
                                           o->bias == RT_BIAS_ALL, "embeddings.project");
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
    const bool transforms = o->kind == RT_KIND_ROFORMER;
    const int E = transforms ? o->embedding_dim : o->dim;
    if (transforms) {
        m->head.dense = add_affine(m, RT_ROLE_WEIGHT, RT_SHAPE_OF(E, o->dim),
                                   o->bias == RT_BIAS_ALL, "head.dense");
        m->head.norm = add_norm(m, "head.norm", E);
    }
    m->head.output.weight =
        o->tie_embeddings
            ? m->embeddings.tokens
            : add_affine(m, RT_ROLE_WEIGHT, RT_SHAPE_OF(o->vocab, E), false, "head.output").weight;
    if (transforms && has_output_bias(o))
        m->head.output.bias = rt_parameters_add(&m->parameters, RT_ROLE_BIAS, RT_INIT_ZERO,
                                                RT_SHAPE_OF(o->vocab), RT_OUTPUT_BIAS_NAME);
}

static void add_label_head(rt_transformer *m)
{
    const rt_transformer_options *o = &m->options;
    const bool normed = o->classifier == RT_CLASSIFIER_NORM;
    const bool dense = o->kind == RT_KIND_ROFORMER && (o->head == RT_HEAD_SEQUENCE || normed);
    if (dense)
        m->head.dense = add_affine(m, RT_ROLE_WEIGHT, RT_SHAPE_OF(o->dim, o->dim),
                                   o->bias == RT_BIAS_ALL, "head.dense");
    if (dense && normed)
        m->head.norm = add_norm(m, "head.norm", o->dim);
    /* As in transformers, a decoder has a bias for labels of tokens, not for labels of texts. */
    const bool biased = o->kind == RT_KIND_DECODER ? o->head == RT_HEAD_TOKEN : has_output_bias(o);
    m->head.classifier =
        add_affine(m, RT_ROLE_WEIGHT, RT_SHAPE_OF(o->labels, o->dim), biased, "head.classifier");
}

/* Creates a model and lists its parameters, without allocating them. The caller frees the model
 * even after an error. */
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
        rt_parameters_begin_part(&m->parameters, RT_PART_HEAD, -1);
        if (options->head == RT_HEAD_LM)
            add_lm_head(m);
        else
            add_label_head(m);
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

/* Applies the linear map, the activation and the norm of a head, if it has them. */
static rt_tensor *transform(rt_transformer *m, rt_graph *g, rt_tensor *x, rt_activation activation)
{
    if (!m->head.dense.weight)
        return x;
    x = rt_linear_activate(g, x, m->head.dense.weight, m->head.dense.bias, activation);
    return rt_transformer_norm(m, g, x, m->head.norm);
}

rt_tensor *rt_transformer_logits(rt_transformer *m, rt_graph *g, rt_tensor *hidden)
{
    const rt_transformer_options *o = &m->options;
    const rt_affine output = o->head == RT_HEAD_LM ? m->head.output : m->head.classifier;
    if (o->head == RT_HEAD_LM) {
        if (m->head.dense.weight)
            hidden = rt_for_products(g, transform(m, g, hidden, o->activation));
        return rt_linear(g, hidden, output.weight, output.bias);
    }
    if (o->head != RT_HEAD_SEQUENCE && o->head != RT_HEAD_TOKEN)
        return rt_graph_fail(g, RT_ARGUMENT, "[roformer] there is no head %d", (int)o->head);
    if (o->head == RT_HEAD_SEQUENCE && hidden && hidden->ndim != 2)
        return rt_graph_fail(g, RT_SHAPE, "[sequence head] x must be (B, C); got %s",
                             rt_shape_text(hidden));
    /* Dropout comes before every map, but with a norm only before the last one. */
    if (m->head.dense.weight && o->classifier != RT_CLASSIFIER_NORM)
        hidden = rt_dropout(g, hidden, o->dropout);
    hidden = transform(m, g, hidden, o->classifier == RT_CLASSIFIER_TANH ? RT_TANH : o->activation);
    return rt_linear(g, rt_dropout(g, hidden, o->dropout), output.weight, output.bias);
}
