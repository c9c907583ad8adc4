#include "ops/private.h"

#include <string.h>

/* Ops along the tokens of a sequence: running sum, causal convolution, shift. */

typedef struct running_sum_args {
    size_t length, inner; /* numbers of a line, and their distance */
    const double *before;
    double *exact;
} running_sum_args;

/* Adds the sums of dy from the end of each line to the context, dx; NULL: forward. */
static void sum_lines(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const running_sum_args *a = n->args;
    real *dx = span->context;
    const size_t end = span->first + span->count, inner = a->inner, length = a->length;
    for (size_t line = span->first, count; line < end; line += count) {
        const size_t start = line / inner * length * inner + line % inner;
        double sum[RT_LINES];
        count = rt_lines_of(end - line, inner - line % inner);
        for (size_t k = 0; k < count; k++)
            sum[k] = a->before && !dx ? a->before[line + k] : 0;
        for (size_t t = 0; t < length; t++) {
            const size_t at = start + (dx ? length - 1 - t : t) * inner;
            const real *x = (dx ? n->out->grad : n->in[0]->data) + at;
            for (size_t k = 0; k < count; k++)
                sum[k] += (double)x[k];
            for (size_t k = 0; k < count; k++)
                if (dx)
                    dx[at + k] += (real)sum[k];
                else
                    n->out->data[at + k] = (real)(a->exact[at + k] = sum[k]);
        }
    }
}

static void running_sum_forward(const rt_node *n)
{
    const running_sum_args *a = n->args;
    rt_node_rows(n, rt_size(n->out) / a->length, a->length, sum_lines, NULL);
}

static void running_sum_backward(const rt_node *n)
{
    const running_sum_args *a = n->args;
    real *dx = rt_grad(n, 0);
    if (dx)
        rt_node_rows(n, rt_size(n->out) / a->length, a->length, sum_lines, dx);
}

const rt_op rt_op_running_sum = {.name = "running_sum",
                                 .forward = running_sum_forward,
                                 .backward = running_sum_backward,
                                 .reads = rt_reads_nothing};

rt_tensor *rt_running_sum(rt_graph *g, rt_tensor *x, int axis, const double *before)
{
    if (!RT_CHECK_INPUTS(g, "running_sum", RT_INPUT(x)))
        return NULL;
    if (axis < 0 || axis >= x->ndim)
        return rt_graph_fail(g, RT_ARGUMENT, "[running_sum] there is no axis %d in %s", axis,
                             rt_shape_text(x));
    running_sum_args args = {(size_t)x->shape[axis], 1, before,
                             rt_graph_numbers(g, rt_size(x), sizeof *args.exact)};
    for (int i = axis + 1; i < x->ndim; i++)
        args.inner *= (size_t)x->shape[i];
    rt_tensor *y = RT_APPLY(g, &rt_op_running_sum, rt_tensor_shape(x), &args, x);
    if (y)
        y->exact = args.exact;
    return y;
}

/* Returns row t of sequence b of the input of the convolution, also of the K - 1 tokens before it;
 * NULL: zeros. The argument is `before`. */
static const real *row_at(const rt_node *n, size_t b, int t)
{
    const rt_tensor *x = n->in[0];
    const real *before = *(const real *const *)n->args;
    const size_t T = (size_t)x->shape[1], C = (size_t)x->shape[2];
    const size_t earlier = (size_t)n->in[1]->shape[1] - 1;
    if (t >= 0)
        return x->data + (b * T + (size_t)t) * C;
    return before ? before + (b * earlier + earlier - (size_t)-t) * C : NULL;
}

static void convolve_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const int T = n->out->shape[1], C = n->out->shape[2], K = n->in[1]->shape[1];
    for (size_t r = span->first; r < span->first + span->count; r++) {
        real *restrict y = memset(n->out->data + r * (size_t)C, 0, (size_t)C * sizeof *y);
        for (int k = 0; k < K; k++) {
            const real *restrict x = row_at(n, r / (size_t)T, (int)(r % (size_t)T) - K + 1 + k);
            const real *restrict tap = n->in[1]->data + k;
            for (int c = 0; x && c < C; c++)
                y[c] += tap[c * K] * x[c];
        }
    }
}

static void depthwise_conv_forward(const rt_node *n)
{
    rt_node_rows(n, rt_rows(n->out), (size_t)rt_columns(n->out), convolve_span, NULL);
}

/* Adds the convolution of dy, from later tokens, to dx. */
static void convolve_back_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const int T = n->out->shape[1], C = n->out->shape[2], K = n->in[1]->shape[1];
    for (size_t r = span->first; r < span->first + span->count; r++) {
        real *restrict dx = (real *)span->context + r * (size_t)C;
        for (int k = 0, left = T - (int)(r % (size_t)T); k < K && k < left; k++) {
            const real *restrict dy = n->out->grad + (r + (size_t)k) * (size_t)C;
            const real *restrict tap = n->in[1]->data + K - 1 - k;
            for (int c = 0; c < C; c++)
                dx[c] += tap[c * K] * dy[c];
        }
    }
}

