#include "ops/private.h"
#include "ops/vector_math.h"

typedef struct key_exp_args {
    const uint8_t *mask;
    bool causal;
    const real *before; /* (B, H), or NULL */
    real *level;        /* (B, T, H) */
} key_exp_args;

/* Computes the level of every token of one head, in the sequence that starts at token `first` of
 * the batch. */
static void find_levels(const key_exp_args *args, const rt_tensor *x, size_t first, int h)
{
    const int T = x->shape[1], H = x->shape[2], D = x->shape[3];
    const size_t b = first / (size_t)T;
    real largest = args->before ? args->before[b * (size_t)H + (size_t)h] : RT_NO_LEVEL;
    for (int t = 0; t < T; t++) {
        const size_t row = (first + (size_t)t) * (size_t)H + (size_t)h;
        for (int d = 0; rt_mask_has(args->mask, first + (size_t)t) && d < D; d++) {
            const real feature = x->data[row * (size_t)D + (size_t)d];
            largest = feature > largest ? feature : largest;
        }
        args->level[row] = largest;
    }
    for (int t = 0; !args->causal && t < T; t++)
        args->level[(first + (size_t)t) * (size_t)H + (size_t)h] = largest;
}

static void key_exp_forward(const rt_node *n)
{
    const key_exp_args *args = n->args;
    const rt_tensor *x = n->in[0];
    const size_t H = (size_t)x->shape[2], D = (size_t)x->shape[3], rows = rt_rows(x);
    for (int b = 0; b < x->shape[0]; b++)
        for (int h = 0; h < x->shape[2]; h++)
            find_levels(args, x, (size_t)b * (size_t)x->shape[1], h);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = row * D; i < (row + 1) * D; i++)
            n->out->data[i] =
                rt_mask_has(args->mask, row / H) ? rt_exp_of(x->data[i] - args->level[row]) : 0;
}

static void key_exp_backward(const rt_node *n)
{
    real *dx = rt_grad(n, 0);
    for (size_t i = 0; dx && i < rt_size(n->out); i++)
        dx[i] += n->out->data[i] * n->out->grad[i];
}

const rt_op rt_op_key_exp = {.name = "key_exp",
                             .forward = key_exp_forward,
                             .backward = key_exp_backward};

rt_tensor *rt_key_exp(rt_graph *g, rt_tensor *x, const uint8_t *key_mask, bool causal,
                      const real *before, const real **level)
{
    if (level)
        *level = NULL;
    if (!RT_CHECK_INPUTS(g, "key_exp", RT_INPUT(x)) ||
        !rt_graph_check_argument(g, "key_exp", "level", level))
        return NULL;
    if (x->ndim != 4)
        return rt_graph_fail(g, RT_SHAPE, "[key_exp] x must be (B, T, H, D); got %s",
                             rt_shape_text(x));
    if (before && !causal)
        return rt_graph_fail(g, RT_ARGUMENT, "[key_exp] before needs causal attention");
    key_exp_args args = {key_mask, causal, before, rt_graph_numbers(g, rt_rows(x), sizeof(real))};
    if (causal)
        *level = args.level;
    return RT_APPLY(g, &rt_op_key_exp, rt_tensor_shape(x), &args, x);
}
