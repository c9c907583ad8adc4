/* The list of families; conditions, names and numbers of their tensors. */

#include "io/huggingface/family.h"

#include <stdio.h>
#include <string.h>

#define ITEM(family) &family,
const rt_family *const rt_families[] = {RT_FAMILIES(ITEM) NULL};

const rt_family *rt_family_of_type(const rt_family *const *families, const char *model_type)
{
    while (*families && strcmp((*families)->type, model_type) != 0)
        families++;
    return *families;
}

const char *rt_family_library(const rt_family *family)
{
    return family->library ? family->library : "Hugging Face";
}

const char *rt_family_article(const char *name)
{
    return strchr("AEIO", *name) ? "an" : "a";
}

const rt_family_class *rt_family_class_of(const rt_family *family, const rt_transformer_options *o)
{
    const rt_family_class *c = family->classes;
    while (c->name && (!c->has_head || c->head != o->head || (c->when && !c->when(o))))
        c++;
    return c;
}

/* ---- the order of features ---- */

int rt_family_pairs(const rt_family *family, const rt_transformer_options *o)
{
    return family->pairs_rotated ? rt_transformer_pairs(o) : rt_transformer_head_dim(o) / 2;
}

/* Returns the index in rotor's order of the feature, of a head of D, with the index `feature` in
 * the family's order. Pairs stay together; rotated pairs come first. */
static int feature_here(const rt_family *family, const rt_transformer_options *o, int feature)
{
    const int pairs = rt_transformer_pairs(o);
    const int half = rt_family_pairs(family, o);
    const bool halves = family->pairing == RT_HALF;
    if (feature >= 2 * half)
        return feature;
    const int pair = halves ? feature % half : feature / 2;
    const int second = halves ? feature / half : feature % 2;
    if (pair < pairs && o->position.pairing == RT_HALF)
        return pair + second * pairs;
    return 2 * pair + second;
}

static bool features_differ(const rt_family *family, const rt_transformer_options *o)
{
    for (int i = 0; i < rt_transformer_head_dim(o); i++)
        if (feature_here(family, o, i) != i)
            return true;
    return false;
}

/* ---- conditions of rows ---- */

#define CONDITION(name, value)                                                                     \
    bool name(const rt_transformer_options *o)                                                     \
    {                                                                                              \
        (void)o;                                                                                   \
        return value;                                                                              \
    }
CONDITION(rt_when_lm, o->head == RT_HEAD_LM)
CONDITION(rt_when_sequence, o->head == RT_HEAD_SEQUENCE)
CONDITION(rt_when_token, o->head == RT_HEAD_TOKEN)
CONDITION(rt_when_causal, o->causal)
CONDITION(rt_when_bidirectional, !o->causal)
CONDITION(rt_when_untied, !o->tie_embeddings)
CONDITION(rt_when_pool_first, o->pool == RT_POOL_FIRST)
CONDITION(rt_when_pool_last, o->pool == RT_POOL_LAST)
CONDITION(rt_when_pool_first_or_mean, o->pool == RT_POOL_FIRST || o->pool == RT_POOL_MEAN)
CONDITION(rt_always, true)
CONDITION(rt_never, false)

/* ---- names ---- */

/* Number of a layer, as a part of a name. */
typedef struct number {
    const char *at;
    int digits;
} number;

static bool is_number(const char *pattern)
{
    return pattern[0] == 'N' && pattern[1] == '.';
}

/* Returns the end of a name after a pattern: "", ".weight" or ".bias". NULL: no match. */
static const char *match_pattern(const char *pattern, const char *name, number *layer)
{
    *layer = (number){"", 0};
    for (; *pattern; pattern++) {
        if (is_number(pattern)) {
            *layer = (number){name, (int)strspn(name, "0123456789")};
            name += layer->digits;
            if (!layer->digits)
                return NULL;
        } else if (*pattern != *name++) {
            return NULL;
        }
    }
    return !*name || !strcmp(name, ".weight") || !strcmp(name, ".bias") ? name : NULL;
}

/* Writes a pattern with a layer and an ending. Returns false if the name is too long. */
static bool fill_in(const char *pattern, number layer, const char *end, char name[RT_NAME_SIZE])
{
    const char *at = pattern;
    while (*at && !is_number(at))
        at++;
    return snprintf(name, RT_NAME_SIZE, "%.*s%.*s%s%s", (int)(at - pattern), pattern, layer.digits,
                    layer.at, *at ? at + 1 : "", end) < RT_NAME_SIZE;
}

bool rt_tensor_row_is_of_layers(const rt_tensor_row *row)
{
    return strstr(row->there, ".N.") != NULL;
}

void rt_tensor_row_name(const rt_tensor_row *row, int layer, char name[RT_NAME_SIZE])
{
    char digits[16];
    const int count = snprintf(digits, sizeof digits, "%d", layer);
    fill_in(row->there, (number){digits, rt_tensor_row_is_of_layers(row) ? count : 0}, "", name);
}

static bool holds(const rt_tensor_row *row, const rt_transformer_options *o)
{
    return !row->when || row->when(o);
}

bool rt_tensor_place_of(rt_tensor_place *place, const rt_family *family,
                        const rt_transformer_options *o, const char *parameter, int n)
{
    number layer;
    for (const rt_tensor_row *row = family->tensors; row->there; row++)
        for (int part = 0; part < RT_MOST_PARTS && row->here[part] && holds(row, o); part++) {
            const char *end = match_pattern(row->here[part], parameter, &layer);
            if (!end || n--)
                continue;
            *place = (rt_tensor_place){.row = row, .part = part};
            return fill_in(row->there, layer, end, place->name);
        }
    return false;
}

