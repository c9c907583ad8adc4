#include "data/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

int32_t rt_unit_limit(rt_level level)
{
    return level == RT_LEVEL_CHAR ? 0x110000 : 0x100;
}

size_t rt_unit_read(rt_level level, const unsigned char *text, size_t bytes, int32_t *unit)
{
    if (level == RT_LEVEL_CHAR) {
        utf8proc_ssize_t size = utf8proc_iterate(text, (utf8proc_ssize_t)bytes, unit);
        return size > 0 ? (size_t)size : 0;
    }
    *unit = text[0];
    return 1;
}

size_t rt_unit_write(rt_level level, int32_t unit, char to[RT_UNIT_SIZE])
{
    unsigned char *bytes = (unsigned char *)to;
    size_t size = 1;
    if (level == RT_LEVEL_CHAR)
        size = (size_t)utf8proc_encode_char(unit, bytes);
    else
        bytes[0] = (unsigned char)unit;
    bytes[size] = '\0';
    return size;
}

bool rt_unit_is_visible(rt_level level, int32_t unit)
{
    if (level == RT_LEVEL_BYTE)
        return unit >= ' ' && unit <= '~';
    utf8proc_category_t category = utf8proc_category(unit);
    bool combines = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
    return unit == ' ' ||
           (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_SO && !combines);
}

const char *rt_unit_name(rt_level level, int32_t unit, char name[RT_UNIT_NAME_SIZE])
{
    char bytes[RT_UNIT_SIZE], code[16];
    rt_unit_write(level, unit, bytes);
    snprintf(code, sizeof code, level == RT_LEVEL_CHAR ? "U+%04X" : "byte 0x%02x", (unsigned)unit);
    if (!rt_unit_is_visible(level, unit))
        snprintf(name, RT_UNIT_NAME_SIZE, "%s", code);
    else if (unit > '~')
        snprintf(name, RT_UNIT_NAME_SIZE, "'%s' (%s)", bytes, code);
    else
        snprintf(name, RT_UNIT_NAME_SIZE, "'%s'", bytes);
    return name;
}

const char *rt_word_name(const char *word, size_t size, char name[RT_WORD_NAME_SIZE])
{
    static const char more[] = "...'";
    const unsigned char *bytes = (const unsigned char *)word;
    char *at = name;
    int32_t c = 0;
    const size_t first = size ? rt_unit_read(RT_LEVEL_CHAR, bytes, size, &c) : 0;
    if (first && first == size)
        return rt_unit_name(RT_LEVEL_CHAR, c, name);
    *at++ = '\'';
    for (size_t i = 0, step;
         i < size && (step = rt_unit_read(RT_LEVEL_CHAR, bytes + i, size - i, &c)); i += step) {
        char shown[16];
        if (rt_unit_is_visible(RT_LEVEL_CHAR, c))
            rt_unit_write(RT_LEVEL_CHAR, c, shown);
        else
            snprintf(shown, sizeof shown, "<U+%04X>", (unsigned)c);
        const size_t length = strlen(shown);
        if ((size_t)(at - name) + length + sizeof more > RT_WORD_NAME_SIZE) {
            memcpy(at, more, sizeof more);
            return name;
        }
        memcpy(at, shown, length);
        at += length;
    }
    memcpy(at, "'", 2);
    return name;
}

size_t rt_unit_count(rt_level level, const unsigned char *text, size_t bytes)
{
    if (level == RT_LEVEL_BYTE)
        return bytes;
    size_t count = 0;
    for (size_t at = 0; at < bytes; at++)
        count += (text[at] & 0xc0) != 0x80; /* all but the bytes that continue a unit */
    return count;
}

rt_unit_words rt_words_for_units(rt_level level)
{
    static const rt_unit_words words[] = {
        [RT_LEVEL_BYTE] = {"byte", "bytes", "bytes"},
        [RT_LEVEL_CHAR] = {"character", "characters", "characters"},
        [RT_LEVEL_WORDPIECE] = {"word piece", "word pieces", "words"},
        [RT_LEVEL_BPE] = {"piece", "pieces", "bytes"},
    };
    return words[level];
}

rt_status rt_utf8_check(const char *key, const char *path, const unsigned char *text, size_t bytes)
{
    int32_t unit;
    size_t size;
    for (size_t at = 0; at < bytes; at += size) {
        size = rt_unit_read(RT_LEVEL_CHAR, text + at, bytes - at, &unit);
        if (!size)
            return rt_error(RT_DATA, "%.800s: %s needs UTF-8; byte 0x%02x at offset %zu is not",
                            path, key, text[at], at);
    }
    return rt_ok();
}

rt_status rt_units_check(rt_level level, const char *path, const unsigned char *text, size_t bytes)
{
    static const char *const keys[] = {[RT_LEVEL_CHAR] = "data.level = char",
                                       [RT_LEVEL_WORDPIECE] = "data.level = wordpiece",
                                       [RT_LEVEL_BPE] = "data.level = bpe"};
    return level == RT_LEVEL_BYTE ? rt_ok() : rt_utf8_check(keys[level], path, text, bytes);
}
