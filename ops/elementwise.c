#include "ops/ops.h"

#include "ops/private.h"
#include "ops/vector_math.h"

#include <string.h>

/* Returns whether y can be broadcast over the leading axes of x. */
static bool repeats(const rt_tensor *x, const rt_tensor *y)
{
    if (y->ndim > x->ndim)
        return false;
    for (int i = 0; i < y->ndim; i++)
        if (y->shape[i] != x->shape[x->ndim - y->ndim + i])
            return false;
    return true;
}

static rt_tensor *refuse(rt_graph *g, const char *op, const rt_tensor *x, const rt_tensor *y)
{
    return rt_graph_fail(g, RT_SHAPE, "[%s] y must have the last axes of x; got x %s, y %s", op,
                         rt_shape_text(x), rt_shape_text(y));
}

/* ---- add ---- */

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
    if (!RT_CHECK_INPUTS(g, "add", RT_INPUT(x), RT_INPUT(y)))
        return NULL;
    if (!repeats(x, y))
        return refuse(g, "add", x, y);
    return RT_APPLY(g, &rt_op_add, rt_tensor_shape(x), RT_NO_ARGS, x, y);
}

/* ---- multiply ---- */

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
    if (!RT_CHECK_INPUTS(g, "multiply", RT_INPUT(x), RT_INPUT(y)))
        return NULL;
    if (!repeats(x, y))
        return refuse(g, "multiply", x, y);
    return RT_APPLY(g, &rt_op_multiply, rt_tensor_shape(x), RT_NO_ARGS, x, y);
}

/* ---- scale ---- */

static void scale_forward(const rt_node *n)
{
    const real factor = (real) * (const double *)n->args;
    const real *restrict x = n->in[0]->data;
    real *restrict out = n->out->data;
    for (size_t i = 0, size = rt_size(n->out); i < size; i++)
        out[i] = factor * x[i];
}

static void scale_backward(const rt_node *n)
{
    const real factor = (real) * (const double *)n->args;
    const real *restrict g = n->out->grad;
    real *restrict dx = rt_grad(n, 0);
    for (size_t i = 0, size = rt_size(n->out); dx && i < size; i++)
        dx[i] += factor * g[i];
}

const rt_op rt_op_scale = {.name = "scale", .forward = scale_forward, .backward = scale_backward};

rt_tensor *rt_scale(rt_graph *g, rt_tensor *x, double factor)
{
    if (!RT_CHECK_INPUTS(g, "scale", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_scale, rt_tensor_shape(x), &factor, x);
}

/* ---- exp ---- */

static void exp_forward(const rt_node *n)
{
    const real *restrict x = n->in[0]->data;
    real *restrict out = n->out->data;
    for (size_t i = 0, size = rt_size(n->out); i < size; i++)
        out[i] = rt_exp_of(x[i]);
}

static void exp_backward(const rt_node *n)
{
    const real *restrict y = n->out->data, *restrict g = n->out->grad;
    real *restrict dx = rt_grad(n, 0);
    for (size_t i = 0, size = rt_size(n->out); dx && i < size; i++)
        dx[i] += g[i] * y[i];
}

const rt_op rt_op_exp = {.name = "exp", .forward = exp_forward, .backward = exp_backward};

rt_tensor *rt_exp(rt_graph *g, rt_tensor *x)
{
    if (!RT_CHECK_INPUTS(g, "exp", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_exp, rt_tensor_shape(x), RT_NO_ARGS, x);
}

/* ---- heads ---- */

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

/* Returns the sum over all rows of one head, in double. */
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
    if (!RT_CHECK_INPUTS(g, "scale_heads", RT_INPUT(x), RT_INPUT(factors)))
        return NULL;
    if (x->ndim < 2 || factors->ndim != 1 || factors->shape[0] != x->shape[x->ndim - 2])
        return rt_graph_fail(g, RT_SHAPE,
                             "[scale_heads] x must be (..., H, D) and the factors (H); got %s and "
                             "%s",
                             rt_shape_text(x), rt_shape_text(factors));
    return RT_APPLY(g, &rt_op_scale_heads, rt_tensor_shape(x), RT_NO_ARGS, x, factors);
}
