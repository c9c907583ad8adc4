#include "core/memory.h"
#include "train/report/sections.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_in_bits(const rt_ranking *ranking)
{
    return ranking->result && !strcmp(ranking->result, RT_RESULT_BITS_PER_BYTE);
}

enum { MOST_CURVES = 28, LABEL_SIZE = 41, VALUES = 2 };

/* Values of a run at some x, such as the loss and the accuracy of a step. */
typedef struct point {
    int x, run;
    double values[VALUES]; /* NaN: missing */
} point;

/* Figures of the same points. */
typedef struct group {
    const char *data;    /* file from which the figures are drawn */
    const char *table;   /* table of a run from which the points are read */
    const char *x;       /* its column of x */
    const char *first;   /* its column of the first value; NULL: the distance of theta */
    const char *second;  /* its column of the second value; or NULL */
    bool loss;           /* the first value is a loss */
    bool beside;         /* x is the second value, and points are averaged by step */
    bool timed;          /* the second value is the time, from timing.csv */
    bool of_longest;     /* only the longest sequences of a run count */
    const char *options; /* variables of the section "curves" */
    struct {
        const char *name, *what, *axes; /* NULL after the last */
        const char *choice;             /* see rt_figure */
    } figures[VALUES];
} group;

#define LINES  "style = 'lines'\nmore = ''\nunit = "
#define POINTS "style = 'linespoints pointtype 7 pointsize 0.4'\nmore = "

static const group groups[] = {
    {"curves.csv", "metrics.csv", "step", "eval_loss", "eval_accuracy", .loss = true,
     .options = LINES "'step'",
     .figures = {{"loss", "Evaluation loss", "steps", "steps"},
                 {"accuracy", "Evaluation accuracy", "steps accuracy", NULL}}},
    {"theta_curves.csv", "theta_final.csv", "i", .options = POINTS "''\nunit = 'pair'",
     .figures = {{"theta",
                  "The learned θᵢ beside the geometric series, as the logarithm of their "
                  "ratio",
                  "pairs distance", NULL}}},
    {"length_curves.csv", "lengths.csv", "length", "eval_loss", "eval_accuracy", .loss = true,
     .options = POINTS "':xtic(1)'\nunit = 'tokens'",
     .figures = {{"length_loss", "Evaluation loss by sequence length", "lengths", NULL},
                 {"length_accuracy", "Evaluation accuracy by sequence length", "lengths accuracy",
                  NULL}}},
    {"size_curves.csv", "lengths.csv", "size", "eval_loss", "eval_accuracy", .loss = true,
     .options = POINTS "':xtic(1)'\nunit = 'pixels'",
     .figures = {{"size_loss", "Evaluation loss by size of the images", "lengths", NULL},
                 {"size_accuracy", "Evaluation accuracy by size of the images", "lengths accuracy",
                  NULL}}},
    {"exact_curves.csv", "lengths.csv", "length", "eval_exact",
     .options = POINTS "':xtic(1)'\nunit = 'tokens'",
     .figures = {{"length_exact", "Sequences with the whole answer predicted, by length",
                  "lengths accuracy", NULL}}},
    {"distance_curves.csv", "distances.csv", "distance", "eval_accuracy", .of_longest = true,
     .options = POINTS "''\nunit = 'tokens'",
     .figures = {{"distances",
                  "Accuracy at the longest sequences of each run, by distance to the token that "
                  "answers",
                  "distances accuracy", NULL}}},
    {"token_curves.csv", "metrics.csv", "step", "eval_loss", "tokens", .loss = true, .beside = true,
     .options = LINES "'tokens'",
     .figures = {{"loss_by_tokens", "Evaluation loss by tokens of training", "tokens", "tokens"}}},
    {"time_curves.csv", "metrics.csv", "step", "eval_loss", .loss = true, .beside = true,
     .timed = true, .options = LINES "'seconds'",
     .figures = {{"loss_by_time", "Evaluation loss by time of training", "seconds", "seconds"}}},
};

/* Curves of the rows of a table, in one file of data. */
typedef struct curves {
    const group *group;
    double unit; /* bits per byte of one nat per token; 1 if losses are in nats */
    int count;
    bool seeds; /* some row has several runs */
    bool cut, failed;
    bool shortened;        /* some run of a curve has points at which another has none */
    double farthest;       /* largest second value of a point */
    rt_figure_range means; /* range of the means of the first value */
    rt_writer data, labels;
    int longest;   /* bytes of the longest label */
    point *points; /* of the runs of the current row */
    int point_count;
    size_t capacity;
} curves;

