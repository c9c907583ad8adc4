#include "ops/ops.h"

#include "core/row_kernels.h"
#include "ops/private.h"
#include "ops/vector_math.h"

static RT_ROW_KERNEL(softmax_row, (real *restrict y, const real *restrict x, int size),
                     (y, x, size))
{
    const real largest = rt_row_largest(x, size, x[0]);
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < size; i++) {
        y[i] = rt_exp_of(x[i] - largest);
        sum += y[i];
    }
    for (int i = 0; i < size; i++)
        y[i] /= sum;
}

/* Computes dx = y (dy - sum(dy y)). */
static RT_ROW_KERNEL(softmax_row_gradient,
                     (real *restrict dx, const real *restrict y, const real *restrict g, int size),
                     (dx, y, g, size))
{
    real product = 0;
#pragma omp simd reduction(+ : product)
    for (int i = 0; i < size; i++)
        product += g[i] * y[i];
    for (int i = 0; i < size; i++)
        dx[i] += y[i] * (g[i] - product);
}

static void softmax_forward(const rt_node *n)
{
    const int size = rt_columns(n->out);
    for (size_t r = 0, rows = rt_rows(n->out); r < rows; r++)
        softmax_row(n->out->data + r * (size_t)size, n->in[0]->data + r * (size_t)size, size);
}

/* Adds the gradients of all rows. */
static void add_gradients(const rt_node *n,
                          void (*add)(real *dx, const real *y, const real *g, int size))
{
    const int size = rt_columns(n->out);
    real *dx = rt_grad(n, 0);
    for (size_t r = 0, rows = rt_rows(n->out); dx && r < rows; r++)
        add(dx + r * (size_t)size, n->out->data + r * (size_t)size, n->out->grad + r * (size_t)size,
            size);
}

static void softmax_backward(const rt_node *n)
{
    add_gradients(n, softmax_row_gradient);
}

const rt_op rt_op_softmax = {.name = "softmax",
                             .forward = softmax_forward,
                             .backward = softmax_backward};

rt_tensor *rt_softmax(rt_graph *g, rt_tensor *x)
{
    if (!RT_CHECK_INPUTS(g, "softmax", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_softmax, rt_tensor_shape(x), RT_NO_ARGS, x);
}

static RT_ROW_KERNEL(log_softmax_row,
                     (real *restrict y, const real *restrict x, int size, real log_sum),
                     (y, x, size, log_sum))
{
    for (int i = 0; i < size; i++)
        y[i] = x[i] - log_sum;
}

/* Computes dx = dy - e^y sum(dy). */
static RT_ROW_KERNEL(log_softmax_row_gradient,
                     (real *restrict dx, const real *restrict y, const real *restrict g, int size),
                     (dx, y, g, size))
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < size; i++)
        sum += g[i];
    for (int i = 0; i < size; i++)
        dx[i] += g[i] - rt_exp_of(y[i]) * sum;
}

static void log_softmax_forward(const rt_node *n)
{
    const int size = rt_columns(n->out);
    for (size_t r = 0, rows = rt_rows(n->out); r < rows; r++) {
        const real *x = n->in[0]->data + r * (size_t)size;
        log_softmax_row(n->out->data + r * (size_t)size, x, size, rt_row_log_sum(x, size));
    }
}

static void log_softmax_backward(const rt_node *n)
{
    add_gradients(n, log_softmax_row_gradient);
}

const rt_op rt_op_log_softmax = {.name = "log_softmax",
                                 .forward = log_softmax_forward,
                                 .backward = log_softmax_backward};

rt_tensor *rt_log_softmax(rt_graph *g, rt_tensor *x)
{
    if (!RT_CHECK_INPUTS(g, "log_softmax", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_log_softmax, rt_tensor_shape(x), RT_NO_ARGS, x);
}
