#include "ops/gemm.h"
#include "ops/ops.h"
#include "ops/rows.h"

static void linear_forward(const rt_node *n)
{
    const rt_tensor *x = n->in[0], *weight = n->in[1], *bias = n->in[2];
    int rows = (int)rt_rows(x), in = weight->shape[1], out = weight->shape[0];
    if (bias)
        rt_rows_fill(n->out->data, bias->data, (size_t)rows, (size_t)out);
    rt_gemm(rows, out, in, 1, (rt_operand){x->data, in, false},
            (rt_operand){weight->data, in, true}, bias ? 1 : 0, n->out->data, out);
}

static void linear_backward(const rt_node *n)
{
    const rt_tensor *x = n->in[0], *weight = n->in[1];
    int rows = (int)rt_rows(x), in = weight->shape[1], out = weight->shape[0];
    const real *g = n->out->grad;
    real beta;
    real *dx = rt_grad_or_fresh(n, 0, &beta);
    if (dx)
        rt_gemm(rows, in, out, 1, (rt_operand){g, out, false},
                (rt_operand){weight->data, in, false}, beta, dx, in);
    real *dweight = rt_grad_or_fresh(n, 1, &beta);
    if (dweight)
        rt_gemm(out, in, rows, 1, (rt_operand){g, out, true}, (rt_operand){x->data, in, false},
                beta, dweight, in);
    real *dbias = rt_grad(n, 2);
    if (dbias)
        rt_rows_sum(dbias, g, (size_t)rows, (size_t)out);
}

const rt_op rt_op_linear = {"linear", linear_forward, linear_backward};

rt_tensor *rt_linear(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias)
{
    if (!x || !weight)
        return NULL;
    if (weight->ndim != 2 || x->ndim < 1 || rt_columns(x) != weight->shape[1])
        return rt_graph_fail(g, RT_SHAPE, "[linear] x must be (..., I), weight (O, I); got %s, %s",
                             rt_shape_text(x), rt_shape_text(weight));
    if (bias && (bias->ndim != 1 || bias->shape[0] != weight->shape[0]))
        return rt_graph_fail(g, RT_SHAPE, "[linear] bias must be (%d); got %s", weight->shape[0],
                             rt_shape_text(bias));
    rt_shape shape = rt_tensor_shape(x);
    shape.axis[shape.ndim - 1] = weight->shape[0];
    return RT_APPLY(g, &rt_op_linear, shape, RT_NO_ARGS, x, weight, bias);
}