/* Returns the logarithm of the ratio of learned and geometric theta. The two coordinates of a mixed
 * theta, which have no steps of a grid, have none. */
static double theta_distance(const rt_csv *csv)
{
    const double ratio = rt_csv_number(csv, "theta") / rt_csv_number(csv, "geometric");
    return isfinite(rt_csv_number(csv, "grid")) ? log(ratio) : (double)NAN;
}

/* Reads the points of a run. With `of_longest`, only rows of its longest sequences count. */
static void read_points(curves *c, const rt_sweep_runs *runs, int run)
{
    const char *folder = runs->list[run].folder;
    const group *g = c->group;
    const int before = c->point_count;
    int length, longest = 0;
    rt_csv csv;
    rt_timing timing = {.step = -1};
    if (g->timed)
        rt_timing_open(&timing, folder);
    for (rt_csv_open(&csv, folder, g->table); rt_csv_row(&csv);) {
        const double value = g->first ? rt_csv_number(&csv, g->first) : theta_distance(&csv);
        point one = {.run = run, .values = {g->loss ? c->unit * value : value}};
        if (!isfinite(one.values[0]) || !rt_csv_whole(&csv, g->x, &one.x))
            continue;
        one.values[1] = g->timed    ? rt_timing_seconds(&timing, one.x)
                        : g->second ? rt_csv_number(&csv, g->second)
                                    : (double)NAN;
        if (g->beside && !isfinite(one.values[1]))
            continue;
        if (g->of_longest) {
            if (!rt_csv_whole(&csv, "length", &length) || length < longest)
                continue;
            c->point_count = length > longest ? before : c->point_count;
            longest = length;
        }
        if (rt_grow(&c->points, &c->capacity, (size_t)c->point_count + 1, sizeof one))
            c->points[c->point_count++] = one;
        else
            c->failed = true;
    }
    rt_csv_close(&timing.csv);
}

/* Labels a row by its settings or, if they are too long, a single run by its name, truncated at a
 * whole character. */
static void add_label(curves *c, const rt_sweep_runs *runs, int row)
{
    static const char more[] = "…";
    const int first = runs->rows[row].first;
    const bool alone = first == runs->rows[row].last;
    char label[LABEL_SIZE];
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    rt_sweep_row_settings(&w, runs, row);
    if (!w.length)
        rt_writer_add(&w, "%s", runs->rows[row].merged ? runs->list[first].cells[0] : "all runs");
    const char *text = w.failed                          ? ""
                       : alone && w.length >= LABEL_SIZE ? runs->list[first].cells[0]
                                                         : w.bytes;
    const size_t size = strlen(text);
    const bool fits = size < LABEL_SIZE;
    const size_t length = rt_text_beginning(text, size, fits ? size : LABEL_SIZE - sizeof more);
    const int bytes = snprintf(label, sizeof label, "%.*s%s", (int)length, text, fits ? "" : more);
    c->longest = bytes > c->longest ? bytes : c->longest;
    rt_writer_add(&c->labels, c->count ? ", " : "");
    rt_figures_quote(&c->labels, label);
    c->failed |= w.failed;
}

static int by_x(const void *a, const void *b)
{
    const point *one = a, *other = b;
    return one->x != other->x ? (one->x > other->x) - (one->x < other->x)
                              : (one->run > other->run) - (one->run < other->run);
}

/* Adds the curve of a row if its runs have points: columns with x and, for each value, mean and
 * deviation over the points of its good runs or, if none is, of those that failed. Steps that one
 * of these runs has no point at, as after an early stop, are left out. */
