#include "util/csv.h"

#include "core/memory.h"
#include "util/number.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool rt_csv_ends_row(const char *at, const char *end)
{
    return at == end || *at == '\n' || (*at == '\r' && at + 1 < end && at[1] == '\n');
}

char *rt_cell_parse(char *from, char *end, rt_separator separator, rt_cell *cell)
{
    char *stop = from;
    *cell = (rt_cell){.bytes = from};
    if (separator != RT_COMMA || from == end || *from != '"') {
        while (!rt_csv_ends_row(stop, end) && *stop != (char)separator)
            stop++;
        cell->size = (size_t)(stop - from);
        return stop;
    }
    char *to = cell->bytes = from + 1;
    for (stop++; stop < end; *to++ = *stop++) {
        cell->newlines += *stop == '\n';
        if (*stop != '"')
            continue;
        stop++;
        if (stop == end || *stop != '"') { /* the closing quote, not a doubled one */
            cell->size = (size_t)(to - cell->bytes);
            return rt_csv_ends_row(stop, end) || *stop == (char)separator ? stop : NULL;
        }
    }
    return NULL;
}

/* The maximum size of a line bounds the memory that an untrusted file can request. */
enum { LONGEST_LINE = 1 << 24 };

static bool fail(rt_csv *c, rt_status status)
{
    if (!c->status.code)
        c->status = status;
    return false;
}

/* Reads the next line that is complete. */
static bool next_line(rt_csv *c)
{
    const bool next = rt_lines_next(&c->lines);
    const rt_status *status = &c->lines.status;
    if (status->code)
        return fail(c, status->code == RT_MEMORY ? *status
                                                 : rt_error(RT_IO, "%s: line %ld %s", c->path,
                                                            c->lines.number, status->message));
    return next && (c->lines.ended || c->whole);
}

/* Cuts a line into cells. Returns their number; 0 if there are more than `most` or the line is not
 * a row. */
static int cut(char *line, size_t length, char **cells, int most)
{
    char *const end = line + length;
    int count = 0;
    if (strlen(line) != length)
        return 0;
    for (char *next = line; next; count++) {
        rt_cell cell;
        char *stop = count < most ? rt_cell_parse(next, end, RT_COMMA, &cell) : NULL;
        if (!stop)
            return 0;
        next = stop < end ? stop + 1 : NULL;
        cell.bytes[cell.size] = '\0';
        cells[count] = cell.bytes;
    }
    return count;
}

bool rt_csv_open(rt_csv *c, const char *folder, const char *name)
{
    int most = 1; /* columns */
    *c = (rt_csv){.lines.most = LONGEST_LINE};
    const rt_status fits = rt_path_join(c->path, folder, name);
    if (fits.code)
        return fail(c, fits);
    c->lines.from = rt_open_regular(c->path); /* other files, such as pipes, might block */
    if (!c->lines.from && (errno == ENOENT || errno == ENOTDIR))
        return false;
    if (!c->lines.from)
        return fail(c, rt_error(RT_IO, "%s: %s", c->path,
                                errno == EINVAL ? "not a regular file" : strerror(errno)));
    if (!next_line(c))
        return false;
    for (const char *at = c->lines.bytes; (at = strchr(at, ',')); at++)
        most++;
    c->names = rt_alloc((size_t)most, sizeof *c->names);
    c->cells = rt_alloc((size_t)most, sizeof *c->cells);
    if (!c->names || !c->cells)
        return fail(c, rt_out_of_memory("a table"));
    c->columns = cut(c->lines.bytes, c->lines.size, c->names, most);
    c->header = c->lines.bytes;
    c->lines.bytes = NULL;
    return c->columns > 0;
}

void rt_csv_close(rt_csv *c)
{
    if (c->lines.from)
        fclose(c->lines.from);
    rt_lines_free(&c->lines);
    rt_free(c->header);
    rt_free(c->names);
    rt_free(c->cells);
    *c = (rt_csv){.status = c->status, .skipped = c->skipped};
}

bool rt_csv_row(rt_csv *c)
{
    for (; c->columns && next_line(c); c->skipped += c->lines.size > 0)
        if (cut(c->lines.bytes, c->lines.size, c->cells, c->columns) == c->columns)
            return true;
    rt_csv_close(c);
    return false;
}

int rt_csv_column(const rt_csv *c, const char *name)
{
    int i = 0;
    while (i < c->columns && strcmp(c->names[i], name) != 0)
        i++;
    return i;
}

const char *rt_csv_cell(const rt_csv *c, const char *name)
{
    const int i = rt_csv_column(c, name);
    return i < c->columns ? c->cells[i] : "";
}

double rt_csv_value(const char *cell)
{
    double x;
    if (rt_number_parse(cell, &x))
        return x;
    if (!strcmp(cell, "inf"))
        return (double)INFINITY;
    return strcmp(cell, "-inf") ? (double)NAN : -(double)INFINITY;
}

double rt_csv_number(const rt_csv *c, const char *name)
{
    return rt_csv_value(rt_csv_cell(c, name));
}

bool rt_csv_whole(const rt_csv *c, const char *name, int *value)
{
    int64_t x;
    if (!rt_integer_parse(rt_csv_cell(c, name), &x) || x < 0 || x > INT_MAX)
        return false;
    *value = (int)x;
    return true;
}

void rt_csv_put(rt_writer *w, const char *cell)
{
    if (!cell[strcspn(cell, ",\"\r\n")]) {
        rt_writer_add(w, "%s", cell);
        return;
    }
    rt_writer_add(w, "\"");
    for (; *cell; cell++)
        rt_writer_add(w, "%s%c", *cell == '"' ? "\"" : "",
                      *cell == '\n' || *cell == '\r' ? ' ' : *cell);
    rt_writer_add(w, "\"");
}

void rt_csv_add_number(rt_writer *row, double x)
{
    rt_writer_add(row, ",");
    if (!isnan(x))
        rt_writer_add(row, "%.9g", x);
}
