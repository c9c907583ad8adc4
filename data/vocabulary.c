#include "data/vocabulary.h"

#include "core/memory.h"
#include "data/units.h"

#include <assert.h>
#include <string.h>

enum { BYTES = 256 };

const rt_special_ids rt_default_special_ids = {RT_ID_PAD, RT_ID_CLS, RT_ID_MASK, RT_ID_SEP,
                                               RT_NO_ID};

/* ---- making ---- */

rt_status rt_vocabulary_of_units(rt_vocabulary **vocabulary_new, rt_level level, bool alphabet,
                                 const int32_t *units, int count)
{
    const bool has_unknown = level == RT_LEVEL_CHAR && !alphabet;
    const int first = RT_FIRST_SYMBOL + has_unknown;
    const int32_t limit = rt_unit_limit(level);
    *vocabulary_new = NULL;
    rt_vocabulary *v = rt_alloc(1, sizeof *v);
    if (!v)
        return rt_out_of_memory("a vocabulary");
    v->level = level;
    v->alphabet = alphabet;
    v->count = first + count;
    v->special = rt_default_special_ids;
    if (has_unknown)
        v->special.unknown = RT_FIRST_SYMBOL;
    v->units = rt_alloc((size_t)v->count, sizeof *v->units);
    v->ids = rt_alloc((size_t)limit, sizeof *v->ids);
    if (!v->units || !v->ids) {
        rt_vocabulary_free(v);
        return rt_out_of_memory("a vocabulary");
    }
    for (int32_t unit = 0; unit < limit; unit++)
        v->ids[unit] = v->special.unknown;
    for (int id = 0; id < v->count; id++)
        v->units[id] = id < first ? RT_NO_UNIT : units[id - first];
    for (int id = first; id < v->count; id++)
        v->ids[v->units[id]] = id;
    *vocabulary_new = v;
    return rt_ok();
}

void rt_vocabulary_free(rt_vocabulary *vocabulary)
{
    if (!vocabulary)
        return;
    rt_free(vocabulary->units);
    rt_free(vocabulary->ids);
    rt_free(vocabulary);
}

rt_status rt_vocabulary_of_bytes(rt_vocabulary **vocabulary_new)
{
    int32_t units[BYTES];
    for (int32_t unit = 0; unit < BYTES; unit++)
        units[unit] = unit;
    return rt_vocabulary_of_units(vocabulary_new, RT_LEVEL_BYTE, false, units, BYTES);
}

/* Whether each unit occurs in a text; returns how many do. */
static int find_units(rt_level level, const unsigned char *text, size_t bytes, bool *occurs)
{
    int32_t unit = 0;
    size_t size;
    int count = 0;
    for (size_t at = 0; at < bytes; at += size) {
        size = rt_unit_read(level, text + at, bytes - at, &unit);
        assert(size);
        count += !occurs[unit];
        occurs[unit] = true;
    }
    return count;
}

static rt_status of_text(rt_vocabulary **vocabulary_new, rt_level level, bool alphabet,
                         const char *name, const unsigned char *text, size_t bytes)
{
    const int32_t limit = rt_unit_limit(level);
    rt_status status;
    *vocabulary_new = NULL;
    bool *occurs = rt_alloc((size_t)limit, sizeof *occurs);
    if (!occurs)
        return rt_out_of_memory("a vocabulary");
    const int count = find_units(level, text, bytes, occurs);
    int32_t *units = rt_alloc((size_t)count, sizeof *units);
    for (int32_t unit = 0, rank = 0; units && unit < limit; unit++)
        if (occurs[unit])
            units[rank++] = unit;
    if (!units)
        status = rt_out_of_memory("a vocabulary");
    else if (count > RT_UNITS_LIMIT)
        status = rt_error(RT_DATA, "%s: a text can have up to %d different characters; it has %d",
                          name, RT_UNITS_LIMIT, count);
    else
        status = rt_vocabulary_of_units(vocabulary_new, level, alphabet, units, count);
    rt_free(units);
    rt_free(occurs);
    return status;
}

rt_status rt_vocabulary_of_text(rt_vocabulary **vocabulary_new, const char *name,
                                const unsigned char *text, size_t bytes)
{
    return of_text(vocabulary_new, RT_LEVEL_CHAR, false, name, text, bytes);
}

