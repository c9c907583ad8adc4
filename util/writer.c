#include "util/writer.h"

#include "core/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void rt_writer_add(rt_writer *w, const char *format, ...)
{
    va_list arguments;
    if (w->failed)
        return;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    w->failed = length < 0 || !rt_grow(&w->bytes, &w->capacity, w->length + (size_t)length + 1, 1);
    if (w->failed)
        return;
    va_start(arguments, format);
    vsnprintf(w->bytes + w->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    w->length += (size_t)length;
}

char *rt_writer_take(rt_writer *w)
{
    rt_writer_add(w, "%s", "");
    char *bytes = w->bytes;
    if (w->failed) {
        rt_free(bytes);
        bytes = NULL;
    }
    *w = (rt_writer){0};
    return bytes;
}

rt_status rt_writer_print(rt_writer *w, FILE *to)
{
    char *text = rt_writer_take(w);
    RT_TRY(rt_allocated(text, "the results"));
    fputs(text, to);
    rt_free(text);
    return rt_ok();
}

void rt_writer_free(rt_writer *w)
{
    rt_free(w->bytes);
    *w = (rt_writer){0};
}

const char *rt_printed(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return text;
}

enum { LONGEST = RT_QUOTE_SIZE - 6 }; /* two quotes, "..." and the zero */

const char *rt_quote(char quoted[RT_QUOTE_SIZE], const char *text)
{
    int length = 0;
    quoted[0] = '\'';
    while (text[length] && length < LONGEST) {
        const unsigned char c = (unsigned char)text[length], next = (unsigned char)text[length + 1];
        const bool c1 = c == 0xc2 && next >= 0x80 && next < 0xa0; /* U+0080 to U+009F */
        quoted[++length] = (char)(c < ' ' || c == 0x7f || c1 ? '?' : c);
        if (c1 && length < LONGEST)
            quoted[++length] = '?';
    }
    const char *more = text[length] ? "..." : "";
    while (*more && length && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--; /* to the start of a character */
    snprintf(quoted + 1 + length, (size_t)(RT_QUOTE_SIZE - 1 - length), "%s'", more);
    return quoted;
}

bool rt_capture_begin(rt_capture *c)
{
    *c = (rt_capture){0};
    c->file = open_memstream(&c->bytes, &c->size);
    return c->file != NULL;
}

bool rt_capture_end(rt_capture *c)
{
    const bool failed = fclose(c->file) != 0;
    c->file = NULL;
    return !failed;
}

void rt_capture_free(rt_capture *c)
{
    if (c->file)
        fclose(c->file);
    free(c->bytes); /* allocated by the C library */
    *c = (rt_capture){0};
}
