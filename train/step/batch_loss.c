#include "train/step/batch_loss.h"

#include "core/memory.h"

#include <assert.h>

rt_roformer_options rt_model_options(const rt_config *config, const rt_data *data)
{
    rt_roformer_options options = config->model;
    const int classes = rt_data_classes(data);
    options.vocab = rt_data_vocab(data);
    options.position = rt_config_position(config);
    options.head = classes ? RT_HEAD_SEQUENCE : RT_HEAD_LM;
    options.labels = classes;
    return options;
}

rt_status rt_labelled_batch_new(rt_labelled_batch *b, int rows, int length)
{
    const size_t tokens = (size_t)rows * (size_t)length;
    *b = (rt_labelled_batch){.batch = {.rows = rows, .length = length}};
    b->batch.ids = rt_alloc(tokens, sizeof *b->batch.ids);
    b->batch.labels = rt_alloc(tokens, sizeof *b->batch.labels);
    b->batch.mask = rt_alloc(tokens, sizeof *b->batch.mask);
    b->where = rt_alloc(tokens, sizeof *b->where);
    b->wanted = rt_alloc(tokens, sizeof *b->wanted);
    if (!b->batch.ids || !b->batch.labels || !b->batch.mask || !b->where || !b->wanted)
        return rt_out_of_memory("a batch");
    return rt_ok();
}

void rt_labelled_batch_free(rt_labelled_batch *b)
{
    rt_free(b->batch.ids);
    rt_free(b->batch.labels);
    rt_free(b->batch.mask);
    rt_free(b->where);
    rt_free(b->wanted);
    *b = (rt_labelled_batch){.labels = 0};
}

void rt_collect_labels(rt_labelled_batch *b)
{
    const int count = b->batch.rows * b->batch.length;
    b->labels = 0;
    for (int i = 0; i < count; i++) {
        if (b->batch.labels[i] == RT_NO_LABEL)
            continue;
        b->where[b->labels] = i;
        b->wanted[b->labels++] = b->batch.labels[i];
    }
}

rt_tensor *rt_batch_logits(rt_roformer *model, rt_graph *g, const rt_labelled_batch *b)
{
    const rt_roformer_input input = {.B = b->batch.rows,
                                     .T = b->batch.length,
                                     .ids = b->batch.ids,
                                     .key_mask = b->batch.mask,
                                     .padding_id = RT_NO_PADDING};
    rt_tensor *hidden = rt_roformer_encode(model, g, &input);
    if (model->options.head == RT_HEAD_SEQUENCE)
        assert(b->labels == input.B);
    else
        hidden =
            rt_embedding(g,
                         rt_reshape(g, hidden, RT_SHAPE_OF(input.B * input.T, model->options.dim)),
                         b->where, RT_SHAPE_OF(b->labels), RT_NO_PADDING);
    return rt_roformer_logits(model, g, hidden);
}

rt_tensor *rt_batch_loss(rt_roformer *model, rt_graph *g, const rt_labelled_batch *b,
                         double divisor, rt_batch_result *result)
{
    rt_tensor *logits = rt_batch_logits(model, g, b);
    rt_tensor *loss = rt_cross_entropy(g, logits, b->wanted, 0, divisor);
    if (loss) {
        result->loss = (double)loss->data[0] * divisor;
        result->correct = rt_count_correct(logits, b->wanted);
    }
    return loss;
}
