#include "train/report/key_figures.h"

#include "core/memory.h"
#include "train/folder/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 4, MOST_SERIES = 6, MOST_VALUES = 64, SERIES_NAME = 64 };

/* A setting, and where its values stand on the axis. */
typedef struct swept {
    const rt_sweep_runs *runs;
    int column, result;
    bool numeric, logarithmic;
    const char *values[MOST_VALUES];
    int value_count;
    int series[MOST_SERIES]; /* a row of each */
    int series_count;        /* 0: all runs are one */
    rt_writer data;
} swept;

static const char *cell_of(const swept *s, int row, int column)
{
    return s->runs->list[s->runs->rows[row].first].cells[column];
}

/* ---- the axis ---- */

static int value_at(const swept *s, const char *cell)
{
    int i = 0;
    while (i < s->value_count && strcmp(s->values[i], cell) != 0)
        i++;
    return i;
}

static int ascending(const void *a, const void *b)
{
    const double x = rt_csv_value(*(const char *const *)a),
                 y = rt_csv_value(*(const char *const *)b);
    return (x > y) - (x < y);
}

/* False if there are too many. */
static bool find_values(swept *s)
{
    s->numeric = true;
    for (int row = 0; row < s->runs->row_count; row++) {
        const char *cell = cell_of(s, row, s->column);
        if (value_at(s, cell) < s->value_count)
            continue;
        if (s->value_count == MOST_VALUES)
            return false;
        s->values[s->value_count++] = cell;
        s->numeric = s->numeric && isfinite(rt_csv_value(cell));
    }
    if (!s->numeric)
        return true;
    qsort(s->values, (size_t)s->value_count, sizeof *s->values, ascending);
    const double least = rt_csv_value(s->values[0]);
    s->logarithmic = least > 0 && rt_csv_value(s->values[s->value_count - 1]) >= 8 * least;
    return true;
}

static double place_of(const swept *s, int value)
{
    return s->numeric ? rt_csv_value(s->values[value]) : value;
}

/* ---- series: rows that differ in this setting alone ---- */

static bool same_otherwise(const swept *s, int row, int other)
{
    for (int c = 1; c < s->runs->exit_column; c++)
        if (c != s->column && rt_sweep_differs(s->runs, c) &&
            strcmp(cell_of(s, row, c), cell_of(s, other, c)) != 0)
            return false;
    return true;
}

static void find_series(swept *s)
{
    for (int row = 0; row < s->runs->row_count; row++) {
        int i = 0;
        while (i < s->series_count && !same_otherwise(s, row, s->series[i]))
            i++;
        if (i < s->series_count)
            continue;
        if (i == MOST_SERIES) {
            s->series_count = 0;
            return;
        }
        s->series[s->series_count++] = row;
    }
}

static void name_series(const swept *s, int series, char name[SERIES_NAME])
{
    size_t length = 0;
    *name = '\0';
    for (int c = 1; s->series_count && c < s->runs->exit_column && length < SERIES_NAME; c++) {
        const char *dot = strchr(s->runs->names[c], '.');
        if (c == s->column || !rt_sweep_differs(s->runs, c))
            continue;
        length +=
            (size_t)snprintf(name + length, SERIES_NAME - length, "%s%s%s%s", length ? ", " : "",
                             dot ? dot + 1 : "", dot ? "=" : "", cell_of(s, s->series[series], c));
    }
}

/* ---- points ---- */

static rt_summary sum_up(const swept *s, int series, int value, double *room)
{
    int count = 0;
    for (int row = 0; row < s->runs->row_count; row++) {
        if (strcmp(cell_of(s, row, s->column), s->values[value]) != 0 ||
            (s->series_count && !same_otherwise(s, row, s->series[series])))
            continue;
        for (int i = s->runs->rows[row].first; i >= 0; i = s->runs->list[i].next)
            room[count++] = rt_csv_value(s->runs->list[i].cells[s->result]);
    }
    return rt_summarise(room, count);
}

/* Series stand beside each other on the axis, a little apart. Columns: x, mean, deviation, runs and
 * the number of the value. */
