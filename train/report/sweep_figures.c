#include "core/memory.h"
#include "text/number.h"
#include "train/report/private.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *cell_of(const rt_sweep_runs *runs, int row, int column)
{
    return runs->list[runs->rows[row].first].cells[column];
}

static bool is_in_bits(const rt_ranking *ranking)
{
    return ranking->result && !strcmp(ranking->result, RT_RESULT_BITS_PER_BYTE);
}

/* ---- curves ---- */

enum { MOST_CURVES = 28, LABEL_SIZE = 41, VALUES = 2 };

/* Values of a run at some x, such as the loss and the accuracy of a step. */
typedef struct point {
    int x;
    double values[VALUES]; /* NaN: missing */
} point;

typedef struct points {
    int count;
    size_t capacity;
    point *list;
    bool failed;
} points;

/* Figures of the same points. */
typedef struct group {
    const char *data;                                /* file from which the figures are drawn */
    enum { METRICS, TIMING, THETA, RESULTS } source; /* tables from which the points are read */
    const char *column;                              /* column of the second value of each step */
    const char *over;                                /* runs over which the mean is taken */
    const char *options;                             /* variables of the section "curves" */
    bool beside; /* x is the second value, and points are averaged by step */
    struct {
        const char *name, *what, *axes; /* NULL after the last */
        const char *choice;             /* see rt_figure */
    } figures[VALUES];
} group;

#define LINES      "style = 'lines'\nmore = ''\nunit = "
#define POINTS     "style = 'linespoints pointtype 7 pointsize 0.4'\nmore = "
#define OVER_SEEDS "the mean over the seeds"

static const group groups[] = {
    {"curves.csv",
     METRICS,
     "eval_accuracy",
     OVER_SEEDS,
     LINES "'step'",
     false,
     {{"loss", "Evaluation loss", "steps", "steps"},
      {"accuracy", "Evaluation accuracy", "steps accuracy", NULL}}},
    {"theta_curves.csv",
     THETA,
     NULL,
     "the mean over layers, heads and seeds",
     POINTS "''\nunit = 'pair'",
     false,
     {{"theta", "Drift of the learned θᵢ from base^(-2i/R), as the logarithm of their ratio",
       "pairs distance", NULL}}},
    {"length_curves.csv",
     RESULTS,
     NULL,
     OVER_SEEDS,
     POINTS "':xtic(1)'\nunit = 'tokens'",
     false,
     {{"length_loss", "Evaluation loss by sequence length", "lengths", NULL},
      {"length_accuracy", "Evaluation accuracy by sequence length", "lengths accuracy", NULL}}},
    {"token_curves.csv",
     METRICS,
     "tokens",
     OVER_SEEDS,
     LINES "'tokens'",
     true,
     {{"loss_by_tokens", "Evaluation loss by tokens of training", "tokens", "tokens"}}},
    {"time_curves.csv",
     TIMING,
     NULL,
     OVER_SEEDS,
     LINES "'seconds'",
     true,
     {{"loss_by_time", "Evaluation loss by time of training", "seconds", "seconds"}}},
};

typedef struct curves {
    int count;
    bool cut, failed;
    double farthest;       /* largest second value of a point */
    rt_figure_range means; /* range of the means of the first value */
    char labels[MOST_CURVES][LABEL_SIZE];
    rt_writer data;
} curves;

static void add_point(points *p, point one)
{
    if (rt_grow(&p->list, &p->capacity, (size_t)p->count + 1, sizeof *p->list))
        p->list[p->count++] = one;
    else
        p->failed = true;
}

/* Reads the loss of each evaluation and, as the second value, a column of metrics.csv or the
 * seconds of timing.csv, with the step as x. */
static void read_steps(points *p, const char *folder, const group *g, double unit)
{
    rt_csv metrics;
    rt_timing timing = {.step = -1};
    const bool timed = g->source == TIMING;
    const bool open =
        rt_csv_open(&metrics, folder, "metrics.csv") && (!timed || rt_timing_open(&timing, folder));
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
    rt_csv_close(&timing.csv);
}

/* Reads the logarithm of learned theta / base^(-2i/R) in all layers and heads; x is the pair. */
static void read_theta(points *p, const char *folder)
{
    rt_csv theta;
    if (rt_csv_open(&theta, folder, "theta_final.csv"))
        while (!p->failed && rt_csv_row(&theta)) {
            const double distance =
                log(rt_csv_number(&theta, "theta") / rt_csv_number(&theta, "geometric"));
            point one = {.values = {distance, (double)NAN}};
            if (isfinite(distance) && rt_csv_whole(&theta, "i", &one.x))
                add_point(p, one);
        }
    rt_csv_close(&theta);
}

