#include "train/report/sweep_runs.h"
#include "core/memory.h"
#include "train/report/page.h"
#include "util/csv.h"
#include "util/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Copies the cells into one block, with the texts after the pointers. */
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

/* Returns whether a column is a setting that can distinguish rows: any except the seed. */
static bool can_set_apart(const rt_sweep_runs *s, int column)
{
    return column > 0 && column < s->exit_column && column != s->seed_column;
}

bool rt_sweep_same_settings(const rt_sweep_runs *s, const rt_sweep_run *a, const rt_sweep_run *b,
                            int but)
{
    for (int i = 1; i < s->exit_column; i++)
        if (i != but && can_set_apart(s, i) && strcmp(a->cells[i], b->cells[i]) != 0)
            return false;
    return true;
}

static bool same_row(const rt_sweep_runs *s, const rt_sweep_run *a, const rt_sweep_run *b)
{
    return a->question == b->question &&
           ((a->setting && a->setting == b->setting) || rt_sweep_same_settings(s, a, b, 0));
}

bool rt_sweep_same_seed(const rt_sweep_runs *s, int a, int b)
{
    const int seed = s->seed_column;
    return seed < 0 || !strcmp(s->list[a].cells[seed], s->list[b].cells[seed]);
}

/* Returns whether another run of the row and the seed stands for the run: the first, if possible
 * one that is good. */
static bool is_copy(const rt_sweep_runs *s, int run)
{
    const rt_sweep_run *r = &s->list[run], *o = s->list;
    for (int i = 0; i < s->count; i++, o++)
        if (o->row == r->row && (o->good == r->good ? i < run : o->good) &&
            rt_sweep_same_seed(s, i, run))
            return true;
    return false;
}

/* Returns whether a run came to an end, even if a requested check failed. */
static bool has_finished(const rt_sweep_runs *s, int run)
{
    const double code = rt_sweep_number(s, run, s->exit_column);
    return code == RT_EXIT_DONE || code == RT_EXIT_CHECK;
}

rt_status rt_sweep_rows_find(rt_sweep_runs *s)
{
    const int limit = rt_sweep_column(s, RT_RESULT_DIVERGED);
    rt_free(s->rows);
    s->rows = rt_alloc((size_t)s->count, sizeof *s->rows);
    s->row_count = 0;
    s->seeds = false;
    for (int run = 0; run < s->count && s->rows; run++) {
        rt_sweep_run *r = &s->list[run], *other = s->list;
        while (other < r && !same_row(s, other, r))
            other++;
        r->row = other < r ? other->row : s->row_count++;
        s->rows[r->row].merged |= !rt_sweep_same_settings(s, other, r, 0);
        r->diverged = !isnan(rt_sweep_number(s, run, limit));
        r->good = has_finished(s, run) && !r->diverged;
    }
    for (int run = 0; run < s->count && s->rows; run++) {
        rt_sweep_run *r = &s->list[run];
        rt_sweep_row *row = &s->rows[r->row];
        r->next = -1;
        r->copy = is_copy(s, run);
        if (r->copy)
            continue;
        *(row->runs ? &s->list[row->last].next : &row->first) = run;
        row->last = run;
        s->seeds |= row->runs++ > 0;
        row->good += r->good;
    }
    return rt_allocated(s->rows, "the runs of a sweep");
}

