#include "ops/ops.h"

#include "core/row_kernels.h"
#include "ops/rows.h"

#include <math.h>
#include <string.h>

typedef struct layer_norm_args {
    double eps;
    real *mean; /* of each row */
    real *rstd; /* 1 / sqrt(variance + eps) of each row */
} layer_norm_args;

static RT_ROW_KERNEL(normalise_rows,
                     (real *restrict y, const real *restrict x, const real *restrict weight,
                      const real *restrict bias, size_t rows, int size, double eps,
                      real *restrict mean_of, real *restrict rstd_of),
                     (y, x, weight, bias, rows, size, eps, mean_of, rstd_of))
{
    for (size_t r = 0; r < rows; r++, x += size, y += size) {
        real sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < size; i++)
            sum += x[i];
        const real mean = sum / (real)size;
#pragma omp simd reduction(+ : squares)
        for (int i = 0; i < size; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        const real rstd = (real)(1 / sqrt((double)squares / size + eps));
        for (int i = 0; bias && i < size; i++)
            y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
        for (int i = 0; !bias && i < size; i++)
            y[i] = (x[i] - mean) * rstd * weight[i];
        mean_of[r] = mean;
        rstd_of[r] = rstd;
    }
}

/* With h the normalised row and d = dy * weight:
 * dx = rstd (d - mean(d) - h mean(d h)), in place of dy. */
static RT_ROW_KERNEL(norm_gradients,
                     (real *restrict g, const real *restrict x, const real *restrict weight,
                      real *restrict dweight, real *restrict dbias, size_t rows, int size,
                      const real *restrict mean_of, const real *restrict rstd_of),
                     (g, x, weight, dweight, dbias, rows, size, mean_of, rstd_of))
{
    for (size_t r = 0; r < rows; r++, x += size, g += size) {
        const real mean = mean_of[r], rstd = rstd_of[r];
        real sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
        for (int i = 0; i < size; i++) {
            const real d = g[i] * weight[i], c = x[i] - mean;
            sum += d;
            product += d * c;
            dweight[i] += g[i] * c * rstd;
            dbias[i] += g[i];
        }
        const real shift = sum / (real)size, slope = product * rstd * rstd / (real)size;
        for (int i = 0; i < size; i++)
            g[i] = rstd * (g[i] * weight[i] - shift - (x[i] - mean) * slope);
    }
}

static void normalise_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    const layer_norm_args *a = n->args;
    const rt_tensor *x = n->in[0], *bias = n->in[2];
    const size_t first = span.first * (size_t)rt_columns(x);
    (void)context;
    (void)room;
    normalise_rows(n->out->data + first, x->data + first, n->in[1]->data, bias ? bias->data : NULL,
                   span.count, rt_columns(x), a->eps, a->mean + span.first, a->rstd + span.first);
}

static void layer_norm_forward(const rt_node *n)
{
    rt_node_rows(n, rt_rows(n->out), (size_t)rt_columns(n->out), normalise_span, NULL);
}

/* Both gradients of a part of the rows, of each part behind those of the one before. */
static size_t layer_norm_room(const rt_node *n, rt_pass pass)
{
    const size_t columns = (size_t)rt_columns(n->out);
    const size_t parts = (size_t)rt_parts_of_rows(rt_rows(n->out), columns);
    return pass == RT_BACKWARD ? parts * 2 * columns * sizeof(real) : 0;
}

static void gradients_of_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    const layer_norm_args *a = n->args;
    const rt_tensor *x = n->in[0];
    const size_t size = (size_t)rt_columns(x), first = span.first * size;
    real *dweight = (real *)context + (size_t)span.number * 2 * size;
    (void)room;
    memset(dweight, 0, 2 * size * sizeof *dweight);
    norm_gradients(n->out->grad + first, x->data + first, n->in[1]->data, dweight, dweight + size,
                   span.count, (int)size, a->mean + span.first, a->rstd + span.first);
}

static void layer_norm_backward(const rt_node *n)
{
    const size_t size = (size_t)rt_columns(n->out), rows = rt_rows(n->out);
    const size_t parts = (size_t)rt_parts_of_rows(rows, size);
    real *sums = rt_room(n), *dweight = rt_grad(n, 1), *dbias = rt_grad(n, 2);
    rt_node_rows(n, rows, size, gradients_of_span, sums);
    if (dweight)
        rt_rows_sum(dweight, sums, parts, size, 2 * size);
    if (dbias)
        rt_rows_sum(dbias, sums + size, parts, size, 2 * size);
    rt_grad_pass(n);
}

static bool layer_norm_reads(const rt_node *n, const rt_tensor *x)
{
    return x == n->in[0] || x == n->in[1];
}

const rt_op rt_op_layer_norm = {.name = "layer_norm",
                                .forward = layer_norm_forward,
                                .backward = layer_norm_backward,
                                .reads = layer_norm_reads,
                                .room = layer_norm_room,
                                .passes = 1};

rt_tensor *rt_layer_norm(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias, double eps)
{
    if (!RT_TAKES(g, "layer_norm", RT_INPUT(x), RT_INPUT(weight), RT_OPTIONAL(bias)))
        return NULL;
    const int size = rt_columns(x);
    if (x->ndim < 1 || weight->ndim != 1 || weight->shape[0] != size ||
        (bias && !rt_same_shape(weight, bias)))
        return rt_graph_fail(g, RT_SHAPE,
                             "[layer_norm] x must be (..., C), weight and bias (C); got %s, %s, %s",
                             rt_shape_text(x), rt_shape_text(weight),
                             bias ? rt_shape_text(bias) : "no bias");
    if (!(eps >= 0 && eps < INFINITY))
        return rt_graph_fail(g, RT_ARGUMENT, "[layer_norm] eps must be >= 0; got %g", eps);
    size_t rows = rt_rows(x);
    layer_norm_args args = {eps, rt_graph_numbers(g, rows, sizeof(real)),
                            rt_graph_numbers(g, rows, sizeof(real))};
    return RT_APPLY(g, &rt_op_layer_norm, rt_tensor_shape(x), &args, x, weight, bias);
}
