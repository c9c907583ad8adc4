#include "ops/private.h"

typedef struct dropout_args {
    rt_random random;
    uint64_t first;
    double p;
} dropout_args;

void rt_dropout_factors(real *factor, size_t count, rt_random random, uint64_t index, double p)
{
    const uint32_t threshold = (uint32_t)(p * 0x1p32);
    const real kept = (real)(1 / (1 - p));
    for (size_t i = 0; i < count; i += 4) {
        uint32_t words[4];
        rt_random_words(random, index + i / 4, words);
        for (size_t k = 0; k < 4 && i + k < count; k++)
            factor[i + k] = words[k] < threshold ? 0 : kept;
    }
}

/* Computes y = factor x, or dx += factor dy if the context is dx. */
static void drop_span(const rt_row_span *span)
{
    enum { BLOCK = 256 };
    const rt_node *n = span->node;
    const dropout_args *a = n->args;
    real *dx = span->context;
    real *restrict out = dx ? dx : n->out->data;
    const real *restrict in = dx ? n->out->grad : n->in[0]->data;
    const size_t end = span->first + span->count;
    for (size_t start = span->first; start < end; start += BLOCK) {
        real factor[BLOCK];
        size_t count = end - start < BLOCK ? end - start : BLOCK;
        rt_dropout_factors(factor, count, a->random, a->first + start / 4, a->p);
        for (size_t i = 0; i < count; i++)
            out[start + i] = (dx ? out[start + i] : 0) + factor[i] * in[start + i];
    }
}

static void dropout_forward(const rt_node *n)
{
    rt_node_rows(n, rt_size(n->out), 1, drop_span, NULL);
}

static void dropout_backward(const rt_node *n)
{
    real *dx = rt_grad(n, 0);
    if (dx)
        rt_node_rows(n, rt_size(n->out), 1, drop_span, dx);
}

const rt_op rt_op_dropout = {.name = "dropout",
                             .forward = dropout_forward,
                             .backward = dropout_backward};

rt_tensor *rt_dropout(rt_graph *g, rt_tensor *x, double p)
{
    if (!RT_CHECK_INPUTS(g, "dropout", RT_INPUT(x)))
        return NULL;
    if (!(p >= 0 && p < 1))
        return rt_graph_fail(g, RT_ARGUMENT, "[dropout] p must be in [0, 1); got %g", p);
    if (p == 0 || !rt_graph_drops(g))
        return x;
    dropout_args args = {.p = p};
    args.random = rt_graph_next_random(g, &args.first);
    return RT_APPLY(g, &rt_op_dropout, rt_tensor_shape(x), &args, x);
}