rt_status rt_sweep_runs_read(rt_sweep_runs *s, const char *folder)
{
    RT_CLOSED_BY(rt_csv_close) rt_csv csv = {0};
    *s = (rt_sweep_runs){0};
    if (!rt_csv_open(&csv, folder, "runs.csv"))
        return csv.status;
    s->columns = csv.columns;
    s->exit_column = rt_csv_column(&csv, RT_RESULT_EXIT_CODE);
    s->names = copy_cells(csv.names, csv.columns);
    RT_TRY(rt_allocated(s->names, "the runs of a sweep"));
    if (strcmp(csv.names[0], "run") != 0 || s->exit_column == s->columns)
        return rt_error(RT_IO, "%s/runs.csv: not the table of the runs of a sweep", folder);
    s->seed_column = rt_sweep_column(s, "run.seed");
    while (rt_csv_row(&csv)) {
        const char *name = csv.cells[0]; /* name of a folder in that of the sweep */
        rt_writer path = {0};
        if (!*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (!rt_grow(&s->list, &s->capacity, (size_t)s->count + 1, sizeof *s->list))
            return rt_out_of_memory("the runs of a sweep");
        rt_writer_add(&path, "%s/%s", folder, name);
        rt_sweep_run *run = &s->list[s->count++];
        *run = (rt_sweep_run){.cells = copy_cells(csv.cells, s->columns),
                              .folder = rt_writer_take(&path)};
        RT_TRY(rt_allocated(run->cells && run->folder, "the runs of a sweep"));
    }
    s->values = rt_alloc((size_t)s->count, sizeof *s->values);
    RT_TRY(rt_allocated(s->values, "the runs of a sweep"));
    RT_TRY(rt_sweep_rows_find(s));
    return csv.status;
}

void rt_sweep_runs_free(rt_sweep_runs *s)
{
    for (int i = 0; i < s->count; i++) {
        rt_free(s->list[i].cells);
        rt_free(s->list[i].folder);
    }
    rt_free(s->list);
    rt_free(s->rows);
    rt_free(s->values);
    rt_free(s->names);
    *s = (rt_sweep_runs){0};
}

void rt_sweep_add_names(rt_results *names, const rt_results *r)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->list[i].name, RT_RESULT_EXIT_CODE) != 0 &&
            isnan(rt_results_get(names, r->list[i].name)))
            rt_results_put(names, 0, r->list[i].name);
}

void rt_sweep_add_results(rt_writer *w, const rt_results *names, const rt_results *r)
{
    for (int i = 0; i < names->count; i++)
        if (r)
            rt_csv_add_number(w, rt_results_get(r, names->list[i].name));
        else
            rt_writer_add(w, ",%s", names->list[i].name);
    rt_writer_add(w, "\n");
    w->failed |= names->failed;
}

bool rt_sweep_differs(const rt_sweep_runs *s, int column)
{
    bool differs = false;
    for (int i = 1; i < s->count && !differs; i++)
        differs = strcmp(s->list[i].cells[column], s->list[0].cells[column]) != 0;
    return differs && can_set_apart(s, column);
}

const char *rt_sweep_setting(const rt_sweep_runs *s, int row, int column)
{
    const char *text = s->list[s->rows[row].first].cells[column];
    const bool is_key = strchr(s->names[column], '.') != NULL;
    for (int i = 0; i < s->count && s->rows[row].merged && is_key; i++)
        if (s->list[i].row == row && strcmp(s->list[i].cells[column], text) != 0)
            return NULL;
    return text;
}

/* Adds a setting in which runs differ, to those from `before` on. */
static void add_setting(rt_writer *w, size_t before, const rt_sweep_runs *s, int column,
                        const char *value)
{
    const char *dot = strchr(s->names[column], '.');
    if (rt_sweep_differs(s, column))
        rt_writer_add(w, "%s%s%s%s", w->length > before ? ", " : "", dot ? dot + 1 : "",
                      dot ? "=" : "", value);
}

void rt_sweep_row_settings(rt_writer *w, const rt_sweep_runs *s, int row)
{
    const size_t before = w->length;
    for (int c = 1; c < s->exit_column; c++) {
        const char *value = rt_sweep_setting(s, row, c);
        if (value && *value)
            add_setting(w, before, s, c, value);
    }
}

void rt_sweep_run_settings(rt_writer *w, const rt_sweep_runs *s, int run, int left_out)
{
    const size_t before = w->length;
    for (int c = 1; c < s->exit_column; c++)
        if (c != left_out)
            add_setting(w, before, s, c, s->list[run].cells[c]);
}

