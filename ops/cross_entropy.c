#include "core/row_kernels.h"
#include "ops/private.h"
#include "ops/vector_math.h"

#include <math.h>
#include <string.h>

typedef struct cross_entropy_args {
    const int32_t *labels;
    double smoothing;
    double divisor;
    real *log_sum; /* log sum_j e^(x_j) of each row */
} cross_entropy_args;

/* Arguments of backward. The gradient of a row is share (softmax(x) - even), less
 * share (1 - smoothing) at the label. */
typedef struct cross_entropy_pass {
    real *dx, beta;
    real share, even;  /* even: smoothing / V */
    uint16_t *rounded; /* in place of dx; or NULL */
} cross_entropy_pass;

/* Computes dx = share * (softmax(x) - even) + beta dx, beta 0 or 1. The caller adds the term of the
 * label. */
static RT_ROW_KERNEL(logit_row_gradient,
                     (real *restrict dx, const real *restrict x, int size, real log_sum,
                      cross_entropy_pass p),
                     (dx, x, size, log_sum, p))
{
    for (int i = 0; i < size; i++) {
        const real there = p.beta == 0 ? 0 : dx[i];
        dx[i] = there + p.share * (rt_exp_bounded_of(x[i] - log_sum) - p.even);
    }
}

/* Computes the loss of a part of the rows. With smoothing s the target of a row is (1 - s) at the
 * label plus s / V everywhere: loss = log_sum - (1 - s) x_label - s mean(x). */
static void lose_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const cross_entropy_args *a = n->args;
    const rt_tensor *x = n->in[0];
    const int size = rt_columns(x);
    double loss = 0;
    for (size_t r = span->first; r < span->first + span->count; r++) {
        const real *row = x->data + r * (size_t)size;
        if (a->labels[r] == RT_IGNORE)
            continue;
        a->log_sum[r] = rt_row_log_sum(row, size);
        double row_loss = (double)a->log_sum[r] - (1 - a->smoothing) * (double)row[a->labels[r]];
        double sum = 0;
        for (int i = 0; a->smoothing > 0 && i < size; i++)
            sum += (double)row[i];
        if (a->smoothing > 0)
            row_loss -= a->smoothing * sum / size;
        loss += row_loss;
    }
    ((double *)span->context)[span->number] = loss;
}

static int parts_of(const rt_tensor *x)
{
    return rt_parts_of_rows(rt_rows(x), (size_t)rt_columns(x));
}

static rt_scratch_size cross_entropy_scratch(const rt_node *n, rt_pass pass)
{
    const size_t losses = pass == RT_FORWARD ? (size_t)parts_of(n->in[0]) : 0;
    return (rt_scratch_size){.whole = losses * sizeof(double)};
}

static void cross_entropy_forward(const rt_node *n)
{
    const cross_entropy_args *a = n->args;
    const rt_tensor *x = n->in[0];
    const int classes = rt_columns(x);
    double *losses = rt_scratch(n), loss = 0;
    for (size_t r = 0, rows = rt_rows(x); r < rows; r++)
        if (a->labels[r] != RT_IGNORE && (a->labels[r] < 0 || a->labels[r] >= classes)) {
            rt_graph_fail(n->graph, RT_ARGUMENT,
                          "[cross_entropy] label %zu must be from 0 to %d; got %d", r, classes - 1,
                          a->labels[r]);
            return;
        }
    rt_node_rows(n, rt_rows(x), (size_t)rt_columns(x), lose_span, losses);
    for (int i = 0; i < parts_of(x); i++)
        loss += losses[i];
    n->out->data[0] = (real)(loss / a->divisor);
}

