#include "train/report/sections.h"

#include "core/memory.h"
#include "text/number.h"
#include "train/folder/results.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CURVES = 28, LABEL_SIZE = 41 };

enum { VALUES = 2 };

/* The values of a run at some x, such as the loss and the accuracy of a step. */
typedef struct point {
    int x;
    double values[VALUES]; /* NaN: none */
} point;

typedef struct points {
    int count, capacity;
    point *list;
    bool failed;
} points;

typedef struct curves {
    int count;
    bool bits;          /* per byte, for losses */
    const char *differ; /* why losses are not comparable, or NULL */
    bool cut;
    bool failed;
    double farthest; /* the largest second value of a point */
    char labels[MOST_CURVES][LABEL_SIZE];
    rt_writer data;
} curves;

/* ---- reading ---- */

static void add_point(points *p, point one)
{
    if (p->count == p->capacity) {
        const int capacity = p->capacity ? 2 * p->capacity : 256;
        point *list = rt_alloc((size_t)capacity, sizeof *list);
        if (!list) {
            p->failed = true;
            return;
        }
        if (p->count)
            memcpy(list, p->list, (size_t)p->count * sizeof *list);
        rt_free(p->list);
        p->list = list;
        p->capacity = capacity;
    }
    p->list[p->count++] = one;
}

/* Figures over the same points. */
typedef struct group {
    const char *data;   /* file that the figures are drawn from */
    const char *axis;   /* gnuplot commands for x */
    const char *table;  /* of a run, where the points come from; NULL: the results in runs.csv */
    const char *column; /* of the second value of each step */
    const char *more;   /* further columns that gnuplot uses */
    const char *with;   /* gnuplot style of a curve */
    const char *over;   /* what the mean is taken over */
    bool has_losses;    /* the first value is a loss */
    bool beside;        /* x is the second value; the points are averaged by step */
    const char *unit;   /* of x, in the labels of points */
    struct {
        const char *name, *what, *axis; /* NULL behind the last */
    } figures[VALUES];
} group;

static const group groups[] = {
    {"curves.csv",
     "set xlabel 'step'\nset xrange [0:*]",
     "metrics.csv",
     "eval_accuracy",
     "",
     "lines",
     "the mean over the seeds",
     true,
     false,
     "step",
     {{"loss", "Evaluation loss", "set ylabel 'cross entropy (nats)'\nset yrange [*:*]"},
      {"accuracy", "Evaluation accuracy", "set ylabel 'accuracy'\nset yrange [0:1.02]"}}},
    {"theta_curves.csv",
     "set xlabel 'pair i'\nset xrange [-0.5:*]",
     "theta_final.csv",
     NULL,
     "",
     "linespoints pointtype 7 pointsize 0.4",
     "the mean over layers, heads and seeds",
     false,
     false,
     "pair",
     {{"theta", "Drift of the learned θᵢ from base^(-2i/R), as the logarithm of their ratio",
       "set ylabel 'ln(θ_i / base^{-2i/R})' enhanced\nset yrange [*:*]\nset xzeroaxis"}}},
    {"length_curves.csv",
     "set xlabel 'sequence length (tokens)'\nset logscale x 2",
     NULL,
     NULL,
     ":xtic(1)",
     "linespoints pointtype 7 pointsize 0.4",
     "the mean over the seeds",
     true,
     false,
     "tokens",
     {{"length_loss", "Evaluation loss by sequence length",
       "set ylabel 'cross entropy (nats)'\nset yrange [*:*]"},
      {"length_accuracy", "Evaluation accuracy by sequence length",
       "set ylabel 'accuracy'\nset yrange [0:1.02]"}}},
    {"token_curves.csv",
     "set xlabel 'tokens'\nset xrange [0:*]\nset format x '%.1s%c'",
     "metrics.csv",
     "tokens",
     "",
     "lines",
     "the mean over the seeds",
     true,
     true,
     "tokens",
     {{"loss_by_tokens", "Evaluation loss by tokens of training",
       "set ylabel 'cross entropy (nats)'\nset yrange [*:*]"}}},
    {"time_curves.csv",
     "set xlabel 'seconds'\nset xrange [0:*]",
     "timing.csv",
     "seconds",
     "",
     "lines",
     "the mean over the seeds",
     true,
     true,
     "seconds",
     {{"loss_by_time", "Evaluation loss by time of training",
       "set ylabel 'cross entropy (nats)'\nset yrange [*:*]"}}},
};