int rt_sweep_column(const rt_sweep_runs *s, const char *name)
{
    for (int i = 1; i < s->columns; i++)
        if (!strcmp(s->names[i], name))
            return i;
    /* its name in earlier versions */
    return strcmp(name, RT_RESULT_CHANGE) ? -1 : rt_sweep_column(s, "theta_max_drift");
}

double rt_sweep_number(const rt_sweep_runs *s, int run, int column)
{
    return column < 0 ? (double)NAN : rt_csv_value(s->list[run].cells[column]);
}

double rt_sweep_sample(const rt_sweep_runs *s, int run, int column)
{
    return s->list[run].diverged ? (double)NAN : rt_sweep_number(s, run, column);
}

rt_summary rt_sweep_summary(const rt_sweep_runs *s, int row, int column)
{
    int count = 0;
    for (int i = s->rows[row].first; i >= 0 && column >= 0; i = s->list[i].next)
        s->values[count++] = rt_sweep_sample(s, i, column);
    return rt_summarise(s->values, count);
}

rt_sweep_verdict rt_sweep_judge(const rt_sweep_runs *s)
{
    const int near = rt_sweep_column(s, RT_RESULT_NEAR);
    const int change = rt_sweep_column(s, RT_RESULT_CHANGE);
    const int needed = rt_sweep_column(s, RT_RESULT_NEEDED);
    rt_sweep_verdict v = {.change = -1};
    for (int i = 0; i < s->count; i++) {
        v.finished += has_finished(s, i);
        if (s->list[i].diverged && !v.diverged++)
            v.first_diverged = s->list[i].cells[0];
        if (s->list[i].copy && !v.copies++)
            v.first_copy = s->list[i].cells[0];
        const double is_near = rt_sweep_number(s, i, near);
        const double is_needed = rt_sweep_number(s, i, needed);
        const double far = rt_sweep_number(s, i, change);
        if (isnan(is_near) || s->list[i].diverged)
            continue;
        v.learned++;
        v.near += is_near == 1;
        v.reset += !isnan(is_needed);
        v.dependent += is_needed == 1;
        if (far > v.change) {
            v.change = far;
            v.farthest = s->list[i].cells[0];
        }
    }
    return v;
}

void rt_sweep_report_left_out(rt_writer *w, const rt_sweep_verdict *v)
{
    if (v->copies)
        rt_writer_add(w,
                      "%d run%s the effective settings and the seed of another (%s%s): counted "
                      "once\n",
                      v->copies, v->copies > 1 ? "s have" : " has", v->first_copy,
                      v->copies > 1 ? ", ..." : "");
    if (v->diverged)
        rt_writer_add(w, "%d run%s diverged (%s%s): left out of means and differences\n",
                      v->diverged, v->diverged > 1 ? "s" : "", v->first_diverged,
                      v->diverged > 1 ? ", ..." : "");
}

void rt_sweep_report_theta(rt_writer *w, const rt_sweep_verdict *v)
{
    if (!v->learned)
        return;
    rt_writer_add(w, "theta: near in %d of the %d runs that learn it", v->near, v->learned);
    if (v->farthest)
        rt_writer_add(w, ", max relative drift %.3g (%s)", v->change, v->farthest);
    rt_writer_add(w, "\n");
    if (v->reset)
        rt_writer_add(w, "theta: reset to init: %d of the %d models %s on it\n", v->dependent,
                      v->reset, v->dependent == 1 ? "depends" : "depend");
}

/* Results that are columns of the table, in their order. */
typedef struct rt_result_view {
    const char *name;    /* a name that ends in "_" stands for all names of it and a number */
    const char *heading; /* followed by the number of the name, if there is one */
    int decimals;
    bool always; /* shown even if no run has the result */
} rt_result_view;

