#include "ops/ops.h"

/* sum and mean share all but the divisor, which is the argument. */

static void reduce_forward(const rt_node *n)
{
    const real *x = n->in[0]->data;
    double sum = 0;
    for (size_t i = 0, size = rt_size(n->in[0]); i < size; i++)
        sum += (double)x[i];
    n->out->data[0] = (real)(sum / *(const double *)n->args);
}

static void reduce_backward(const rt_node *n)
{
    const real share = (real)((double)n->out->grad[0] / *(const double *)n->args);
    real *dx = rt_grad(n, 0);
    for (size_t i = 0, size = rt_size(n->in[0]); dx && i < size; i++)
        dx[i] += share;
}

const rt_op rt_op_sum = {.name = "sum", .forward = reduce_forward, .backward = reduce_backward};
const rt_op rt_op_mean = {.name = "mean", .forward = reduce_forward, .backward = reduce_backward};

rt_tensor *rt_sum(rt_graph *g, rt_tensor *x)
{
    const double divisor = 1;
    if (!RT_TAKES(g, "sum", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_sum, RT_SCALAR, &divisor, x);
}

rt_tensor *rt_mean(rt_graph *g, rt_tensor *x)
{
    if (!RT_TAKES(g, "mean", RT_INPUT(x)))
        return NULL;
    const double divisor = (double)rt_size(x);
    return RT_APPLY(g, &rt_op_mean, RT_SCALAR, &divisor, x);
}
