#define _GNU_SOURCE /* strcasestr */

#include "util/key_value.h"

#include "core/choice.h"
#include "core/memory.h"
#include "core/real.h"
#include "util/number.h"
#include "util/suggest.h"
#include "util/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *yes_no_word(int value)
{
    static const char *const words[] = {"no", "yes", NULL};
    return words[value];
}

static const char *(*words_of(const rt_key *key))(int)
{
    return key->type == RT_KEY_YES_NO ? yes_no_word : key->word;
}

const char *rt_key_full_name(const rt_key *key, char text[RT_KEY_NAME_SIZE])
{
    return rt_printed(text, RT_KEY_NAME_SIZE, "%s%s%s", key->section, *key->section ? "." : "",
                      key->name);
}

const rt_key *rt_keys_find(const rt_key_table *table, const char *full_name)
{
    for (int i = 0; i < table->count; i++) {
        const rt_key *key = &table->keys[i];
        const size_t prefix = strlen(key->section) + (*key->section != 0);
        if (!strncmp(full_name, key->section, strlen(key->section)) &&
            (!prefix || full_name[prefix - 1] == '.') && !strcmp(full_name + prefix, key->name))
            return key;
    }
    return NULL;
}

const char *rt_key_values(const rt_key *key, char text[RT_VALUES_SIZE])
{
    const char *(*word)(int) = words_of(key);
    const rt_range *in = &key->range;
    enum { RANGE = RT_VALUES_SIZE / 2 };
    const char *low = rt_number_write((char[RT_NUMBER_SIZE]){0}, in->low);
    const char *high = rt_number_write((char[RT_NUMBER_SIZE]){0}, in->high);
    const char *above = in->above ? ">" : ">=", *below = in->below ? "<" : "<=";
    const char *range = isinf(in->high) ? RT_PRINTED(RANGE, "%s %s", above, low)
                        : in->above || in->below
                            ? RT_PRINTED(RANGE, "%s %s and %s %s", above, low, below, high)
                            : RT_PRINTED(RANGE, "from %s to %s", low, high);

    size_t length = 0;
    text[0] = '\0';
    if (key->type == RT_KEY_LAYERS)
        length = (size_t)snprintf(text, RT_VALUES_SIZE, "one for each layer, comma-separated: ");
    if (key->type == RT_KEY_SEED)
        snprintf(text, RT_VALUES_SIZE, "from 0 to %" PRId64, INT64_MAX);
    else if (key->type == RT_KEY_TEXT)
        snprintf(text, RT_VALUES_SIZE, "text");
    else if (key->type == RT_KEY_INTERVAL)
        snprintf(text, RT_VALUES_SIZE, "%s, or A..B, A <= B", range);
    else if (key->type == RT_KEY_LENGTHS)
        snprintf(text, RT_VALUES_SIZE, "up to %d comma-separated whole numbers %s", RT_MOST_LENGTHS,
                 range);
    else if (key->type == RT_KEY_FACTORS)
        snprintf(text, RT_VALUES_SIZE, "up to %d comma-separated numbers > 0", RT_MOST_FACTORS);
    else if (!word)
        snprintf(text, RT_VALUES_SIZE, "%s", range);
    else
        for (int i = 0; word(i) && length < RT_VALUES_SIZE; i++)
            length += (size_t)snprintf(text + length, RT_VALUES_SIZE - length, "%s%s",
                                       i ? ", " : "", word(i));
    return text;
}

static bool in_range(const rt_range *range, double value)
{
    return (range->above ? value > range->low : value >= range->low) &&
           (range->below ? value < range->high : value <= range->high);
}

static bool read_whole(const rt_key *key, const char *value, void *place)
{
    const bool seed = key->type == RT_KEY_SEED;
    int64_t whole;
    if (!rt_integer_parse(value, &whole) ||
        !(seed ? whole >= 0 : in_range(&key->range, (double)whole)))
        return false;
    if (seed)
        *(uint64_t *)place = (uint64_t)whole;
    else
        *(int *)place = (int)whole;
    return true;
}

/* Parses "most" or "least..most". */
static bool read_interval(const rt_key *key, const char *value, void *place)
{
    const char *dots = strstr(value, "..");
    const int length = dots ? (int)(dots - value) : 0;
    int64_t least = 0, most;
    if (dots && (!rt_integer_parse(RT_PRINTED(RT_NUMBER_SIZE, "%.*s", length, value), &least) ||
                 length >= RT_NUMBER_SIZE || least < 1))
        return false;
    if (!rt_integer_parse(dots ? dots + 2 : value, &most) || !in_range(&key->range, (double)most) ||
        least > most)
        return false;
    *(rt_interval *)place = (rt_interval){(int)most, (int)least};
    return true;
}

/* The number must stay valid in the precision of the build, where a small one may become 0, a large
 * one infinite, and 0.9999999999 may become 1. */
static bool read_number(const rt_key *key, const char *value, void *place)
{
    double number;
    if (!rt_number_parse(value, &number) || !in_range(&key->range, number))
        return false;
    const double held = (double)(real)number;
    if (!in_range(&key->range, held) || !isfinite(held) || (held == 0 && number != 0))
        return false;
    *(double *)place = number + 0.0; /* changes -0 to 0 */
    return true;
}

