#include "text/cells.h"

#include <stdbool.h>

/* Whether a row ends here. */
static bool ends_row(const char *at, const char *end)
{
    return at == end || *at == '\n' || (*at == '\r' && at + 1 < end && at[1] == '\n');
}

static char *find_end(char *at, const char *end, rt_separator separator)
{
    while (!ends_row(at, end) && *at != (char)separator)
        at++;
    return at;
}

/* Keeps what stands between quotes; returns the byte after the last of them, NULL if there is
 * none. */
static char *unquote(char *from, char *end, rt_cell *cell)
{
    char *to = cell->bytes = from + 1;
    for (from++; from < end; *to++ = *from++) {
        cell->newlines += *from == '\n';
        if (*from != '"')
            continue;
        from++;
        if (from == end || *from != '"') {
            cell->size = (size_t)(to - cell->bytes);
            return from;
        }
    }
    return NULL;
}

char *rt_cell_take(char *from, char *end, rt_separator separator, rt_cell *cell)
{
    *cell = (rt_cell){.bytes = from};
    if (separator != RT_COMMA || from == end || *from != '"') {
        char *stop = find_end(from, end, separator);
        cell->size = (size_t)(stop - from);
        return stop;
    }
    char *stop = unquote(from, end, cell);
    return stop && (ends_row(stop, end) || *stop == (char)separator) ? stop : NULL;
}
