#include "train/folder/results.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/text/text_file.h"
#include "train/text/writer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char header[] = "name,value\n";
static const char last_line[] = "end,0\n"; /* a file without it was cut off */

void rt_results_put(rt_results *r, double value, const char *name_format, ...)
{
    va_list arguments;
    if (r->count == RT_MOST_RESULTS)
        return;
    va_start(arguments, name_format);
    vsnprintf(r->list[r->count].name, RT_RESULT_NAME_SIZE, name_format, arguments);
    va_end(arguments);
    r->list[r->count++].value = value;
}

double rt_results_get(const rt_results *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->list[i].name, name))
            return r->list[i].value;
    return NAN;
}

rt_status rt_results_write(const rt_results *r, const char *folder)
{
    rt_writer w = {0};
    rt_writer_add(&w, "%s", header);
    for (int i = 0; i < r->count; i++)
        rt_writer_add(&w, "%s,%.9g\n", r->list[i].name, r->list[i].value);
    rt_writer_add(&w, "%s", last_line);
    char *text = rt_writer_take(&w);
    rt_status status =
        text ? rt_write_text(folder, "result.csv", text) : rt_out_of_memory("the results");
    rt_free(text);
    return status;
}

bool rt_results_read(rt_results *r, const char *folder)
{
    char path[RT_PATH_SIZE], line[128];
    bool whole = false;
    *r = (rt_results){0};
    if (rt_path_join(path, folder, "result.csv").code)
        return false;
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    if (fgets(line, sizeof line, file) && !strcmp(line, header))
        while (!whole && fgets(line, sizeof line, file)) {
            char *comma = strchr(line, ',');
            whole = !strcmp(line, last_line);
            if (whole || !comma)
                continue;
            *comma = '\0';
            rt_results_put(r, strtod(comma + 1, NULL), "%s", line);
        }
    fclose(file);
    return whole;
}