rt_status rt_vocabulary_of_alphabet(rt_vocabulary **vocabulary_new, rt_level level,
                                    const char *name, const unsigned char *text, size_t bytes)
{
    rt_status status = level == RT_LEVEL_CHAR ? rt_utf8_check(name, text, bytes) : rt_ok();
    *vocabulary_new = NULL;
    return status.code ? status : of_text(vocabulary_new, level, true, name, text, bytes);
}

/* ---- its ids ---- */

bool rt_vocabularies_equal(const rt_vocabulary *a, const rt_vocabulary *b)
{
    if (!a || !b)
        return a == b;
    return a->level == b->level && a->alphabet == b->alphabet && a->count == b->count &&
           !memcmp(a->units, b->units, (size_t)a->count * sizeof *a->units);
}

/* Special tokens come first. */
int32_t rt_vocabulary_unit(const rt_vocabulary *vocabulary, int rank)
{
    return (vocabulary->special.unknown == RT_NO_ID ? RT_FIRST_SYMBOL : RT_FIRST_SYMBOL + 1) + rank;
}

int rt_vocabulary_units(const rt_vocabulary *vocabulary)
{
    return vocabulary->count - rt_vocabulary_unit(vocabulary, 0);
}

bool rt_vocabulary_is_unit(const rt_vocabulary *vocabulary, int32_t id)
{
    return id >= 0 && id < vocabulary->count && vocabulary->units[id] != RT_NO_UNIT;
}

/* ---- texts ---- */

/* Where a text first has what an alphabet lacks, or `bytes`; it is UTF-8 at level char. */
static size_t find_missing(const rt_vocabulary *v, const unsigned char *text, size_t bytes,
                           int32_t *unit)
{
    size_t at = 0;
    while (at < bytes) {
        const size_t size = rt_unit_read(v->level, text + at, bytes - at, unit);
        if (v->ids[*unit] == RT_NO_ID)
            break;
        at += size;
    }
    return at;
}

rt_status rt_vocabulary_check(const rt_vocabulary *vocabulary, const char *name,
                              const unsigned char *text, size_t bytes)
{
    int32_t unit;
    char word[RT_UNIT_NAME_SIZE];
    if (vocabulary->level == RT_LEVEL_CHAR) {
        rt_status status = rt_utf8_check(name, text, bytes);
        if (status.code)
            return status;
    }
    if (!vocabulary->alphabet)
        return rt_ok();
    const size_t at = find_missing(vocabulary, text, bytes, &unit);
    if (at == bytes)
        return rt_ok();
    return rt_error(RT_DATA,
                    "%s: %s at offset %zu does not occur in the text that the model was "
                    "trained on",
                    name, rt_unit_name(vocabulary->level, unit, word), at);
}

rt_status rt_vocabulary_encode(const rt_vocabulary *vocabulary, const char *text, size_t bytes,
                               int32_t *ids, int *count, rt_unknown *unknown)
{
    const unsigned char *from = (const unsigned char *)text;
    char word[RT_UNIT_NAME_SIZE];
    int32_t unit = 0;
    size_t size;
    *count = 0;
    *unknown = (rt_unknown){0};
    for (size_t at = 0; at < bytes; at += size) {
        size = rt_unit_read(vocabulary->level, from + at, bytes - at, &unit);
        if (!size)
            return rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu is not UTF-8", from[at], at);
        const int32_t id = vocabulary->ids[unit];
        if (id == RT_NO_ID)
            return rt_error(RT_ARGUMENT, "%s at byte %zu does not occur in the training text",
                            rt_unit_name(vocabulary->level, unit, word), at);
        if (id == vocabulary->special.unknown && !unknown->count++) {
            unknown->unit = unit;
            unknown->at = at;
        }
        ids[(*count)++] = id;
    }
    return rt_ok();
}

size_t rt_vocabulary_decode(const rt_vocabulary *vocabulary, int32_t id, char unit[RT_UNIT_SIZE])
{
    unit[0] = '\0';
    if (!rt_vocabulary_is_unit(vocabulary, id))
        return 0;
    return rt_unit_write(vocabulary->level, vocabulary->units[id], unit);
}
