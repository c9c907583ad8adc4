/* The list of families; their options, and the family of a model; conditions, names and numbers of
 * their tensors. */

#include "io/huggingface/family.h"

#include "core/memory.h"
#include "core/path.h"
#include "models/keys.h"
#include "util/key_value.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ITEM(family) &family,
const rt_family *const rt_families[] = {RT_FAMILIES(ITEM) NULL};

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

#define OPTIONS rt_transformer_options
RT_KEY_WORDS(head_word, RT_HEADS)

/* Options that other sections of a configuration determine. */
static const rt_key others[] = {
    {"model", "head", CHOICE(head, head_word), "lm", "", RT_FIXED, ALWAYS},
    {"", "token types", WHOLE(token_types, 0, RT_MOST_SIZE), "0", "", RT_FIXED, ALWAYS},
    {"", "numbers of a patch", WHOLE(patch, 0, RT_MOST_SIZE), "0", "", RT_FIXED, ALWAYS},
};
static const rt_key_table other_keys = {others, sizeof others / sizeof *others};
static const rt_key_table *const tables[] = {&rt_model_keys, &other_keys};
enum { TABLES = sizeof tables / sizeof *tables };

static const rt_key *key_of(const char *name)
{
    const rt_key *key = NULL;
    for (int t = 0; t < TABLES && !key; t++)
        key = rt_keys_find(tables[t], name);
    return key;
}

static const rt_key *key_at(int member)
{
    for (int t = 0; t < TABLES; t++)
        for (int i = 0; i < tables[t]->count; i++)
            if (tables[t]->keys[i].offset == (size_t)member)
                return tables[t]->keys + i;
    return NULL;
}

static double number_of(const rt_key *key, const rt_transformer_options *o)
{
    const char *at = (const char *)o + key->offset;
    if (key->type == RT_KEY_LAYERS) /* length of a list: rows only distinguish 0 */
        return ((const rt_layer_words *)at)->count;
    if (key->type == RT_KEY_NUMBER)
        return *(const double *)at;
    return key->type == RT_KEY_YES_NO ? *(const bool *)at : *(const int *)at;
}

rt_status rt_family_lacks(const rt_family *family, const char *what, const char *wish)
{
    return rt_error(RT_CONFIG, "%s cannot be exported: %s %s of %s has %s", what,
                    rt_family_article(family->name), family->name,
                    family->library ? family->library : "Hugging Face", wish);
}

rt_status rt_cannot_export(const rt_family *family, const char *key,
                           const rt_transformer_options *o, const char *wish)
{
    char value[RT_VALUE_SIZE], what[RT_VALUE_SIZE + RT_KEY_NAME_SIZE];
    snprintf(what, sizeof what, "%s = %s", key, rt_key_value_write(key_of(key), o, value));
    return rt_family_lacks(family, what, wish);
}

rt_status rt_check_head_dim(const rt_family *family, const rt_transformer_options *o)
{
    return o->heads * o->head_dim == o->dim
               ? rt_ok()
               : rt_error(RT_CONFIG,
                          "model.head_dim = %d cannot be exported: heads of %s %s of Hugging Face "
                          "have model.dim / model.heads features",
                          o->head_dim, rt_family_article(family->name), family->name);
}

/* Requirements of a family unless it has a row or a key of config.json for the option. */
static const rt_option_row usual[] = {
    {"model.norm", RT_IS, "pre", "its norms before the blocks"},
    {"model.embedding_norm", RT_IS, "no", "no norm over its embeddings"},
    {"model.attention", RT_IS, "softmax", "softmax attention"},
    {"model.residual", RT_IS, "serial", "blocks one after the other"},
    {"model.window", RT_IS, "0", "attention to all tokens"},
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    {"model.embedding_dim", RT_SAME_AS, "model.dim", "embeddings as wide as its layers"},
    {"token types", RT_IS, "0", "none"},
    {"numbers of a patch", RT_IS, "0", "no images"},
    {"position.forget", RT_IS, "none", "attention that forgets nothing"},
    {"position.key_shift", RT_IS, "no", "keys of one token each"},
    {"model.length_scale", RT_IS, "none", "scores that do not grow with the length"},
    {"position.kind", RT_IS, "rope", "rotary positions"},
    {"position.axes", RT_IS, "1", "positions of one coordinate"},
    {"position.every", RT_IS, "1", "positions in every layer"},
    {"position.layers", RT_IS, "", "positions in every layer"},
    {"position.rotate_value", RT_IS, "no", "values that are not rotated"},
    {"position.xpos", RT_IS, "0", "no decay of its scores"},
    {"position.local_base", RT_IS, "0", "one base for all layers"},
    {"position.local_fraction", RT_IS, "0", "as many rotated pairs in all layers"},
    {"model.norm_bias", RT_IS, "yes", "biases in its norms"},
    {"model.first_norm", RT_IS, "yes", "a norm before the attention of every layer"},
    {"model.token_dropout", RT_IS, "no", "no token dropout"},
    {"model.classifier", RT_IS, "dense", "no such head for labels"},
    {0},
};

