#include "data/alphabet.h"

#include "core/memory.h"
#include "data/units.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

/* Marks the units that occur, with any id; returns how many there are. */
static int mark(rt_alphabet *alphabet, const unsigned char *text, size_t bytes)
{
    int32_t unit = 0;
    size_t size;
    int count = 0;
    for (size_t at = 0; at < bytes; at += size) {
        size = rt_unit_read(alphabet->level, text + at, bytes - at, &unit);
        assert(size);
        count += alphabet->ids[unit] == RT_ID_PAD;
        alphabet->ids[unit] = RT_FIRST_SYMBOL;
    }
    return count;
}

static void number(rt_alphabet *alphabet)
{
    char bytes[RT_UNIT_SIZE];
    int rank = 0;
    for (int32_t unit = 0; unit < rt_unit_limit(alphabet->level); unit++) {
        if (alphabet->ids[unit] == RT_ID_PAD)
            continue;
        size_t size = rt_unit_write(alphabet->level, unit, bytes);
        memcpy(alphabet->bytes + alphabet->size, bytes, size);
        alphabet->size += size;
        alphabet->units[rank] = unit;
        alphabet->ids[unit] = RT_FIRST_SYMBOL + rank++;
    }
}

rt_status rt_alphabet_new(rt_alphabet **alphabet_new, rt_level level, const unsigned char *text,
                          size_t bytes)
{
    *alphabet_new = NULL;
    rt_alphabet *alphabet = rt_alloc(1, sizeof *alphabet);
    if (!alphabet)
        return rt_out_of_memory("an alphabet");
    alphabet->level = level;
    alphabet->ids = rt_alloc((size_t)rt_unit_limit(level), sizeof *alphabet->ids);
    if (alphabet->ids) {
        alphabet->count = mark(alphabet, text, bytes);
        alphabet->units = rt_alloc((size_t)alphabet->count, sizeof *alphabet->units);
        alphabet->bytes = rt_alloc((size_t)alphabet->count, RT_UNIT_SIZE);
    }
    if (!alphabet->units || !alphabet->bytes) {
        rt_alphabet_free(alphabet);
        return rt_out_of_memory("an alphabet");
    }
    number(alphabet);
    *alphabet_new = alphabet;
    return rt_ok();
}

void rt_alphabet_free(rt_alphabet *alphabet)
{
    if (!alphabet)
        return;
    rt_free(alphabet->units);
    rt_free(alphabet->ids);
    rt_free(alphabet->bytes);
    rt_free(alphabet);
}

/* Whether a terminal shows it as itself. */
static bool is_visible(rt_level level, int32_t unit)
{
    if (level == RT_LEVEL_BYTE)
        return unit >= ' ' && unit <= '~';
    utf8proc_category_t category = utf8proc_category(unit);
    bool combines = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
    return unit == ' ' ||
           (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_SO && !combines);
}

static rt_status unknown_unit(rt_level level, int32_t unit, size_t at)
{
    char bytes[RT_UNIT_SIZE], code[16] = "", name[40];
    rt_unit_write(level, unit, bytes);
    if (level == RT_LEVEL_CHAR)
        snprintf(code, sizeof code, "U+%04X", (unsigned)unit);
    else
        snprintf(code, sizeof code, "byte 0x%02x", (unsigned)unit);
    if (!is_visible(level, unit))
        snprintf(name, sizeof name, "%s", code);
    else if (unit > '~')
        snprintf(name, sizeof name, "'%s' (%s)", bytes, code);
    else
        snprintf(name, sizeof name, "'%s'", bytes);
    return rt_error(RT_ARGUMENT, "%s at byte %zu does not occur in the training text", name, at);
}

rt_status rt_alphabet_encode(const rt_alphabet *alphabet, const char *text, size_t bytes,
                             int32_t *ids, int *count)
{
    const unsigned char *from = (const unsigned char *)text;
    int32_t unit = 0;
    size_t size;
    *count = 0;
    for (size_t at = 0; at < bytes; at += size) {
        size = rt_unit_read(alphabet->level, from + at, bytes - at, &unit);
        if (!size)
            return rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu is not UTF-8", from[at], at);
        if (alphabet->ids[unit] == RT_ID_PAD)
            return unknown_unit(alphabet->level, unit, at);
        ids[(*count)++] = alphabet->ids[unit];
    }
    return rt_ok();
}

size_t rt_alphabet_decode(const rt_alphabet *alphabet, int32_t id, char unit[RT_UNIT_SIZE])
{
    unit[0] = '\0';
    if (id < RT_FIRST_SYMBOL || id - RT_FIRST_SYMBOL >= alphabet->count)
        return 0;
    return rt_unit_write(alphabet->level, alphabet->units[id - RT_FIRST_SYMBOL], unit);
}