static bool write_points(swept *s)
{
    const int all = s->series_count ? s->series_count : 1;
    double *room = rt_alloc((size_t)s->runs->count, sizeof *room);
    int first = -1;
    bool several = false; /* values */
    for (int i = 0; room && i < all; i++) {
        for (int v = 0; v < s->value_count; v++) {
            const rt_summary m = sum_up(s, i, v, room);
            if (!m.count)
                continue;
            rt_writer_add(&s->data, "%.9g,%.9g,%.9g,%d\n",
                          place_of(s, v) + (s->numeric ? 0 : 0.06 * (i - (all - 1) / 2.0)), m.mean,
                          m.count > 1 ? m.deviation : 0, m.count);
            several |= first >= 0 && v != first;
            first = v;
        }
        rt_writer_add(&s->data, "\n\n");
    }
    s->data.failed |= !room;
    rt_free(room);
    return several;
}

/* ---- the script ---- */

static void add_axis(rt_writer *w, const swept *s, const char *unit)
{
    rt_writer_add(w, "set xlabel ");
    rt_figures_quote(w, s->runs->names[s->column]);
    rt_writer_add(w,
                  " noenhanced\nset ylabel '%s'\nset yrange [*:*]\nset offsets graph 0.06, graph "
                  "0.06, 0, 0\n",
                  unit);
    if (s->logarithmic)
        rt_writer_add(w, "set logscale x\n");
    if (s->numeric && s->value_count > 8)
        return;
    rt_writer_add(w, "set xtics noenhanced (");
    for (int v = 0; v < s->value_count; v++) {
        rt_writer_add(w, v ? ", " : "");
        rt_figures_quote(w, s->values[v]);
        rt_writer_add(w, " %.9g", place_of(s, v));
    }
    rt_writer_add(w, ")\n");
}

static void add_plots(rt_writer *w, const swept *s, const char *file)
{
    const int all = s->series_count ? s->series_count : 1;
    char name[SERIES_NAME];
    if (all == 1)
        rt_writer_add(w, "unset key\n");
    for (int i = 0; i < all; i++) {
        name_series(s, i, name);
        rt_writer_add(w,
                      "%s'%s' index %d using 1:2:3 with yerrorbars linetype %d pointtype 7 "
                      "pointsize 0.6 notitle",
                      i ? ", \\\n     " : "plot ", file, i, i + 1);
        rt_writer_add(w, ", \\\n     '%s' index %d using 1:2 with %s linetype %d title ", file, i,
                      s->numeric ? "lines" : "points pointtype 7 pointsize 0.6", i + 1);
        rt_figures_quote(w, name);
        rt_writer_add(w, ", \\\n     '%s' index %d using 1:2:(", file, i);
        rt_figures_quote(w, name);
        rt_writer_add(w,
                      ".sprintf('%s%%.4g ± %%.2g (runs: %%d)',$2,$3,$4)) with labels hypertext "
                      "point pointtype 7 pointsize 0.8 linecolor rgb '#e0000000' notitle",
                      *name ? ": " : "");
    }
    rt_writer_add(w, "\n");
}

static void add_figure(rt_figures *f, swept *s, int number, const char *unit)
{
    static const char *const names[MOST_KEYS] = {"key_1", "key_2", "key_3", "key_4"};
    char caption[RT_CAPTION_SIZE], file[RT_FIGURE_FILE_SIZE];
    rt_writer w = {0};
    rt_figure_file(file, names[number], "csv");
    add_axis(&w, s, unit);
    add_plots(&w, s, file);
    snprintf(caption, sizeof caption,
             "Evaluation loss by %s: the mean over %s, and one standard deviation",
             s->runs->names[s->column], s->series_count ? "the seeds" : "all runs of a value");
    rt_figures_write(f, file, &s->data);
    rt_figures_add_sized(f, names[number], caption, RT_FIGURE_WIDTH, 320, &w);
}

void rt_report_key_figures(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking)
{
    const int result = ranking->result ? rt_sweep_column(runs, ranking->result) : -1;
    const bool bits = ranking->result && !strcmp(ranking->result, RT_RESULT_BITS_PER_BYTE);
    int number = 0;
    for (int c = 1; result >= 0 && c < runs->exit_column && number < MOST_KEYS; c++) {
        swept s = {.runs = runs, .column = c, .result = result};
        if (!rt_sweep_differs(runs, c) || !find_values(&s))
            continue;
        find_series(&s);
        if (write_points(&s))
            add_figure(f, &s, number++, bits ? "bits per byte" : "cross entropy (nats)");
        else
            rt_writer_free(&s.data);
    }
}
