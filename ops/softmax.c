#include "core/row_kernels.h"
#include "ops/private.h"
#include "ops/vector_math.h"

#include <math.h>

static RT_ROW_KERNEL(softmax_row, (real *restrict y, const real *restrict x, int size),
                     (y, x, size))
{
    const real largest = rt_row_largest(x, size, x[0]);
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < size; i++) {
        y[i] = rt_exp_bounded_of(x[i] - largest);
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

/* Kernels of a row: the arguments of both ops. */
typedef struct row_kernels {
    void (*forward)(real *y, const real *x, int size);
    void (*backward)(real *dx, const real *y, const real *dy, int size); /* adds */
} row_kernels;

static void forward(const rt_node *n)
{
    const row_kernels *k = n->args;
    const size_t size = (size_t)rt_columns(n->out);
    for (size_t i = 0, end = rt_size(n->out); i < end; i += size)
        k->forward(n->out->data + i, n->in[0]->data + i, (int)size);
}

static void backward(const rt_node *n)
{
    const row_kernels *k = n->args;
    const size_t size = (size_t)rt_columns(n->out);
    real *dx = rt_grad(n, 0);
    for (size_t i = 0, end = rt_size(n->out); dx && i < end; i += size)
        k->backward(dx + i, n->out->data + i, n->out->grad + i, (int)size);
}

const rt_op rt_op_softmax = {.name = "softmax", .forward = forward, .backward = backward};
const rt_op rt_op_log_softmax = {.name = "log_softmax", .forward = forward, .backward = backward};

rt_tensor *rt_softmax(rt_graph *g, rt_tensor *x)
{
    const row_kernels kernels = {softmax_row, softmax_row_gradient};
    if (!RT_CHECK_INPUTS(g, "softmax", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_softmax, rt_tensor_shape(x), &kernels, x);
}

RT_ROW_FUNCTION(real, rt_row_log_sum, (const real *restrict x, int size), (x, size))
{
    const real largest = rt_row_largest(x, size, x[0]);
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < size; i++)
        sum += rt_exp_bounded_of(x[i] - largest);
    return largest + (real)log((double)sum);
}

static RT_ROW_KERNEL(subtract_from_row,
                     (real *restrict y, const real *restrict x, int size, real log_sum),
                     (y, x, size, log_sum))
{
    for (int i = 0; i < size; i++)
        y[i] = x[i] - log_sum;
}

static void log_softmax_row(real *y, const real *x, int size)
{
    subtract_from_row(y, x, size, rt_row_log_sum(x, size));
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
        dx[i] += g[i] - rt_exp_bounded_of(y[i]) * sum;
}

rt_tensor *rt_log_softmax(rt_graph *g, rt_tensor *x)
{
    const row_kernels kernels = {log_softmax_row, log_softmax_row_gradient};
    if (!RT_CHECK_INPUTS(g, "log_softmax", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_log_softmax, rt_tensor_shape(x), &kernels, x);
}
