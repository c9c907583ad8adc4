#include "ops/ops.h"

static void reshape_backward(const rt_node *n)
{
    rt_grad_pass(n, 0);
}

const rt_op rt_op_reshape = {.name = "reshape", .backward = reshape_backward};

rt_tensor *rt_reshape(rt_graph *g, rt_tensor *x, rt_shape shape)
{
    if (!RT_CHECK_INPUTS(g, "reshape", RT_FACTOR(x)))
        return NULL;
    if (rt_shape_size(shape) != rt_size(x))
        return rt_graph_fail(g, RT_SHAPE, "[reshape] %s does not have the size of %s",
                             rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape),
                             rt_shape_text(x));
    return rt_graph_view(g, &rt_op_reshape, shape, x);
}

/* Strides of x, in elements, for each axis of the result. */
typedef struct permute_args {
    size_t step[RT_MAX_AXES];
} permute_args;

/* Returns the index in x at which row r of the result, along its last axis, begins. */
static size_t start_of(const rt_node *n, size_t r)
{
    const permute_args *a = n->args;
    size_t start = 0;
    for (int i = n->out->ndim - 2; i >= 0; i--) {
        const size_t length = (size_t)n->out->shape[i];
        start += r % length * a->step[i];
        r /= length;
    }
    return start;
}

static size_t step_of_row(const rt_node *n)
{
    const permute_args *a = n->args;
    return n->out->ndim ? a->step[n->out->ndim - 1] : 1;
}

static void permute_forward(const rt_node *n)
{
    const size_t columns = (size_t)rt_columns(n->out), step = step_of_row(n);
    for (size_t r = 0, rows = rt_rows(n->out); r < rows; r++) {
        const real *restrict x = n->in[0]->data + start_of(n, r);
        real *restrict y = n->out->data + r * columns;
        for (size_t i = 0; i < columns; i++)
            y[i] = x[i * step];
    }
}

static void permute_backward(const rt_node *n)
{
    const size_t columns = (size_t)rt_columns(n->out), step = step_of_row(n);
    real *dx = rt_grad(n, 0);
    for (size_t r = 0, rows = rt_rows(n->out); dx && r < rows; r++) {
        const real *restrict dy = n->out->grad + r * columns;
        real *restrict row = dx + start_of(n, r);
        for (size_t i = 0; i < columns; i++)
            row[i * step] += dy[i];
    }
}

const rt_op rt_op_permute = {.name = "permute",
                             .forward = permute_forward,
                             .backward = permute_backward};

rt_tensor *rt_permute(rt_graph *g, rt_tensor *x, const int *order)
{
    if (!RT_CHECK_INPUTS(g, "permute", RT_INPUT(x)) ||
        !rt_graph_check_argument(g, "permute", "order", order))
        return NULL;
    permute_args args = {{0}};
    rt_shape shape = {.ndim = x->ndim};
    unsigned seen = 0;
    for (int i = 0; i < x->ndim; i++) {
        if (order[i] < 0 || order[i] >= x->ndim || seen & 1u << order[i])
            return rt_graph_fail(g, RT_ARGUMENT,
                                 "[permute] the order must name each of the %d axes once; got %d",
                                 x->ndim, order[i]);
        seen |= 1u << order[i];
        shape.axis[i] = x->shape[order[i]];
        args.step[i] = 1;
        for (int after = order[i] + 1; after < x->ndim; after++)
            args.step[i] *= (size_t)x->shape[after];
    }
    return RT_APPLY(g, &rt_op_permute, shape, &args, x);
}

/* sum and mean differ only in the divisor, which is the argument. */

static void reduce_forward(const rt_node *n)
{
    const real *x = n->in[0]->data;
    double sum = 0;
    for (size_t i = 0, size = rt_size(n->in[0]); i < size; i++)
        sum += (double)x[i];
    n->out->data[0] = (real)(sum / *(const double *)n->args);
}

static void reduce_backward(const rt_node *n)
{
    real *dx = rt_grad(n, 0);
    const double share = dx ? (double)n->out->grad[0] / *(const double *)n->args : 0;
    for (size_t i = 0, size = rt_size(n->in[0]); dx && i < size; i++)
        dx[i] += (real)share;
}

const rt_op rt_op_sum = {.name = "sum", .forward = reduce_forward, .backward = reduce_backward};
const rt_op rt_op_mean = {.name = "mean", .forward = reduce_forward, .backward = reduce_backward};

rt_tensor *rt_sum(rt_graph *g, rt_tensor *x)
{
    const double divisor = 1;
    if (!RT_CHECK_INPUTS(g, "sum", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_sum, RT_SCALAR, &divisor, x);
}

rt_tensor *rt_mean(rt_graph *g, rt_tensor *x)
{
    if (!RT_CHECK_INPUTS(g, "mean", RT_INPUT(x)))
        return NULL;
    const double divisor = (double)rt_size(x);
    return RT_APPLY(g, &rt_op_mean, RT_SCALAR, &divisor, x);
}
