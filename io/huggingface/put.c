/* JSON as it is written. */

#include "io/huggingface/put.h"

#include "data/tokenizers/simple_tokens.h"
#include "text/number.h"

#include <stdio.h>
#include <string.h>

/* What is no UTF-8 is written as U+FFFD. */
static const char replacement[] = "\xef\xbf\xbd";

size_t rt_next_character(const char *text, char character[RT_UTF8_SIZE], int32_t *unit)
{
    const size_t size =
        rt_utf8_read((const unsigned char *)text, strlen(text), unit);
    if (!size)
        *unit = 0xfffd;
    snprintf(character, RT_UTF8_SIZE, "%.*s", size ? (int)size : (int)sizeof replacement,
             size ? text : replacement);
    return size ? size : 1;
}

void rt_put_string(rt_writer *w, const char *text)
{
    char character[RT_UTF8_SIZE];
    int32_t unit;
    rt_writer_add(w, "\"");
    while (*text) {
        text += rt_next_character(text, character, &unit);
        if (unit == '"' || unit == '\\')
            rt_writer_add(w, "\\%s", character);
        else if (unit < ' ' || unit == 0x7f)
            rt_writer_add(w, "\\u%04x", (unsigned)unit);
        else
            rt_writer_add(w, "%s", character);
    }
    rt_writer_add(w, "\"");
}

void rt_put_number(rt_writer *w, const char *key, double value)
{
    char text[RT_NUMBER_SIZE];
    rt_writer_add(w, "  \"%s\": %s,\n", key, rt_number_write(text, value));
}

void rt_put_whole(rt_writer *w, const char *key, int value)
{
    rt_writer_add(w, "  \"%s\": %d,\n", key, value);
}

void rt_put_flag(rt_writer *w, const char *key, bool value)
{
    rt_writer_add(w, "  \"%s\": %s,\n", key, value ? "true" : "false");
}

void rt_put_word(rt_writer *w, const char *key, const char *text)
{
    rt_writer_add(w, "  \"%s\": \"%s\",\n", key, text);
}

void rt_put_null(rt_writer *w, const char *key)
{
    rt_writer_add(w, "  \"%s\": null,\n", key);
}