/* Reads loss and accuracy at each length of train.eval_lengths from results; x is the length. */
static void read_lengths(points *p, const rt_sweep_runs *runs, int run, double unit)
{
    static const char loss[] = RT_RESULT_LOSS_AT;
    for (int i = runs->exit_column + 1; i < runs->columns && !p->failed; i++) {
        char name[RT_RESULT_NAME_SIZE];
        int64_t length;
        if (strncmp(runs->names[i], loss, strlen(loss)) != 0 ||
            !rt_integer_parse(runs->names[i] + strlen(loss), &length) || length < 1 ||
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

static void read_run(points *p, const rt_sweep_runs *runs, int run, const group *g, bool bits)
{
    /* bits per byte of one nat per token; 1 if losses are in nats */
    const double unit =
        bits ? rt_sweep_number(runs, run, rt_sweep_column(runs, RT_RESULT_BITS_PER_BYTE)) /
                   rt_sweep_number(runs, run, rt_sweep_column(runs, RT_RESULT_LOSS))
             : 1;
    if (g->source == RESULTS)
        read_lengths(p, runs, run, unit);
    else if (g->source == THETA)
        read_theta(p, runs->list[run].folder);
    else
        read_steps(p, runs->list[run].folder, g, unit);
}

/* Labels a row by its settings or, if they are too long, a single run by its name, truncated at a
 * whole character. Returns false if the heap is exhausted. */
static bool label_row(char label[LABEL_SIZE], const rt_sweep_runs *runs, int row)
{
    static const char more[] = "…";
    const bool alone = runs->rows[row].first == runs->rows[row].last;
    rt_writer w = {0};
    rt_sweep_row_settings(&w, runs, row, 0, false);
    if (!w.length)
        rt_writer_add(&w, "all runs");
    if (!w.failed) {
        const char *text = alone && w.length >= LABEL_SIZE ? cell_of(runs, row, 0) : w.bytes;
        const size_t size = strlen(text);
        const bool fits = size < LABEL_SIZE;
        const size_t length = rt_text_beginning(text, size, fits ? size : LABEL_SIZE - sizeof more);
        snprintf(label, LABEL_SIZE, "%.*s%s", (int)length, text, fits ? "" : more);
    }
    const bool failed = w.failed;
    rt_writer_free(&w);
    return !failed;
}

static int by_x(const void *a, const void *b)
{
    const int one = ((const point *)a)->x, other = ((const point *)b)->x;
    return (one > other) - (one < other);
}

/* Writes columns with x and, for each value, mean and deviation. Extends the range to the means of
 * the first value. */
static bool write_curve(rt_writer *w, points *p, rt_figure_range *means)
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
            const rt_summary s = rt_summarise(values, end - i);
            if (!v)
                rt_figure_range_take(means, s.mean);
            if (s.count)
                rt_writer_add(w, ",%.6g,%.6g", s.mean, s.count > 1 ? s.deviation : 0);
            else
                rt_writer_add(w, ",,");
        }
        rt_writer_add(w, "\n");
    }
    rt_writer_add(w, "\n\n");
    rt_free(values);
    return true;
}

/* Adds the curve of a row if its runs have points. */
static void add_curve(curves *c, const rt_sweep_runs *runs, int row, const group *g, bool bits)
{
    points p = {.count = 0};
    for (int i = runs->rows[row].first; i >= 0; i = runs->list[i].next)
        read_run(&p, runs, i, g, bits);
    c->failed |= p.failed;
    for (int i = 0; i < p.count; i++)
        c->farthest = fmax(c->farthest, p.list[i].values[1]);
    if (p.count && c->count == MOST_CURVES)
        c->cut = true;
    else if (p.count && label_row(c->labels[c->count], runs, row) &&
             write_curve(&c->data, &p, &c->means))
        c->count++;
    else if (p.count)
        c->failed = true;
    rt_free(p.list);
}

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

static void add_curves(rt_figures *f, const curves *c, const group *g, int value,
                       const rt_ranking *ranking)
{
    const bool loss = !value && g->source != THETA;
    const bool bits = loss && is_in_bits(ranking), differs = loss && ranking->differ;
    char axes[32];
    const rt_figure figure = {.name = g->figures[value].name,
                              .choice = g->figures[value].choice,
                              .axes = axes,
                              .plots = "curves",
                              .width = RT_FIGURE_WIDTH,
                              .height = 320 + key_height(c)};
    rt_writer w = {0};
    snprintf(axes, sizeof axes, "%s%s", g->figures[value].axes,
             bits   ? " bits"
             : loss ? " nats"
                    : "");
    if (g->beside)
        rt_writer_add(&w, "set xtics %.9g\n", rt_figures_tics(c->farthest));
    if (loss)
        rt_figures_scale(&w, 'y', c->means);
    rt_writer_add(&w, "file = '%s'\n%s\nhorizontal = %d\nvertical = %d\ncurves = %d\n", g->data,
                  g->options, g->beside ? 4 : 1, 2 + 2 * value, c->count);
    rt_writer_add(&w, "array labels[curves] = [");
    for (int i = 0; i < c->count; i++) {
        rt_writer_add(&w, i ? ", " : "");
        rt_figures_quote(&w, c->labels[i]);
    }
    rt_writer_add(&w, "]\n");
    rt_figures_add(f, &figure, &w, "%s%s: %s, and one standard deviation around it%s%s%s%s",
                   g->figures[value].what, bits ? " in bits per byte" : "", g->over,
                   differs ? "; losses of different " : "", differs ? ranking->differ : "",
                   differs ? " are not comparable" : "",
                   c->cut ? "; only the first groups of runs are drawn" : "");
}

