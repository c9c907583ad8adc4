#include "models/layers.h"

rt_affine rt_add_linear(rt_parameters *p, rt_role role, const char *name, int out, int in,
                        bool biased)
{
    rt_affine a = {0};
    a.weight = rt_parameters_add(p, role, RT_INIT_NORMAL, RT_SHAPE_OF(out, in), "%s.weight", name);
    if (biased)
        a.bias =
            rt_parameters_add(p, RT_ROLE_BIAS, RT_INIT_ZERO, RT_SHAPE_OF(out), "%s.bias", name);
    return a;
}

rt_affine rt_add_norm(rt_parameters *p, const char *name, int size, rt_norm_kind kind, bool biased)
{
    rt_affine a = {.norm_kind = kind};
    a.weight =
        rt_parameters_add(p, RT_ROLE_BIAS, RT_INIT_ONE, RT_SHAPE_OF(size), "%s.weight", name);
    if (kind == RT_NORM_LAYER && biased)
        a.bias =
            rt_parameters_add(p, RT_ROLE_BIAS, RT_INIT_ZERO, RT_SHAPE_OF(size), "%s.bias", name);
    return a;
}

rt_tensor *rt_add_table(rt_parameters *p, const char *name, int rows, int size)
{
    return rt_parameters_add(p, RT_ROLE_WEIGHT, RT_INIT_NORMAL, RT_SHAPE_OF(rows, size),
                             "%s.weight", name);
}

rt_tensor *rt_affine_norm(rt_graph *g, rt_tensor *x, rt_affine a, double eps)
{
    return a.norm_kind == RT_NORM_LAYER ? rt_layer_norm(g, x, a.weight, a.bias, eps)
                                        : rt_rms_norm(g, x, a.weight, eps);
}

rt_tensor *rt_affine_apply(rt_graph *g, rt_tensor *x, rt_affine a)
{
    return rt_linear(g, x, a.weight, a.bias);
}

rt_tensor *rt_affine_onto(rt_graph *g, rt_tensor *residual, rt_tensor *x, rt_affine a)
{
    return rt_linear_onto(g, residual, x, a.weight, a.bias);
}

rt_tensor *rt_affine_gated(rt_graph *g, rt_tensor *x, rt_affine gate, rt_affine a,
                           rt_activation kind)
{
    rt_tensor *gates = rt_affine_apply(g, x, gate);
    return rt_glu(g, gates, rt_affine_apply(g, x, a), kind);
}

rt_tensor *rt_affine_activate(rt_graph *g, rt_tensor *x, rt_affine a, rt_activation kind)
{
    return rt_linear_activate(g, x, a.weight, a.bias, kind);
}

/* ---- linear attention ---- */

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
