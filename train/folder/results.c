#include "train/folder/results.h"

#include "core/memory.h"
#include "util/csv.h"
#include "util/durable_file.h"
#include "util/process.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

rt_exit rt_exit_of(rt_code code)
{
    return code == RT_OK           ? RT_EXIT_DONE
           : code == RT_CONFIG     ? RT_EXIT_CONFIG
           : code == RT_DATA       ? RT_EXIT_DATA
           : code == RT_CHECKPOINT ? RT_EXIT_CHECKPOINT
           : code == RT_NONFINITE  ? RT_EXIT_NONFINITE
           : code == RT_CHECK      ? RT_EXIT_CHECK
                                   : RT_EXIT_FAILURE;
}

rt_exit rt_exit_print(rt_status status)
{
    if (status.code)
        fprintf(stderr, "%s: %s\n", rt_program_name(), status.message);
    return rt_exit_of(status.code);
}

static const char last_row[] = "end"; /* missing in a truncated file */

void rt_results_free(rt_results *r)
{
    rt_free(r->list);
    *r = (rt_results){0};
}

/* Returns whether a name is valid; other characters would need quoting where names appear. */
static bool is_name(const char *name)
{
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) || (name[length] && strchr("_.", name[length])))
        length++;
    return length && !name[length] && length < RT_RESULT_NAME_SIZE;
}

void rt_results_put(rt_results *r, double value, const char *name)
{
    rt_result result = {.value = value};
    snprintf(result.name, sizeof result.name, "%s", name);
    if (is_name(name) && rt_grow(&r->list, &r->capacity, (size_t)r->count + 1, sizeof *r->list))
        r->list[r->count++] = result;
    else
        r->failed = true;
}

double rt_results_get(const rt_results *r, const char *name)
{
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->list[i].name, name))
            return r->list[i].value;
    return (double)NAN;
}

bool rt_results_whole(const rt_results *r, const char *name, int *value)
{
    const double x = rt_results_get(r, name);
    if (!(fabs(x) <= INT_MAX) || x != floor(x))
        return false;
    *value = (int)x;
    return true;
}

bool rt_results_model_step(const rt_results *r, int *step)
{
    return rt_results_whole(r, RT_RESULT_MODEL_STEP, step) ||
           rt_results_whole(r, RT_RESULT_STEPS, step);
}

rt_status rt_results_write(const rt_results *r, const char *folder)
{
    rt_writer w = {.failed = r->failed};
    rt_writer_add(&w, "name,value\n");
    for (int i = 0; i < r->count; i++)
        if (isnan(r->list[i].value))
            rt_writer_add(&w, "%s,\n", r->list[i].name);
        else
            rt_writer_add(&w, "%s,%.9g\n", r->list[i].name, r->list[i].value);
    rt_writer_add(&w, "%s,0\n", last_row);
    return rt_durable_write_and_free(folder, "result.csv", rt_writer_take(&w));
}

bool rt_results_read(rt_results *r, const char *folder)
{
    RT_CLOSED_BY(rt_csv_close) rt_csv csv = {0};
    bool whole = false;
    *r = (rt_results){0};
    if (rt_csv_open(&csv, folder, "result.csv"))
        while (!whole && rt_csv_row(&csv)) {
            const char *name = rt_csv_cell(&csv, "name");
            whole = !strcmp(name, last_row);
            if (!whole && is_name(name))
                rt_results_put(r, rt_csv_number(&csv, "value"), name);
        }
    if (whole && !r->failed)
        return true;
    rt_results_free(r);
    return false;
}
