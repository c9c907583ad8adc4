#include "ops/ops.h"

static void scale_heads_forward(const rt_node *n)
{
    const rt_tensor *x = n->in[0];
    const size_t columns = (size_t)rt_columns(x), heads = rt_size(n->in[1]);
    for (size_t row = 0, rows = rt_rows(x); row < rows; row++) {
        const real *restrict from = x->data + row * columns;
        real *restrict y = n->out->data + row * columns;
        const real factor = n->in[1]->data[row % heads];
        for (size_t i = 0; i < columns; i++)
            y[i] = factor * from[i];
    }
}

/* The sum over all rows of one head, in double. */
static double sum_of_head(const rt_node *n, size_t head, size_t heads)
{
    const size_t columns = (size_t)rt_columns(n->in[0]), rows = rt_rows(n->in[0]);
    double sum = 0;
    for (size_t row = head; row < rows; row += heads) {
        const real *x = n->in[0]->data + row * columns, *dy = n->out->grad + row * columns;
        for (size_t i = 0; i < columns; i++)
            sum += (double)dy[i] * (double)x[i];
    }
    return sum;
}

static void scale_heads_backward(const rt_node *n)
{
    const size_t columns = (size_t)rt_columns(n->in[0]), heads = rt_size(n->in[1]);
    real *dx = rt_grad(n, 0), *dfactor = rt_grad(n, 1);
    for (size_t row = 0, rows = rt_rows(n->in[0]); dx && row < rows; row++) {
        const real *restrict dy = n->out->grad + row * columns;
        real *restrict to = dx + row * columns;
        const real factor = n->in[1]->data[row % heads];
        for (size_t i = 0; i < columns; i++)
            to[i] += factor * dy[i];
    }
    for (size_t head = 0; dfactor && head < heads; head++)
        dfactor[head] += (real)sum_of_head(n, head, heads);
}

const rt_op rt_op_scale_heads = {.name = "scale_heads",
                                 .forward = scale_heads_forward,
                                 .backward = scale_heads_backward};

rt_tensor *rt_scale_heads(rt_graph *g, rt_tensor *x, rt_tensor *factors)
{
    if (!RT_TAKES(g, "scale_heads", RT_INPUT(x), RT_INPUT(factors)))
        return NULL;
    if (x->ndim < 2 || factors->ndim != 1 || factors->shape[0] != x->shape[x->ndim - 2])
        return rt_graph_fail(g, RT_SHAPE,
                             "[scale_heads] x must be (..., H, D) and the factors (H); got %s and "
                             "%s",
                             rt_shape_text(x), rt_shape_text(factors));
    return RT_APPLY(g, &rt_op_scale_heads, rt_tensor_shape(x), RT_NO_ARGS, x, factors);
}
