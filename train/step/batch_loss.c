#include "train/step/batch_loss.h"

#include <assert.h>

/* Counts what each label was taken for. */
static void count_pairs(int64_t *confusion, const rt_tensor *logits, const int32_t *wanted)
{
    const size_t classes = (size_t)rt_columns(logits);
    for (size_t r = 0; r < rt_rows(logits); r++)
        confusion[(size_t)wanted[r] * classes + (size_t)rt_largest(logits, r)]++;
}

rt_transformer_input rt_batch_input(const rt_labelled_batch *b)
{
    return (rt_transformer_input){.B = b->batch.rows,
                                  .T = b->batch.length,
                                  .ids = b->batch.ids,
                                  .token_types = b->batch.types,
                                  .key_mask = b->batch.mask,
                                  .padding_id = RT_NO_PADDING};
}

rt_tensor *rt_batch_logits(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b)
{
    const rt_transformer_input input = rt_batch_input(b);
    rt_tensor *hidden = rt_transformer_encode(model, g, &input);
    if (model->options.head == RT_HEAD_SEQUENCE) {
        assert(b->labels == input.B);
        hidden = rt_transformer_pool(model, g, hidden, input.key_mask);
    } else {
        hidden =
            rt_embedding(g,
                         rt_reshape(g, hidden, RT_SHAPE_OF(input.B * input.T, model->options.dim)),
                         b->where, RT_SHAPE_OF(b->labels), RT_NO_PADDING);
    }
    return rt_transformer_logits(model, g, hidden);
}

rt_tensor *rt_text_logits(rt_transformer *model, rt_graph *g, const int32_t *ids, int count,
                          const int32_t *place)
{
    const rt_transformer_input in = {.B = 1, .T = count, .ids = ids, .padding_id = RT_NO_PADDING};
    rt_tensor *hidden = rt_transformer_encode(model, g, &in);
    hidden = rt_reshape(g, hidden, RT_SHAPE_OF(count, model->options.dim));
    if (place)
        hidden = rt_embedding(g, hidden, place, RT_SHAPE_OF(1), RT_NO_PADDING);
    return rt_transformer_logits(model, g, hidden);
}

rt_tensor *rt_batch_loss(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b,
                         double divisor, rt_batch_result *result)
{
    rt_tensor *logits = rt_batch_logits(model, g, b);
    rt_tensor *loss = rt_cross_entropy(g, logits, b->wanted, 0, divisor);
    if (loss && result) {
        result->loss = (double)loss->data[0] * divisor;
        result->correct = rt_count_correct(logits, b->wanted);
        if (b->confusion)
            count_pairs(b->confusion, logits, b->wanted);
    }
    return loss;
}