static bool read_word(const rt_key *key, const char *value, void *place)
{
    const char *(*word)(int) = words_of(key);
    int i = 0;
    while (word(i) && strcmp(word(i), value))
        i++;
    if (!word(i))
        return false;
    if (key->type == RT_KEY_YES_NO)
        *(bool *)place = i;
    else
        *(int *)place = i;
    return true;
}

/* Returns whether a value contains a sign that an INI parser, or a person, takes for the start of a
 * comment. */
static bool holds_comment(const char *value)
{
    return *value == ';' || *value == '#' || strstr(value, " ;") || strstr(value, " #");
}

static bool read_text(const rt_key *key, const char *value, void *place)
{
    if ((double)strlen(value) > key->range.high || holds_comment(value))
        return false;
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    *(const char **)place = *value ? rt_intern_text(value) : NULL;
    return true;
}

/* Parses a list of lengths, which may be empty. Drops duplicates. */
static bool read_lengths(const rt_key *key, const char *value, void *place)
{
    rt_lengths lengths = {0};
    rt_list_item item;
    int count = 0;
    for (const char *rest = *value ? value : NULL; rest; count++) {
        char text[RT_NUMBER_SIZE];
        int64_t whole;
        int at = 0;
        rest = rt_list_parse(rest, &item);
        if (count == RT_MOST_LENGTHS || !rt_list_item_copy(item, text, sizeof text) ||
            !rt_integer_parse(text, &whole) || !in_range(&key->range, (double)whole))
            return false;
        while (at < lengths.count && lengths.at[at] != whole)
            at++;
        lengths.at[at] = (int)whole;
        lengths.count += at == lengths.count;
    }
    *(rt_lengths *)place = lengths;
    return true;
}

static bool read_factors(const rt_key *key, const char *value, void *place)
{
    double factors[RT_MOST_FACTORS];
    rt_list_item item;
    int count = 0;
    for (const char *rest = *value ? value : NULL; rest; count++) {
        char text[RT_NUMBER_SIZE];
        rest = rt_list_parse(rest, &item);
        if (count == RT_MOST_FACTORS || !rt_list_item_copy(item, text, sizeof text) ||
            !rt_number_parse(text, &factors[count]) || !in_range(&key->range, factors[count]))
            return false;
    }
    const size_t size = (size_t)count * sizeof *factors;
    *(rt_factors *)place = (rt_factors){count, count ? rt_intern(factors, size) : NULL};
    return true;
}

static bool read_layers(const rt_key *key, const char *value, void *place)
{
    rt_layer_words words = {0};
    rt_list_item item;
    for (const char *rest = *value ? value : NULL; rest; words.count++) {
        int i = 0;
        rest = rt_list_parse(rest, &item);
        while (key->word(i) && !rt_list_item_is(item, key->word(i)))
            i++;
        if (!key->word(i) || words.count == RT_MOST_LAYER_WORDS)
            return false;
        words.at[words.count] = (unsigned char)i;
    }
    *(rt_layer_words *)place = words;
    return true;
}

/* For each type of key: the words before its values in messages, and its parser. */
static const struct {
    const char *name;
    bool (*read)(const rt_key *key, const char *value, void *place);
} types[] = {
    [RT_KEY_INTEGER] = {"a whole number ", read_whole},
    [RT_KEY_INTERVAL] = {"a whole number ", read_interval},
    [RT_KEY_SEED] = {"a whole number ", read_whole},
    [RT_KEY_NUMBER] = {"a number ", read_number},
    [RT_KEY_YES_NO] = {"one of ", read_word},
    [RT_KEY_CHOICE] = {"one of ", read_word},
    [RT_KEY_LENGTHS] = {"", read_lengths},
    [RT_KEY_FACTORS] = {"", read_factors},
    [RT_KEY_LAYERS] = {"", read_layers},
    [RT_KEY_TEXT] = {NULL, read_text},
};

/* Words for no, none and yes in other programs. */
static const struct {
    const char *word;
    const char *others; /* between blanks */
} elsewhere[] = {{"no", " false off 0 n none "},
                 {"none", " no false off 0 n "},
                 {"yes", " true on 1 y "}};

static void write_hint(const rt_key *key, const char *value, rt_writer *problem)
{
    double number;
    rt_nearest nearest = {.written = value};
    const char *(*word)(int) = words_of(key);
    for (int i = 0; word && word(i); i++) {
        rt_nearest_try(&nearest, word(i), word(i));
        for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
            if (!strcmp(word(i), elsewhere[k].word) &&
                strcasestr(elsewhere[k].others, RT_PRINTED(RT_QUOTE_SIZE, " %s ", value)))
                nearest.name = word(i);
    }
    if (key->type == RT_KEY_NUMBER && rt_number_parse(value, &number) &&
        in_range(&key->range, number))
        rt_writer_add(problem, ", which is %g in " RT_PRECISION, (double)(real)number);
    else if (key->type == RT_KEY_NUMBER && rt_number_is_decimal(value) &&
             !rt_number_parse(value, &number))
        rt_writer_add(problem, ", which is outside of the range of a double");
    else if (holds_comment(value))
        rt_writer_add(problem, "; a comment after a value starts with ' ;'");
    else if (nearest.name)
        rt_writer_add(problem, "; did you mean '%s'?", nearest.name);
}

