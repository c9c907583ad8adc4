/* The list of families; conditions, names and numbers of their tensors. */

#include "io/huggingface/family.h"

#include "core/memory.h"
#include "core/path.h"

#include <stdio.h>
#include <string.h>

#define ITEM(family) &family,
const rt_family *const rt_families[] = {RT_FAMILIES(ITEM) NULL};

const rt_family *rt_family_of_type(const char *model_type)
{
    const rt_family *const *family = rt_families;
    while (*family && strcmp((*family)->type, model_type) != 0)
        family++;
    return *family;
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

static bool holds(const rt_tensor_row *row, const rt_transformer_options *o)
{
    return !row->when || row->when(o);
}

const char *rt_family_tensor(const rt_family *family, const rt_transformer_options *o,
                             const char *parameter, int n)
{
    for (const rt_tensor_row *row = family->tensors; row->there; row++)
        if (row->here[0] && !strcmp(row->here[0], parameter) && holds(row, o) && !n--)
            return row->there;
    return NULL;
}

bool rt_folder_tensors_know(const rt_folder_tensors *all, const rt_family *family,
                            const rt_transformer_options *o, const char *name)
{
    number layer;
    for (int i = 0; i < all->count; i++)
        if (!strcmp(all->list[i].name, name))
            return true;
    for (const rt_tensor_row *row = family->tensors; row->there; row++)
        if (row->spare && holds(row, o) && match_pattern(row->there, name, &layer))
            return true;
    /* buffers, which some versions of transformers saved, and all compute from config.json */
    return strstr(name, "rotary_emb") &&
           (rt_path_ends_in(name, "inv_freq") || rt_path_ends_in(name, ".cos_cached") ||
            rt_path_ends_in(name, ".sin_cached"));
}

/* ---- the list of tensors ---- */

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

/* Returns the tensor of a row with this name, appended if it is new. NULL if memory is exhausted.
 */
static rt_folder_tensor *tensor_of(rt_folder_tensors *all, const rt_tensor_row *row,
                                   const char *name)
{
    const size_t needed = (size_t)all->count + 1;
    for (int i = all->count; i-- && row->here[1];)
        if (all->list[i].row == row && !strcmp(all->list[i].name, name))
            return all->list + i;
    if (!rt_grow(&all->list, &all->capacity, needed, sizeof *all->list))
        return NULL;
    rt_folder_tensor *added = all->list + all->count++;
    *added = (rt_folder_tensor){.row = row, .groups = 1};
    memcpy(added->name, name, RT_NAME_SIZE);
    return added;
}

/* Adds a parameter, by its own or another name, to all tensors that may have it. */
static rt_status add_parameter(rt_folder_tensors *all, const rt_family *family,
                               const rt_transformer_options *o, const rt_transformer *model,
                               const rt_parameter *p, const char *name)
{
    char there[RT_NAME_SIZE];
    const rt_transformer_layer *l = p->part == RT_PART_LAYER ? model->layers + p->layer : NULL;
    const bool queries = l && (&p->tensor == l->query.weight || &p->tensor == l->query.bias);
    bool reordered = false;
    number layer;
    for (int i = 0; i < rt_transformer_head_dim(o); i++)
        reordered |= feature_here(family, o, i) != i;
    for (const rt_tensor_row *row = family->tensors; row->there; row++)
        for (int part = 0; part < RT_MOST_PARTS && row->here[part] && holds(row, o); part++) {
            const char *end = match_pattern(row->here[part], name, &layer);
            if (!end || !fill_in(row->there, layer, end, there))
                continue;
            rt_folder_tensor *t = tensor_of(all, row, there);
            if (!t)
                return rt_out_of_memory("a list of tensors");
            const rt_shape shape = rt_tensor_shape(&p->tensor);
            const int before = t->shape.axis[0];
            t->family = family;
            t->options = o;
            t->shape = shape;
            t->shape.axis[0] += before;
            t->groups = row->form == RT_BY_HEAD ? model->options.kv_heads : 1;
            t->parts[part].parameter = p;
            t->parts[part].features = reordered ? features_of(o, name) : RT_NO_FEATURES;
            t->parts[part].factors = queries && l->head_scale ? l->head_scale->data : NULL;
            t->plain = !row->here[1] && !t->parts[part].features;
        }
    return rt_ok();
}

/* Adds a tensor that is not a parameter, once or for each layer. */
static rt_status add_extra(rt_folder_tensors *all, const rt_family *family,
                           const rt_transformer_options *o, const rt_tensor_row *row, int positions)
{
    const int lengths[] = {[RT_AXIS_NONE] = 1,
                           [RT_AXIS_ONE] = 1,
                           [RT_AXIS_EMBEDDING] = o->embedding_dim,
                           [RT_AXIS_ALL_HEADS] = o->layers * o->heads,
                           [RT_AXIS_POSITIONS] = positions,
                           [RT_AXIS_PAIRS] = rt_family_pairs(family, o),
                           [RT_AXIS_TWO_PAIRS] = 2 * rt_family_pairs(family, o)};
    const bool layered = strstr(row->there, ".N.") != NULL;
    char digits[16], name[RT_NAME_SIZE];
    for (int i = 0; i < (layered ? o->layers : 1); i++) {
        const int count = snprintf(digits, sizeof digits, "%d", i);
        fill_in(row->there, (number){digits, layered ? count : 0}, "", name);
        rt_folder_tensor *t = tensor_of(all, row, name);
        if (!t)
            return rt_out_of_memory("a list of tensors");
        t->shape = (rt_shape){row->extra[1] ? 2 : 1,
                              {lengths[row->extra[0]], lengths[row->extra[1]], 1, 1}};
    }
    return rt_ok();
}

rt_status rt_folder_tensors_new(rt_folder_tensors *all, const rt_family *family,
                                const rt_transformer_options *o, const rt_transformer *model,
                                int positions)
{
    const rt_parameters *list = &model->parameters;
    rt_status status = rt_ok();
    *all = (rt_folder_tensors){0};
    for (int i = 0; i < list->count && !status.code; i++) {
        const rt_parameter *p = list->list[i];
        if (p->role == RT_ROLE_THETA || p->role == RT_ROLE_FACTOR)
            continue;
        status = add_parameter(all, family, o, model, p, p->name);
        if (!status.code && o->tie_embeddings && !strcmp(p->name, RT_OUTPUT_NAME))
            status = add_parameter(all, family, o, model, p, RT_TOKENS_NAME);
    }
    for (const rt_tensor_row *row = family->tensors; row->there && positions >= 0; row++)
        if (!status.code && row->extra[0] && holds(row, o) &&
            !(row->here[0] && rt_parameters_find(list, row->here[0])))
            status = add_extra(all, family, o, row, positions);
    return status;
}

void rt_folder_tensors_free(rt_folder_tensors *all)
{
    rt_free(all->list);
    *all = (rt_folder_tensors){0};
}

const rt_folder_tensor *rt_folder_tensors_find(const rt_folder_tensors *all,
                                               const rt_parameter *parameter, int n)
{
    for (int i = 0; i < all->count; i++)
        for (int part = 0; part < RT_MOST_PARTS; part++)
            if (all->list[i].parts[part].parameter == parameter && !n--)
                return all->list + i;
    return NULL;
}

/* ---- numbers of a tensor ---- */

static size_t feature_at(const rt_folder_tensor *t, size_t feature)
{
    const size_t size = (size_t)rt_transformer_head_dim(t->options);
    return feature / size * size +
           (size_t)feature_here(t->family, t->options, (int)(feature % size));
}

size_t rt_folder_tensor_at(const rt_folder_tensor *t, size_t n, int *part)
{
    *part = 0;
    if (t->plain)
        return n;
    const size_t columns = t->shape.ndim > 1 ? (size_t)t->shape.axis[1] : 1;
    const size_t groups = (size_t)t->groups, width = (size_t)t->shape.axis[0] / groups;
    const size_t group = n / columns / width;
    size_t row = n / columns % width, column = n % columns, block;
    while (block = (size_t)t->parts[*part].parameter->tensor.shape[0] / groups, row >= block) {
        row -= block;
        ++*part;
    }
    row += group * block;
    if (t->parts[*part].features == RT_FEATURE_ROWS)
        row = feature_at(t, row);
    if (t->parts[*part].features == RT_FEATURE_COLUMNS)
        column = feature_at(t, column);
    return row * columns + column;
}