/* Returns the n-th requirement of a family, its own rows first; NULL past the last. */
static const rt_option_row *option_of(const rt_family *family, int n)
{
    for (const rt_option_row *row = family->options; row->key; row++)
        if (!n--)
            return row;
    for (const rt_option_row *row = usual; row->key; row++) {
        const rt_option_row *own = family->options;
        const rt_config_row *at = family->config;
        while (own->key && strcmp(own->key, row->key) != 0)
            own++;
        while (at->key && (at->member == RT_NO_MEMBER || key_at(at->member) != key_of(row->key)))
            at++;
        if (!own->key && !at->key && !n--)
            return row;
    }
    return NULL;
}

void rt_option_rows_set(const rt_family *family, rt_transformer_options *o)
{
    const rt_option_row *row;
    o->position.pairing = family->pairing;
    for (int n = 0; (row = option_of(family, n)); n++)
        if (row->rule == RT_IS)
            rt_key_value_set(key_of(row->key), row->value, o);
}

static bool has_option(const rt_option_row *row, const rt_transformer_options *o)
{
    const rt_key *key = key_of(row->key);
    const double value = number_of(key, o);
    rt_transformer_options wanted = {0};
    if (row->rule == RT_ABOVE_0)
        return value > 0;
    if (row->rule == RT_ANY_VALUE)
        return true;
    if (row->rule == RT_SAME_AS)
        return value == number_of(key_of(row->value), o);
    rt_key_value_set(key, row->value, &wanted);
    return key->type == RT_KEY_INTEGER || key->type == RT_KEY_NUMBER
               ? value <= number_of(key, &wanted)
               : value == number_of(key, &wanted);
}

const char *rt_config_row_word(const rt_config_row *row, const rt_transformer_options *o)
{
    const rt_config_word *at = row->words;
    const int value =
        row->member == RT_NO_MEMBER ? at->value : *(const int *)((const char *)o + row->member);
    while (at->word && at->value != value)
        at++;
    return at->word;
}

/* Counts the options that the family cannot express. Returns the error of the first. */
static rt_status rows_express(const rt_family *family, const rt_transformer_options *o, int *missed)
{
    enum { KIND_MISSED = 1000 };
    const rt_option_row *option;
    rt_status status = rt_ok();
    char name[RT_KEY_NAME_SIZE];
    *missed = 0;
    for (int n = 0; (option = option_of(family, n)); n++)
        if (option->wish && !has_option(option, o)) {
            if (!*missed)
                status = rt_cannot_export(family, option->key, o, option->wish);
            *missed += strcmp(option->key, "model.kind") ? 1 : KIND_MISSED;
        }
    for (const rt_config_row *row = family->config; row->key; row++)
        if (row->wish && !rt_config_row_word(row, o) && !(*missed)++)
            status =
                rt_cannot_export(family, rt_key_full_name(key_at(row->member), name), o, row->wish);
    return status;
}

rt_status rt_family_find(const rt_family **found, const rt_family *const *families,
                         const rt_transformer_options *o)
{
    rt_status nearest = rt_ok();
    int least = INT_MAX;
    for (*found = NULL; *families && !(*found && !nearest.code); families++) {
        int missed;
        rt_status status = rows_express(*families, o, &missed);
        if (!status.code && !rt_family_class_of(*families, o)->name) {
            bool has_head = false;
            for (const rt_family_class *c = (*families)->classes; c->name; c++)
                has_head |= c->has_head && c->head == o->head;
            const bool pools = has_head && o->head == RT_HEAD_SEQUENCE;
            status = rt_cannot_export(*families, pools ? "model.pool" : "model.head", o,
                                      "no class for it");
        }
        if (!status.code && (*families)->check)
            status = (*families)->check(*families, o);
        if (missed < least || !status.code) {
            least = missed;
            nearest = status;
            *found = *families;
        }
    }
    return nearest;
}

int rt_family_pairs(const rt_family *family, const rt_transformer_options *o)
{
    return family->pairs_rotated ? rt_transformer_pairs(o) : rt_transformer_head_dim(o) / 2;
}

