#include "util/json.h"

#include "util/number.h"
#include "util/utf8.h"
#include "util/writer.h"

#include <ctype.h>
#include <string.h>

static const char most_in_63_bits[] = "9223372036854775807";
static const char most_in_64_bits[] = "18446744073709551615";

/* Returns whether `count` digits, without a leading 0, are above a number. */
static bool is_above(const char *digits, size_t count, const char *most)
{
    const size_t size = strlen(most);
    return count > size || (count == size && memcmp(digits, most, size) > 0);
}

/* Changes an integer as described in the header. Jansson refuses one with a leading 0. Returns the
 * byte after the number. */
static char *adjust_number(char *at, const char *end)
{
    enum { KEPT = 17 };
    const bool negative = *at == '-';
    char *const digits = at + negative;
    char *behind = digits;
    while (behind < end && isdigit((unsigned char)*behind))
        behind++;
    const size_t count = (size_t)(behind - digits), size = strlen(most_in_63_bits);
    if (behind < end && (*behind == '.' || *behind == 'e' || *behind == 'E')) {
        while (behind < end && (isdigit((unsigned char)*behind) || strchr("+-.eE", *behind)))
            behind++;
    } else if (negative && count == 1 && *digits == '0') {
        *digits = '1';
    } else if (*digits == '0' || !is_above(digits, count, most_in_63_bits)) {
        return behind;
    } else if (negative || is_above(digits, count, most_in_64_bits)) {
        const char *exponent = RT_PRINTED(RT_NUMBER_SIZE, "e%zu", count - KEPT);
        memset(digits + KEPT, ' ', count - KEPT);
        memcpy(digits + KEPT, exponent, strlen(exponent));
    } else {
        memset(digits, ' ', count);
        memcpy(behind - size, most_in_63_bits, size);
    }
    return behind;
}

/* Adjusts numbers and counts brackets and values. Sets *line to the line of the error or,
 * without one, of the end. */
static rt_status scan(const rt_json_source *text, const char *end, int *line)
{
    char *at = text->bytes;
    int depth = 0, values = 0;
    *line = text->line;
    while (at < end) {
        const char c = *at;
        if (c == '"') {
            for (at++; at < end && *at != '"'; at++) {
                at += *at == '\\' && at + 1 < end;
                *line += *at == '\n';
            }
            at += at < end;
            continue;
        }
        if (c == '-' || isdigit((unsigned char)c)) {
            at = adjust_number(at, end);
            continue;
        }
        const bool opens = c == '[' || c == '{';
        if (opens && ++depth > RT_JSON_DEPTH)
            return rt_error(RT_DATA, "%s:%d: nests brackets more than %d deep", text->name, *line,
                            RT_JSON_DEPTH);
        if ((opens || c == ',') && ++values > text->values)
            return rt_error(RT_DATA, "%s:%d: has more than %d values", text->name, *line,
                            text->values);
        depth -= c == ']' || c == '}';
        *line += c == '\n';
        at++;
    }
    return rt_ok();
}

const char *rt_json_word(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word ? word : "";
}

rt_status rt_json_parse(json_t **object_new, rt_json_source text)
{
    const size_t flags = JSON_REJECT_DUPLICATES | (text.zeros ? JSON_ALLOW_NUL : 0);
    json_error_t error;
    int line;
    *object_new = NULL;
    text.line += !text.line;
    /* Jansson skips some zero bytes; a C string ends there */
    const char *zero = memchr(text.bytes, '\0', text.size);
    RT_TRY(scan(&text, zero ? zero : text.bytes + text.size, &line));
    if (zero)
        return rt_error(RT_DATA, "%s:%d: byte 0x00 is not valid in JSON", text.name, line);
    json_auto_t *json = json_loadb(text.bytes, text.size, flags, &error);
    if (!json && json_error_code(&error) == json_error_out_of_memory)
        return rt_out_of_memory(text.name);
    if (!json)
        return rt_error(RT_DATA, "%s:%d: invalid JSON: %s", text.name,
                        text.line + (error.line > 0 ? error.line - 1 : 0),
                        RT_WORD_NAMED(error.text));
    if (!json_is_object(json))
        return rt_error(RT_DATA, "%s:%d: must be an object, in braces", text.name, text.line);
    *object_new = json_incref(json);
    return rt_ok();
}
