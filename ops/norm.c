#include "core/row_kernels.h"
#include "ops/private.h"

#include <math.h>
#include <string.h>

/* Arguments of both norms; RMS norm has no mean and no bias. */
typedef struct norm_args {
    double eps;
    real *mean;    /* of each row; NULL: RMS norm */
    real *inverse; /* 1 / sqrt(variance + eps), or 1 / sqrt(mean of squares + eps), of each row */
} norm_args;

static RT_ROW_KERNEL(normalise_rows, (const rt_row_span *span), (span))
{
    const rt_node *n = span->node;
    const norm_args *a = n->args;
    const int size = rt_columns(n->out);
    const size_t first = span->first * (size_t)size;
    const double eps = a->eps;
    const real *restrict weight = n->in[1]->data, *restrict bias = n->in[2] ? n->in[2]->data : NULL;
    const real *restrict x = n->in[0]->data + first;
    real *restrict y = n->out->data + first;
    for (size_t r = 0; r < span->count; r++, x += size, y += size) {
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
        a->mean[span->first + r] = mean;
        a->inverse[span->first + r] = rstd;
    }
}

static RT_ROW_KERNEL(scale_to_rms, (const rt_row_span *span), (span))
{
    const rt_node *n = span->node;
    const norm_args *a = n->args;
    const int size = rt_columns(n->out);
    const size_t first = span->first * (size_t)size;
    const double eps = a->eps;
    const real *restrict x = n->in[0]->data + first, *restrict weight = n->in[1]->data;
    real *restrict y = n->out->data + first;
    for (size_t r = 0; r < span->count; r++, x += size, y += size) {
        real squares = 0;
#pragma omp simd reduction(+ : squares)
        for (int i = 0; i < size; i++)
            squares += x[i] * x[i];
        const real rrms = (real)(1 / sqrt((double)squares / size + eps));
        for (int i = 0; i < size; i++)
            y[i] = x[i] * rrms * weight[i];
        a->inverse[span->first + r] = rrms;
    }
}

static void norm_forward(const rt_node *n)
{
    const norm_args *a = n->args;
    rt_node_rows(n, rt_rows(n->out), (size_t)rt_columns(n->out),
                 a->mean ? normalise_rows : scale_to_rms, NULL);
}

/* Returns the number of sums of a part: the gradients of weight and bias. */
static size_t sums_of_part(const rt_node *n)
{
    const norm_args *a = n->args;
    return (a->mean ? 2 : 1) * (size_t)rt_columns(n->out);
}

/* Returns the memory for the sums of all parts. */
static rt_scratch_size norm_scratch(const rt_node *n, rt_pass pass)
{
    const size_t parts = (size_t)rt_parts_of_rows(rt_rows(n->out), (size_t)rt_columns(n->out));
    const size_t sums = pass == RT_BACKWARD ? parts * sums_of_part(n) : 0;
    return (rt_scratch_size){.whole = sums * sizeof(real)};
}

/* Returns the sums of a part, set to zero. */
static real *zeroed_sums(const rt_row_span *span)
{
    const size_t count = sums_of_part(span->node);
    real *sums = (real *)span->context + (size_t)span->number * count;
    return memset(sums, 0, count * sizeof *sums);
}

/* Computes dx = rstd (d - mean(d) - h mean(d h)), in place of dy, where h is the normalized row and
 * d = dy * weight. */