static void add_curve(curves *c, const rt_sweep_runs *runs, int row, bool bits)
{
    const int bits_column = rt_sweep_column(runs, RT_RESULT_BITS_PER_BYTE);
    const int loss_column = rt_sweep_column(runs, RT_RESULT_LOSS);
    const bool by_step = !strcmp(c->group->x, "step");
    int with_points = 0;
    c->point_count = 0;
    for (int i = runs->rows[row].first; i >= 0; i = runs->list[i].next) {
        const int before = c->point_count;
        if (runs->list[i].diverged || (runs->rows[row].good && !runs->list[i].good))
            continue;
        c->unit =
            bits ? rt_sweep_number(runs, i, bits_column) / rt_sweep_number(runs, i, loss_column)
                 : 1;
        read_points(c, runs, i);
        with_points += c->point_count > before;
    }
    const point *p = c->points;
    for (int i = 0; i < c->point_count; i++)
        c->farthest = fmax(c->farthest, p[i].values[1]);
    if (c->count == MOST_CURVES)
        c->cut = c->point_count > 0;
    if (c->count == MOST_CURVES || !c->point_count)
        return;
    qsort(c->points, (size_t)c->point_count, sizeof *c->points, by_x);
    add_label(c, runs, row);
    c->count++;
    RT_OWNED double *values = rt_alloc((size_t)c->point_count, sizeof *values);
    c->failed |= !values;
    for (int i = 0, end; i < c->point_count && values; i = end) {
        int with_x = 0;
        for (end = i; end < c->point_count && p[end].x == p[i].x; end++)
            with_x += end == i || p[end].run != p[end - 1].run;
        if (by_step && with_x < with_points) {
            c->shortened = true;
            continue;
        }
        rt_writer_add(&c->data, "%d", p[i].x);
        for (int v = 0; v < VALUES; v++) {
            for (int k = i; k < end; k++)
                values[k - i] = p[k].values[v];
            const rt_summary s = rt_summarise(values, end - i);
            if (!v)
                rt_figure_range_take(&c->means, s.mean);
            if (s.count)
                rt_writer_add(&c->data, ",%.6g,%.6g", s.mean, s.count > 1 ? s.deviation : 0);
            else
                rt_writer_add(&c->data, ",,");
        }
        rt_writer_add(&c->data, "\n");
    }
    rt_writer_add(&c->data, "\n\n");
}

/* Returns how many columns of a key with labels of so many bytes fit beside the axis. */
static int key_columns(int longest)
{
    enum { LETTER = 8, SAMPLE = 48 };
    const int fit = (RT_FIGURE_WIDTH - 90) / (longest * LETTER + SAMPLE);
    return fit > 1 ? fit : 1;
}

#define AROUND ", with one standard deviation"

static void add_figure(rt_figures *f, const curves *c, int value, const rt_ranking *ranking)
{
    enum { ROW_HEIGHT = 17 }; /* of the key */
    const group *g = c->group;
    const bool loss = !value && g->loss;
    const bool bits = loss && is_in_bits(ranking), differs = loss && ranking->differ;
    const int columns = key_columns(c->longest);
    const char *unit = bits ? " bits" : loss ? " nats" : "";
    rt_drawing d = {.figure = {.name = g->figures[value].name,
                               .choice = g->figures[value].choice,
                               .axes = RT_PRINTED(32, "%s%s", g->figures[value].axes, unit),
                               .plots = "curves",
                               .height = 320 + c->count / columns * ROW_HEIGHT}};
    rt_writer *w = &d.commands;
    if (g->beside)
        rt_writer_add(w, "set xtics %.9g\n", rt_figures_tics(c->farthest));
    if (loss)
        rt_figures_scale(w, 'y', c->means);
    rt_writer_add(w,
                  "%sset key maxcols %d\nfile = '%s'\n%s\nhorizontal = %d\nvertical = %d\n"
                  "curves = %d\narray labels[curves] = [%s]\n",
                  c->seeds ? "" : "spread(deviation) = ''\n", columns, g->data, g->options,
                  g->beside ? 4 : 1, 2 + 2 * value, c->count, c->labels.bytes);
    rt_figure_note(&d.figure, "%s%s%s%s%s%s%s%s", g->figures[value].what,
                   bits ? " in bits per byte" : "",
                   !g->first && c->seeds ? ": the mean over layers, heads and seeds" AROUND
                   : !g->first           ? ": the mean over layers and heads" AROUND
                   : c->seeds            ? ": the mean over the seeds" AROUND
                                         : "",
                   c->shortened ? ", where all of them have a value" : "",
                   differs ? "; losses of different " : "", differs ? ranking->differ : "",
                   differs ? " are not comparable" : "",
                   c->cut ? "; only the first groups of runs are drawn" : "");
    rt_figures_add(f, &d);
}