static const rt_result_view views[] = {
    {RT_RESULT_LOSS, "loss", 4, true},
    {RT_RESULT_BITS_PER_BYTE, "bits/byte", 4, false},
    {RT_RESULT_ACCURACY, "accuracy", 4, true},
    {RT_RESULT_MACRO_F1, "macro F1", 4, false},
    {RT_RESULT_ACCURACY_AT, "at ", 4, false},
    {RT_RESULT_EXACT_AT, "exact at ", 4, false},
    {RT_RESULT_CHANGE, "theta change", 3, false},
    {RT_RESULT_PHASE, "phase (rad)", 2, false},
    {RT_RESULT_NEAR, "near", 2, false},
    {RT_RESULT_NEEDED, "needed", 2, false},
    {RT_RESULT_STOPPED_EARLY, "stopped early", 2, false},
    {RT_RESULT_FIRST_STEP, "steps to 99 %", 0, true},
};
enum { VIEWS = sizeof views / sizeof *views };

/* Adds the text of a cell or, for row -1, the heading: "kind" for position.kind. */
static void write_cell(rt_writer *w, const rt_sweep_runs *s, const rt_table_column *c, int row)
{
    enum { MOST_NAMES = 2 }; /* "a", "a, b" or "a, b, ..." */
    const char *name = c->source < 0 ? "" : s->names[c->source], *point = strchr(name, '.');
    const char *setting;
    const rt_sweep_row of = row < 0 ? (rt_sweep_row){.first = -1} : s->rows[row];
    int run = of.first;
    switch (c->kind) {
    case RT_COLUMN_NAMES:
        rt_writer_add(w, row < 0 ? "run" : "");
        for (int count = 0; run >= 0 && count < MOST_NAMES; count++, run = s->list[run].next)
            rt_writer_add(w, "%s%s", count ? ", " : "", s->list[run].cells[0]);
        rt_writer_add(w, run >= 0 ? ", ..." : "");
        break;
    case RT_COLUMN_SETTING:
        setting = row < 0 ? point ? point + 1 : name : rt_sweep_setting(s, row, c->source);
        rt_writer_add(w, "%s", setting ? setting : "-");
        break;
    case RT_COLUMN_RUNS:
        if (of.good < of.runs)
            rt_writer_add(w, "%d of ", of.good);
        rt_writer_add(w, row < 0 ? "runs" : "%d", of.runs);
        break;
    case RT_COLUMN_RESULT:
        if (row < 0) {
            const size_t length = strlen(c->view->name);
            rt_writer_add(w, "%s%.40s", c->view->heading,
                          c->view->name[length - 1] == '_' ? name + length : "");
        } else {
            const rt_summary summary = rt_sweep_summary(s, row, c->source);
            rt_summary_report(w, &summary, c->view->decimals, of.runs);
        }
    }
}

static void add_settings_columns(rt_sweep_table *t, const rt_sweep_runs *s)
{
    for (int i = 0; i < s->exit_column; i++)
        if (rt_sweep_differs(s, i))
            t->list[t->columns++] = (rt_table_column){RT_COLUMN_SETTING, i, NULL};
}

/* Returns the number of printed bytes of a cell, and their width in narrow characters. */
static int printed_bytes(const char *cell, int *width)
{
    enum { LONGEST = 50 };
    const size_t bytes = rt_text_beginning(cell, strlen(cell), LONGEST);
    *width = (int)rt_utf8_count((const unsigned char *)cell, bytes);
    return (int)bytes;
}

