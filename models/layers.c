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
