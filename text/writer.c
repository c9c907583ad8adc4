#include "text/writer.h"

#include "core/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool make_room(rt_writer *w, size_t more)
{
    size_t needed = w->length + more + 1;
    if (needed <= w->capacity)
        return true;
    size_t capacity = needed < 128 ? 256 : 2 * needed;
    char *bytes = rt_alloc(capacity, 1);
    if (!bytes)
        return false;
    if (w->length)
        memcpy(bytes, w->bytes, w->length);
    rt_free(w->bytes);
    w->bytes = bytes;
    w->capacity = capacity;
    return true;
}

void rt_writer_add(rt_writer *w, const char *format, ...)
{
    va_list arguments;
    if (w->failed)
        return;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !make_room(w, (size_t)length)) {
        w->failed = true;
        return;
    }
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

void rt_writer_free(rt_writer *w)
{
    rt_free(w->bytes);
    *w = (rt_writer){0};
}
