#include "ops/ops.h"

/* The steps in x, in elements, from one index of each axis of the result to the next. */
typedef struct permute_args {
    size_t step[RT_MAX_AXES];
} permute_args;

/* Walks the result in its own order; `to` and `from` have the result's and x's layout, in one
 * direction or the other. */
static void walk(const rt_node *n, real *y, const real *dy, real *x)
{
    const permute_args *args = n->args;
    const int *shape = n->out->shape;
    size_t at = 0;
    for (int i = 0; i < shape[0]; i++)
        for (int j = 0; j < shape[1]; j++)
            for (int k = 0; k < shape[2]; k++)
                for (int l = 0; l < shape[3]; l++, at++) {
                    const size_t there = (size_t)i * args->step[0] + (size_t)j * args->step[1] +
                                         (size_t)k * args->step[2] + (size_t)l * args->step[3];
                    if (y)
                        y[at] = x[there];
                    else
                        x[there] += dy[at];
                }
}

static void permute_forward(const rt_node *n)
{
    walk(n, n->out->data, NULL, n->in[0]->data);
}

static void permute_backward(const rt_node *n)
{
    real *dx = rt_grad(n, 0);
    if (dx)
        walk(n, NULL, n->out->grad, dx);
}

const rt_op rt_op_permute = {"permute", permute_forward, permute_backward};

rt_tensor *rt_permute(rt_graph *g, rt_tensor *x, const int *order)
{
    if (!RT_TAKES(g, "permute", RT_INPUT(x)) || !rt_graph_given(g, "permute", "order", order))
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
