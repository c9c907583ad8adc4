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

const rt_op rt_op_sum = {"sum", reduce_forward, reduce_backward};
const rt_op rt_op_mean = {"mean", reduce_forward, reduce_backward};

static rt_tensor *reduce(rt_graph *g, const rt_op *op, rt_tensor *x, double divisor)
{
    return RT_APPLY(g, op, RT_SCALAR, &divisor, x);
}

rt_tensor *rt_sum(rt_graph *g, rt_tensor *x)
{
    return x ? reduce(g, &rt_op_sum, x, 1) : NULL;
}

rt_tensor *rt_mean(rt_graph *g, rt_tensor *x)
{
    return x ? reduce(g, &rt_op_mean, x, (double)rt_size(x)) : NULL;
}