static rt_feature_order order_of(const rt_family *family, const rt_transformer_options *o)
{
    return (rt_feature_order){rt_transformer_head_dim(o), rt_transformer_pairs(o),
                              rt_family_pairs(family, o), o->position.pairing == RT_HALF,
                              family->pairing == RT_HALF};
}

/* Returns the index in rotor's order of the feature, of a head, with the index `feature` in the
 * family's order. Pairs stay together; rotated pairs come first. */
static int feature_here(const rt_feature_order *f, int feature)
{
    if (feature >= 2 * f->half)
        return feature;
    const int pair = f->halves_there ? feature % f->half : feature / 2;
    const int second = f->halves_there ? feature / f->half : feature % 2;
    return pair < f->pairs && f->halves_here ? pair + second * f->pairs : 2 * pair + second;
}

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

/* Returns the tensor of a row with this name, appended if new. NULL if memory is exhausted. */
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
    const rt_transformer_layer *l =
        p->component == RT_COMPONENT_LAYER ? model->layers + p->layer : NULL;
    const bool queries = l && (&p->tensor == l->query.weight || &p->tensor == l->query.bias);
    bool reordered = false;
    number layer;
    const rt_feature_order order = order_of(family, o);
    for (int i = 0; i < order.size; i++)
        reordered |= feature_here(&order, i) != i;
    for (const rt_tensor_row *row = family->tensors; row->there; row++)
        for (int k = 0; k < RT_MOST_STACKED && row->here[k] && holds(row, o); k++) {
            const char *end = match_pattern(row->here[k], name, &layer);
            if (!end || !fill_in(row->there, layer, end, there))
                continue;
            rt_folder_tensor *t = tensor_of(all, row, there);
            RT_TRY(rt_allocated(t, "a list of tensors"));
            const rt_shape shape = rt_tensor_shape(&p->tensor);
            const int before = t->shape.axis[0];
            t->order = order;
            t->options = o;
            t->shape = shape;
            t->shape.axis[0] += before;
            t->groups = row->form == RT_BY_HEAD ? model->options.kv_heads : 1;
            t->stacked[k].parameter = p;
            t->stacked[k].features = reordered ? features_of(o, name) : RT_NO_FEATURES;
            t->stacked[k].factors = queries && l->head_scale ? l->head_scale->data : NULL;
            t->plain = !row->here[1] && !t->stacked[k].features;
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
        RT_TRY(rt_allocated(t, "a list of tensors"));
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
    *all = (rt_folder_tensors){0};
    for (int i = 0; i < list->count; i++) {
        const rt_parameter *p = list->list[i];
        if (p->role == RT_ROLE_THETA || p->role == RT_ROLE_FACTOR)
            continue;
        RT_TRY(add_parameter(all, family, o, model, p, p->name));
        if (o->tie_embeddings && !strcmp(p->name, RT_OUTPUT_NAME))
            RT_TRY(add_parameter(all, family, o, model, p, RT_TOKENS_NAME));
    }
    for (const rt_tensor_row *row = family->tensors; row->there && positions >= 0; row++)
        if (row->extra[0] && holds(row, o) &&
            !(row->here[0] && rt_parameters_find(list, row->here[0])))
            RT_TRY(add_extra(all, family, o, row, positions));
    return rt_ok();
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
        for (int k = 0; k < RT_MOST_STACKED; k++)
            if (all->list[i].stacked[k].parameter == parameter && !n--)
                return all->list + i;
    return NULL;
}

static size_t feature_at(const rt_folder_tensor *t, size_t feature)
{
    const size_t size = (size_t)t->order.size;
    return feature / size * size + (size_t)feature_here(&t->order, (int)(feature % size));
}

size_t rt_folder_tensor_at(const rt_folder_tensor *t, size_t n, int *which)
{
    *which = 0;
    if (t->plain)
        return n;
    const size_t columns = t->shape.ndim > 1 ? (size_t)t->shape.axis[1] : 1;
    const size_t groups = (size_t)t->groups, width = (size_t)t->shape.axis[0] / groups;
    const size_t group = n / columns / width;
    size_t row = n / columns % width, column = n % columns, block;
    while (block = (size_t)t->stacked[*which].parameter->tensor.shape[0] / groups, row >= block) {
        row -= block;
        ++*which;
    }
    row += group * block;
    if (t->stacked[*which].features == RT_FEATURE_ROWS)
        row = feature_at(t, row);
    if (t->stacked[*which].features == RT_FEATURE_COLUMNS)
        column = feature_at(t, column);
    return row * columns + column;
}
