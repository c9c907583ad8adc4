#include "text/lines.h"

#include "core/memory.h"

#include <errno.h>
#include <string.h>

enum { FIRST_ROOM = 1 << 10 };

/* Room for one more byte and the zero. */
static bool make_room(rt_lines *l)
{
    if (l->size + 1 < l->room)
        return true;
    const size_t room = l->room ? 2 * l->room : FIRST_ROOM;
    char *bytes = rt_alloc_unset(room, 1);
    if (!bytes) {
        l->status = rt_out_of_memory("a line");
        return false;
    }
    if (l->size)
        memcpy(bytes, l->bytes, l->size);
    rt_free(l->bytes);
    l->bytes = bytes;
    l->room = room;
    return true;
}

static bool append(rt_lines *l, int c)
{
    if (l->size == RT_LINE_LIMIT) {
        l->status = rt_error(RT_ARGUMENT, "has more than %d bytes", RT_LINE_LIMIT);
        return false;
    }
    if (!make_room(l))
        return false;
    l->bytes[l->size++] = (char)c;
    return true;
}

/* What some programs write before a text, and the return before a newline. */
static void trim(rt_lines *l, bool ended)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t length = strlen(mark);
    if (ended && l->size && l->bytes[l->size - 1] == '\r')
        l->size--;
    if (l->number == 1 && l->size >= length && !memcmp(l->bytes, mark, length)) {
        l->size -= length;
        l->start += length;
        memmove(l->bytes, l->bytes + length, l->size);
    }
    l->bytes[l->size] = '\0';
}

bool rt_lines_next(rt_lines *l)
{
    int c;
    if (l->status.code)
        return false;
    l->size = 0;
    l->start = l->read;
    l->number++;
    while ((c = getc(l->from)) != EOF && c != '\n')
        if (!append(l, c))
            return false;
    l->read += l->size + (c != EOF);
    if (c == EOF && ferror(l->from))
        l->status = rt_error(RT_IO, "cannot be read: %s", strerror(errno));
    if (l->status.code || (c == EOF && !l->size) || !make_room(l))
        return false;
    trim(l, c == '\n');
    return true;
}

void rt_lines_free(rt_lines *l)
{
    rt_free(l->bytes);
    *l = (rt_lines){.from = l->from};
}
