#include "models/parts.h"

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
