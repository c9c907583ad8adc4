/* Tokens of a text under way in a prediction: their ids, their logits, and the choice of the next
 * one. */

#include "train/run/prediction.h"

#include "core/memory.h"
#include "core/random.h"
#include "ops/engine.h"

#include <math.h>
#include <stdlib.h>
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
    rt_status status = rt_masked_text_encode(p->vocabulary, rt_data_begins(p->data), p->text,
                                             &s->ids, &s->count, masks, &p->unknown);
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
    if (logits)
        memcpy(p->weights, logits->data, (size_t)p->vocabulary->count * sizeof *p->weights);
    return rt_engine_graph_status(p->g);
}

static bool can_be_chosen(const rt_prediction *p, int32_t id)
{
    return rt_vocabulary_is_unit(p->vocabulary, id) ||
           (p->ends && rt_vocabulary_is_end(p->vocabulary, id));
}

/* Of equals the first. */
static int32_t most_likely(const rt_prediction *p)
{
    int32_t best = rt_vocabulary_unit(p->vocabulary, 0);
    for (int32_t id = 0; id < p->vocabulary->count; id++)
        if (can_be_chosen(p, id) && p->weights[id] > p->weights[best])
            best = id;
    return best;
}

void rt_prediction_probabilities(rt_prediction *p, double temperature)
{
    const int count = p->vocabulary->count;
    const double largest = (double)p->weights[most_likely(p)];
    double sum = 0;
    for (int32_t id = 0; id < count; id++) {
        const double x = ((double)p->weights[id] - largest) / temperature;
        p->weights[id] = can_be_chosen(p, id) ? (real)exp(x) : 0;
        sum += (double)p->weights[id];
    }
    for (int32_t id = 0; id < count; id++)
        p->weights[id] = (real)((double)p->weights[id] / sum);
}

/* qsort has no context; predictions are made by one thread. */
static const real *compared;

static int compare_tokens(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    if (compared[x] != compared[y])
        return compared[x] > compared[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

void rt_prediction_keep(rt_prediction *p, int top_k, double top_p)
{
    const int count = p->vocabulary->count;
    double sum = 0;
    int kept = 0;
    for (int32_t id = 0; id < count; id++)
        p->order[id] = id;
    compared = p->weights;
    qsort(p->order, (size_t)count, sizeof *p->order, compare_tokens);
    while (kept < count && (!top_k || kept < top_k) && (!(top_p > 0) || sum < top_p))
        sum += (double)p->weights[p->order[kept++]];
    for (int i = 0; i < count; i++)
        p->weights[p->order[i]] = i < kept ? (real)((double)p->weights[p->order[i]] / sum) : 0;
}

int32_t rt_prediction_choose(rt_prediction *p, int n)
{
    if (p->o->temperature == 0)
        return most_likely(p);
    rt_prediction_probabilities(p, p->o->temperature);
    if (p->o->top_k || p->o->top_p > 0)
        rt_prediction_keep(p, p->o->top_k, p->o->top_p);
    double left = rt_random_uniform((rt_random){p->o->seed, (uint32_t)n, RT_STREAM_SAMPLE}, 0);
    for (int32_t id = 0; id < p->vocabulary->count; id++)
        if ((left -= (double)p->weights[id]) < 0)
            return id;
    return most_likely(p);
}