/* Returns how many bits per byte a nat per token of a run is; 1 where losses are nats. */
static double unit_of(const rt_sweep_runs *runs, int run, bool bits)
{
    return bits ? rt_sweep_number(runs, run, rt_sweep_column(runs, RT_RESULT_BITS_PER_BYTE)) /
                      rt_sweep_number(runs, run, rt_sweep_column(runs, RT_RESULT_LOSS))
                : 1;
}

/* Reads the loss of each evaluation and, as the second value, a column of metrics.csv or the
 * seconds of timing.csv. x: step. */
static void read_steps(points *p, const char *path, const group *g, double unit)
{
    rt_csv metrics;
    rt_timing timing = {.step = -1};
    const bool timed = !strcmp(g->table, "timing.csv");
    const bool open =
        rt_csv_open(&metrics, path, "metrics.csv") && (!timed || rt_timing_open(&timing, path));
    while (open && !p->failed && rt_csv_row(&metrics)) {
        point one = {.values = {unit * rt_csv_number(&metrics, "eval_loss")}};
        if (!isfinite(one.values[0]) || !rt_csv_whole(&metrics, "step", &one.x))
            continue;
        one.values[1] =
            timed ? rt_timing_seconds(&timing, one.x) : rt_csv_number(&metrics, g->column);
        if (!g->beside || isfinite(one.values[1]))
            add_point(p, one);
    }
    rt_csv_close(&metrics);
    rt_timing_close(&timing);
}

/* Reads how far a learned theta is from base^(-2i/R), as the logarithm of their ratio, in all
 * layers and heads. x: pair. */
static void read_theta(points *p, const char *path)
{
    rt_csv theta;
    if (rt_csv_open(&theta, path, "theta_final.csv"))
        while (!p->failed && rt_csv_row(&theta)) {
            const double distance =
                log(rt_csv_number(&theta, "theta") / rt_csv_number(&theta, "geometric"));
            point one = {.values = {distance, (double)NAN}};
            if (isfinite(distance) && rt_csv_whole(&theta, "i", &one.x))
                add_point(p, one);
        }
    rt_csv_close(&theta);
}

/* Reads loss and accuracy at each length of train.eval_lengths from the results of a run. x:
 * length.
 */
static void read_lengths(points *p, const rt_sweep_runs *runs, int run, double unit)
{
    static const char loss[] = RT_RESULT_LOSS_AT;
    for (int i = runs->exit_column + 1; i < runs->columns && !p->failed; i++) {
        char name[RT_RESULT_NAME_SIZE];
        int64_t length;
        if (strncmp(runs->names[i], loss, strlen(loss)) != 0 ||
            !rt_whole_read(runs->names[i] + strlen(loss), &length) || length < 1 ||
            length > INT_MAX)
            continue;
        snprintf(name, sizeof name, RT_RESULT_ACCURACY_AT "%d", (int)length);
        const point one = {(int)length,
                           {unit * rt_sweep_number(runs, run, i),
                            rt_sweep_number(runs, run, rt_sweep_column(runs, name))}};
        if (isfinite(one.values[0]))
            add_point(p, one);
    }
}

static int by_x(const void *a, const void *b)
{
    const int one = ((const point *)a)->x, other = ((const point *)b)->x;
    return (one > other) - (one < other);
}

