/* Reads, checks and writes keys of config.json by the tables of a family; finds the family of a
 * model. */

#include "io/huggingface/family.h"

#include "io/huggingface/private.h"
#include "models/keys.h"
#include "text/key_value.h"
#include "text/writer.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rt_reading_refuse(rt_reading *r, const char *format, ...)
{
    char message[RT_MESSAGE_SIZE];
    va_list arguments;
    if (r->status.code)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    r->status = rt_error(RT_CHECKPOINT, "%s: %s%s", r->file ? r->file : RT_HF_CONFIG,
                         r->within ? r->within : "", message);
}

json_t *rt_reading_find(const rt_reading *r, const char *key)
{
    json_t *value = json_object_get(r->json, key);
    return json_is_null(value) ? NULL : value;
}

int rt_reading_whole(rt_reading *r, const char *key, int initial, int low, int high)
{
    const json_t *value = rt_reading_find(r, key);
    if (!value)
        return initial;
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= low && number <= high)
        return (int)number;
    rt_reading_refuse(r, "%s must be a whole number from %d to %d", key, low, high);
    return initial;
}

int rt_reading_size(rt_reading *r, const char *key, int initial)
{
    return rt_reading_whole(r, key, initial, 1, RT_MOST_SIZE);
}

double rt_reading_above_0(rt_reading *r, const char *key, double initial)
{
    const json_t *value = rt_reading_find(r, key);
    const double number = json_number_value(value);
    if (!value)
        return initial;
    if (json_is_number(value) && number > 0 && isfinite(number))
        return number;
    rt_reading_refuse(r, "%s must be a number above 0", key);
    return initial;
}

bool rt_reading_flag(rt_reading *r, const char *key, bool initial)
{
    const json_t *value = rt_reading_find(r, key);
    if (value && !json_is_boolean(value))
        rt_reading_refuse(r, "%s must be true or false", key);
    return value ? json_is_true(value) : initial;
}

const char *rt_reading_word(rt_reading *r, const char *key)
{
    const json_t *value = rt_reading_find(r, key);
    if (value && !json_is_string(value))
        rt_reading_refuse(r, "%s must be a string", key);
    return json_is_string(value) ? json_string_value(value) : "";
}

void rt_reading_refuse_word(rt_reading *r, const char *key, const char *const *words, int count,
                            const char *reason, const char *got)
{
    char list[RT_MESSAGE_SIZE] = "", quoted[RT_QUOTE_SIZE];
    for (int i = 0; i < count; i++) {
        const char *separator = i + 1 < count ? ", " : " or ";
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? separator : "",
                 words[i]);
    }
    rt_reading_refuse(r, "%s must be %s: %s; got %s", key, list, reason, rt_quote(quoted, got));
}

/* ---- options by their keys ---- */

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

/* ---- options that all models of a family share ---- */

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
    {"position.kind", RT_IS, "rope", "rotary positions"},
    {"position.axes", RT_IS, "1", "positions of one coordinate"},
    {"position.every", RT_IS, "1", "positions in every layer"},
    {"position.layers", RT_IS, "", "positions in every layer"},
    {"position.rotate_value", RT_IS, "no", "values that are not rotated"},
    {"position.xpos", RT_IS, "0", "no decay of its scores"},
    {"position.local_base", RT_IS, "0", "one base for all layers"},
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

/* ---- reading ---- */

/* Returns the value of a word. If it is refused, the message lists the first word of each value. */
static int read_word(const rt_config_row *row, rt_reading *r)
{
    const char *list[16];
    const char *word =
        rt_reading_find(r, row->key) ? rt_reading_word(r, row->key) : row->words->word;
    int count = 0;
    for (const rt_config_word *at = row->words; at->word; at++) {
        const rt_config_word *first = row->words;
        if (!strcmp(at->word, word))
            return at->value;
        while (first->value != at->value)
            first++;
        if (first == at && count < (int)(sizeof list / sizeof *list))
            list[count++] = at->word;
    }
    rt_reading_refuse_word(r, row->key, list, count, row->reason, word);
    return row->words->value;
}

/* Refuses any value but the fixed one; the message shows a value without members. If true is
 * required, null is not the default but refused: Python takes null for false. */
static void check_fixed(const rt_config_row *row, rt_reading *r)
{
    json_t *wanted = json_loads(row->fixed, JSON_DECODE_ANY, NULL);
    const json_t *value =
        json_is_true(wanted) ? json_object_get(r->json, row->key) : rt_reading_find(r, row->key);
    char *shown = NULL;
    if (value && !json_equal(value, wanted)) {
        if (!json_is_object(value) && !json_is_array(value))
            shown = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        rt_reading_refuse(r, "%s%s%.64s: %s", row->key, shown ? " = " : "", shown ? shown : "",
                          row->reason);
    }
    free(shown); /* allocated by Jansson */
    json_decref(wanted);
}

