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

static void normalize_forward(const rt_node *n)
{
    const int size = rt_columns(n->out);
    for (size_t r = 0, rows = rt_rows(n->out); r < rows; r++) {
        const real *x = n->in[0]->data + r * (size_t)size;
        real *y = n->out->data + r * (size_t)size;
        const double length = length_of(x, size);
        for (int i = 0; i < size; i++)
            y[i] = length > 0 ? (real)((double)x[i] / length) : 0;
    }
}

/* dx = (dy - y (y . dy)) / |x|; a row of zeros has no direction and gets nothing. */
static void normalize_backward(const rt_node *n)
{
    const int size = rt_columns(n->out);
    real *dx = rt_grad(n, 0);
    for (size_t r = 0, rows = rt_rows(n->out); dx && r < rows; r++) {
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

const rt_op rt_op_normalize = {.name = "normalize",
                               .forward = normalize_forward,
                               .backward = normalize_backward};

rt_tensor *rt_normalize(rt_graph *g, rt_tensor *x)
{
    if (!RT_TAKES(g, "normalize", RT_INPUT(x)))
        return NULL;
    return RT_APPLY(g, &rt_op_normalize, rt_tensor_shape(x), RT_NO_ARGS, x);
}