void rt_report_curves(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking)
{
    for (const group *g = groups; g < groups + sizeof groups / sizeof *groups; g++) {
        curves c = {.group = g, .seeds = runs->seeds};
        for (int row = 0; row < runs->row_count && !c.cut && !c.failed; row++)
            add_curve(&c, runs, row, is_in_bits(ranking));
        c.data.failed |= c.failed || c.labels.failed;
        const bool drawn = c.count && !c.data.failed;
        if (c.count || c.failed)
            rt_figures_write(f, g->data, &c.data);
        for (int v = 0; v < VALUES && drawn && g->figures[v].name; v++)
            add_figure(f, &c, v, ranking);
        rt_writer_free(&c.data);
        rt_writer_free(&c.labels);
        rt_free(c.points);
    }
}

enum { MOST_KEYS = 4, MOST_SERIES = 6, MOST_VALUES = 64, SERIES_NAME = 64 };

/* A setting, and the positions of its values on the axis. */
typedef struct swept {
    const rt_sweep_runs *runs;
    int column, result;
    bool numeric, logarithmic;
    const char *values[MOST_VALUES];
    int value_count;
    double least, most;      /* positions of the first and of the last value */
    rt_figure_range means;   /* range of the mean results */
    int series[MOST_SERIES]; /* a run of each series: runs that differ only in this setting */
    int series_count;        /* 0: all runs are one series */
} swept;

static int ascending(const void *a, const void *b)
{
    const double x = rt_csv_value(*(const char *const *)a),
                 y = rt_csv_value(*(const char *const *)b);
    return (x > y) - (x < y);
}

/* Returns the position of a value on the axis. */
static double position_of(const swept *s, int value)
{
    return s->numeric ? rt_csv_value(s->values[value]) : value;
}