/* Computes the gradients of rows: at once, or in blocks that are then rounded. */
static void gradients_of_span(const rt_row_span *span)
{
    enum { BLOCK = 4096 }; /* numbers that stay in the nearest cache */
    const rt_node *n = span->node;
    const cross_entropy_args *a = n->args;
    const cross_entropy_pass *p = span->context;
    const int size = rt_columns(n->in[0]), most = p->rounded ? BLOCK : size;
    real block[BLOCK];
    for (size_t r = span->first; r < span->first + span->count; r++) {
        const size_t row = r * (size_t)size;
        const bool ignored = a->labels[r] == RT_IGNORE;
        if (ignored && p->rounded)
            memset(p->rounded + row, 0, (size_t)size * sizeof *p->rounded);
        else if (ignored && p->beta == 0)
            memset(p->dx + row, 0, (size_t)size * sizeof *p->dx);
        for (int first = 0; first < size && !ignored; first += most) {
            const int count = rt_smaller(most, size - first), label = a->labels[r] - first;
            real *dx = p->rounded ? block : p->dx + row;
            logit_row_gradient(dx, n->in[0]->data + row + first, count, a->log_sum[r], *p);
            if (label >= 0 && label < count)
                dx[label] -= p->share * (real)(1 - a->smoothing);
            if (p->rounded)
                rt_engine_round(p->rounded + row + first, block, (size_t)count);
        }
    }
}

static void cross_entropy_backward(const rt_node *n)
{
    const cross_entropy_args *a = n->args;
    const rt_tensor *x = n->in[0];
    cross_entropy_pass p = {.rounded = rt_gemm_rounds() ? rt_grad_rounded(n, 0) : NULL};
    p.dx = p.rounded ? NULL : rt_grad_or_fresh(n, 0, &p.beta);
    if (!p.dx && !p.rounded)
        return;
    p.share = (real)((double)n->out->grad[0] / a->divisor);
    p.even = (real)(a->smoothing / rt_columns(x));
    rt_node_rows(n, rt_rows(x), (size_t)rt_columns(x), gradients_of_span, &p);
}

const rt_op rt_op_cross_entropy = {.name = "cross_entropy",
                                   .forward = cross_entropy_forward,
                                   .backward = cross_entropy_backward,
                                   .scratch = cross_entropy_scratch};

rt_tensor *rt_cross_entropy(rt_graph *g, rt_tensor *logits, const int32_t *labels, double smoothing,
                            double divisor)
{
    if (!RT_CHECK_INPUTS(g, "cross_entropy", RT_INPUT(logits)) ||
        !rt_graph_check_argument(g, "cross_entropy", "labels", labels))
        return NULL;
    if (!(divisor > 0 && divisor < INFINITY) || !(smoothing >= 0 && smoothing < 1))
        return rt_graph_fail(g, RT_ARGUMENT,
                             "[cross_entropy] divisor must be positive, smoothing in [0, 1); "
                             "got %g, %g",
                             divisor, smoothing);
    cross_entropy_args args = {labels, smoothing, divisor,
                               rt_graph_numbers(g, rt_rows(logits), sizeof(real))};
    return RT_APPLY(g, &rt_op_cross_entropy, RT_SCALAR, &args, logits);
}

/* Returns the first index of the largest number. Blocks without it are skipped quickly. */
static RT_ROW_FUNCTION(int, place_of_largest, (const real *restrict x, int size), (x, size))
{
    enum { BLOCK = 64 };
    const real largest = rt_row_largest(x, size, -INFINITY);
    int i = 0;
    for (; i + BLOCK <= size; i += BLOCK) {
        int found = 0;
        for (int k = 0; k < BLOCK; k++)
            found |= x[i + k] == largest;
        if (found)
            break;
    }
    while (i < size && x[i] != largest)
        i++;
    return i < size ? i : 0;
}

int rt_largest(const rt_tensor *logits, size_t row)
{
    const int size = rt_columns(logits);
    if (!logits->data)
        return 0;
    return place_of_largest(logits->data + row * (size_t)size, size);
}

size_t rt_count_correct(const rt_tensor *logits, const int32_t *labels)
{
    if (!logits || !labels || !rt_shape_size(rt_tensor_shape(logits)))
        return 0;
    size_t correct = 0;
    for (size_t r = 0, rows = rt_rows(logits); r < rows; r++)
        correct += labels[r] == rt_largest(logits, r);
    return correct;
}