void rt_report_curves(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking)
{
    for (const group *g = groups; g < groups + sizeof groups / sizeof *groups; g++) {
        curves c = {.means = RT_NO_RANGE};
        for (int row = 0; row < runs->row_count && !c.cut && !c.failed; row++)
            add_curve(&c, runs, row, g, is_in_bits(ranking));
        c.data.failed |= c.failed;
        if (c.count || c.failed)
            rt_figures_write(f, g->data, &c.data);
        for (int v = 0; v < VALUES && c.count && g->figures[v].name; v++)
            add_curves(f, &c, g, v, ranking);
        rt_writer_free(&c.data);
    }
}

/* ---- results by the values of a setting ---- */

enum { MOST_KEYS = 4, MOST_SERIES = 6, MOST_VALUES = 64, SERIES_NAME = 64 };

/* A setting, and the positions of its values on the axis. */
typedef struct swept {
    const rt_sweep_runs *runs;
    int column, result;
    bool numeric;
    const char *values[MOST_VALUES];
    int value_count;
    rt_figure_range means;   /* range of the mean results */
    int series[MOST_SERIES]; /* a row of each series: rows that differ only in this setting */
    int series_count;        /* 0: all runs are one series */
} swept;

static int ascending(const void *a, const void *b)
{
    const double x = rt_csv_value(*(const char *const *)a),
                 y = rt_csv_value(*(const char *const *)b);
    return (x > y) - (x < y);
}

/* Finds the values of the setting. Returns false if there are too many. */
static bool find_values(swept *s)
{
    s->numeric = true;
    for (int row = 0; row < s->runs->row_count; row++) {
        const char *cell = cell_of(s->runs, row, s->column);
        int i = 0;
        while (i < s->value_count && strcmp(s->values[i], cell) != 0)
            i++;
        if (i < s->value_count)
            continue;
        if (i == MOST_VALUES)
            return false;
        s->values[s->value_count++] = cell;
        s->numeric = s->numeric && isfinite(rt_csv_value(cell));
    }
    if (s->numeric)
        qsort(s->values, (size_t)s->value_count, sizeof *s->values, ascending);
    return true;
}

/* Returns the position of a value on the axis. */
static double position_of(const swept *s, int value)
{
    return s->numeric ? rt_csv_value(s->values[value]) : value;
}

static bool is_logarithmic(const swept *s)
{
    const double least = position_of(s, 0), most = position_of(s, s->value_count - 1);
    return s->numeric && least > 0 && most >= 8 * least;
}

/* Returns a position on the axis to the right of x, by a share of the axis. */
static double right_of(const swept *s, double x, double share)
{
    const double least = position_of(s, 0), most = position_of(s, s->value_count - 1);
    return is_logarithmic(s) ? x * pow(most / least, share) : x + share * (most - least);
}

/* Returns whether two rows agree in all other settings. */
static bool same_otherwise(const swept *s, int row, int other)
{
    for (int c = 1; c < s->runs->exit_column; c++)
        if (c != s->column && rt_sweep_differs(s->runs, c) &&
            strcmp(cell_of(s->runs, row, c), cell_of(s->runs, other, c)) != 0)
            return false;
    return true;
}

static void find_series(swept *s)
{
    for (int row = 0; row < s->runs->row_count; row++) {
        int i = 0;
        while (i < s->series_count && !same_otherwise(s, row, s->series[i]))
            i++;
        if (i == MOST_SERIES) {
            s->series_count = 0;
            return;
        }
        if (i == s->series_count)
            s->series[s->series_count++] = row;
    }
}

/* Collects the results of a series at a value, one number per run, and returns their number. */
static int collect_value(const swept *s, int series, int value, double *results)
{
    int count = 0;
    for (int row = 0; row < s->runs->row_count; row++)
        if (!strcmp(cell_of(s->runs, row, s->column), s->values[value]) &&
            (!s->series_count || same_otherwise(s, row, s->series[series])))
            for (int i = s->runs->rows[row].first; i >= 0; i = s->runs->list[i].next)
                results[count++] = rt_sweep_number(s->runs, i, s->result);
    return count;
}

