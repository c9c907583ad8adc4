#include "train/huggingface/private.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- where numbers come from ---- */

/* A parameter whose rows, or columns, are the features of heads in another order: those that turn
 * together stand side by side there. */
typedef struct source {
    const real *values;
    int columns;
    int head; /* features of a head; 0: nothing changes its place */
    int pairs;
    bool by_column;
} source;

/* Where a feature of the interleaved layout stands in halves. */
static size_t feature_in_halves(const source *s, size_t feature)
{
    const size_t size = (size_t)s->head, start = feature / size * size, at = feature - start;
    if (at >= 2 * (size_t)s->pairs)
        return feature;
    return start + at % 2 * (size_t)s->pairs + at / 2;
}

static void fill_values(const void *context, size_t first, size_t count, float *values)
{
    const source *s = context;
    const size_t columns = (size_t)s->columns;
    for (size_t n = 0; n < count; n++) {
        size_t row = (first + n) / columns, column = (first + n) % columns;
        if (s->head && s->by_column)
            column = feature_in_halves(s, column);
        else if (s->head)
            row = feature_in_halves(s, row);
        values[n] = (float)s->values[row * columns + column];
    }
}

static void fill_zeros(const void *context, size_t first, size_t count, float *values)
{
    (void)context, (void)first;
    memset(values, 0, count * sizeof *values);
}

/* The table of sines, (positions, 2 pairs). */
typedef struct sines {
    const double *theta;
    int pairs;
} sines;

static void fill_sines(const void *context, size_t first, size_t count, float *values)
{
    const sines *s = context;
    const size_t pairs = (size_t)s->pairs;
    for (size_t n = 0; n < count; n++) {
        const size_t column = (first + n) % (2 * pairs);
        const double position = (double)((first + n) / (2 * pairs));
        const double angle = position * s->theta[column % pairs];
        values[n] = (float)(column < pairs ? sin(angle) : cos(angle));
    }
}

/* ---- the list ---- */

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), size = strlen(end);
    return length >= size && !strcmp(name + length - size, end);
}

/* Whether rows (or the columns) of a parameter are features that are rotated. */
static bool is_rotated(const rt_roformer_options *o, const char *name, bool *by_column)
{
    *by_column = ends_with(name, ".attention.output.dense.weight");
    if (ends_with(name, ".self.query.weight") || ends_with(name, ".self.query.bias") ||
        ends_with(name, ".self.key.weight") || ends_with(name, ".self.key.bias"))
        return true;
    return o->position.rotate_value && (*by_column || ends_with(name, ".self.value.weight") ||
                                        ends_with(name, ".self.value.bias"));
}

static source source_of(const rt_roformer *model, const rt_parameter *p)
{
    const rt_roformer_options *o = &model->options;
    source s = {.values = p->tensor.data,
                .columns = p->tensor.ndim > 1 ? rt_columns(&p->tensor) : 1,
                .pairs = rt_roformer_pairs(o)};
    if (o->position.pairing == RT_HALF && is_rotated(o, p->name, &s.by_column))
        s.head = o->dim / o->heads;
    return s;
}

static void add(rt_safetensors_entry *list, int *count, const char *name, rt_shape shape,
                rt_safetensors_fill *fill, const void *context)
{
    rt_safetensors_entry *e = list + (*count)++;
    *e = (rt_safetensors_entry){.name = name, .axes = shape.ndim, .fill = fill, .context = context};
    memcpy(e->shape, shape.axis, sizeof e->shape);
}

/* Besides the parameters: the table; a row of zeros for the token types, which Hugging Face cannot
 * be without; and the bias of an untied decoder, which has two names there. */
enum { MOST_BESIDE = 3 };

static int list_entries(const rt_roformer *model, const sines *table, int positions,
                        source *sources, rt_safetensors_entry *list)
{
    const rt_roformer_options *o = &model->options;
    const rt_parameters *p = &model->parameters;
    int count = 0;
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *parameter = p->list[i];
        const rt_shape shape = rt_tensor_shape(&parameter->tensor);
        if (parameter->role == RT_ROLE_THETA)
            continue;
        sources[i] = source_of(model, parameter);
        add(list, &count, parameter->name, shape, fill_values, sources + i);
        if (!strcmp(parameter->name, RT_HF_BIAS) && !o->tie_embeddings)
            add(list, &count, RT_HF_DECODER_BIAS, shape, fill_values, sources + i);
    }
    add(list, &count, RT_HF_TABLE, RT_SHAPE_OF(positions, 2 * table->pairs), fill_sines, table);
    if (!o->token_types)
        add(list, &count, RT_HF_TYPES, RT_SHAPE_OF(1, o->embedding_dim), fill_zeros, NULL);
    return count;
}

rt_status rt_huggingface_write_weights(const char *path, const rt_roformer *model, int positions)
{
    const rt_roformer_options *o = &model->options;
    const int pairs = o->dim / o->heads / 2;
    const size_t most = (size_t)model->parameters.count + MOST_BESIDE;
    rt_shape shape;
    double *theta, *mean = rt_alloc((size_t)pairs, sizeof *mean);
    source *sources = rt_alloc(most, sizeof *sources);
    rt_safetensors_entry *list = rt_alloc(most, sizeof *list);
    rt_status status = rt_huggingface_theta_of(model, &theta, &shape);
    if (!status.code && (!mean || !sources || !list))
        status = rt_out_of_memory("a list of tensors");
    if (!status.code) {
        const sines table = {mean, pairs};
        rt_mean_theta(theta, shape, pairs, mean);
        status =
            rt_safetensors_write(path, list, list_entries(model, &table, positions, sources, list));
    }
    rt_free(theta);
    rt_free(mean);
    rt_free(sources);
    rt_free(list);
    return status;
}
