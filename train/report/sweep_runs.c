#include "train/report/sweep_runs.h"

#include "core/memory.h"
#include "core/path.h"
#include "text/number.h"
#include "train/folder/results.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

rt_summary rt_summarise(const double *values, int count)
{
    rt_summary s = {0, (double)NAN, (double)NAN};
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++)
        if (!isnan(values[i])) {
            sum += values[i];
            s.count++;
        }
    if (!s.count)
        return s;
    s.mean = sum / s.count;
    for (int i = 0; i < count; i++)
        if (!isnan(values[i]))
            squares += (values[i] - s.mean) * (values[i] - s.mean);
    if (s.count > 1)
        s.deviation = sqrt(squares / (s.count - 1));
    return s;
}

const char *rt_summary_text(char text[RT_SUMMARY_SIZE], const rt_summary *s, int decimals, int runs)
{
    char mean[RT_NUMBER_SIZE], deviation[RT_NUMBER_SIZE], missing[40] = "";
    rt_number_show(mean, decimals, s->mean);
    rt_number_show(deviation, decimals, s->deviation);
    if (s->count < runs)
        snprintf(missing, sizeof missing, " (%d of %d)", s->count, runs);
    if (!s->count)
        snprintf(text, RT_SUMMARY_SIZE, "-");
    else if (s->count == 1)
        snprintf(text, RT_SUMMARY_SIZE, "%s%s", mean, missing);
    else
        snprintf(text, RT_SUMMARY_SIZE, "%s ± %s%s", mean, deviation, missing);
    return text;
}

/* ---- reading ---- */

/* Copies the cells into one block, the texts behind the pointers. */
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

