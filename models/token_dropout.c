#include "models/parts.h"

/* That a token of the pretraining was a mask: 15 % were chosen, 80 % of these hidden. */
static const double pretraining = 0.15 * 0.8;

static bool is_token(const rt_transformer_input *in, int at)
{
    return !in->key_mask || in->key_mask[at];
}

/* Returns the factor of the sequence whose first token has the number `first`. The share of masks
 * is a float, as in transformers, so that both compute the same in double. */
static real factor_of_text(const rt_transformer_input *in, int first, int mask_id)
{
    int tokens = 0, masks = 0;
    for (int t = first; t < first + in->T; t++) {
        tokens += is_token(in, t);
        masks += is_token(in, t) && in->ids[t] == mask_id;
    }
    const float shown = 1 - (float)masks / (float)tokens;
    return masks < tokens ? (real)((1 - pretraining) / (double)shown) : 0;
}

typedef struct token_factors {
    real *factors; /* of each token, to be filled in */
    const rt_transformer_input *in;
    int mask_id;
} token_factors;

static void fill_factors(void *context)
{
    const token_factors *t = context;
    const rt_transformer_input *in = t->in;
    for (int b = 0; b < in->B; b++) {
        const real factor = factor_of_text(in, b * in->T, t->mask_id);
        for (int i = b * in->T; i < (b + 1) * in->T; i++)
            t->factors[i] = is_token(in, i) && in->ids[i] != t->mask_id ? factor : 0;
    }
}

rt_tensor *rt_token_dropout(const rt_transformer_options *o, rt_graph *g, rt_tensor *x,
                            const rt_transformer_input *in)
{
    if (!RT_TAKES(g, "token_dropout", RT_INPUT(x)))
        return NULL;
    const int rows = in->B * in->T;
    if (x->ndim != 3 || x->shape[0] != in->B || x->shape[1] != in->T)
        return rt_graph_fail(g, RT_SHAPE, "[token_dropout] x must be (%d, %d, E); got %s", in->B,
                             in->T, rt_shape_text(x));
    rt_tensor *factors = rt_graph_memory(g, 1, sizeof *factors);
    real *numbers = rt_graph_numbers(g, (size_t)rows, sizeof *numbers);
    if (!factors || !numbers)
        return NULL;
    rt_memory_fill(numbers, fill_factors, &(token_factors){numbers, in, o->mask_id});
    *factors = rt_tensor_of(numbers, NULL, RT_SHAPE_OF(rows));
    const rt_shape shape = rt_tensor_shape(x);
    x = rt_scale_heads(g, rt_reshape(g, x, RT_SHAPE_OF(rows, rt_columns(x))), factors);
    return rt_reshape(g, x, shape);
}
