#include "core/row_kernels.h"
#include "ops/private.h"

#include <string.h>

RT_ROW_KERNEL(rt_rows_add,
              (real *restrict out, const real *restrict x, const real *restrict y, size_t rows,
               size_t columns, size_t stride),
              (out, x, y, rows, columns, stride))
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            out[r * stride + i] = x[r * stride + i] + y[i];
}

RT_ROW_KERNEL(rt_rows_sum,
              (real *restrict sum, const real *restrict x, size_t rows, size_t columns,
               size_t stride),
              (sum, x, rows, columns, stride))
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            sum[i] += x[r * stride + i];
}

RT_ROW_KERNEL(rt_row_multiply, (real *restrict x, const real *restrict y, size_t size),
              (x, y, size))
{
    for (size_t i = 0; i < size; i++)
        x[i] *= y[i];
}

/* Applies an op of x and of y, which is broadcast over the leading axes of x. */
static rt_tensor *broadcast(rt_graph *g, const rt_op *op, rt_tensor *x, rt_tensor *y)
{
    if (!RT_CHECK_INPUTS(g, op->name, RT_INPUT(x), RT_INPUT(y)))
        return NULL;
    bool fit = y->ndim <= x->ndim;
    for (int i = 0; fit && i < y->ndim; i++)
        fit = y->shape[i] == x->shape[x->ndim - y->ndim + i];
    return fit ? RT_APPLY(g, op, rt_tensor_shape(x), RT_NO_ARGS, x, y)
               : rt_graph_fail(g, RT_SHAPE, "[%s] y must have the last axes of x; got x %s, y %s",
                               op->name, rt_shape_text(x), rt_shape_text(y));
}

/* Adds a span of the columns of y to every row of x. */
static void add_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const size_t columns = rt_size(n->in[1]), i = span->first;
    rt_rows_add(n->out->data + i, n->in[0]->data + i, n->in[1]->data + i, rt_size(n->out) / columns,
                span->count, columns);
}

static void add_forward(const rt_node *n)
{
    rt_node_rows(n, rt_size(n->in[1]), 1, add_span, NULL);
}

typedef struct adding {
    real *dy, beta;
} adding;

static void add_gradient_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const adding *a = span->context;
    const size_t columns = rt_size(n->in[1]), rows = rt_size(n->out) / columns;
    const size_t from = a->beta == 0; /* 1: the first row is copied */
    const real *g = n->out->grad + span->first;
    if (from)
        memcpy(a->dy + span->first, g, span->count * sizeof *g);
    rt_rows_sum(a->dy + span->first, g + from * columns, rows - from, span->count, columns);
}

static void add_backward(const rt_node *n)
{
    adding a;
    a.dy = rt_grad_or_fresh(n, 1, &a.beta);
    if (a.dy)
        rt_node_rows(n, rt_size(n->in[1]), 1, add_gradient_span, &a);
    rt_grad_pass(n, 0); /* last: it may move the gradient of the result away */
}

const rt_op rt_op_add = {.name = "add", .forward = add_forward, .backward = add_backward};

rt_tensor *rt_add(rt_graph *g, rt_tensor *x, rt_tensor *y)
{
    return broadcast(g, &rt_op_add, x, y);
}

static void multiply_forward(const rt_node *n)
{
    size_t columns = rt_size(n->in[1]);
    const real *restrict x = n->in[0]->data, *restrict y = n->in[1]->data;
    real *restrict out = n->out->data;
    for (size_t r = 0, rows = rt_size(n->out) / columns; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            out[r * columns + i] = x[r * columns + i] * y[i];
}

/* Adds the gradients, which must not be declared restrict, because x and y may be one tensor. */
static void multiply_backward(const rt_node *n)
{
    size_t columns = rt_size(n->in[1]), rows = rt_size(n->out) / columns;
    const real *x = n->in[0]->data, *y = n->in[1]->data, *g = n->out->grad;
    real *dx = rt_grad(n, 0), *dy = rt_grad(n, 1);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++) {
            if (dx)
                dx[r * columns + i] += g[r * columns + i] * y[i];
            if (dy)
                dy[i] += g[r * columns + i] * x[r * columns + i];
        }
}