/* Makes room for one more run in the three lists, which lie in one block. */
static bool reserve_run(rt_sweep_runs *s)
{
    if (s->count < s->capacity)
        return true;
    const size_t capacity = s->capacity ? 2 * (size_t)s->capacity : 64;
    rt_sweep_run *list = rt_alloc(capacity, sizeof *list + sizeof *s->values + sizeof *s->rows);
    if (!list)
        return false;
    double *values = (double *)(list + capacity);
    rt_sweep_row *rows = (rt_sweep_row *)(values + capacity);
    if (s->count) {
        memcpy(list, s->list, (size_t)s->count * sizeof *list);
        memcpy(rows, s->rows, (size_t)s->row_count * sizeof *rows);
    }
    rt_free(s->list);
    s->list = list;
    s->values = values;
    s->rows = rows;
    s->capacity = (int)capacity;
    return true;
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
    char **cells = reserve_run(s) ? copy_cells(csv->cells, s->columns) : NULL;
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

/* Returns whether a folder of that name would lie in the folder of the sweep. */
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

bool rt_sweep_load_run(const rt_sweep_runs *s, const char *folder, int run, rt_config *config)
{
    char member[RT_PATH_SIZE];
    return !rt_path_join(member, folder, s->list[run].cells[0]).code &&
           !rt_config_load_folder(config, member).code;
}

void rt_sweep_runs_free(rt_sweep_runs *s)
{
    for (int i = 0; i < s->count; i++)
        rt_free(s->list[i].cells);
    rt_free(s->list);
    rt_free(s->names);
    *s = (rt_sweep_runs){0};
}

/* ---- sums ---- */

static int find_column(const rt_sweep_runs *s, const char *name, int first, int end)
{
    for (int i = first; i < end; i++)
        if (!strcmp(s->names[i], name))
            return i;
    return -1;
}

int rt_sweep_column(const rt_sweep_runs *s, const char *name)
{
    return find_column(s, name, s->exit_column + 1, s->columns);
}

int rt_sweep_setting(const rt_sweep_runs *s, const char *name)
{
    return find_column(s, name, 1, s->exit_column);
}

double rt_sweep_number(const rt_sweep_runs *s, int run, int column)
{
    return column < 0 ? (double)NAN : rt_csv_value(s->list[run].cells[column]);
}

rt_summary rt_sweep_summary(const rt_sweep_runs *s, int row, int column)
{
    int count = 0;
    for (int i = s->rows[row].first; i >= 0 && column >= 0; i = s->list[i].next)
        s->values[count++] = rt_sweep_number(s, i, column);
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
        const double is_near = rt_sweep_number(s, i, near);
        const double is_needed = rt_sweep_number(s, i, needed);
        const double far = rt_sweep_number(s, i, drift);
        count_run(&v.endings, s, &s->list[i]);
        if (isnan(is_near))
            continue;
        v.learned++;
        v.near += is_near == 1;
        v.reset += !isnan(is_needed);
        v.dependent += is_needed == 1;
        if (far > v.drift) {
            v.drift = far;
            v.farthest = s->list[i].cells[0];
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

enum { LONGEST_SHOWN = 50 }; /* bytes of a cell on the terminal */

/* ---- columns ---- */

/* A result in the table: how it is shown, and where it stands in the runs; -1 if nowhere. */
typedef struct shown {
    const rt_result_view *view;
    int column;
} shown;

static bool is_family(const rt_result_view *view)
{
    return view->name[strlen(view->name) - 1] == '_';
}

static bool any_run_has(const rt_sweep_runs *s, int column)
{
    for (int i = 0; i < s->count; i++)
        if (!isnan(rt_csv_value(s->list[i].cells[column])))
            return true;
    return false;
}

/* Lists the results of the table. The list has room for every column and every view. */
static int choose_shown(shown *list, const rt_sweep_runs *s)
{
    const rt_result_view *view;
    int count = 0;
    for (int v = 0; (view = rt_result_view_at(v)); v++) {
        const int column = rt_sweep_column(s, view->name);
        if (!is_family(view) && (view->always || (column >= 0 && any_run_has(s, column))))
            list[count++] = (shown){view, column};
        for (int i = s->exit_column + 1; is_family(view) && i < s->columns; i++)
            if (!strncmp(s->names[i], view->name, strlen(view->name)))
                list[count++] = (shown){view, i};
    }
    return count;
}

/* ---- cells ---- */

typedef struct filling {
    rt_sweep_table *table;
    int used; /* cells */
    bool failed;
} filling;

static void add_cell(filling *f, const char *text)
{
    char *copy = rt_copy_text(text);
    f->failed |= !copy;
    f->table->cells[f->used++] = copy;
}

/* "kind" for position.kind */
static const char *short_name(const char *key)
{
    const char *point = strchr(key, '.');
    return point ? point + 1 : key;
}

static void fill_settings(filling *f, const rt_sweep_runs *s)
{
    for (int i = 0; i < s->exit_column; i++)
        if (rt_sweep_differs(s, i))
            add_cell(f, short_name(s->names[i]));
}

static void fill_headings(filling *f, const rt_sweep_runs *s, const shown *list, int count)
{
    const bool named = f->table->first_setting > 0;
    if (named)
        add_cell(f, "run");
    else
        fill_settings(f, s);
    add_cell(f, "runs");
    for (int i = 0; i < count; i++) {
        char heading[64];
        const rt_result_view *view = list[i].view;
        const char *rest = is_family(view) ? s->names[list[i].column] + strlen(view->name) : "";
        snprintf(heading, sizeof heading, "%s%.40s", view->heading, rest);
        add_cell(f, heading);
    }
    if (named)
        fill_settings(f, s);
}

static void fill_values(filling *f, const rt_sweep_runs *s, int row)
{
    for (int i = 0; i < s->exit_column; i++)
        if (rt_sweep_differs(s, i))
            add_cell(f, s->list[s->rows[row].first].cells[i]);
}

/* "a", "a, b", "a, b, ..." */
static void fill_names(filling *f, const rt_sweep_runs *s, int row)
{
    enum { MOST_NAMES = 2 };
    rt_writer w = {0};
    int run = s->rows[row].first;
    for (int count = 0; run >= 0 && count < MOST_NAMES; count++, run = s->list[run].next)
        rt_writer_add(&w, "%s%s", count ? ", " : "", s->list[run].cells[0]);
    if (run >= 0)
        rt_writer_add(&w, ", ...");
    if (w.bytes)
        add_cell(f, w.bytes);
    f->failed |= w.failed;
    rt_writer_free(&w);
}

static void fill_row(filling *f, const rt_sweep_runs *s, int row, const shown *list, int count)
{
    char text[RT_SUMMARY_SIZE];
    const bool named = f->table->first_setting > 0;
    const rt_endings runs = rt_sweep_endings(s, row);
    if (named)
        fill_names(f, s, row);
    else
        fill_values(f, s, row);
    if (runs.finished == runs.runs)
        snprintf(text, sizeof text, "%d", runs.runs);
    else
        snprintf(text, sizeof text, "%d of %d", runs.finished, runs.runs);
    add_cell(f, text);
    for (int i = 0; i < count; i++) {
        const rt_summary summary = rt_sweep_summary(s, row, list[i].column);
        add_cell(f, rt_summary_text(text, &summary, list[i].view->decimals, runs.runs));
    }
    if (named)
        fill_values(f, s, row);
}

/* ---- widths ---- */

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Returns how many bytes of a cell are shown: whole characters of UTF-8. */
static int shown_bytes(const char *cell)
{
    size_t length = strlen(cell);
    if (length > LONGEST_SHOWN)
        for (length = LONGEST_SHOWN; length && !begins_character(cell[length]);)
            length--;
    return (int)length;
}

/* Returns the width of the shown bytes in narrow characters. */
static int width_of(const char *cell)
{
    int width = 0;
    for (int i = 0; i < shown_bytes(cell); i++)
        width += begins_character(cell[i]);
    return width;
}

static void measure_columns(rt_sweep_table *t)
{
    for (int i = 0; i < t->rows * t->columns; i++) {
        const int width = width_of(t->cells[i]);
        if (width > t->widths[i % t->columns])
            t->widths[i % t->columns] = width;
    }
}

/* ---- life ---- */

rt_status rt_sweep_table_make(rt_sweep_table *t, const rt_sweep_runs *s, rt_sweep_order order)
{
    const bool named = order == RT_RESULTS_FIRST;
    int views = 0;
    *t = (rt_sweep_table){.rows = s->row_count + 1};
    while (rt_result_view_at(views))
        views++;
    for (int i = 0; i < s->exit_column; i++)
        t->settings += rt_sweep_differs(s, i);
    shown *list = rt_alloc((size_t)s->columns + (size_t)views, sizeof *list);
    const int count = list ? choose_shown(list, s) : 0;
    t->first_setting = named ? 2 + count : 0;
    t->columns = named + t->settings + 1 + count;
    t->cells = rt_alloc((size_t)t->rows * (size_t)t->columns, sizeof *t->cells);
    t->widths = rt_alloc((size_t)t->columns, sizeof *t->widths);
    filling f = {.table = t, .failed = !list || !t->cells || !t->widths};
    if (!f.failed)
        fill_headings(&f, s, list, count);
    for (int row = 0; row < s->row_count && !f.failed; row++)
        fill_row(&f, s, row, list, count);
    if (!f.failed)
        measure_columns(t);
    rt_free(list);
    return f.failed ? rt_out_of_memory("the table of a sweep") : rt_ok();
}

void rt_sweep_table_free(rt_sweep_table *t)
{
    for (int i = 0; t->cells && i < t->rows * t->columns; i++)
        rt_free(t->cells[i]);
    rt_free(t->cells);
    rt_free(t->widths);
    *t = (rt_sweep_table){0};
}

/* ---- print ---- */

/* Prints a cell without control characters: settings may come from an untrusted file. */
static void print_cell(FILE *to, const char *cell)
{
    for (int i = 0; i < shown_bytes(cell); i++)
        fputc(iscntrl((unsigned char)cell[i]) ? '?' : cell[i], to);
}

void rt_sweep_table_print(FILE *to, const rt_sweep_table *t)
{
    for (int r = 0; r < t->rows; r++) {
        for (int c = 0; c < t->columns; c++) {
            const char *cell = t->cells[r * t->columns + c];
            fputs(c ? "  " : "", to);
            print_cell(to, cell);
            if (c + 1 < t->columns)
                fprintf(to, "%*s", t->widths[c] - width_of(cell), "");
        }
        fputc('\n', to);
    }
}

/* ---- sweep.csv ---- */

void rt_sweep_table_csv(rt_writer *w, const rt_sweep_runs *s)
{
    for (int i = 0; i < s->exit_column; i++)
        if (rt_sweep_sets_apart(s, i)) {
            rt_csv_put(w, s->names[i]);
            rt_writer_add(w, ",");
        }
    rt_writer_add(w, "runs,good");
    for (int i = s->exit_column + 1; i < s->columns; i++)
        rt_writer_add(w, ",%s_mean,%s_sd,%s_n", s->names[i], s->names[i], s->names[i]);
    rt_writer_add(w, "\n");
    for (int row = 0; row < s->row_count; row++) {
        const rt_endings runs = rt_sweep_endings(s, row);
        for (int i = 0; i < s->exit_column; i++)
            if (rt_sweep_sets_apart(s, i)) {
                rt_csv_put(w, s->list[s->rows[row].first].cells[i]);
                rt_writer_add(w, ",");
            }
        rt_writer_add(w, "%d,%d", runs.runs, runs.finished);
        for (int i = s->exit_column + 1; i < s->columns; i++) {
            const rt_summary m = rt_sweep_summary(s, row, i);
            rt_csv_add_number(w, m.mean);
            rt_csv_add_number(w, m.deviation);
            rt_writer_add(w, ",%d", m.count);
        }
        rt_writer_add(w, "\n");
    }
}
