#include "models/linear_form.h"

static rt_tensor *rotate(rt_graph *g, rt_tensor *x, const rt_rotation *rotation)
{
    return rotation ? rt_rope(g, x, rotation) : x;
}

rt_tensor *rt_linear_form(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                          const rt_linear_form_options *o)
{
    if (!rt_graph_given(g, "linear_form", "options", o))
        return NULL;
    rt_linear_attention_options options = {.causal = o->causal,
                                           .key_mask = o->key_mask,
                                           .eps = o->eps,
                                           .state = o->state};
    switch (o->kind) {
    case RT_ATTENTION_SOFTMAX:
    default:
        return rt_graph_fail(g, RT_ARGUMENT, "[linear_form] attention %d has no linear form",
                             (int)o->kind);
    case RT_ATTENTION_LINEAR_ELU:
        q = rt_activate(g, q, RT_ELU_PLUS_ONE);
        k = rt_activate(g, k, RT_ELU_PLUS_ONE);
        break;
    case RT_ATTENTION_LINEAR_SOFTMAX:
        q = rt_softmax(g, q);
        k = rt_key_exp(g, k, o->key_mask, o->causal, o->state ? o->state->level : NULL,
                       &options.level);
        break;
    case RT_ATTENTION_LINEAR_COSINE:
        q = rotate(g, rt_normalize(g, q), o->query_rotation);
        k = rotate(g, rt_normalize(g, k), o->key_rotation);
        options.constant = 1;
        return rt_linear_attention(g, q, k, v, q, k, &options);
    }
    return rt_linear_attention(g, rotate(g, q, o->query_rotation), rotate(g, k, o->key_rotation), v,
                               q, k, &options);
}
