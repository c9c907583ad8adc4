/* The tensors of a model as they are written: the rows of the family's tensors. */

#include "io/huggingface/private.h"

#include "core/memory.h"

#include <string.h>

/* ---- where numbers come from ---- */

/* The parts of a tensor. */
typedef struct source {
    char name[RT_NAME_SIZE]; /* there */
    int parts, columns;      /* of the tensor */
    rt_tensor_map maps[RT_MOST_PARTS];
    const real *values[RT_MOST_PARTS];
    const real *factors[RT_MOST_PARTS]; /* of the heads that the rows make; or NULL */
    int head_size;
} source;

/* Factors of heads go into the queries that they multiply. */
static real value_of(const source *s, int part, size_t index)
{
    const real *factors = s->factors[part];
    const size_t row = index / (size_t)s->maps[part].columns;
    return factors ? factors[row / (size_t)s->head_size] * s->values[part][index]
                   : s->values[part][index];
}

static void fill_values(const void *context, size_t first, size_t count, float *values)
{
    const source *s = context;
    const size_t columns = (size_t)s->columns;
    const bool plain = s->parts == 1 && rt_tensor_map_is_plain(s->maps);
    for (size_t n = 0; n < count && plain; n++)
        values[n] = (float)value_of(s, 0, first + n);
    for (size_t n = 0; n < count && !plain; n++) {
        const size_t row = (first + n) / columns, column = (first + n) % columns;
        size_t index = 0;
        int part = 0;
        while (part + 1 < s->parts && !rt_tensor_map_index(s->maps + part, row, column, &index))
            part++;
        if (part + 1 == s->parts)
            rt_tensor_map_index(s->maps + part, row, column, &index);
        values[n] = (float)value_of(s, part, index);
    }
}

/* ---- the list ---- */

/* Entries and what they are made of; with `at` NULL they are only counted. */
typedef struct listing {
    const rt_family *family;
    const rt_transformer *model;
    rt_beside beside;
    rt_safetensors_entry *at;
    source *sources;
    int count;
} listing;

static rt_status refuse(const listing *l, const char *parameter)
{
    return rt_error(RT_CONFIG, "%s cannot be exported: %s %s of %s has no such tensor", parameter,
                    rt_family_article(l->family->name), l->family->name,
                    rt_family_library(l->family));
}

static const real *factors_of(const rt_transformer *m, const rt_parameter *p)
{
    const rt_transformer_layer *layer = p->part == RT_PART_LAYER ? m->layers + p->layer : NULL;
    const bool queries =
        layer && (&p->tensor == layer->query.weight || &p->tensor == layer->query.bias);
    return queries && layer->head_scale ? layer->head_scale->data : NULL;
}

static rt_status add_tensor(listing *l, const rt_tensor_place *place, const rt_parameter *p)
{
    const int i = l->count++;
    if (!l->at)
        return rt_ok();
    source *s = l->sources + i;
    rt_tensor_place part = *place;
    memcpy(s->name, place->name, sizeof s->name);
    for (; part.part < RT_MOST_PARTS && part.row->here[part.part]; part.part++) {
        const rt_parameter *sibling = rt_tensor_part(place, l->model, p, part.part);
        if (!sibling)
            return refuse(l, p->name);
        s->maps[s->parts] =
            rt_tensor_map_of(&part, l->family, &l->model->options, l->model, sibling);
        s->factors[s->parts] = factors_of(l->model, sibling);
        s->values[s->parts++] = sibling->tensor.data;
    }
    const rt_shape shape = rt_tensor_map_shape(s->maps, p);
    s->columns = shape.ndim > 1 ? shape.axis[1] : 1;
    s->head_size = l->model->options.head_dim;
    l->at[i] = (rt_safetensors_entry){.name = s->name,
                                      .axes = shape.ndim,
                                      .fill = fill_values,
                                      .context = s};
    memcpy(l->at[i].shape, shape.axis, sizeof l->at[i].shape);
    return rt_ok();
}

/* The tensors that begin with a parameter; it is in one that is written. */
static rt_status add_tensors(listing *l, const rt_parameter *p)
{
    const rt_transformer_options *o = &l->model->options;
    rt_tensor_place place;
    rt_status status = rt_ok();
    bool found = false;
    for (int n = 0; !status.code && rt_tensor_place_of(&place, l->family, o, p->name, n); n++) {
        const bool written = !place.row->written || place.row->written(o);
        found |= written;
        if (written && place.part == 0)
            status = add_tensor(l, &place, p);
    }
    return status.code || found ? status : refuse(l, p->name);
}

/* Once, or for a layer. */
static void add_made(listing *l, const rt_tensor_row *row, int layer)
{
    const int i = l->count++;
    if (!l->at)
        return;
    rt_tensor_row_name(row, layer, l->sources[i].name);
    l->at[i] = (rt_safetensors_entry){.name = l->sources[i].name};
    row->make(l->at + i, &l->beside);
}

/* What is no parameter of this model. */
static void add_beside(listing *l)
{
    const rt_parameters *p = &l->model->parameters;
    for (const rt_tensor_row *row = l->family->tensors; row->there; row++) {
        if (!row->make || (row->when && !row->when(&l->model->options)) ||
            (row->here[0] && rt_parameters_find(p, row->here[0])))
            continue;
        const int times = rt_tensor_row_is_of_layers(row) ? l->model->options.layers : 1;
        for (int layer = 0; layer < times; layer++)
            add_made(l, row, layer);
    }
}

static rt_status list_all(listing *l)
{
    const rt_parameters *p = &l->model->parameters;
    rt_status status = rt_ok();
    l->count = 0;
    for (int i = 0; i < p->count && !status.code; i++)
        if (p->list[i]->role != RT_ROLE_THETA && p->list[i]->role != RT_ROLE_FACTOR)
            status = add_tensors(l, p->list[i]);
    if (!status.code)
        add_beside(l);
    return status;
}

rt_status rt_tensor_list_open(rt_tensor_list *list, const rt_family *family,
                              const rt_transformer *model, int positions)
{
    listing l = {family, model, {&model->options, positions, &list->theta}, NULL, NULL, 0};
    *list = (rt_tensor_list){0};
    rt_status status = rt_export_theta_of(family, model, &list->theta);
    if (!status.code)
        status = list_all(&l);
    if (!status.code) {
        l.sources = list->sources = rt_alloc((size_t)l.count + 1, sizeof *l.sources);
        l.at = list->entries = rt_alloc((size_t)l.count + 1, sizeof *l.at);
        status = l.sources && l.at ? list_all(&l) : rt_out_of_memory("a list of tensors");
    }
    list->count = l.count;
    return status;
}

void rt_tensor_list_close(rt_tensor_list *list)
{
    rt_export_theta_free(&list->theta);
    rt_free(list->sources);
    rt_free(list->entries);
    *list = (rt_tensor_list){0};
}

rt_status rt_huggingface_write_weights(const char *path, const rt_family *family,
                                       const rt_transformer *model,
                                       const rt_huggingface_export *export)
{
    rt_tensor_list list;
    rt_status status = rt_tensor_list_open(&list, family, model, rt_roformer_rows(export));
    if (!status.code)
        status = rt_safetensors_write(path, list.entries, list.count);
    rt_tensor_list_close(&list);
    return status;
}