rt_status rt_sweep_table_make(rt_sweep_table *t, const rt_sweep_runs *s, rt_sweep_order order)
{
    const bool named = order == RT_RESULTS_FIRST;
    const int most = s->columns + 2 + VIEWS;
    *t = (rt_sweep_table){.rows = s->row_count + 1};
    t->list = rt_alloc((size_t)most, sizeof *t->list);
    t->cells = rt_alloc((size_t)most * (size_t)t->rows, sizeof *t->cells);
    bool in_memory = t->list && t->cells;
    RT_TRY(rt_allocated(in_memory, "the table of a sweep"));
    if (named)
        t->list[t->columns++] = (rt_table_column){RT_COLUMN_NAMES, -1, NULL};
    else
        add_settings_columns(t, s);
    t->list[t->columns++] = (rt_table_column){RT_COLUMN_RUNS, -1, NULL};
    /* the results that are always shown or that some run has */
    for (const rt_result_view *view = views; view < views + VIEWS; view++) {
        const size_t length = strlen(view->name);
        const bool family = view->name[length - 1] == '_'; /* all results with this prefix */
        const int column = rt_sweep_column(s, view->name);
        bool shown = view->always;
        for (int i = 0; i < s->count && !family && !shown; i++)
            shown = !isnan(rt_sweep_number(s, i, column));
        if (shown)
            t->list[t->columns++] = (rt_table_column){RT_COLUMN_RESULT, column, view};
        for (int i = s->exit_column + 1; family && i < s->columns; i++)
            if (!strncmp(s->names[i], view->name, length))
                t->list[t->columns++] = (rt_table_column){RT_COLUMN_RESULT, i, view};
    }
    if (named)
        add_settings_columns(t, s);
    for (int i = 0; i < t->columns * t->rows; i++) {
        rt_writer w = {0};
        write_cell(&w, s, &t->list[i / t->rows], i % t->rows - 1);
        t->cells[i] = rt_writer_take(&w);
        in_memory &= t->cells[i] != NULL;
    }
    return rt_allocated(in_memory, "the table of a sweep");
}

void rt_sweep_table_free(rt_sweep_table *t)
{
    for (int i = 0; t->cells && i < t->rows * t->columns; i++)
        rt_free(t->cells[i]);
    rt_free(t->cells);
    rt_free(t->list);
    *t = (rt_sweep_table){0};
}

/* Prints question marks for control characters, since settings may be from an untrusted file. */
void rt_sweep_table_print(FILE *to, const rt_sweep_table *t)
{
    int widths[t->columns], width;
    memset(widths, 0, sizeof widths);
    for (int i = 0; i < t->rows * t->columns; i++) {
        printed_bytes(t->cells[i], &width);
        widths[i / t->rows] = width > widths[i / t->rows] ? width : widths[i / t->rows];
    }
    for (int r = 0; r < t->rows; r++) {
        for (int c = 0; c < t->columns; c++) {
            const char *cell = t->cells[c * t->rows + r];
            const int bytes = printed_bytes(cell, &width);
            fputs(c ? "  " : "", to);
            for (int i = 0; i < bytes; i++)
                fputc(iscntrl((unsigned char)cell[i]) ? '?' : cell[i], to);
            if (c + 1 < t->columns)
                fprintf(to, "%*s", widths[c] - width, "");
        }
        fputc('\n', to);
    }
}

/* Adds a cell of sweep.csv for each setting except the seed; row -1: the headings. */
static void add_settings(rt_writer *w, const rt_sweep_runs *s, int row)
{
    for (int i = 0; i < s->exit_column; i++)
        if (can_set_apart(s, i)) {
            const char *text = row < 0 ? s->names[i] : rt_sweep_setting(s, row, i);
            rt_csv_put(w, text ? text : "");
            rt_writer_add(w, ",");
        }
}

void rt_sweep_table_csv(rt_writer *w, const rt_sweep_runs *s)
{
    add_settings(w, s, -1);
    rt_writer_add(w, "runs,good");
    for (int i = s->exit_column + 1; i < s->columns; i++)
        rt_writer_add(w, ",%s_mean,%s_sd,%s_n", s->names[i], s->names[i], s->names[i]);
    rt_writer_add(w, "\n");
    for (int row = 0; row < s->row_count; row++) {
        add_settings(w, s, row);
        rt_writer_add(w, "%d,%d", s->rows[row].runs, s->rows[row].good);
        for (int i = s->exit_column + 1; i < s->columns; i++) {
            const rt_summary m = rt_sweep_summary(s, row, i);
            rt_csv_add_number(w, m.mean);
            rt_csv_add_number(w, m.deviation);
            rt_writer_add(w, ",%d", m.count);
        }
        rt_writer_add(w, "\n");
    }
}
