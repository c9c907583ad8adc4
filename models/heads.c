#include "models/parts.h"

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

void rt_add_head(rt_transformer *m)
{
    rt_begin_part(m, RT_PART_HEAD, -1);
    if (m->options.head == RT_HEAD_LM)
        add_lm_head(m);
    else
        add_label_head(m);
}

/* The linear map, the activation, the norm, as far as the head has them. */
static rt_tensor *transform(rt_transformer *m, rt_graph *g, rt_tensor *x, rt_activation activation)
{
    if (!m->head.dense.weight)
        return x;
    x = rt_affine_activate(g, x, m->head.dense, activation);
    return m->head.norm.weight ? rt_affine_norm(g, x, m->head.norm, m->options.norm_eps) : x;
}

static rt_tensor *lm_logits(rt_transformer *m, rt_graph *g, rt_tensor *hidden)
{
    if (!m->head.dense.weight)
        return rt_affine_apply(g, hidden, m->head.output);
    rt_tensor *x = transform(m, g, hidden, m->options.activation);
    return rt_affine_apply(g, rt_for_products(g, x), m->head.output);
}

rt_tensor *rt_transformer_pool(rt_transformer *m, rt_graph *g, rt_tensor *hidden,
                               const uint8_t *key_mask)
{
    return rt_pool(g, hidden, m->options.pool, key_mask);
}

/* Dropout stands before every map, but with a norm before the last one alone. */
static rt_tensor *label_logits(rt_transformer *m, rt_graph *g, rt_tensor *x)
{
    const rt_transformer_options *o = &m->options;
    const rt_activation activation = o->classifier == RT_CLASSIFIER_TANH ? RT_TANH : o->activation;
    if (m->head.dense.weight && o->classifier != RT_CLASSIFIER_NORM)
        x = rt_dropout(g, x, o->dropout);
    x = rt_dropout(g, transform(m, g, x, activation), o->dropout);
    return rt_affine_apply(g, x, m->head.classifier);
}

rt_tensor *rt_transformer_logits(rt_transformer *m, rt_graph *g, rt_tensor *hidden)
{
    const rt_head head = m->options.head;
    if (head == RT_HEAD_LM)
        return lm_logits(m, g, hidden);
    if (head == RT_HEAD_SEQUENCE && hidden && hidden->ndim != 2)
        return rt_graph_fail(g, RT_SHAPE, "[sequence head] x must be (B, C); got %s",
                             rt_shape_text(hidden));
    if (head == RT_HEAD_SEQUENCE || head == RT_HEAD_TOKEN)
        return label_logits(m, g, hidden);
    return rt_graph_fail(g, RT_ARGUMENT, "[roformer] there is no head %d", (int)head);
}

rt_tensor *rt_transformer_forward(rt_transformer *m, rt_graph *g, const rt_transformer_input *in)
{
    rt_tensor *hidden = rt_transformer_encode(m, g, in);
    if (hidden && m->options.head == RT_HEAD_SEQUENCE)
        hidden = rt_transformer_pool(m, g, hidden, in->key_mask);
    return rt_transformer_logits(m, g, hidden);
}