static RT_ROW_KERNEL(norm_gradients, (const rt_row_span *span), (span))
{
    const rt_node *n = span->node;
    const norm_args *a = n->args;
    const int size = rt_columns(n->out);
    const size_t first = span->first * (size_t)size;
    const real *restrict x = n->in[0]->data + first, *restrict weight = n->in[1]->data;
    real *const sums = zeroed_sums(span);
    real *restrict dweight = sums, *restrict dbias = sums + size;
    real *restrict g = n->out->grad + first;
    for (size_t r = 0; r < span->count; r++, x += size, g += size) {
        const real mean = a->mean[span->first + r], rstd = a->inverse[span->first + r];
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

/* Computes dx = rrms (d - h mean(d h)), in place of dy, where h is the normalized row and d = dy *
 * weight. */
static RT_ROW_KERNEL(rms_gradients, (const rt_row_span *span), (span))
{
    const rt_node *n = span->node;
    const norm_args *a = n->args;
    const int size = rt_columns(n->out);
    const size_t first = span->first * (size_t)size;
    const real *restrict x = n->in[0]->data + first, *restrict weight = n->in[1]->data;
    real *restrict dweight = zeroed_sums(span), *restrict g = n->out->grad + first;
    for (size_t r = 0; r < span->count; r++, x += size, g += size) {
        const real rrms = a->inverse[span->first + r];
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

static void norm_backward(const rt_node *n)
{
    const norm_args *a = n->args;
    const size_t size = (size_t)rt_columns(n->out), rows = rt_rows(n->out);
    const size_t parts = (size_t)rt_parts_of_rows(rows, size), step = sums_of_part(n);
    real *sums = rt_scratch(n), *dweight = rt_grad(n, 1), *dbias = rt_grad(n, 2);
    rt_node_rows(n, rows, size, a->mean ? norm_gradients : rms_gradients, sums);
    if (dweight)
        rt_rows_sum(dweight, sums, parts, size, step);
    if (dbias)
        rt_rows_sum(dbias, sums + size, parts, size, step);
    rt_grad_pass(n, 0);
}

#define NORM_OP(word)                                                                              \
    {                                                                                              \
        .name = word, .forward = norm_forward, .backward = norm_backward, .scratch = norm_scratch, \
        .reads = rt_reads_inputs                                                                   \
    }
const rt_op rt_op_layer_norm = NORM_OP("layer_norm");
const rt_op rt_op_rms_norm = NORM_OP("rms_norm");

static rt_tensor *apply_norm(rt_graph *g, const rt_op *op, rt_tensor *x, rt_tensor *weight,
                             rt_tensor *bias, double eps)
{
    const bool is_layer = op == &rt_op_layer_norm;
    if (!RT_CHECK_INPUTS(g, op->name, RT_INPUT(x), RT_INPUT(weight), RT_OPTIONAL(bias)))
        return NULL;
    if (x->ndim < 1 || weight->ndim != 1 || weight->shape[0] != rt_columns(x) ||
        (bias && !rt_same_shape(weight, bias)))
        return rt_graph_fail(g, RT_SHAPE, "[%s] x must be (..., C), weight%s (C); got %s, %s%s%s",
                             op->name, is_layer ? " and bias" : "", rt_shape_text(x),
                             rt_shape_text(weight), is_layer ? ", " : "",
                             bias       ? rt_shape_text(bias)
                             : is_layer ? "no bias"
                                        : "");
    if (!(eps >= 0 && eps < INFINITY))
        return rt_graph_fail(g, RT_ARGUMENT, "[%s] eps must be >= 0; got %g", op->name, eps);
    norm_args args = {.eps = eps};
    if (is_layer)
        args.mean = rt_graph_numbers(g, rt_rows(x), sizeof(real));
    args.inverse = rt_graph_numbers(g, rt_rows(x), sizeof(real));
    return RT_APPLY(g, op, rt_tensor_shape(x), &args, x, weight, bias);
}

rt_tensor *rt_layer_norm(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias, double eps)
{
    return apply_norm(g, &rt_op_layer_norm, x, weight, bias, eps);
}

rt_tensor *rt_rms_norm(rt_graph *g, rt_tensor *x, rt_tensor *weight, double eps)
{
    return apply_norm(g, &rt_op_rms_norm, x, weight, NULL, eps);
}

/* Squares are summed in double, because small features would vanish in float. */
static double length_of(const real *x, int size)
{
    double squares = 0;
    for (int i = 0; i < size; i++)
        squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

static void normalize_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const int size = rt_columns(n->out);
    for (size_t r = span->first; r < span->first + span->count; r++) {
        const real *x = n->in[0]->data + r * (size_t)size;
        real *y = n->out->data + r * (size_t)size;
        const double length = length_of(x, size);
        for (int i = 0; i < size; i++)
            y[i] = length > 0 ? (real)((double)x[i] / length) : 0;
    }
}

static void normalize_forward(const rt_node *n)
{
    rt_node_rows(n, rt_rows(n->out), (size_t)rt_columns(n->out), normalize_span, NULL);
}

/* Computes dx = (dy - y (y . dy)) / |x|; a row of zeros has no direction and gets no gradient. */
static void gradient_of_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const int size = rt_columns(n->out);
    real *dx = span->context;
    for (size_t r = span->first; r < span->first + span->count; r++) {
        const size_t first = r * (size_t)size;
        const real *y = n->out->data + first, *dy = n->out->grad + first;
        const double length = length_of(n->in[0]->data + first, size);
        double product = 0;
        for (int i = 0; i < size; i++)
            product += (double)y[i] * (double)dy[i];
        for (int i = 0; length > 0 && i < size; i++)
            dx[first + (size_t)i] += (real)(((double)dy[i] - (double)y[i] * product) / length);
    }
}

static void normalize_backward(const rt_node *n)
{
    real *dx = rt_grad(n, 0);
    if (dx)
        rt_node_rows(n, rt_rows(n->out), (size_t)rt_columns(n->out), gradient_of_span, dx);
}

const rt_op rt_op_normalize = {.name = "normalize",
                               .forward = normalize_forward,
                               .backward = normalize_backward};

rt_tensor *rt_normalize(rt_graph *g, rt_tensor *x)
{
    if (!RT_CHECK_INPUTS(g, "normalize", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_normalize, rt_tensor_shape(x), RT_NO_ARGS, x);
}
