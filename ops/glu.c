#include "ops/activation.h"

#include "core/row_kernels.h"

/* Both inputs are results that stay until the graph is cleared, so backward computes
 * f(gate) and f'(gate) once more and nothing is kept: next to the matrix products around it that
 * costs little. Block by block, so that both stay in the nearest cache. */
enum { BLOCK = 2048 };

typedef struct glu_args {
    rt_activation_values *values;
} glu_args;

static RT_ROW_KERNEL(times_gated,
                     (real *restrict y, const real *restrict x, size_t size),
                     (y, x, size))
{
    for (size_t i = 0; i < size; i++)
        y[i] *= x[i];
}

/* dgate += dy x f'(gate), or is set to it; dx = dy f(gate), in place of dy. */
static RT_ROW_KERNEL(glu_gradients,
                     (real *restrict dgate, real *restrict dy, const real *restrict x,
                      const real *restrict value, const real *restrict derivative, size_t size,
                      bool adds),
                     (dgate, dy, x, value, derivative, size, adds))
{
    if (dgate)
        for (size_t i = 0; i < size; i++)
            dgate[i] = (adds ? dgate[i] : 0) + dy[i] * x[i] * derivative[i];
    for (size_t i = 0; i < size; i++)
        dy[i] *= value[i];
}

static size_t block_at(size_t start, size_t size)
{
    return size - start < BLOCK ? size - start : BLOCK;
}

/* f' of a block and, going backward, f, which stands in the result going forward. */
static size_t glu_room(const rt_node *n, rt_pass pass)
{
    (void)n;
    return (pass == RT_BACKWARD ? 2 : 1) * BLOCK * sizeof(real);
}

static void glu_forward(const rt_node *n)
{
    const glu_args *a = n->args;
    const size_t size = rt_size(n->out);
    real *derivative = rt_room(n);
    for (size_t i = 0; i < size; i += BLOCK) {
        real *y = n->out->data + i;
        a->values(y, derivative, n->in[0]->data + i, block_at(i, size));
        times_gated(y, n->in[1]->data + i, block_at(i, size));
    }
}

static void glu_backward(const rt_node *n)
{
    const glu_args *a = n->args;
    const size_t size = rt_size(n->out);
    real beta;
    real *dgate = rt_grad_or_fresh(n, 0, &beta);
    real *value = rt_room(n);
    for (size_t i = 0; i < size; i += BLOCK) {
        const size_t count = block_at(i, size);
        a->values(value, value + BLOCK, n->in[0]->data + i, count);
        glu_gradients(dgate ? dgate + i : NULL, n->out->grad + i, n->in[1]->data + i, value,
                      value + BLOCK, count, beta != 0);
    }
    rt_grad_pass(n); /* last: it may carry the gradient of the result away */
}

const rt_op rt_op_glu = {
    .name = "glu", .forward = glu_forward, .backward = glu_backward, .room = glu_room, .passes = 2};

rt_tensor *rt_glu(rt_graph *g, rt_tensor *gate, rt_tensor *x, rt_activation kind)
{
    const glu_args args = {rt_activation_kernel(g, "glu", kind)};
    if (!args.values || !RT_TAKES(g, "glu", RT_INPUT(gate), RT_INPUT(x)))
        return NULL;
    if (!rt_same_shape(gate, x))
        return rt_graph_fail(g, RT_SHAPE, "[glu] gate and x must have one shape; got %s, %s",
                             rt_shape_text(gate), rt_shape_text(x));
    return RT_APPLY(g, &rt_op_glu, rt_tensor_shape(x), &args, gate, x);
}