/* Sums the gradients of the taps of some channels over all tokens, in double. */
static void sum_taps_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const size_t C = (size_t)n->out->shape[2], end = span->first + span->count;
    const int T = n->out->shape[1], K = n->in[1]->shape[1];
    for (size_t c = span->first, count; c < end; c += count) {
        count = rt_lines_of(end - c, C - c);
        for (int k = 0; k < K; k++) {
            double sum[RT_LINES] = {0};
            for (size_t r = 0, rows = rt_rows(n->out); r < rows; r++) {
                const real *x = row_at(n, r / (size_t)T, (int)(r % (size_t)T) - K + 1 + k);
                const real *dy = n->out->grad + r * C + c;
                for (size_t i = 0; x && i < count; i++)
                    sum[i] += (double)x[c + i] * (double)dy[i];
            }
            for (size_t i = 0; i < count; i++)
                ((real *)span->context)[(c + i) * (size_t)K + (size_t)k] += (real)sum[i];
        }
    }
}

static void depthwise_conv_backward(const rt_node *n)
{
    const size_t rows = rt_rows(n->out), C = (size_t)rt_columns(n->out);
    real *dx = rt_grad(n, 0), *dtaps = rt_grad(n, 1);
    if (dx)
        rt_node_rows(n, rows, C, convolve_back_span, dx);
    if (dtaps)
        rt_node_rows(n, C, rows, sum_taps_span, dtaps);
}

const rt_op rt_op_depthwise_conv = {.name = "depthwise_conv",
                                    .forward = depthwise_conv_forward,
                                    .backward = depthwise_conv_backward,
                                    .reads = rt_reads_inputs};

rt_tensor *rt_depthwise_conv(rt_graph *g, rt_tensor *x, rt_tensor *taps, const real *before)
{
    if (!RT_CHECK_INPUTS(g, "depthwise_conv", RT_INPUT(x), RT_INPUT(taps)))
        return NULL;
    if (x->ndim != 3 || taps->ndim != 2 || taps->shape[0] != x->shape[2])
        return rt_graph_fail(g, RT_SHAPE,
                             "[depthwise_conv] x must be (B, T, C), taps (C, K); got %s, %s",
                             rt_shape_text(x), rt_shape_text(taps));
    return RT_APPLY(g, &rt_op_depthwise_conv, rt_tensor_shape(x), &before, x, taps);
}

typedef struct shift_args {
    int first;
    const real *before;
    const uint8_t *mask;
} shift_args;

/* Returns whether token r of the batch, not the first of its sequence, takes features of the token
 * before it. */
static bool takes(const shift_args *a, size_t r)
{
    return !a->mask || a->mask[r - 1];
}

static void shift_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const shift_args *a = n->args;
    const int T = n->out->shape[1], H = n->out->shape[2], D = n->out->shape[3];
    const size_t moved = (size_t)(D - a->first), width = (size_t)H * (size_t)D;
    for (size_t r = span->first; r < span->first + span->count; r++)
        for (int h = 0; h < H; h++) {
            const size_t at = r * width + (size_t)h * (size_t)D, from = at + (size_t)a->first;
            const real *x = n->in[0]->data, *source = x + from;
            if (r % (size_t)T)
                source -= takes(a, r) ? width : 0;
            else if (a->before)
                source = a->before + (r / (size_t)T * (size_t)H + (size_t)h) * moved;
            memcpy(n->out->data + at, x + at, (size_t)a->first * sizeof *x);
            memcpy(n->out->data + from, source, moved * sizeof *x);
        }
}

static void shift_forward(const rt_node *n)
{
    const size_t width = (size_t)n->out->shape[2] * (size_t)n->out->shape[3];
    rt_node_rows(n, rt_size(n->out) / width, width, shift_span, NULL);
}

static void shift_back_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const shift_args *a = n->args;
    const int T = n->out->shape[1], D = n->out->shape[3];
    const size_t width = (size_t)n->out->shape[2] * (size_t)D;
    for (size_t r = span->first; r < span->first + span->count; r++) {
        const size_t t = r % (size_t)T;
        const int own = (t ? takes(a, r) : a->before != NULL) ? a->first : D;
        const int next = t + 1 < (size_t)T && takes(a, r + 1) ? D : 0;
        for (size_t at = r * width; at < (r + 1) * width; at += (size_t)D) {
            real *restrict dx = (real *)span->context + at;
            const real *restrict dy = n->out->grad + at;
            for (int i = 0; i < own; i++)
                dx[i] += dy[i];
            for (int i = a->first; i < next; i++)
                dx[i] += dy[width + (size_t)i];
        }
    }
}

static void shift_backward(const rt_node *n)
{
    const size_t width = (size_t)n->out->shape[2] * (size_t)n->out->shape[3];
    real *dx = rt_grad(n, 0);
    if (dx)
        rt_node_rows(n, rt_size(n->out) / width, width, shift_back_span, dx);
}

const rt_op rt_op_shift = {.name = "shift",
                           .forward = shift_forward,
                           .backward = shift_backward,
                           .reads = rt_reads_nothing};

rt_tensor *rt_shift(rt_graph *g, rt_tensor *x, int first, const real *before,
                    const uint8_t *key_mask)
{
    if (!RT_CHECK_INPUTS(g, "shift", RT_INPUT(x)))
        return NULL;
    if (x->ndim != 4 || first < 0 || first >= x->shape[3])
        return rt_graph_fail(g, RT_SHAPE, "[shift] x must be (B, T, H, D) with D > %d >= 0; got %s",
                             first, rt_shape_text(x));
    return RT_APPLY(g, &rt_op_shift, rt_tensor_shape(x),
                    (&(const shift_args){first, before, key_mask}), x);
}