/* Writes two blocks for each series: x, mean, deviation and number of runs; then x and the result
 * of each run. Offsets the series on the axis. Returns whether several values have results. */
static bool write_points(rt_writer *w, swept *s)
{
    const int all = s->series_count ? s->series_count : 1;
    double *results = rt_alloc((size_t)s->runs->count, sizeof *results);
    rt_writer dots = {0};
    int first = -1;
    bool several = false;
    for (int i = 0; results && i < all; i++) {
        const double beside = s->numeric ? 0 : 0.06 * (i - (all - 1) / 2.0);
        for (int v = 0; v < s->value_count; v++) {
            const double x = position_of(s, v) + beside, dot = right_of(s, x, 0.03);
            const int count = collect_value(s, i, v, results);
            const rt_summary m = rt_summarise(results, count);
            if (!m.count)
                continue;
            rt_figure_range_take(&s->means, m.mean);
            rt_writer_add(w, "%.9g,%.9g,%.9g,%d\n", x, m.mean, m.count > 1 ? m.deviation : 0,
                          m.count);
            for (int k = 0; k < count && count > 1; k++)
                if (isfinite(results[k]))
                    rt_writer_add(&dots, "%.9g,%.9g\n", dot, results[k]);
            several |= first >= 0 && v != first;
            first = v;
        }
        rt_writer_add(w, "\n\n%s\n\n", dots.bytes ? dots.bytes : "");
        w->failed |= dots.failed;
        rt_writer_free(&dots);
    }
    w->failed |= !results;
    rt_free(results);
    return several;
}

/* Adds the values of the setting as tics, unless there are too many numbers. */
static void add_values(rt_writer *w, const swept *s)
{
    rt_writer_add(w, "set xlabel ");
    rt_figures_quote(w, s->runs->names[s->column]);
    rt_writer_add(w, is_logarithmic(s) ? " noenhanced\nset logscale x\n" : " noenhanced\n");
    if (s->numeric && s->value_count > 8)
        return;
    rt_writer_add(w, "set xtics noenhanced (");
    for (int v = 0; v < s->value_count; v++) {
        rt_writer_add(w, v ? ", " : "");
        rt_figures_quote(w, s->values[v]);
        rt_writer_add(w, " %.9g", position_of(s, v));
    }
    rt_writer_add(w, ")\n");
}

static void add_labels(rt_writer *w, const swept *s)
{
    const int all = s->series_count ? s->series_count : 1;
    rt_writer_add(w, "series = %d\narray labels[series] = [", all);
    for (int i = 0; i < all; i++) {
        char name[SERIES_NAME];
        rt_writer settings = {0};
        if (s->series_count)
            rt_sweep_row_settings(&settings, s->runs, s->series[i], s->column, true);
        snprintf(name, sizeof name, "%s", settings.bytes ? settings.bytes : "");
        w->failed |= settings.failed;
        rt_writer_free(&settings);
        rt_writer_add(w, i ? ", " : "");
        rt_figures_quote(w, name);
    }
    rt_writer_add(w, "]\nstyle = '%s'\n",
                  s->numeric ? "lines" : "points pointtype 7 pointsize 0.6");
}

void rt_report_key_figures(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking)
{
    static const char *const names[MOST_KEYS] = {"key_1", "key_2", "key_3", "key_4"};
    const int result = ranking->result ? rt_sweep_column(runs, ranking->result) : -1;
    int number = 0;
    for (int c = 1; result >= 0 && c < runs->exit_column && number < MOST_KEYS; c++) {
        char file[RT_FIGURE_FILE_SIZE];
        const rt_figure figure = {.name = names[number],
                                  .axes = is_in_bits(ranking) ? "bits" : "nats",
                                  .plots = "key",
                                  .width = RT_FIGURE_WIDTH,
                                  .height = 320};
        swept s = {.runs = runs, .column = c, .result = result, .means = RT_NO_RANGE};
        rt_writer w = {0}, data = {0};
        if (!rt_sweep_differs(runs, c) || !find_values(&s))
            continue;
        find_series(&s);
        if (write_points(&data, &s)) {
            snprintf(file, sizeof file, "%s.csv", names[number++]);
            rt_figures_write(f, file, &data);
            rt_writer_add(&w, "file = '%s'\n%s", file, s.series_count < 2 ? "unset key\n" : "");
            add_values(&w, &s);
            rt_figures_scale(&w, 'y', s.means);
            add_labels(&w, &s);
            rt_figures_add(f, &figure, &w,
                           "Evaluation loss by %s: the mean over %s with one standard deviation, "
                           "and a circle for each run",
                           runs->names[c], s.series_count ? "the seeds" : "all runs of a value");
        }
        rt_writer_free(&data);
    }
}
