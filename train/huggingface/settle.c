#include "train/huggingface/private.h"

#include "core/memory.h"
#include "train/huggingface/sine_table.h"

#include <string.h>

/* ---- theta ---- */

void rt_mean_theta(const double *theta, rt_shape shape, int pairs, double *mean)
{
    const int rows = shape.axis[0] * shape.axis[1], rotated = shape.axis[2];
    for (int i = 0; i < pairs; i++) {
        double sum = 0;
        for (int n = 0; n < rows && i < rotated; n++)
            sum += theta[(size_t)n * (size_t)rotated + (size_t)i];
        mean[i] = sum / rows;
    }
}

static rt_status read_table(const rt_huggingface *there, rt_sine_table *table)
{
    const rt_weight w = rt_huggingface_tensor(there, RT_HF_TABLE);
    const rt_roformer_options *o = &there->options;
    const int size = o->dim / o->heads;
    char shape[RT_SHAPE_OF_FILE_SIZE];
    *table = (rt_sine_table){.rows = there->max_positions, .pairs = size / 2};
    if (w.tensor->axes != 2 || w.tensor->shape[0] != (uint64_t)table->rows ||
        w.tensor->shape[1] != (uint64_t)size)
        return rt_error(RT_CHECKPOINT,
                        "%s: %s is %s; max_position_embeddings and the heads' size make it (%d, "
                        "%d)",
                        rt_safetensors_name(w.file), w.tensor->name,
                        rt_safetensor_shape(w.tensor, shape), table->rows, size);
    table->dtype = w.tensor->dtype;
    table->values = rt_alloc_unset((size_t)w.tensor->count, sizeof *table->values);
    if (!table->values)
        return rt_out_of_memory("a table of sines");
    return rt_safetensors_doubles(w.file, w.tensor, 0, (size_t)w.tensor->count, table->values);
}

/* Takes what rotor has written if it makes this table: its numbers say more than the table, and it
 * can have more of them. */
static rt_status take_written(rt_huggingface *there, const rt_sine_table *table)
{
    rt_written_theta *t = &there->files->written;
    rt_roformer_options *o = &there->options;
    double *mean = rt_alloc((size_t)table->pairs, sizeof *mean);
    if (!mean)
        return rt_out_of_memory("theta");
    rt_mean_theta(t->values, RT_SHAPE_OF(t->layers, t->rows, t->pairs), table->pairs, mean);
    if (!table->values || rt_sine_table_is_of(table, mean)) {
        o->theta.learn = true;
        o->theta.scope = t->scope;
        o->theta.form = t->form;
        o->position.frequencies.base = t->base;
        o->position.fraction = (double)t->pairs / table->pairs;
        there->theta = t->values;
        t->values = NULL;
    } else {
        rt_writer_add(&there->files->warnings,
                      RT_HF_CONFIG ": " RT_HF_THETA " is not what " RT_HF_TABLE
                                   " was made of; the latter is used\n");
    }
    rt_free(mean);
    return rt_ok();
}

static rt_status take_table(rt_huggingface *there, const rt_sine_table *table)
{
    rt_roformer_options *o = &there->options;
    rt_table_theta found;
    double *theta = rt_alloc((size_t)table->pairs, sizeof *theta);
    if (!theta)
        return rt_out_of_memory("theta");
    rt_status status = rt_sine_table_theta(table, RT_HF_TABLE, theta, &found);
    if (!status.code) {
        o->position.fraction = (double)found.rotated / table->pairs;
        o->theta.learn = !(found.base > 0);
        if (found.base > 0)
            o->position.frequencies.base = found.base;
    }
    if (status.code || !o->theta.learn) {
        rt_free(theta);
        return status;
    }
    o->theta.form = RT_THETA_LOG;
    for (int i = 0; i < found.rotated; i++)
        if (!(theta[i] > 0))
            o->theta.form = RT_THETA_RAW;
    there->theta = theta;
    return rt_ok();
}

rt_status rt_huggingface_settle_theta(rt_huggingface *there)
{
    const rt_roformer_options *o = &there->options;
    rt_sine_table table = {.pairs = o->dim / o->heads / 2};
    rt_status status = rt_ok();
    if (rt_huggingface_tensor(there, RT_HF_TABLE).tensor)
        status = read_table(there, &table);
    if (!status.code && there->files->written.values)
        status = take_written(there, &table);
    if (!status.code && !there->theta && table.values)
        status = take_table(there, &table);
    rt_free(table.values);
    return status;
}

/* ---- the decoder ---- */

/* Whether two tensors of the same shape have the same numbers. */
static rt_status compare(rt_weight a, rt_weight b, bool *same)
{
    enum { BLOCK = 512 };
    double one[BLOCK], other[BLOCK];
    *same =
        a.tensor->axes == b.tensor->axes &&
        !memcmp(a.tensor->shape, b.tensor->shape, (size_t)a.tensor->axes * sizeof *a.tensor->shape);
    for (uint64_t first = 0; first < a.tensor->count && *same; first += BLOCK) {
        const uint64_t left = a.tensor->count - first;
        const size_t part = left < BLOCK ? (size_t)left : BLOCK;
        rt_status status = rt_safetensors_doubles(a.file, a.tensor, first, part, one);
        if (!status.code)
            status = rt_safetensors_doubles(b.file, b.tensor, first, part, other);
        if (status.code)
            return status;
        *same = !memcmp(one, other, part * sizeof *one);
    }
    return rt_ok();
}

/* If both are there and differ, the one that a tied decoder would not have, says so and which. */
static rt_status warn_of(rt_huggingface *there, const char *used, const char *tied, bool *differ)
{
    const rt_weight a = rt_weights_find(&there->files->weights, used);
    const rt_weight b = rt_huggingface_tensor(there, tied);
    bool same = true;
    rt_status status = a.tensor && b.tensor ? compare(a, b, &same) : rt_ok();
    *differ = !same;
    if (*differ)
        rt_writer_add(&there->files->warnings,
                      RT_HF_CONFIG ": tie_word_embeddings = true, but %s is not %s; the former is "
                                   "used\n",
                      used, tied);
    return status;
}

rt_status rt_huggingface_settle_decoder(rt_huggingface *there)
{
    bool weights_differ, biases_differ;
    rt_roformer_options *o = &there->options;
    if (o->head != RT_HEAD_LM || there->architecture == RT_CLASS_MODEL || !o->tie_embeddings)
        return rt_ok();
    rt_status status = warn_of(there, RT_HF_DECODER, RT_HF_WORDS, &weights_differ);
    if (!status.code)
        status = warn_of(there, RT_HF_DECODER_BIAS, RT_HF_BIAS, &biases_differ);
    if (!status.code && weights_differ)
        o->tie_embeddings = false;
    return status;
}
