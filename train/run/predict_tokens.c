/* Tokens of a text under way in a prediction: their ids and their logits. */

#include "train/run/prediction.h"

#include "core/memory.h"
#include "ops/engine.h"

#include <string.h>

rt_status rt_prediction_append(rt_prediction_ids *s, const int32_t *ids, int count)
{
    if (s->count + count > s->capacity) {
        const int capacity = 2 * (s->count + count);
        int32_t *larger = rt_alloc((size_t)capacity, sizeof *larger);
        if (!larger)
            return rt_out_of_memory("a prediction");
        if (s->count)
            memcpy(larger, s->ids, (size_t)s->count * sizeof *larger);
        rt_free(s->ids);
        s->ids = larger;
        s->capacity = capacity;
    }
    memcpy(s->ids + s->count, ids, (size_t)count * sizeof *ids);
    s->count += count;
    return rt_ok();
}

rt_status rt_prediction_read(rt_prediction *p, int *masks)
{
    rt_prediction_ids *s = &p->s;
    rt_free(s->ids);
    rt_status status = rt_masked_text_encode(p->vocabulary, rt_data_begins(p->data), p->o->special,
                                             p->text, &s->ids, &s->count, masks, &p->unknown);
    s->capacity = s->count;
    return status;
}

rt_status rt_prediction_logits(rt_prediction *p, const int32_t *ids, int length, int place)
{
    const rt_transformer_input in = {.B = 1, .T = length, .ids = ids, .padding_id = RT_NO_PADDING};
    int32_t row = place;
    rt_graph_clear(p->g);
    rt_graph_record(p->g, false);
    rt_tensor *hidden = rt_transformer_encode(p->model, p->g, &in);
    hidden = rt_reshape(p->g, hidden, RT_SHAPE_OF(length, p->model->options.dim));
    rt_tensor *logits =
        rt_transformer_logits(p->model, p->g,
                              rt_embedding(p->g, hidden, &row, RT_SHAPE_OF(1), RT_NO_PADDING));
    rt_status status = rt_engine_graph_status(p->g);
    if (!status.code)
        status = rt_probabilities(logits->data, p->model->options.vocab, p->probabilities);
    if (status.code)
        return status;
    memcpy(p->logits, logits->data, (size_t)p->vocabulary->count * sizeof *p->logits);
    rt_vocabulary_mask_logits(p->vocabulary, false, p->logits);
    return status;
}
