#include "ops/ops.h"
#include "ops/rows.h"
#include "ops/vector_math.h"

#include <math.h>

typedef struct cross_entropy_args {
    const int32_t *labels;
    double smoothing;
    double divisor;
    real *log_sum; /* log sum_j e^(x_j) of each row */
} cross_entropy_args;

/* dx += share * (softmax(x) - smoothing / V); the label's part is the caller's. */
RT_ROW_KERNEL void logit_row_gradient(real *restrict dx, const real *restrict x, int size,
                                      real log_sum, real share, real even)
{
    for (int i = 0; i < size; i++)
        dx[i] += share * (rt_exp_of(x[i] - log_sum) - even);
}

/* With smoothing s the target is (1 - s) at the label plus s / V everywhere:
 * loss = log_sum - (1 - s) x_label - s mean(x). */
static double row_loss(const real *x, int size, int label, double log_sum, double smoothing)
{
    double loss = log_sum - (1 - smoothing) * (double)x[label];
    if (smoothing > 0) {
        double sum = 0;
        for (int i = 0; i < size; i++)
            sum += (double)x[i];
        loss -= smoothing * sum / size;
    }
    return loss;
}

static void cross_entropy_forward(const rt_node *n)
{
    const cross_entropy_args *a = n->args;
    const rt_tensor *x = n->in[0];
    const int size = rt_columns(x);
    double loss = 0;
    for (size_t r = 0, rows = rt_rows(x); r < rows; r++) {
        const real *row = x->data + r * (size_t)size;
        if (a->labels[r] == RT_IGNORE)
            continue;
        a->log_sum[r] = rt_row_log_sum(row, size);
        loss += row_loss(row, size, a->labels[r], (double)a->log_sum[r], a->smoothing);
    }
    n->out->data[0] = (real)(loss / a->divisor);
}

static void cross_entropy_backward(const rt_node *n)
{
    const cross_entropy_args *a = n->args;
    const rt_tensor *x = n->in[0];
    const int size = rt_columns(x);
    const real share = (real)((double)n->out->grad[0] / a->divisor);
    real *dx = rt_grad(n, 0);
    for (size_t r = 0, rows = rt_rows(x); dx && r < rows; r++) {
        if (a->labels[r] == RT_IGNORE)
            continue;
        real *row = dx + r * (size_t)size;
        logit_row_gradient(row, x->data + r * (size_t)size, size, a->log_sum[r], share,
                           (real)(a->smoothing / size));
        row[a->labels[r]] -= share * (real)(1 - a->smoothing);
    }
}

const rt_op rt_op_cross_entropy = {"cross_entropy", cross_entropy_forward, cross_entropy_backward};

rt_tensor *rt_cross_entropy(rt_graph *g, rt_tensor *logits, const int32_t *labels, double smoothing,
                            double divisor)
{
    if (!RT_TAKES(g, "cross_entropy", RT_INPUT(logits)) ||
        !rt_graph_given(g, "cross_entropy", "labels", labels))
        return NULL;
    const size_t rows = rt_rows(logits);
    if (!(divisor > 0 && divisor < INFINITY) || !(smoothing >= 0 && smoothing < 1))
        return rt_graph_fail(g, RT_ARGUMENT,
                             "[cross_entropy] divisor must be positive, smoothing in [0, 1); "
                             "got %g, %g",
                             divisor, smoothing);
    for (size_t r = 0; r < rows; r++)
        if (labels[r] != RT_IGNORE && (labels[r] < 0 || labels[r] >= rt_columns(logits)))
            return rt_graph_fail(g, RT_ARGUMENT, "[cross_entropy] label %zu is %d; there are %d", r,
                                 labels[r], rt_columns(logits));
    cross_entropy_args args = {labels, smoothing, divisor, rt_graph_memory(g, rows, sizeof(real))};
    return RT_APPLY(g, &rt_op_cross_entropy, RT_SCALAR, &args, logits);
}

int rt_largest(const rt_tensor *logits, size_t row)
{
    const int size = rt_columns(logits);
    const real *x = logits->data + row * (size_t)size;
    int best = 0;
    for (int i = 1; i < size; i++)
        best = x[i] > x[best] ? i : best;
    return best;
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
