#include "ops/ops.h"

#include <math.h>

/* Squares are summed in double: those of small features would vanish in float. */
static double length_of(const real *x, int size)
{
    double squares = 0;
    for (int i = 0; i < size; i++)
        squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

static void normalize_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    const int size = rt_columns(n->out);
    (void)context;
    (void)room;
    for (size_t r = span.first; r < span.first + span.count; r++) {
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

/* dx = (dy - y (y . dy)) / |x|; a row of zeros has no direction and gets nothing. */
static void gradient_of_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    const int size = rt_columns(n->out);
    real *dx = context;
    (void)room;
    for (size_t r = span.first; r < span.first + span.count; r++) {
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
    if (!RT_TAKES(g, "normalize", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_normalize, rt_tensor_shape(x), RT_NO_ARGS, x);
}
