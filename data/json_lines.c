#include "data/json_lines.h"

#include "data/gzip.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#define PLACE "%.700s:%d: "

/* Limit of the values of a line, most of which may be numbers of fields that nobody asks for. */
enum { VALUES = 1 << 20 };

bool rt_json_is_lines(const char *path)
{
    return rt_name_ends(path, ".jsonl");
}

bool rt_json_is_other_spelling(const char *path)
{
    static const char *const endings[] = {".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"};
    const size_t size = strlen(path);
    for (int i = 0; i < 4; i++) {
        const size_t more = strlen(endings[i]);
        if (size >= more && !strcasecmp(path + size - more, endings[i]))
            return !rt_json_is_lines(path);
    }
    return false;
}

bool rt_json_line_is_blank(const char *bytes, size_t size)
{
    while (size && strchr(" \t\r", bytes[size - 1]) && bytes[size - 1])
        size--;
    return !size;
}

rt_status rt_json_line_parse(rt_json_line *line, char *bytes, size_t size)
{
    return rt_json_parse(&line->object,
                         (rt_json_source){line->path, line->number, VALUES, true, bytes, size});
}

static const char *kind_of(const json_t *value)
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null"};
    return kinds[json_typeof(value)];
}

rt_status rt_json_line_field(const rt_json_line *line, const char *field, const json_t **value)
{
    *value = json_object_get(line->object, field);
    return *value
               ? rt_ok()
               : rt_error(RT_DATA, PLACE "has no field '%.60s'", line->path, line->number, field);
}

rt_status rt_json_line_text(const rt_json_line *line, const char *field, const json_t *value,
                            rt_text_span *text)
{
    *text = (rt_text_span){json_string_value(value), json_string_length(value)};
    return text->bytes ? rt_ok()
                       : rt_error(RT_DATA, PLACE "field '%.60s' must be a string; it is %s",
                                  line->path, line->number, field, kind_of(value));
}

rt_status rt_json_line_label(const rt_json_line *line, const char *field, const json_t *value,
                             rt_json_label_text label, size_t *size)
{
    rt_text_span text;
    *size = 0;
    if (json_is_string(value)) {
        RT_TRY(rt_json_line_text(line, field, value, &text));
        *size = text.size <= RT_LABEL_LIMIT ? text.size : RT_LABEL_LIMIT + 1;
        memcpy(label, text.bytes, *size);
        return rt_ok();
    }
    /* rt_json_parse has changed larger integers */
    const bool large = (json_is_integer(value) && json_integer_value(value) == INT64_MAX) ||
                       json_real_value(value) >= 0x1p63 || json_real_value(value) <= -0x1p63;
    if (large || !(json_is_number(value) || json_is_boolean(value)))
        return rt_error(RT_DATA,
                        PLACE "field '%.60s' must be a label: a string, a number%s, true or false; "
                              "it is %s",
                        line->path, line->number, field, large ? " below 2^63" : "",
                        large ? "larger: write it as a string" : kind_of(value));
    for (int digits = 15; digits <= 17; digits++) {
        *size = json_dumpb(value, label, sizeof(rt_json_label_text),
                           JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        json_auto_t *read = json_loadb(label, *size, JSON_DECODE_ANY, NULL);
        if (read && json_equal(read, value))
            break;
    }
    return rt_ok();
}
