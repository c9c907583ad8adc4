#include "ops/private.h"

typedef struct pooling {
    rt_pooling kind;
    const uint8_t *key_mask;
} pooling;

/* Tokens first ... end - 1 of a sequence, and the weight of each in the result. Padding does not
 * count. */
typedef struct span {
    size_t first, end;
    double share;
} span;

/* Returns the pooled tokens. In a sequence of padding alone, the last token is the first, and the
 * mean is 0. */
static span span_of(const pooling *p, size_t b, size_t T)
{
    size_t last = T - 1, tokens = 0;
    if (p->kind == RT_POOL_FIRST)
        return (span){0, 1, 1};
    for (size_t t = 0; t < T; t++)
        tokens += rt_mask_has(p->key_mask, b * T + t);
    while (last && !rt_mask_has(p->key_mask, b * T + last))
        last--;
    if (p->kind == RT_POOL_LAST)
        return (span){last, last + 1, 1};
    return (span){0, T, tokens ? 1 / (double)tokens : 0};
}

static bool counts(const pooling *p, size_t row)
{
    return p->kind != RT_POOL_MEAN || rt_mask_has(p->key_mask, row);
}

static void pool_forward(const rt_node *n)
{
    const rt_tensor *x = n->in[0];
    const pooling *p = n->args;
    const size_t T = (size_t)x->shape[1], C = (size_t)x->shape[2];
    for (size_t b = 0; b < (size_t)x->shape[0]; b++) {
        const span s = span_of(p, b, T);
        real *y = n->out->data + b * C;
        for (size_t c = 0; c < C; c++) {
            double sum = 0;
            for (size_t t = s.first; t < s.end; t++)
                sum += counts(p, b * T + t) ? (double)x->data[(b * T + t) * C + c] : 0;
            y[c] = (real)(sum * s.share);
        }
    }
}

static void pool_backward(const rt_node *n)
{
    const pooling *p = n->args;
    const size_t T = (size_t)n->in[0]->shape[1], C = (size_t)n->in[0]->shape[2];
    real *dx = rt_grad(n, 0);
    for (size_t b = 0; dx && b < (size_t)n->in[0]->shape[0]; b++) {
        const span s = span_of(p, b, T);
        const real *dy = n->out->grad + b * C;
        for (size_t t = s.first; t < s.end; t++)
            for (size_t c = 0; c < C && counts(p, b * T + t); c++)
                dx[(b * T + t) * C + c] += (real)s.share * dy[c];
    }
}

const rt_op rt_op_pool = {.name = "pool", .forward = pool_forward, .backward = pool_backward};

rt_tensor *rt_pool(rt_graph *g, rt_tensor *x, rt_pooling kind, const uint8_t *key_mask)
{
    const pooling args = {kind, key_mask};
    if (!RT_CHECK_INPUTS(g, "pool", RT_INPUT(x)))
        return NULL;
    if (x->ndim != 3)
        return rt_graph_fail(g, RT_SHAPE, "[pool] x must be (B, T, C); got %s", rt_shape_text(x));
    if (kind < RT_POOL_FIRST || kind > RT_POOL_LAST)
        return rt_graph_fail(g, RT_ARGUMENT, "[pool] there is no pooling %d", (int)kind);
    return RT_APPLY(g, &rt_op_pool, RT_SHAPE_OF(x->shape[0], x->shape[2]), &args, x);
}
