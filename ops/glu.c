#include "ops/activation.h"

#include "core/row_kernels.h"

/* Both inputs are results that stay until the graph is cleared, so backward computes
 * f(gate) and f'(gate) once more and nothing is kept: next to the matrix products around it that
 * costs little. Block by block, so that both stay in the nearest cache. */
enum { BLOCK = 2048 };

typedef struct glu_args {
    rt_activation_values *values;
} glu_args;

static RT_ROW_KERNEL(times_gated, (real *restrict y, const real *restrict x, size_t size),
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

/* f' of a block stands in room of its own and, going backward, f, which stands in the result going
 * forward. */
static void gate_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    const glu_args *a = n->args;
    const size_t end = span.first + span.count;
    real derivative[BLOCK];
    (void)context;
    (void)room;
    for (size_t i = span.first; i < end; i += BLOCK) {
        real *y = n->out->data + i;
        a->values(y, derivative, n->in[0]->data + i, block_at(i, end));
        times_gated(y, n->in[1]->data + i, block_at(i, end));
    }
}

static void glu_forward(const rt_node *n)
{
    rt_node_rows(n, rt_size(n->out), 1, gate_span, NULL);
}

typedef struct glu_backward_pass {
    real *dgate, beta;
} glu_backward_pass;

static void derive_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    const glu_args *a = n->args;
    const glu_backward_pass *b = context;
    const size_t end = span.first + span.count;
    real value[BLOCK], derivative[BLOCK];
    (void)room;
    for (size_t i = span.first; i < end; i += BLOCK) {
        const size_t count = block_at(i, end);
        a->values(value, derivative, n->in[0]->data + i, count);
        glu_gradients(b->dgate ? b->dgate + i : NULL, n->out->grad + i, n->in[1]->data + i, value,
                      derivative, count, b->beta != 0);
    }
}

static void glu_backward(const rt_node *n)
{
    glu_backward_pass b;
    b.dgate = rt_grad_or_fresh(n, 0, &b.beta);
    rt_node_rows(n, rt_size(n->out), 1, derive_span, &b);
    rt_grad_pass(n); /* last: it may carry the gradient of the result away */
}

static bool glu_reads(const rt_node *n, const rt_tensor *x)
{
    return x == n->in[0] || x == n->in[1];
}

const rt_op rt_op_glu = {.name = "glu",
                         .forward = glu_forward,
                         .backward = glu_backward,
                         .reads = glu_reads,
                         .passes = 2};

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
