#include "train/step/attention_distances.h"

#include "core/memory.h"
#include "train/step/trainer_private.h"

#include <stdlib.h>

/* The weights of one sequence, (heads, T, T) of each layer. */
typedef struct sequence {
    rt_labelled_batch batch;
    rt_graph *graph;
    real **weights;
} sequence;

static rt_status make_sequence(sequence *s, const rt_transformer_options *o, int length)
{
    *s = (sequence){.graph = rt_graph_new()};
    rt_status status = rt_labelled_batch_new(&s->batch, 1, length);
    const size_t size = (size_t)o->heads * (size_t)length * (size_t)length;
    s->weights = rt_alloc((size_t)o->layers, sizeof *s->weights);
    bool short_of_memory = !s->graph || !s->weights;
    for (int l = 0; s->weights && l < o->layers; l++) {
        s->weights[l] = rt_alloc(size, sizeof(real));
        short_of_memory |= !s->weights[l];
    }
    return !status.code && short_of_memory ? rt_out_of_memory("the weights of attention") : status;
}

static void free_sequence(sequence *s, int layers)
{
    for (int l = 0; s->weights && l < layers; l++)
        rt_free(s->weights[l]);
    rt_free(s->weights);
    rt_labelled_batch_free(&s->batch);
    rt_graph_free(s->graph);
}

static rt_status attend(sequence *s, rt_transformer *model)
{
    rt_transformer_input input = rt_batch_input(&s->batch);
    input.attentions = s->weights;
    rt_graph_clear(s->graph);
    rt_graph_record(s->graph, false);
    rt_transformer_encode(model, s->graph, &input);
    return rt_engine_graph_status(s->graph);
}

static void add_head(double *sum, const real *weights, const uint8_t *mask, int T)
{
    for (int i = 0; i < T; i++)
        for (int j = 0; mask[i] && j < T; j++)
            sum[abs(i - j)] += (double)weights[i * T + j];
}

static void add_sequence(rt_attention_distances *d, const sequence *s)
{
    const int T = s->batch.batch.length;
    for (int n = 0; n < d->layers * d->heads; n++)
        add_head(d->weights + (size_t)n * (size_t)d->length,
                 s->weights[n / d->heads] + (size_t)(n % d->heads) * (size_t)T * (size_t)T,
                 s->batch.batch.mask, T);
}

static void divide_by_sums(rt_attention_distances *d)
{
    for (int n = 0; n < d->layers * d->heads; n++) {
        double sum = 0, *weights = d->weights + (size_t)n * (size_t)d->length;
        for (int r = 0; r < d->length; r++)
            sum += weights[r];
        for (int r = 0; r < d->length; r++)
            weights[r] /= sum;
    }
}

static rt_status add_all(rt_attention_distances *d, rt_trainer *t, sequence *s)
{
    const rt_extent extent = rt_trainer_extent(t, d->length, t->config->train.eval_batches);
    rt_status status = rt_ok();
    for (long row = 0; row < extent.sequences && !status.code; row++) {
        rt_draw_evaluation(&s->batch, t->data, (uint32_t)row);
        status = rt_data_status(t->data);
        if (!status.code)
            status = attend(s, t->state.model);
        if (!status.code)
            add_sequence(d, s);
    }
    return status;
}

rt_status rt_trainer_attention_distances(rt_trainer *t, int length, rt_attention_distances *d)
{
    static const char *const attentions[] = {RT_ATTENTIONS(RT_CHOICE_WORD)};
    const rt_transformer_options *o = &t->state.model->options;
    sequence s;
    *d = (rt_attention_distances){.layers = o->layers, .heads = o->heads, .length = length};
    if (o->attention != RT_ATTENTION_SOFTMAX)
        return rt_error(RT_CONFIG, "model.attention = %s has no weights that sum to 1",
                        attentions[o->attention]);
    d->weights =
        rt_alloc((size_t)o->layers * (size_t)o->heads * (size_t)length, sizeof *d->weights);
    if (!d->weights)
        return rt_out_of_memory("the weights of attention");
    rt_status status = make_sequence(&s, o, length);
    rt_trainer_hold(t);
    if (!status.code)
        status = add_all(d, t, &s);
    rt_trainer_let_go();
    free_sequence(&s, o->layers);
    if (status.code)
        rt_attention_distances_free(d);
    else
        divide_by_sums(d);
    return status;
}

void rt_attention_distances_free(rt_attention_distances *d)
{
    rt_free(d->weights);
    d->weights = NULL;
}
