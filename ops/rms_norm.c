#include "ops/ops.h"

#include "core/row_kernels.h"
#include "ops/rows.h"

#include <math.h>
#include <string.h>

typedef struct rms_norm_args {
    double eps;
    real *rrms; /* 1 / sqrt(mean of squares + eps) of each row */
} rms_norm_args;

static RT_ROW_KERNEL(scale_to_rms,
                     (real *restrict y, const real *restrict x, const real *restrict weight,
                      size_t rows, int size, double eps, real *restrict rrms_of),
                     (y, x, weight, rows, size, eps, rrms_of))
{
    for (size_t r = 0; r < rows; r++, x += size, y += size) {
        real squares = 0;
#pragma omp simd reduction(+ : squares)
        for (int i = 0; i < size; i++)
            squares += x[i] * x[i];
        const real rrms = (real)(1 / sqrt((double)squares / size + eps));
        for (int i = 0; i < size; i++)
            y[i] = x[i] * rrms * weight[i];
        rrms_of[r] = rrms;
    }
}

/* With h the normalised row and d = dy * weight: dx = rrms (d - h mean(d h)), in place of dy. */
static RT_ROW_KERNEL(rms_gradients,
                     (real *restrict g, const real *restrict x, const real *restrict weight,
                      real *restrict dweight, size_t rows, int size, const real *restrict rrms_of),
                     (g, x, weight, dweight, rows, size, rrms_of))
{
    for (size_t r = 0; r < rows; r++, x += size, g += size) {
        const real rrms = rrms_of[r];
        real product = 0;
#pragma omp simd reduction(+ : product)
        for (int i = 0; i < size; i++) {
            product += g[i] * weight[i] * x[i];
            dweight[i] += g[i] * x[i] * rrms;
        }
        const real slope = product * rrms * rrms / (real)size;
        for (int i = 0; i < size; i++)
            g[i] = rrms * (g[i] * weight[i] - x[i] * slope);
    }
}

static void scale_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    const rms_norm_args *a = n->args;
    const rt_tensor *x = n->in[0];
    const size_t first = span.first * (size_t)rt_columns(x);
    (void)context;
    (void)room;
    scale_to_rms(n->out->data + first, x->data + first, n->in[1]->data, span.count, rt_columns(x),
                 a->eps, a->rrms + span.first);
}

static void rms_norm_forward(const rt_node *n)
{
    rt_node_rows(n, rt_rows(n->out), (size_t)rt_columns(n->out), scale_span, NULL);
}

/* The gradient of the weight of a part of the rows, of each part behind that of the one before. */
static size_t rms_norm_room(const rt_node *n, rt_pass pass)
{
    const size_t columns = (size_t)rt_columns(n->out);
    const size_t parts = (size_t)rt_parts_of_rows(rt_rows(n->out), columns);
    return pass == RT_BACKWARD ? parts * columns * sizeof(real) : 0;
}

static void gradients_of_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    const rms_norm_args *a = n->args;
    const rt_tensor *x = n->in[0];
    const size_t size = (size_t)rt_columns(x), first = span.first * size;
    real *dweight = (real *)context + (size_t)span.number * size;
    (void)room;
    memset(dweight, 0, size * sizeof *dweight);
    rms_gradients(n->out->grad + first, x->data + first, n->in[1]->data, dweight, span.count,
                  (int)size, a->rrms + span.first);
}

static void rms_norm_backward(const rt_node *n)
{
    const size_t size = (size_t)rt_columns(n->out), rows = rt_rows(n->out);
    real *sums = rt_room(n), *dweight = rt_grad(n, 1);
    rt_node_rows(n, rows, size, gradients_of_span, sums);
    if (dweight)
        rt_rows_sum(dweight, sums, (size_t)rt_parts_of_rows(rows, size), size, size);
    rt_grad_pass(n);
}

static bool rms_norm_reads(const rt_node *n, const rt_tensor *x)
{
    return x == n->in[0] || x == n->in[1];
}

const rt_op rt_op_rms_norm = {.name = "rms_norm",
                              .forward = rms_norm_forward,
                              .backward = rms_norm_backward,
                              .reads = rms_norm_reads,
                              .room = rms_norm_room,
                              .passes = 1};

rt_tensor *rt_rms_norm(rt_graph *g, rt_tensor *x, rt_tensor *weight, double eps)
{
    if (!RT_TAKES(g, "rms_norm", RT_INPUT(x), RT_INPUT(weight)))
        return NULL;
    if (x->ndim < 1 || weight->ndim != 1 || weight->shape[0] != rt_columns(x))
        return rt_graph_fail(g, RT_SHAPE, "[rms_norm] x must be (..., C), weight (C); got %s, %s",
                             rt_shape_text(x), rt_shape_text(weight));
    if (!(eps >= 0 && eps < INFINITY))
        return rt_graph_fail(g, RT_ARGUMENT, "[rms_norm] eps must be >= 0; got %g", eps);
    const rms_norm_args args = {eps, rt_graph_numbers(g, rt_rows(x), sizeof(real))};
    return RT_APPLY(g, &rt_op_rms_norm, rt_tensor_shape(x), &args, x, weight);
}
