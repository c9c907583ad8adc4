#include "ops/ops.h"
#include "ops/vector_math.h"

/* gelu(x) = x Phi(x), gelu'(x) = Phi(x) + x phi(x). Both come from one exponential, so
 * forward computes the derivative as well, and backward is one product. */

typedef struct gelu_args {
    real *derivative;
} gelu_args;

RT_ROW_KERNEL void gelu_values(real *restrict y, real *restrict derivative, const real *restrict x,
                               size_t size)
{
    for (size_t i = 0; i < size; i++) {
        real cdf, density;
        rt_normal(x[i], &cdf, &density);
        y[i] = x[i] * cdf;
        derivative[i] = cdf + x[i] * density;
    }
}

static void gelu_forward(const rt_node *n)
{
    const gelu_args *a = n->args;
    gelu_values(n->out->data, a->derivative, n->in[0]->data, rt_size(n->out));
}

static void gelu_backward(const rt_node *n)
{
    const real *restrict derivative = ((const gelu_args *)n->args)->derivative;
    const real *restrict g = n->out->grad;
    real *restrict dx = rt_grad(n, 0);
    for (size_t i = 0, size = rt_size(n->out); dx && i < size; i++)
        dx[i] += g[i] * derivative[i];
}

const rt_op rt_op_gelu = {"gelu", gelu_forward, gelu_backward};

rt_tensor *rt_gelu(rt_graph *g, rt_tensor *x)
{
    if (!x)
        return NULL;
    gelu_args args = {rt_graph_memory(g, rt_size(x), sizeof(real))};
    return RT_APPLY(g, &rt_op_gelu, rt_tensor_shape(x), &args, x);
}