static void read_row(const rt_config_row *row, rt_reading *r, rt_huggingface *there)
{
    char *options = (char *)&there->options;
    const json_t *value = rt_reading_find(r, row->key);
    int unused, same, initial = (int)row->initial;
    void *at = row->member == RT_NO_MEMBER ? (void *)&unused : options + row->member;
    switch (row->type) {
    case RT_CONFIG_WHOLE:
        same = row->same_as ? *(const int *)(options + row->same_as) : 0;
        if (same && (json_object_get(r->json, row->key) || !initial))
            initial = same;
        *(int *)at = rt_reading_whole(r, row->key, initial, 1, (int)row->high);
        break;
    case RT_CONFIG_NUMBER:
        *(double *)at = value ? json_number_value(value) : row->initial;
        if (value && !(json_is_number(value) && *(double *)at >= 0 && *(double *)at < row->high))
            rt_reading_refuse(r, "%s must be a number from 0 to less than %g", row->key, row->high);
        break;
    case RT_CONFIG_EPS:
        *(double *)at = rt_reading_above_0(r, row->key, row->initial);
        if (*(double *)at > 1)
            rt_reading_refuse(r, "%s must be at most 1", row->key);
        break;
    case RT_CONFIG_POSITIONS:
        there->max_positions = rt_reading_whole(r, row->key, initial, 1, (int)row->high);
        break;
    case RT_CONFIG_FLAG:
        *(bool *)at = rt_reading_flag(r, row->key, initial);
        break;
    case RT_CONFIG_SWITCH:
        *(int *)at = rt_reading_flag(r, row->key, initial) ? row->on : row->off;
        break;
    case RT_CONFIG_WORD:
        *(int *)at = read_word(row, r);
        break;
    case RT_CONFIG_FIXED:
        check_fixed(row, r);
        break;
    case RT_CONFIG_ABSENT:
        if (value)
            rt_reading_refuse(r, "%s: %s", row->key, row->reason);
        break;
    default:
        break;
    }
}

void rt_config_rows_read(const rt_config_row *rows, rt_reading *r, rt_huggingface *there)
{
    for (const rt_config_row *row = rows; row->key; row++)
        if (row->read)
            row->read(r, there);
        else
            read_row(row, r, there);
}

/* ---- writing ---- */

static const char *word_of(const rt_config_row *row, const rt_transformer_options *o)
{
    const rt_config_word *at = row->words;
    const int value =
        row->member == RT_NO_MEMBER ? at->value : *(const int *)((const char *)o + row->member);
    while (at->word && at->value != value)
        at++;
    return at->word;
}

/* Creates the value of a row; NULL if the heap is exhausted. */
static json_t *value_of(const rt_config_row *row, const rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    const char *at = (const char *)o + (row->member > 0 ? row->member : 0);
    switch (row->type) {
    case RT_CONFIG_WHOLE:
        return json_integer(*(const int *)at);
    case RT_CONFIG_NUMBER:
    case RT_CONFIG_EPS:
        return json_real(*(const double *)at); /* with a point: Python must read a float */
    case RT_CONFIG_POSITIONS:
        return json_integer(w->export->positions);
    case RT_CONFIG_FLAG:
        return json_boolean(*(const bool *)at);
    case RT_CONFIG_SWITCH:
        return json_boolean(*(const int *)at == row->on);
    case RT_CONFIG_WORD:
        return json_string(word_of(row, o));
    case RT_CONFIG_FIXED:
        return json_loads(row->fixed, JSON_DECODE_ANY, NULL);
    default:
        return NULL;
    }
}

void rt_config_rows_put(const rt_config_row *rows, rt_config_writing *w)
{
    for (const rt_config_row *row = rows; row->key; row++)
        if (row->put)
            row->put(w);
        else if (row->when ? row->when(w->options) : row->type && row->type < RT_CONFIG_FIXED)
            rt_json_put(&w->object, row->key, value_of(row, w));
}

/* ---- finding the family of a model ---- */

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
        if (row->wish && !word_of(row, o) && !(*missed)++)
            status =
                rt_cannot_export(family, rt_key_full_name(key_at(row->member), name), o, row->wish);
    return status;
}

/* Checks that the family has a class for the head of the model. */
static rt_status check_class(const rt_family *family, const rt_transformer_options *o)
{
    bool has_head = false;
    if (rt_family_class_of(family, o)->name)
        return rt_ok();
    for (const rt_family_class *c = family->classes; c->name; c++)
        has_head |= c->has_head && c->head == o->head;
    return rt_cannot_export(family,
                            has_head && o->head == RT_HEAD_SEQUENCE ? "model.pool" : "model.head",
                            o, "no class for it");
}

rt_status rt_family_find(const rt_family **found, const rt_family *const *families,
                         const rt_transformer_options *o)
{
    rt_status nearest = rt_ok();
    int least = INT_MAX;
    for (*found = NULL; *families && !(*found && !nearest.code); families++) {
        int missed;
        rt_status status = rows_express(*families, o, &missed);
        if (!status.code)
            status = check_class(*families, o);
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