/* Writes a label, truncated to whole characters if it is too long for the key. */
static void write_label(char label[LABEL_SIZE], const char *text)
{
    static const char more[] = "…";
    size_t length = strlen(text);
    const bool fits = length < LABEL_SIZE;
    length = fits ? length : LABEL_SIZE - sizeof more;
    while (!fits && length && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    snprintf(label, LABEL_SIZE, "%.*s%s", (int)length, text, fits ? "" : more);
}

/* Adds "lr=0.001" for a key, the name of a variant, nothing without a value. */
static void add_setting(rt_writer *w, const char *column, const char *value)
{
    const char *dot = strchr(column, '.');
    if (!*value)
        return;
    rt_writer_add(w, "%s%s%s%s", w->length ? ", " : "", dot ? dot + 1 : "", dot ? "=" : "", value);
}

/* Labels a row by its settings, "kind=rope, lr=0.001", or by the name of a single run if that is
 * too long. */
static bool label_row(char label[LABEL_SIZE], const rt_sweep_runs *runs, int row)
{
    char *const *cells = runs->list[runs->rows[row].first].cells;
    rt_writer w = {0};
    for (int i = 1; i < runs->exit_column; i++)
        if (rt_sweep_differs(runs, i))
            add_setting(&w, runs->names[i], cells[i]);
    if (!w.length)
        rt_writer_add(&w, "all runs");
    const bool alone = runs->rows[row].first == runs->rows[row].last;
    char *text = rt_writer_take(&w);
    if (text)
        write_label(label, alone && strlen(text) >= LABEL_SIZE ? cells[0] : text);
    rt_free(text);
    return text != NULL;
}

/* ---- curves ---- */

static void add_moments(rt_writer *w, const double *values, int count)
{
    const rt_summary s = rt_summarise(values, count);
    if (s.count)
        rt_writer_add(w, ",%.6g,%.6g", s.mean, s.count > 1 ? s.deviation : 0);
    else
        rt_writer_add(w, ",,");
}

/* Writes the columns x and, for each value, mean and deviation. */
static bool write_curve(rt_writer *w, points *p)
{
    double *values = rt_alloc((size_t)p->count, sizeof *values);
    if (!values)
        return false;
    qsort(p->list, (size_t)p->count, sizeof *p->list, by_x);
    for (int i = 0, end; i < p->count; i = end) {
        for (end = i; end < p->count && p->list[end].x == p->list[i].x;)
            end++;
        rt_writer_add(w, "%d", p->list[i].x);
        for (int v = 0; v < VALUES; v++) {
            for (int k = i; k < end; k++)
                values[k - i] = p->list[k].values[v];
            add_moments(w, values, end - i);
        }
        rt_writer_add(w, "\n");
    }
    rt_writer_add(w, "\n\n");
    rt_free(values);
    return true;
}

static void read_run(points *p, const char *folder, const rt_sweep_runs *runs, int run,
                     const group *g, bool bits)
{
    char path[RT_PATH_SIZE];
    const double unit = unit_of(runs, run, bits);
    if (!g->table)
        read_lengths(p, runs, run, unit);
    else if (rt_path_join(path, folder, runs->list[run].cells[0]).code)
        return;
    else if (g->column)
        read_steps(p, path, g, unit);
    else
        read_theta(p, path);
}

/* Adds the curve of a row, if its runs have points. */
static void add_row(curves *c, const rt_sweep_runs *runs, const char *folder, int row,
                    const group *g)
{
    points p = {.count = 0};
    for (int i = runs->rows[row].first; i >= 0; i = runs->list[i].next)
        read_run(&p, folder, runs, i, g, c->bits);
    c->failed |= p.failed;
    for (int i = 0; i < p.count; i++)
        c->farthest = fmax(c->farthest, p.list[i].values[1]);
    if (p.count && c->count == MOST_CURVES)
        c->cut = true;
    else if (p.count && label_row(c->labels[c->count], runs, row) && write_curve(&c->data, &p))
        c->count++;
    else if (p.count)
        c->failed = true;
    rt_free(p.list);
}

/* ---- drawing ---- */

static int key_height(const curves *c)
{
    enum { LETTER = 8, SAMPLE = 48, ROW_HEIGHT = 17 };
    int longest = 0;
    for (int i = 0; i < c->count; i++) {
        const int length = (int)strlen(c->labels[i]);
        longest = length > longest ? length : longest;
    }
    const int in_a_row = (RT_FIGURE_WIDTH - 60) / (longest * LETTER + SAMPLE);
    return c->count / (in_a_row > 1 ? in_a_row : 1) * ROW_HEIGHT;
}

/* Adds labels that a browser shows where the pointer rests on a point. */
static void add_values(rt_writer *w, const curves *c, const group *g, int x, int column)
{
    for (int i = 0; i < c->count; i++) {
        rt_writer_add(w, ", \\\n     '%s' index %d using %d:%d:(", g->data, i, x, column);
        rt_figures_quote(w, c->labels[i]);
        rt_writer_add(w,
                      ".sprintf(': %s %%.6g: %%.4g ± %%.2g',$%d,$%d,$%d)) with labels hypertext "
                      "point pointtype 7 pointsize 0.5 linecolor rgb '#e0000000' notitle",
                      g->unit, x, column, column + 1);
    }
}

/* Adds the curves. Later lines are thinner, so that lines that coincide are all visible. */
static void add_lines(rt_writer *w, const curves *c, const group *g, int column)
{
    const int x = g->beside ? 4 : 1;
    for (int i = 0; i < c->count; i++)
        rt_writer_add(w,
                      "%s'%s' index %d using %d:($%d-$%d):($%d+$%d) with filledcurves "
                      "linetype %d fillstyle transparent solid 0.12 noborder notitle",
                      i ? ", \\\n     " : "plot ", g->data, i, x, column, column + 1, column,
                      column + 1, i % 7 + 1);
    for (int i = 0; i < c->count; i++) {
        rt_writer_add(w,
                      ", \\\n     '%s' index %d using %d:%d%s with %s linetype %d dashtype "
                      "%d linewidth %.2f title ",
                      g->data, i, x, column, g->more, g->with, i % 7 + 1, i / 7 + 1,
                      c->count > 1 ? 3.4 - 2.0 * i / (c->count - 1) : 2);
        rt_figures_quote(w, c->labels[i]);
    }
    add_values(w, c, g, x, column);
}

static void curve_add_figure(rt_figures *f, const curves *c, const group *g, int value)
{
    char caption[RT_CAPTION_SIZE];
    const bool loss = g->has_losses && !value;
    const bool differs = loss && c->differ;
    rt_writer w = {0};
    rt_writer_add(&w, "%s\n%s\n", g->axis, g->figures[value].axis);
    if (g->beside)
        rt_writer_add(&w, "set xtics %.9g\n", rt_figures_tics(c->farthest));
    if (loss && c->bits)
        rt_writer_add(&w, "set ylabel 'bits per byte'\n");
    add_lines(&w, c, g, 2 + 2 * value);
    rt_writer_add(&w, "\n");
    snprintf(caption, sizeof caption, "%s%s: %s, and one standard deviation around it%s%s%s%s",
             g->figures[value].what, loss && c->bits ? " in bits per byte" : "", g->over,
             differs ? "; losses of different " : "", differs ? c->differ : "",
             differs ? " are not comparable" : "",
             c->cut ? "; only the first groups of runs are drawn" : "");
    rt_figures_add(f, g->figures[value].name, caption, RT_FIGURE_WIDTH, 320 + key_height(c), &w);
}

static void add_group(rt_figures *f, const char *folder, const rt_sweep_runs *runs,
                      const rt_ranking *ranking, const group *g)
{
    const bool bits = ranking->result && !strcmp(ranking->result, RT_RESULT_BITS_PER_BYTE);
    curves c = {.bits = bits, .differ = ranking->differ};
    for (int row = 0; row < runs->row_count && !c.cut && !c.failed; row++)
        add_row(&c, runs, folder, row, g);
    c.data.failed |= c.failed;
    if (!c.count && !c.failed) {
        rt_writer_free(&c.data);
        return;
    }
    rt_figures_write(f, g->data, &c.data);
    for (int v = 0; v < VALUES && c.count && g->figures[v].name; v++)
        curve_add_figure(f, &c, g, v);
}

void rt_report_curves(rt_figures *f, const char *folder, const rt_sweep_runs *runs,
                      const rt_ranking *ranking)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        add_group(f, folder, runs, ranking, &groups[i]);
}

enum { MOST_KEYS = 4, MOST_SERIES = 6, MOST_VALUES = 64, SERIES_NAME = 64 };

/* A setting, and the positions of its values on the axis. */
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

/* Finds the values of the setting; returns false if there are too many. */
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
    if (s->numeric && s->value_count > 8) {
        rt_figures_scale(w, 'x',
                         (rt_figure_range){rt_csv_value(s->values[0]),
                                           rt_csv_value(s->values[s->value_count - 1])});
        return;
    }
    if (s->logarithmic)
        rt_writer_add(w, "set logscale x\n");
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

static void key_add_figure(rt_figures *f, swept *s, int number, const char *unit)
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
    rt_figures_add(f, names[number], caption, RT_FIGURE_WIDTH, 320, &w);
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
            key_add_figure(f, &s, number++, bits ? "bits per byte" : "cross entropy (nats)");
        else
            rt_writer_free(&s.data);
    }
}