const rt_op rt_op_multiply = {.name = "multiply",
                              .forward = multiply_forward,
                              .backward = multiply_backward};

rt_tensor *rt_multiply(rt_graph *g, rt_tensor *x, rt_tensor *y)
{
    return broadcast(g, &rt_op_multiply, x, y);
}

/* Multiplies rows by the factors of their heads, row after row: y = factor x, or y += factor x. */
static void scale_rows(real *restrict y, const real *restrict x, size_t rows, size_t columns,
                       const rt_tensor *factors, bool add)
{
    for (size_t row = 0, heads = rt_size(factors); row < rows; row++, x += columns, y += columns) {
        const real factor = factors->data[row % heads];
        for (size_t i = 0; i < columns; i++)
            y[i] = add ? y[i] + factor * x[i] : factor * x[i];
    }
}

static void scale_forward(const rt_node *n)
{
    real number = (real) * (const double *)n->args;
    const rt_tensor factor = rt_tensor_of(&number, NULL, RT_SCALAR);
    scale_rows(n->out->data, n->in[0]->data, 1, rt_size(n->out), &factor, false);
}

static void scale_backward(const rt_node *n)
{
    real number = (real) * (const double *)n->args;
    const rt_tensor factor = rt_tensor_of(&number, NULL, RT_SCALAR);
    real *dx = rt_grad(n, 0);
    if (dx)
        scale_rows(dx, n->out->grad, 1, rt_size(n->out), &factor, true);
}

const rt_op rt_op_scale = {.name = "scale", .forward = scale_forward, .backward = scale_backward};

rt_tensor *rt_scale(rt_graph *g, rt_tensor *x, double factor)
{
    if (!RT_CHECK_INPUTS(g, "scale", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_scale, rt_tensor_shape(x), &factor, x);
}

static void scale_heads_forward(const rt_node *n)
{
    const rt_tensor *x = n->in[0], *factors = n->in[1];
    scale_rows(n->out->data, x->data, rt_rows(x), (size_t)rt_columns(x), factors, false);
}

/* Sums the gradient of a factor over all rows of its head, in double. */
static void scale_heads_backward(const rt_node *n)
{
    const rt_tensor *x = n->in[0], *factors = n->in[1];
    const size_t columns = (size_t)rt_columns(x), rows = rt_rows(x), heads = rt_size(factors);
    const real *dy = n->out->grad;
    real *dx = rt_grad(n, 0), *dfactor = rt_grad(n, 1);
    if (dx)
        scale_rows(dx, dy, rows, columns, factors, true);
    for (size_t head = 0; dfactor && head < heads; head++) {
        double sum = 0;
        for (size_t row = head; row < rows; row += heads)
            for (size_t i = row * columns; i < (row + 1) * columns; i++)
                sum += (double)dy[i] * (double)x->data[i];
        dfactor[head] += (real)sum;
    }
}

const rt_op rt_op_scale_heads = {.name = "scale_heads",
                                 .forward = scale_heads_forward,
                                 .backward = scale_heads_backward};

rt_tensor *rt_scale_heads(rt_graph *g, rt_tensor *x, rt_tensor *factors)
{
    if (!RT_CHECK_INPUTS(g, "scale_heads", RT_INPUT(x), RT_INPUT(factors)))
        return NULL;
    if (x->ndim < 2 || factors->ndim != 1 || factors->shape[0] != x->shape[x->ndim - 2])
        return rt_graph_fail(g, RT_SHAPE,
                             "[scale_heads] x must be (..., H, D) and the factors (H); got %s and "
                             "%s",
                             rt_shape_text(x), rt_shape_text(factors));
    return RT_APPLY(g, &rt_op_scale_heads, rt_tensor_shape(x), RT_NO_ARGS, x, factors);
}
