#include "io/huggingface/private.h"

#include "core/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- where numbers come from ---- */

/* A parameter whose rows, or columns, are the features of heads in another order: those that turn
 * together stand there as the family has them. */
typedef struct source {
    char name[RT_NAME_SIZE]; /* there */
    const real *values;
    int columns;
    const rt_family *family;
    const rt_transformer_options *options; /* NULL: nothing changes its place */
    bool by_column;
} source;

static size_t place_here(const source *s, size_t feature)
{
    const size_t size = (size_t)(s->options->dim / s->options->heads);
    return feature / size * size +
           (size_t)rt_feature_here(s->family, s->options, (int)(feature % size));
}

static void fill_values(const void *context, size_t first, size_t count, float *values)
{
    const source *s = context;
    const size_t columns = (size_t)s->columns;
    for (size_t n = 0; n < count; n++) {
        size_t row = (first + n) / columns, column = (first + n) % columns;
        if (s->options && s->by_column)
            column = place_here(s, column);
        else if (s->options)
            row = place_here(s, row);
        values[n] = (float)s->values[row * columns + column];
    }
}

/* ---- the list ---- */

static rt_status make_source(source *s, const rt_transformer *model, const rt_parameter *p)
{
    const rt_transformer_options *o = &model->options;
    const rt_family *family = rt_family_of(o);
    const rt_features features = rt_rotated_features(family, o, p->name);
    *s = (source){.values = p->tensor.data,
                  .columns = p->tensor.ndim > 1 ? rt_columns(&p->tensor) : 1,
                  .family = family,
                  .by_column = features == RT_VALUE_COLUMNS};
    if (features && rt_features_differ(family, o))
        s->options = o;
    if (!rt_name_there(family, o->head, p->name, s->name))
        return rt_error(RT_CONFIG, "%s cannot be exported: a %s of Hugging Face has no such tensor",
                        p->name, family->name);
    return rt_ok();
}

static void add(rt_entry_list *list, const char *name, rt_shape shape, const source *s)
{
    rt_safetensors_entry *e = list->at + list->count++;
    *e =
        (rt_safetensors_entry){.name = name, .axes = shape.ndim, .fill = fill_values, .context = s};
    memcpy(e->shape, shape.axis, sizeof e->shape);
}

static rt_status list_entries(const rt_transformer *model, source *sources, rt_entry_list *list)
{
    const rt_family *family = rt_family_of(&model->options);
    const rt_parameters *p = &model->parameters;
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *parameter = p->list[i];
        const rt_shape shape = rt_tensor_shape(&parameter->tensor);
        if (parameter->role == RT_ROLE_THETA)
            continue;
        rt_status status = make_source(sources + i, model, parameter);
        if (status.code)
            return status;
        add(list, sources[i].name, shape, sources + i);
        if (family->decoder_bias && !strcmp(parameter->name, RT_OUTPUT_BIAS_NAME) &&
            !model->options.tie_embeddings)
            add(list, family->decoder_bias, shape, sources + i);
    }
    return rt_ok();
}

rt_status rt_huggingface_write_weights(const char *path, const rt_transformer *model,
                                       const rt_huggingface_export *export)
{
    const rt_family *family = rt_family_of(&model->options);
    const size_t most = (size_t)model->parameters.count + RT_MOST_BESIDE;
    rt_export_theta theta;
    source *sources = rt_alloc(most, sizeof *sources);
    rt_entry_list list = {rt_alloc(most, sizeof *list.at), 0};
    rt_status status = rt_export_theta_of(model, &theta);
    if (!status.code && (!sources || !list.at))
        status = rt_out_of_memory("a list of tensors");
    if (!status.code)
        status = list_entries(model, sources, &list);
    if (!status.code && family->add_beside)
        family->add_beside(&list, model, export, &theta);
    if (!status.code)
        status = rt_safetensors_write(path, list.at, list.count);
    rt_export_theta_free(&theta);
    rt_free(sources);
    rt_free(list.at);
    return status;
}