bool rt_tensor_main_place(rt_tensor_place *place, const rt_family *family,
                          const rt_transformer_options *o, const char *parameter)
{
    for (int n = 0; rt_tensor_place_of(place, family, o, parameter, n); n++)
        if (!place->row->written)
            return true;
    return false;
}

/* Returns whether a name is that of a rotation buffer, such as model.rotary_emb.inv_freq. Some
 * versions of transformers saved these buffers, and all compute them from config.json. */
static bool is_rotation(const char *there)
{
    static const char *const ends[] = {"inv_freq", ".cos_cached", ".sin_cached"};
    const size_t length = strlen(there);
    for (size_t i = 0; i < sizeof ends / sizeof *ends && strstr(there, "rotary_emb"); i++)
        if (length > strlen(ends[i]) && !strcmp(there + length - strlen(ends[i]), ends[i]))
            return true;
    return false;
}

bool rt_tensor_is_known(const rt_family *family, const rt_transformer *model, const char *there)
{
    char here[RT_NAME_SIZE];
    number layer;
    for (const rt_tensor_row *row = family->tensors; row->there; row++) {
        const char *end = match_pattern(row->there, there, &layer);
        if (end && holds(row, &model->options) &&
            (row->spare || (row->here[0] && fill_in(row->here[0], layer, end, here) &&
                            rt_parameters_find(&model->parameters, here))))
            return true;
    }
    return is_rotation(there);
}

/* ---- maps of numbers ---- */

/* Returns the axis with rotated features. Values are rotated only with position.rotate_value. */
static rt_features features_of(const rt_transformer_options *o, const char *parameter)
{
    static const char *const rotated[] = {"layers.N.attention.query", "layers.N.attention.key",
                                          "layers.N.attention.query_norm",
                                          "layers.N.attention.key_norm"};
    number layer;
    const bool values = o->position.rotate_value;
    for (size_t i = 0; i < sizeof rotated / sizeof *rotated; i++)
        if (match_pattern(rotated[i], parameter, &layer))
            return RT_FEATURE_ROWS;
    if (values && match_pattern("layers.N.attention.value", parameter, &layer))
        return RT_FEATURE_ROWS;
    if (values && !strcmp(parameter + strlen(parameter) - 7, ".weight") &&
        match_pattern("layers.N.attention.output", parameter, &layer))
        return RT_FEATURE_COLUMNS;
    return RT_NO_FEATURES;
}

static int rows_of(const rt_tensor *t)
{
    return t->ndim ? t->shape[0] : 1;
}

const rt_parameter *rt_tensor_part(const rt_tensor_place *place, const rt_transformer *model,
                                   const rt_parameter *parameter, int part)
{
    char name[RT_NAME_SIZE];
    number layer;
    if (part == place->part)
        return parameter;
    const char *end = match_pattern(place->row->here[place->part], parameter->name, &layer);
    const char *pattern = part < RT_MOST_PARTS ? place->row->here[part] : NULL;
    return end && pattern && fill_in(pattern, layer, end, name)
               ? rt_parameters_find(&model->parameters, name)
               : NULL;
}

rt_tensor_map rt_tensor_map_of(const rt_tensor_place *place, const rt_family *family,
                               const rt_transformer_options *o, const rt_transformer *model,
                               const rt_parameter *parameter)
{
    const rt_tensor *t = &parameter->tensor;
    const int groups = place->row->form == RT_BY_HEAD ? model->options.kv_heads : 1;
    rt_tensor_map map = {.rows = rows_of(t),
                         .columns = (int)(rt_size(t) / (size_t)rows_of(t)),
                         .groups = groups,
                         .block = rows_of(t) / groups,
                         .transposed = place->row->form == RT_TRANSPOSED,
                         .family = family,
                         .options = o};
    for (int part = 0; part < RT_MOST_PARTS && place->row->here[part]; part++) {
        const rt_parameter *p = rt_tensor_part(place, model, parameter, part);
        const int block = p ? rows_of(&p->tensor) / groups : 0;
        map.before += part < place->part ? block : 0;
        map.width += block;
    }
    if (features_differ(family, o))
        map.features = features_of(o, parameter->name);
    return map;
}

rt_shape rt_tensor_map_shape(const rt_tensor_map *map, const rt_parameter *parameter)
{
    rt_shape shape = rt_tensor_shape(&parameter->tensor);
    if (map->transposed && shape.ndim == 2)
        return RT_SHAPE_OF(map->columns, map->rows);
    if (shape.ndim)
        shape.axis[0] = map->width * map->groups;
    return shape;
}

bool rt_tensor_map_is_plain(const rt_tensor_map *map)
{
    return map->width * map->groups == map->rows && !map->transposed && !map->features;
}

static size_t place_here(const rt_tensor_map *map, size_t feature)
{
    const size_t size = (size_t)rt_transformer_head_dim(map->options);
    return feature / size * size +
           (size_t)feature_here(map->family, map->options, (int)(feature % size));
}

bool rt_tensor_map_index(const rt_tensor_map *map, size_t row, size_t column, size_t *index)
{
    const size_t width = (size_t)map->width, block = (size_t)map->block;
    if (map->transposed) {
        const size_t swapped = row;
        row = column;
        column = swapped;
    }
    const size_t within = row % width;
    if (within < (size_t)map->before || within >= (size_t)map->before + block)
        return false;
    row = row / width * block + within - (size_t)map->before;
    if (map->features == RT_FEATURE_ROWS)
        row = place_here(map, row);
    if (map->features == RT_FEATURE_COLUMNS)
        column = place_here(map, column);
    *index = row * (size_t)map->columns + column;
    return true;
}
