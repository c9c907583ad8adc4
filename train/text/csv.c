#include "train/text/csv.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/text/text_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int cut(char *line, char *cells[RT_CSV_COLUMNS])
{
    int count = 0;
    while (line && count < RT_CSV_COLUMNS) {
        char *comma = strchr(line, ',');
        if (comma)
            *comma = '\0';
        cells[count++] = line;
        line = comma ? comma + 1 : NULL;
    }
    return count;
}

static char *take_line(rt_csv *c)
{
    char *line = c->next, *end = line ? strchr(line, '\n') : NULL;
    if (!end)
        return NULL;
    *end = '\0';
    c->next = end + 1;
    return line;
}

bool rt_csv_open(rt_csv *c, const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    const rt_status fits = rt_path_join(path, folder, name);
    *c = (rt_csv){.text = fits.code ? NULL : rt_read_text(path)};
    c->next = c->text;
    char *header = take_line(c);
    c->columns = header ? cut(header, c->names) : 0;
    return c->columns > 0;
}

void rt_csv_close(rt_csv *c)
{
    rt_free(c->text);
    c->text = NULL;
}

bool rt_csv_row(rt_csv *c)
{
    char *line;
    while ((line = take_line(c)))
        if (cut(line, c->cells) == c->columns)
            return true;
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

double rt_csv_number(const rt_csv *c, const char *name)
{
    const char *cell = rt_csv_cell(c, name);
    char *end;
    const double x = strtod(cell, &end);
    return end == cell ? (double)NAN : x;
}
