#include "train/report/sweep_runs.h"

#include "core/memory.h"
#include "train/folder/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

/* The cells in one block, the texts behind the pointers. */
static char **copy_cells(char *const *cells, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += strlen(cells[i]) + 1;
    char **copy = rt_alloc_unset((size_t)count * sizeof *copy + size, 1);
    char *to = copy ? (char *)(copy + count) : NULL;
    for (int i = 0; copy && i < count; i++) {
        const size_t length = strlen(cells[i]) + 1;
        copy[i] = memcpy(to, cells[i], length);
        to += length;
    }
    return copy;
}

static bool make_room(rt_sweep_runs *s)
{
    if (s->count < s->capacity)
        return true;
    const int capacity = s->capacity ? 2 * s->capacity : 64;
    rt_sweep_run *list = rt_alloc((size_t)capacity, sizeof *list);
    rt_sweep_row *rows = rt_alloc((size_t)capacity, sizeof *rows);
    double *values = rt_alloc((size_t)capacity, sizeof *values);
    const bool ready = list && rows && values;
    if (ready) {
        if (s->count) {
            memcpy(list, s->list, (size_t)s->count * sizeof *list);
            memcpy(rows, s->rows, (size_t)s->row_count * sizeof *rows);
        }
        rt_free(s->list);
        rt_free(s->rows);
        rt_free(s->values);
        s->list = list;
        s->rows = rows;
        s->values = values;
        s->capacity = capacity;
    } else {
        rt_free(list);
        rt_free(rows);
        rt_free(values);
    }
    return ready;
}

bool rt_sweep_sets_apart(const rt_sweep_runs *s, int column)
{
    return column > 0 && column < s->exit_column && strcmp(s->names[column], "run.seed") != 0;
}

bool rt_sweep_differs(const rt_sweep_runs *s, int column)
{
    bool differs = false;
    for (int i = 1; i < s->count && !differs; i++)
        differs = strcmp(s->list[i].cells[column], s->list[0].cells[column]) != 0;
    return differs && rt_sweep_sets_apart(s, column);
}

static bool same_row(const rt_sweep_runs *s, char *const *a, char *const *b)
{
    for (int i = 1; i < s->exit_column; i++)
        if (rt_sweep_sets_apart(s, i) && strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

static bool add_run(rt_sweep_runs *s, const rt_csv *csv)
{
    char **cells = make_room(s) ? copy_cells(csv->cells, s->columns) : NULL;
    int row = 0;
    if (!cells)
        return false;
    while (row < s->row_count && !same_row(s, s->list[s->rows[row].first].cells, cells))
        row++;
    if (row == s->row_count)
        s->rows[s->row_count++].first = s->count;
    else
        s->list[s->rows[row].last].next = s->count;
    s->rows[row].last = s->count;
    s->list[s->count++] = (rt_sweep_run){cells, -1};
    return true;
}

/* Whether the name is that of a folder in the sweep's own. */
static bool is_folder_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

rt_status rt_sweep_runs_read(rt_sweep_runs *s, const char *folder)
{
    rt_csv csv;
    rt_status status = rt_ok();
    *s = (rt_sweep_runs){0};
    if (rt_csv_open(&csv, folder, "runs.csv")) {
        s->columns = csv.columns;
        s->exit_column = rt_csv_column(&csv, RT_RESULT_EXIT_CODE);
        s->names = copy_cells(csv.names, csv.columns);
        if (!s->names)
            status = rt_out_of_memory("the runs of a sweep");
        else if (strcmp(csv.names[0], "run") != 0 || s->exit_column == s->columns)
            status = rt_error(RT_IO, "%s/runs.csv: not the table of the runs of a sweep", folder);
        while (!status.code && rt_csv_row(&csv))
            if (is_folder_name(csv.cells[0]) && !add_run(s, &csv))
                status = rt_out_of_memory("the runs of a sweep");
    }
    if (!status.code)
        status = csv.status;
    rt_csv_close(&csv);
    return status;
}

void rt_sweep_runs_free(rt_sweep_runs *s)
{
    for (int i = 0; i < s->count; i++)
        rt_free(s->list[i].cells);
    rt_free(s->list);
    rt_free(s->rows);
    rt_free(s->values);
    rt_free(s->names);
    *s = (rt_sweep_runs){0};
}

/* ---- sums ---- */

int rt_sweep_column(const rt_sweep_runs *s, const char *name)
{
    for (int i = s->exit_column + 1; i < s->columns; i++)
        if (!strcmp(s->names[i], name))
            return i;
    return -1;
}

rt_summary rt_sweep_summary(const rt_sweep_runs *s, int row, int column)
{
    int count = 0;
    for (int i = s->rows[row].first; i >= 0 && column >= 0; i = s->list[i].next)
        s->values[count++] = rt_csv_value(s->list[i].cells[column]);
    return rt_summarise(s->values, count);
}

static void count_run(rt_endings *count, const rt_sweep_runs *s, const rt_sweep_run *run)
{
    const double code = rt_csv_value(run->cells[s->exit_column]);
    count->runs++;
    count->finished += code == RT_EXIT_DONE || code == RT_EXIT_CHECK;
}

rt_endings rt_sweep_endings(const rt_sweep_runs *s, int row)
{
    rt_endings count = {0, 0};
    for (int i = s->rows[row].first; i >= 0; i = s->list[i].next)
        count_run(&count, s, &s->list[i]);
    return count;
}

/* ---- the verdict ---- */

rt_sweep_verdict rt_sweep_judge(const rt_sweep_runs *s)
{
    const int near = rt_sweep_column(s, RT_RESULT_NEAR);
    const int drift = rt_sweep_column(s, RT_RESULT_DRIFT);
    const int needed = rt_sweep_column(s, RT_RESULT_NEEDED);
    rt_sweep_verdict v = {.drift = -1};
    for (int i = 0; i < s->count; i++) {
        char *const *cells = s->list[i].cells;
        const double is_near = near < 0 ? (double)NAN : rt_csv_value(cells[near]);
        const double is_needed = needed < 0 ? (double)NAN : rt_csv_value(cells[needed]);
        const double far = drift < 0 ? (double)NAN : rt_csv_value(cells[drift]);
        count_run(&v.endings, s, &s->list[i]);
        if (isnan(is_near))
            continue;
        v.learned++;
        v.near += is_near == 1;
        v.reset += !isnan(is_needed);
        v.dependent += is_needed == 1;
        if (far > v.drift) {
            v.drift = far;
            v.farthest = cells[0];
        }
    }
    return v;
}

void rt_sweep_report_theta(rt_writer *w, const rt_sweep_verdict *v)
{
    if (!v->learned)
        return;
    rt_writer_add(w, "theta: near in %d of the %d runs that learn it", v->near, v->learned);
    if (v->farthest)
        rt_writer_add(w, ", max relative drift %.3g (%s)", v->drift, v->farthest);
    rt_writer_add(w, "\n");
    if (v->reset)
        rt_writer_add(w, "theta: reset to init: %d of the %d models %s on it\n", v->dependent,
                      v->reset, v->dependent == 1 ? "depends" : "depend");
}
