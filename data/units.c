#include "data/units.h"

#include <stdbool.h>
#include <stdio.h>
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

size_t rt_unit_count(rt_level level, const unsigned char *text, size_t bytes)
{
    if (level == RT_LEVEL_BYTE)
        return bytes;
    size_t count = 0;
    for (size_t at = 0; at < bytes; at++)
        count += (text[at] & 0xc0) != 0x80; /* all but the bytes that continue a unit */
    return count;
}

rt_status rt_utf8_check(const char *path, const unsigned char *text, size_t bytes)
{
    int32_t unit;
    size_t size;
    for (size_t at = 0; at < bytes; at += size) {
        size = rt_unit_read(RT_LEVEL_CHAR, text + at, bytes - at, &unit);
        if (!size)
            return rt_error(RT_DATA,
                            "%.800s: data.level = char needs UTF-8; byte 0x%02x at offset %zu is "
                            "not",
                            path, text[at], at);
    }
    return rt_ok();
}