/* Finds the values of the setting. Returns false if there are too many. */
static bool find_values(swept *s)
{
    s->numeric = true;
    for (int run = 0; run < s->runs->count; run++) {
        const char *cell = s->runs->list[run].cells[s->column];
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
    s->least = position_of(s, 0);
    s->most = position_of(s, s->value_count - 1);
    s->logarithmic = s->numeric && s->least > 0 && s->most >= 8 * s->least;
    return true;
}

/* Returns whether two runs agree in all other settings. */
static bool same_otherwise(const swept *s, int run, int other)
{
    const rt_sweep_run *list = s->runs->list;
    return rt_sweep_same_settings(s->runs, list + run, list + other, s->column);
}

/* Returns whether a row has a run of a value and of a series, -1 for any. Where a key has no effect
 * there are several such values or series. */
static bool stands_at(const swept *s, int row, const char *value, int series)
{
    const rt_sweep_row *r = &s->runs->rows[row];
    const int end = r->merged ? s->runs->count : r->first + 1;
    for (int run = r->merged ? 0 : r->first; run < end; run++)
        if (s->runs->list[run].row == row && !strcmp(s->runs->list[run].cells[s->column], value) &&
            (series < 0 || same_otherwise(s, run, series)))
            return true;
    return false;
}

/* Writes two blocks for each series: x, mean, deviation and number of runs; then x and the result
 * of each run. Offsets the series on the axis. Returns whether several values have results. */
static bool write_points(rt_writer *w, swept *s)
{
    const rt_sweep_runs *runs = s->runs;
    const int all = s->series_count ? s->series_count : 1;
    const double share = 0.03; /* of the axis, from a mean to the results of its runs */
    static const char no_rows[] = "NaN,NaN,NaN,NaN\n"; /* gnuplot passes over an empty block */
    rt_writer dots = {0};
    int first = -1;
    bool several = false;
    for (int i = 0; i < all; i++) {
        const double beside = s->numeric ? 0 : 0.06 * (i - (all - 1) / 2.0);
        const size_t before = w->length;
        for (int v = 0; v < s->value_count; v++) {
            const double x = position_of(s, v) + beside;
            const double dot = s->logarithmic ? x * pow(s->most / s->least, share)
                                              : x + share * (s->most - s->least);
            int count = 0;
            for (int row = 0; row < runs->row_count; row++)
                if (stands_at(s, row, s->values[v], s->series_count ? s->series[i] : -1))
                    for (int run = runs->rows[row].first; run >= 0; run = runs->list[run].next)
                        runs->values[count++] = rt_sweep_sample(runs, run, s->result);
            const rt_summary m = rt_summarise(runs->values, count);
            if (!m.count)
                continue;
            rt_figure_range_take(&s->means, m.mean);
            rt_writer_add(w, "%.9g,%.9g,%.9g,%d\n", x, m.mean, m.count > 1 ? m.deviation : 0,
                          m.count);
            for (int k = 0; k < count && count > 1; k++)
                if (isfinite(runs->values[k]))
                    rt_writer_add(&dots, "%.9g,%.9g\n", dot, runs->values[k]);
            several |= first >= 0 && v != first;
            first = v;
        }
        rt_writer_add(w, "%s\n\n%s\n\n", w->length > before ? "" : no_rows,
                      dots.bytes ? dots.bytes : no_rows);
        w->failed |= dots.failed;
        rt_writer_free(&dots);
    }
    return several;
}

/* Adds the labels of the series, and of the values as tics unless they are too many numbers. */
static void add_names(rt_writer *w, const swept *s)
{
    const int all = s->series_count ? s->series_count : 1;
    int longest = 0; /* bytes of the names of series */
    rt_writer_add(w, "set xlabel ");
    rt_figures_quote(w, s->runs->names[s->column]);
    rt_writer_add(w, s->logarithmic ? " noenhanced\nset logscale x\n" : " noenhanced\n");
    for (int v = 0; v < s->value_count && !(s->numeric && s->value_count > 8); v++) {
        rt_writer_add(w, v ? ", " : "set xtics noenhanced (");
        rt_figures_quote_tic(w, s->values[v]);
        rt_writer_add(w, " %.9g%s", position_of(s, v), v + 1 < s->value_count ? "" : ")\n");
    }
    rt_figures_scale(w, 'y', s->means);
    rt_writer_add(w, "series = %d\narray labels[series] = [", all);
    for (int i = 0; i < all; i++) {
        rt_writer settings = {0};
        if (s->series_count)
            rt_sweep_run_settings(&settings, s->runs, s->series[i], s->column);
        const size_t length = rt_text_beginning(settings.bytes, settings.length, LABEL_SIZE - 1);
        rt_writer_add(w, i ? ", " : "");
        rt_figures_quote(w, RT_PRINTED(SERIES_NAME, "%.*s%s", (int)length,
                                       settings.bytes ? settings.bytes : "",
                                       length < settings.length ? "…" : ""));
        longest = (int)length > longest ? (int)length : longest;
        w->failed |= settings.failed;
        rt_writer_free(&settings);
    }
    rt_writer_add(w, "]\nset key maxcols %d\nstyle = '%s'\n", key_columns(longest),
                  s->numeric ? "lines" : "points pointtype 7 pointsize 0.6");
}

void rt_report_key_figures(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking)
{
    static const char *const names[MOST_KEYS] = {"key_1", "key_2", "key_3", "key_4"};
    const int result = ranking->result ? rt_sweep_column(runs, ranking->result) : -1;
    int number = 0;
    for (int c = 1; result >= 0 && c < runs->exit_column && number < MOST_KEYS; c++) {
        rt_drawing d = {.figure = {.name = names[number],
                                   .axes = is_in_bits(ranking) ? "bits" : "nats",
                                   .plots = "key",
                                   .height = 320}};
        swept s = {.runs = runs, .column = c, .result = result};
        if (!rt_sweep_differs(runs, c) || !find_values(&s))
            continue;
        for (int run = 0; run < runs->count; run++) {
            int i = 0;
            while (i < s.series_count && !same_otherwise(&s, run, s.series[i]))
                i++;
            if (i == MOST_SERIES) {
                s.series_count = 0;
                break;
            }
            if (i == s.series_count)
                s.series[s.series_count++] = run;
        }
        if (write_points(&d.data, &s)) {
            rt_writer_add(&d.commands, "file = '%s.csv'\n%s", names[number++],
                          s.series_count < 2 ? "unset key\n" : "");
            add_names(&d.commands, &s);
            rt_figure_note(&d.figure, "%s by %s%s",
                           is_in_bits(ranking) ? "Bits per byte" : "Evaluation loss",
                           runs->names[c],
                           !s.series_count ? ": the mean over all runs of a value" AROUND
                           : runs->seeds   ? ": the mean over the seeds" AROUND
                                           : "");
            rt_figures_add(f, &d);
        }
        rt_writer_free(&d.data);
    }
}