bool rt_key_value_read(const rt_key *key, const char *value, void *options, rt_writer *problem)
{
    void *place = (char *)options + key->offset;
    if (types[key->type].read(key, value, place)) {
        /* memory for the copy of a text or a list may be exhausted */
        problem->failed |=
            *value && ((key->type == RT_KEY_TEXT && !*(const char *const *)place) ||
                       (key->type == RT_KEY_FACTORS && !((const rt_factors *)place)->at));
        return !problem->failed;
    }
    if (key->type == RT_KEY_TEXT)
        rt_writer_add(problem, "must be text of at most %g bytes without control characters",
                      key->range.high);
    else
        rt_writer_add(problem, "must be %s%s", types[key->type].name,
                      rt_key_values(key, (char[RT_VALUES_SIZE]){0}));
    rt_writer_add(problem, "; got %s", RT_QUOTED(value));
    write_hint(key, value, problem);
    return false;
}

/* Writes the items of a list, comma-separated. Each list struct begins with the number of items. */
static const char *write_list(const rt_key *key, const void *place, char text[RT_VALUE_SIZE])
{
    const int count = *(const int *)place;
    size_t length = 0;
    char number[RT_NUMBER_SIZE];
    text[0] = '\0';
    for (int i = 0; i < count && length < RT_VALUE_SIZE; i++) {
        const char *item =
            key->type == RT_KEY_LENGTHS
                ? rt_printed(number, sizeof number, "%d", ((const rt_lengths *)place)->at[i])
            : key->type == RT_KEY_FACTORS
                ? rt_number_write(number, ((const rt_factors *)place)->at[i])
                : key->word(((const rt_layer_words *)place)->at[i]);
        length +=
            (size_t)snprintf(text + length, RT_VALUE_SIZE - length, "%s%s", i ? "," : "", item);
    }
    return text;
}

const char *rt_key_value_write(const rt_key *key, const void *options, char text[RT_VALUE_SIZE])
{
    const void *place = (const char *)options + key->offset;
    const rt_interval *interval;
    const char *word;
    switch (key->type) {
    case RT_KEY_INTEGER:
        return rt_printed(text, RT_VALUE_SIZE, "%d", *(const int *)place);
    case RT_KEY_INTERVAL:
        interval = place;
        return interval->least
                   ? rt_printed(text, RT_VALUE_SIZE, "%d..%d", interval->least, interval->most)
                   : rt_printed(text, RT_VALUE_SIZE, "%d", interval->most);
    case RT_KEY_SEED:
        return rt_printed(text, RT_VALUE_SIZE, "%" PRIu64, *(const uint64_t *)place);
    case RT_KEY_YES_NO:
    case RT_KEY_CHOICE:
    case RT_KEY_TEXT:
        word = key->type == RT_KEY_YES_NO   ? yes_no_word(*(const bool *)place)
               : key->type == RT_KEY_CHOICE ? key->word(*(const int *)place)
                                            : *(const char *const *)place;
        return rt_printed(text, RT_VALUE_SIZE, "%s", word ? word : "");
    case RT_KEY_LENGTHS:
    case RT_KEY_FACTORS:
    case RT_KEY_LAYERS:
        return write_list(key, place, text);
    case RT_KEY_NUMBER:
        return rt_number_write(text, *(const double *)place);
    }
    return text;
}

void rt_key_value_set(const rt_key *key, const char *value, void *options)
{
    if (key->type == RT_KEY_TEXT) { /* without a copy, which could fail */
        *(const char **)((char *)options + key->offset) = *value ? value : NULL;
        return;
    }
    RT_CLOSED_BY(rt_writer_free) rt_writer problem = {0};
    const bool accepted = rt_key_value_read(key, value, options, &problem);
    assert(accepted);
    (void)accepted;
}

void rt_key_value_copy(const rt_key *key, void *to, const void *from)
{
    memcpy((char *)to + key->offset, (const char *)from + key->offset, key->size);
}

bool rt_key_value_equal(const rt_key *key, const void *a, const void *b)
{
    const void *one = (const char *)a + key->offset, *other = (const char *)b + key->offset;
    char text[RT_VALUE_SIZE], other_text[RT_VALUE_SIZE];
    switch (key->type) {
    case RT_KEY_NUMBER:
        return *(const double *)one == *(const double *)other;
    case RT_KEY_TEXT:
    case RT_KEY_LENGTHS:
    case RT_KEY_FACTORS:
    case RT_KEY_LAYERS:
        return !strcmp(rt_key_value_write(key, a, text), rt_key_value_write(key, b, other_text));
    default:
        return !memcmp(one, other, key->size);
    }
}

void rt_keys_set_defaults(const rt_key_table *table, void *options)
{
    for (int i = 0; i < table->count; i++)
        rt_key_value_set(&table->keys[i], table->keys[i].initial, options);
}
