#include "train/report/sections.h"

#include "core/memory.h"
#include "models/positions.h"
#include "text/csv.h"
#include "text/number.h"
#include "train/report/page.h"
#include "train/report/theta_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_LAYERS = 32,
    MOST_THETAS = 128, /* in the decay curves */
    MOST_PANELS = 6,
    ALL = -1,           /* the number of a layer or head where one theta is for all of them */
    THETA_HEIGHT = 420, /* of the two figures that stand side by side */
    PANEL_HEIGHT = 210,
    NEAREST_END = 64, /* of the distances r of a decay curve */
    FARTHEST_END = 256
};

/* The layers of a table that are shown, and the rows of each for gnuplot. */
typedef struct layers {
    int count;
    bool cut; /* the table has more */
    int list[MOST_LAYERS];
    rt_writer rows[MOST_LAYERS];
} layers;

/* Returns the index of a layer in the list, which it is added to; -1 if the list is full. */
static int layer_of(layers *l, int number)
{
    for (int i = 0; i < l->count; i++)
        if (l->list[i] == number)
            return i;
    if (l->count == MOST_LAYERS) {
        l->cut = true;
        return -1;
    }
    l->list[l->count] = number;
    return l->count++;
}

/* Writes a block of rows for each layer, as gnuplot's `index` wants them; empties the rows. */
static void write_layers(rt_figures *f, layers *l, const char *name)
{
    rt_writer w = {0};
    for (int i = 0; i < l->count; i++) {
        char *rows = rt_writer_take(&l->rows[i]);
        rt_writer_add(&w, "%s\n\n", rows ? rows : "");
        w.failed |= !rows;
        rt_free(rows);
    }
    rt_figures_write(f, name, &w);
}

static void free_layers(layers *l)
{
    for (int i = 0; i < l->count; i++)
        rt_writer_free(&l->rows[i]);
}

/* "layer 3" */
static void add_title(rt_writer *w, int layer)
{
    if (layer == ALL)
        rt_writer_add(w, "all layers");
    else
        rt_writer_add(w, "layer %d", layer);
}

/* Adds one of seven colours and one of five dash types: neighbouring lines differ in both. */
static void add_style(rt_writer *w, int layer)
{
    rt_writer_add(w, "linetype %d dashtype %d", layer % 7 + 1, layer % 5 + 1);
}

/* Returns the height of a figure whose key has so many titles. */
static int height_with_key(int height, int titles)
{
    enum { TITLES_IN_A_ROW = 4, ROW_HEIGHT = 17 };
    return height + (titles - 1) / TITLES_IN_A_ROW * ROW_HEIGHT;
}

/* Adds the figure; empties both writers. */
static void finish(rt_figures *f, const char *name, rt_writer *caption, const layers *l, int width,
                   int height, rt_writer *script)
{
    if (l->cut)
        rt_writer_add(caption, "; the first %d layers", MOST_LAYERS);
    char *text = rt_writer_take(caption);
    if (l->count)
        rt_figures_add(f, name, text ? text : "", width, height, script);
    rt_writer_free(script);
    rt_free(text);
}

/* ---- rows of the tables ---- */

typedef struct theta_row {
    int layer, head, pair;
    double theta, start;
} theta_row;

/* Reads a whole number, or ALL. */
static bool read_number_or_all(const rt_csv *csv, const char *name, int *number)
{
    *number = ALL;
    return !strcmp(rt_csv_cell(csv, name), "all") || rt_csv_whole(csv, name, number);
}

/* Returns whether the row is complete. */
static bool read_row(const rt_csv *csv, theta_row *row)
{
    row->theta = rt_csv_number(csv, "theta");
    row->start = rt_csv_number(csv, "theta_initial");
    return read_number_or_all(csv, "layer", &row->layer) &&
           read_number_or_all(csv, "head", &row->head) && rt_csv_whole(csv, "i", &row->pair) &&
           isfinite(row->theta) && isfinite(row->start);
}

/* ---- drift over the steps ---- */

static void add_drift_row(rt_writer *w, int step, const double *drift, int count)
{
    rt_writer_add(w, "%d", step);
    for (int i = 0; i < count; i++)
        rt_writer_add(w, ",%.6g", drift[i]);
    rt_writer_add(w, "\n");
}

/* Writes the largest drift of each layer by step. */
static void collect_drift(rt_writer *w, const char *folder, layers *l)
{
    double drift[MOST_LAYERS] = {0};
    int step, current = -1;
    theta_row row;
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "theta.csv"))
        while (rt_csv_row(&csv)) {
            if (!rt_csv_whole(&csv, "step", &step) || !read_row(&csv, &row))
                continue;
            if (step != current && current >= 0) {
                add_drift_row(w, current, drift, l->count);
                memset(drift, 0, sizeof drift);
            }
            current = step;
            const int i = layer_of(l, row.layer);
            if (i >= 0)
                drift[i] = fmax(drift[i], fabs(row.theta / row.start - 1));
        }
    rt_csv_close(&csv);
    if (current >= 0)
        add_drift_row(w, current, drift, l->count);
}

static void add_drift(rt_figures *f, const char *folder, const rt_config *config)
{
    layers l = {.count = 0};
    rt_writer data = {0}, script = {0}, caption = {0};
    collect_drift(&data, folder, &l);
    rt_figures_write(f, "drift.csv", &data);
    rt_writer_add(&script, "set xlabel 'step'\nset ylabel 'largest relative drift'\n"
                           "set yrange [0:*]\n");
    rt_writer_add(&script,
                  "plot %.9g with lines dashtype 3 linecolor rgb '#444444' title 'tolerance'",
                  config->theta.tolerance);
    for (int i = 0; i < l.count; i++) {
        rt_writer_add(&script, ", \\\n     'drift.csv' using 1:%d with lines ", i + 2);
        add_style(&script, i);
        rt_writer_add(&script, " title '");
        add_title(&script, l.list[i]);
        rt_writer_add(&script, "'");
    }
    rt_writer_add(&script, "\n");
    rt_writer_add(&caption, "Drift of θ during training: the largest |θᵢ/θᵢ⁰ - 1| of a layer's "
                            "pairs, θᵢ⁰ the initial value");
    finish(f, "drift", &caption, &l, RT_FIGURE_WIDTH, height_with_key(THETA_HEIGHT, l.count + 1),
           &script);
}

/* ---- theta at the end ---- */

/* The theta of a layer, or of one of its heads: a range of `start` and `end` below. */
typedef struct theta_curve {
    int layer; /* in `layers` */
    int head;
    int first, pairs;
} theta_curve;

typedef struct final {
    layers layers;
    int count;              /* of the thetas that have a decay curve */
    double lowest, highest; /* of all theta / base^(-2i/R) - 1 */
    bool elsewhere;         /* some theta did not start from base^(-2i/R) */
    bool by_head;
    int most_pairs;
    theta_curve list[MOST_THETAS];
    int numbers, capacity;
    double *start, *end;
} final;

static bool add_number(final *f, double start, double end)
{
    if (f->numbers == f->capacity) {
        const int capacity = f->capacity ? 2 * f->capacity : 256;
        double *numbers = rt_alloc((size_t)capacity, 2 * sizeof *numbers);
        if (!numbers)
            return false;
        if (f->numbers) {
            memcpy(numbers, f->start, (size_t)f->numbers * sizeof *numbers);
            memcpy(numbers + capacity, f->end, (size_t)f->numbers * sizeof *numbers);
        }
        rt_free(f->start);
        f->start = numbers;
        f->end = numbers + capacity;
        f->capacity = capacity;
    }
    f->start[f->numbers] = start;
    f->end[f->numbers++] = end;
    return true;
}

/* The rows of a theta follow each other. */
static bool add_to_curve(final *f, int layer, const theta_row *row)
{
    theta_curve *t = f->count ? &f->list[f->count - 1] : NULL;
    if (!t || t->layer != layer || t->head != row->head) {
        if (f->count == MOST_THETAS || layer >= MOST_PANELS)
            return true;
        t = &f->list[f->count++];
        *t = (theta_curve){.layer = layer, .head = row->head, .first = f->numbers};
    }
    t->pairs++;
    return add_number(f, row->start, row->theta);
}

static bool add_final_row(final *f, const theta_row *row, double geometric)
{
    const int layer = layer_of(&f->layers, row->layer);
    const double change = row->theta / geometric - 1;
    f->elsewhere |= fabs(row->start / geometric - 1) > 1e-6;
    f->lowest = fmin(f->lowest, change);
    f->highest = fmax(f->highest, change);
    f->by_head |= row->head != ALL;
    f->most_pairs = row->pair >= f->most_pairs ? row->pair + 1 : f->most_pairs;
    if (layer < 0)
        return true;
    rt_writer_add(&f->layers.rows[layer], "%d,%.9g,%.9g,%.9g\n", row->pair, row->theta, row->start,
                  geometric);
    return add_to_curve(f, layer, row);
}

static rt_status read_final(final *f, const char *folder)
{
    theta_row row;
    rt_csv csv;
    bool room = true;
    if (rt_csv_open(&csv, folder, "theta_final.csv"))
        while (room && rt_csv_row(&csv)) {
            const double geometric = rt_csv_number(&csv, "geometric");
            if (isfinite(geometric) && read_row(&csv, &row))
                room = add_final_row(f, &row, geometric);
        }
    rt_csv_close(&csv);
    return room ? rt_ok() : rt_out_of_memory("a figure");
}

static void free_final(final *f)
{
    if (!f)
        return;
    free_layers(&f->layers);
    rt_free(f->start);
    rt_free(f);
}

/* The layers' points stand side by side around their pair. */
static void add_points(rt_writer *w, const final *f, const char *value, bool titled)
{
    for (int i = 0; i < f->layers.count; i++) {
        const double beside = f->layers.count > 1 ? 0.5 * i / (f->layers.count - 1) - 0.25 : 0;
        rt_writer_add(w,
                      ", \\\n     'theta.csv' index %d using ($1 + %.3f):(%s) with points "
                      "pointtype %d pointsize 0.5 linetype %d",
                      i, beside, value, i < 7 ? 7 : 5, i % 7 + 1);
        rt_writer_add(w, titled ? " title '" : " notitle");
        if (titled) {
            add_title(w, f->layers.list[i]);
            rt_writer_add(w, "'");
        }
    }
    rt_writer_add(w, "\n");
}

/* Adds theta on a logarithmic axis, and below it the changes, which are too small for that axis. */
static void add_theta(rt_figures *f, final *end)
{
    rt_writer w = {0}, caption = {0};
    const int titles = end->layers.count + 1 + end->elsewhere;
    write_layers(f, &end->layers, "theta.csv");
    rt_writer_add(
        &w,
        "set multiplot\nset lmargin 9\nset rmargin 2\n"
        "set xrange [-0.6:%g]\nset xtics %g format ''\nset size 1, 0.58\nset origin 0, 0.42\n"
        "set bmargin 0.5\nset ylabel 'θ_i (radians/position)' enhanced\n"
        "set logscale y\nset format y '10^{%%L}'\n"
        "plot 'theta.csv' using ($1 - 0.4):4:(0.8):(0) with vectors nohead linewidth 2 "
        "linecolor rgb '#888888' title 'base^{-2i/R}' enhanced",
        end->most_pairs - 0.4, fmax(1, rt_figures_tics(0.6 * end->most_pairs)));
    if (end->elsewhere)
        rt_writer_add(&w, ", \\\n     'theta.csv' using 1:3 with points pointtype 6 pointsize 0.7 "
                          "linecolor rgb '#777777' title 'start'");
    add_points(&w, end, "$2", true);
    rt_writer_add(&w,
                  "set size 1, 0.42\nset origin 0, 0\nset tmargin 0.5\nset bmargin 3.6\n"
                  "unset logscale y\nset format y '%%g'\nset ytics %g\nset xtics format '%%g'\n"
                  "set xlabel 'pair i'\nset ylabel 'change (%%)'\n"
                  "plot 0 with lines linewidth 2 linecolor rgb '#888888' notitle",
                  rt_figures_tics(100 * (end->highest - end->lowest)));
    add_points(&w, end, "100*($2/$4 - 1)", false);
    rt_writer_add(&w, "unset multiplot\n");
    rt_writer_add(&caption, "The learned θᵢ beside base^(-2i/R), and their difference in percent");
    finish(f, "theta", &caption, &end->layers, RT_FIGURE_WIDTH,
           height_with_key(THETA_HEIGHT, titles), &w);
}

/* ---- decay ---- */

static int farthest(const rt_config *c)
{
    const int twice = 2 * c->data.length;
    return twice < NEAREST_END ? NEAREST_END : twice > FARTHEST_END ? FARTHEST_END : twice;
}

/* Writes the columns r and, for each theta, start and end. Returns the largest value. */
static double write_decay(rt_figures *f, const final *end, int last, double xpos)
{
    rt_writer w = {0};
    double highest = 0;
    for (int r = 0; r <= last; r++) {
        rt_writer_add(&w, "%d", r);
        for (int i = 0; i < end->count; i++) {
            const theta_curve *t = &end->list[i];
            const double start = rt_decay(end->start + t->first, t->pairs, r, xpos);
            const double C = rt_decay(end->end + t->first, t->pairs, r, xpos);
            rt_writer_add(&w, ",%.5g,%.5g", start, C);
            highest = fmax(highest, fmax(start, C));
        }
        rt_writer_add(&w, "\n");
    }
    rt_figures_write(f, "decay.csv", &w);
    return highest;
}

/* Adds the curves of a layer as one panel; a start that all heads share is drawn once. */
static void add_panel(rt_writer *w, const final *end, int layer)
{
    const char *separator = "plot ";
    for (int last = 0; last < 2; last++) {
        const char *title = last ? "title 'end'" : "title 'start'";
        for (int i = 0; i < end->count; i++) {
            if (end->list[i].layer != layer)
                continue;
            rt_writer_add(w, "%s'decay.csv' using 1:%d with lines ", separator, 2 * i + 2 + last);
            if (last)
                rt_writer_add(w, "linewidth 1 linetype %d %s", layer % 7 + 1, title);
            else
                rt_writer_add(w, "linewidth 2.5 linecolor rgb '#888888' %s", title);
            separator = ", \\\n     ";
            title = "notitle";
            if (!last && !end->elsewhere)
                break;
        }
    }
    rt_writer_add(w, "\n");
}

static void add_decay(rt_figures *f, const final *end, const rt_config *config)
{
    int shown = 1;
    for (int i = 0; i < end->count; i++)
        shown = end->list[i].layer >= shown ? end->list[i].layer + 1 : shown;
    const int columns = shown > 1 ? 2 : 1, rows = (shown + columns - 1) / columns;
    rt_writer w = {0}, caption = {0};
    const double highest = write_decay(f, end, farthest(config), config->model.position.xpos);
    rt_writer_add(&w,
                  "set xlabel 'distance r (positions)'\nset yrange [0:*]\nset ytics %g\n"
                  "set multiplot layout %d,%d\n",
                  rt_figures_tics(highest), rows, columns);
    for (int i = 0; i < shown; i++) {
        rt_writer_add(&w, "set ylabel 'C(r), ");
        add_title(&w, end->layers.list[i]);
        rt_writer_add(&w, "'\n");
        add_panel(&w, end, i);
    }
    rt_writer_add(&w, "unset multiplot\n");
    rt_writer_add(&caption,
                  "How attention can decay with the distance (figure 2 of the RoFormer paper), for "
                  "the initial and the learned θ%s",
                  end->by_head ? "; a line for each head" : "");
    if (end->count == MOST_THETAS)
        rt_writer_add(&caption, ", at most %d", MOST_THETAS);
    if (shown < end->layers.count)
        rt_writer_add(&caption, "; the first %d layers", shown);
    finish(f, "decay", &caption, &end->layers, columns * RT_FIGURE_WIDTH,
           columns > 1 ? rows * PANEL_HEIGHT : RT_FIGURE_HEIGHT, &w);
}

enum { MOST_ROWS = 512 };

static void add_cell(rt_writer *w, const char *format, double x)
{
    rt_page_number(w, isfinite(x) ? format : "-", x);
}

static void add_row(rt_writer *w, const rt_csv *csv, bool tolerances)
{
    const double theta = rt_csv_number(csv, "theta"), start = rt_csv_number(csv, "theta_initial");
    const double use = rt_csv_number(csv, "use");
    static const char *const places[] = {"layer", "head", "i"};
    char text[RT_NUMBER_SIZE];
    int number = 0;
    rt_writer_add(w, "<tr>");
    for (int i = 0; i < 3; i++) {
        const bool is_number = rt_csv_whole(csv, places[i], &number);
        rt_page_number(w, is_number ? "%d" : "all", number);
    }
    add_cell(w, "%.6g", start);
    add_cell(w, "%.6g", theta);
    add_cell(w, "%+.4f", log(theta / start));
    add_cell(w, "%.3g", rt_csv_number(csv, "phase"));
    add_cell(w, "%.3g", rt_csv_number(csv, "turns"));
    rt_page_number(w, isfinite(use) ? "%s %%" : "-", rt_number_show(text, 1, 100 * use));
    if (tolerances) {
        add_cell(w, "%.3g", -rt_csv_number(csv, RT_TOLERANCE_DOWN));
        add_cell(w, "%+.3g", rt_csv_number(csv, RT_TOLERANCE_UP));
    }
    rt_writer_add(w, "</tr>\n");
}

static void begin_theta_table(rt_writer *w, bool tolerances)
{
    rt_writer_add(w,
                  "<h2>Learned theta</h2>\n<div class=\"scroll\"><table>\n<tr><th>layer</th>"
                  "<th>head</th><th>i</th><th>start</th><th>end</th><th>ln(end/start)</th>"
                  "<th>phase (rad)</th><th>turns</th><th>use</th>%s</tr>\n",
                  tolerances ? "<th>down</th><th>up</th>" : "");
}

static void end_theta_table(rt_writer *w, bool tolerances, int rows)
{
    rt_writer_add(w, "</table></div>\n<p>Start and end: the initial and the learned θ, in radians "
                     "per position. Turns: full turns over the distance that "
                     "attention reaches. Phase and use are defined at the top of the page.");
    if (tolerances)
        rt_writer_add(
            w,
            " Down, up: how far ln θ can change before the model gets worse; at most %g was tried.",
            RT_THETA_FARTHEST);
    if (rows > MOST_ROWS)
        rt_writer_add(w, " The first %d rows of %d; theta_final.csv has all.", MOST_ROWS, rows);
    rt_writer_add(w, "</p>\n");
}

void rt_report_theta_table(rt_writer *w, const char *folder)
{
    rt_csv csv;
    bool tolerances = false;
    int rows = 0;
    if (rt_csv_open(&csv, folder, "theta_final.csv"))
        while (rt_csv_row(&csv)) {
            if (!rows++) {
                tolerances = rt_csv_column(&csv, RT_TOLERANCE_DOWN) < csv.columns;
                begin_theta_table(w, tolerances);
            }
            if (rows <= MOST_ROWS)
                add_row(w, &csv, tolerances);
        }
    rt_csv_close(&csv);
    if (rows)
        end_theta_table(w, tolerances, rows);
}

/* ---- wavelengths ---- */

/* Reads the wavelengths of each pair, over the distance that attention reaches, before and after
 * the training, and its usage over the mean of its theta's pairs. */
static void read_wavelengths(layers *l, rt_figure_range *range, const char *folder, int pairs)
{
    theta_row row;
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "theta_final.csv"))
        while (rt_csv_row(&csv)) {
            const double turns = rt_csv_number(&csv, "turns");
            const double use = rt_csv_number(&csv, "use") * pairs;
            if (!read_row(&csv, &row) || !isfinite(use) || !(turns > 0) || row.start == 0)
                continue;
            const int i = layer_of(l, row.layer);
            if (i >= 0)
                rt_writer_add(&l->rows[i], "%.6g,%.6g,%.6g\n", fabs(row.theta / row.start) / turns,
                              1 / turns, use);
            rt_figure_range_take(range, fabs(row.theta / row.start) / turns);
            rt_figure_range_take(range, 1 / turns);
        }
    rt_csv_close(&csv);
}

static void add_wavelengths(rt_figures *f, const char *folder, int pairs)
{
    layers l = {.count = 0};
    rt_figure_range range = RT_NO_RANGE;
    rt_writer w = {0}, caption = {0};
    read_wavelengths(&l, &range, folder, pairs);
    write_layers(f, &l, "wavelengths.csv");
    rt_figures_scale(&w, 'x', range);
    rt_writer_add(&w, "set yrange [0:*]\nset ylabel 'usage / mean'\n"
                      "set xlabel 'wavelength 2π/θ over the reach of attention'\n"
                      "set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 3 linecolor rgb "
                      "'#444444'\n"
                      "plot 1 with lines dashtype 3 linecolor rgb '#444444' notitle");
    for (int i = 0; i < l.count; i++) {
        rt_writer_add(&w,
                      ", \\\n     'wavelengths.csv' index %d using 1:3:($2 - $1):(0) with vectors "
                      "nohead linetype %d notitle, \\\n     'wavelengths.csv' index %d using 2:3 "
                      "with points pointtype 7 pointsize 0.5 linetype %d title '",
                      i, i % 7 + 1, i, i % 7 + 1);
        add_title(&w, l.list[i]);
        rt_writer_add(&w, "'");
    }
    rt_writer_add(&w, "\n");
    rt_writer_add(&caption, "Learned wavelengths, with the share of the query and key weights that "
                            "each pair rotates; a line leads from the initial wavelength, and 1 is "
                            "the whole distance");
    finish(f, "wavelengths", &caption, &l, RT_FIGURE_WIDTH,
           height_with_key(RT_FIGURE_HEIGHT, l.count), &w);
    free_layers(&l);
}

void rt_report_theta(rt_figures *f, const char *folder, const rt_config *config)
{
    final *end = rt_alloc(1, sizeof *end);
    rt_status status = end ? read_final(end, folder) : rt_out_of_memory("a figure");
    add_drift(f, folder, config);
    if (!status.code && end->count) {
        add_theta(f, end);
        add_decay(f, end, config);
        add_wavelengths(f, folder, end->most_pairs);
    }
    if (!f->status.code)
        f->status = status;
    free_final(end);
}

enum { USAGE_HEIGHT = 560, KEY_ROW = 17 };

/* ---- usage ---- */

/* Titles of the panels. Each shows a measure of a pair over the mean of its head's pairs. */
static const char *const panels[] = {"weights", "activations", "mean activation"};
enum { PANELS = sizeof panels / sizeof *panels };

typedef struct usage_points {
    int pairs; /* of a head */
    rt_figure_range turns;
    layers layers;
} usage_points;

static void read_usage_row(usage_points *p, const rt_csv *csv)
{
    const double turns = rt_csv_number(csv, "turns"), use = rt_csv_number(csv, "use");
    const double length = sqrt(rt_csv_number(csv, "query") * rt_csv_number(csv, "key"));
    const double mean = sqrt(rt_csv_number(csv, "query_mean") * rt_csv_number(csv, "key_mean"));
    int layer, pair;
    if (!rt_csv_whole(csv, "layer", &layer) || !rt_csv_whole(csv, "i", &pair) ||
        !isfinite(turns + use + length + mean))
        return;
    p->pairs = pair >= p->pairs ? pair + 1 : p->pairs;
    const int i = layer_of(&p->layers, layer);
    rt_figure_range_take(&p->turns, turns);
    if (i >= 0)
        rt_writer_add(&p->layers.rows[i], "%.6g,%.6g,%.6g,%.6g\n", turns, use, length, mean);
}

/* Adds the points of a layer, filled above twice the mean. */
static void add_usage_layer(rt_writer *w, const usage_points *p, int layer, int panel)
{
    char value[32];
    snprintf(value, sizeof value, panel ? "$%d" : "$%d*%d", panel + 2, p->pairs);
    rt_writer_add(w,
                  ", \\\n     'usage.csv' index %d using 1:(%s) with points pointtype 6 pointsize "
                  "0.6 linetype %d ",
                  layer, value, layer % 7 + 1);
    if (panel)
        rt_writer_add(w, "notitle");
    else
        rt_writer_add(w, "title 'layer %d'", p->layers.list[layer]);
    rt_writer_add(w,
                  ", \\\n     'usage.csv' index %d using 1:(%s > 2 ? %s : NaN) with points "
                  "pointtype 7 pointsize 0.6 linetype %d notitle",
                  layer, value, value, layer % 7 + 1);
}

static void add_usage(rt_figures *f, usage_points *p)
{
    rt_writer w = {0};
    write_layers(f, &p->layers, "usage.csv");
    rt_figures_scale(&w, 'x', p->turns);
    rt_writer_add(&w,
                  "set yrange [0:*]\nset lmargin 9\nset rmargin 2\n"
                  "set multiplot layout %d,1\n",
                  PANELS);
    for (int i = 0; i < PANELS; i++) {
        rt_writer_add(&w, "set ylabel '%s / mean'\n", panels[i]);
        if (i == PANELS - 1)
            rt_writer_add(&w, "set xlabel 'full turns over the distance that attention reaches'\n");
        rt_writer_add(&w, "plot 2 with lines dashtype 3 linecolor rgb '#444444' notitle");
        for (int layer = 0; layer < p->layers.count; layer++)
            add_usage_layer(&w, p, layer, i);
        rt_writer_add(&w, "\n");
    }
    rt_writer_add(&w, "unset multiplot\n");
    rt_figures_add(f, "usage",
                   p->layers.cut ? "What the pairs of the first layers have of queries and keys, "
                                   "over the mean of their head; filled above twice the mean"
                                 : "What each pair has of queries and keys, over the mean of its "
                                   "head: norms of weights, of activations, and of their mean over "
                                   "the tokens; filled above twice the mean",
                   RT_FIGURE_WIDTH, USAGE_HEIGHT + p->layers.count / 4 * KEY_ROW, &w);
}

/* ---- cut-offs ---- */

/* Writes the columns turns and loss. Returns the loss with all pairs, whose row has no turns. */
static double read_cutoffs(rt_writer *w, rt_figure_range *range, const char *folder)
{
    double whole = (double)NAN;
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "cutoffs.csv"))
        while (rt_csv_row(&csv)) {
            const double turns = rt_csv_number(&csv, "turns");
            const double loss = rt_csv_number(&csv, "eval_loss");
            if (!*rt_csv_cell(&csv, "turns"))
                whole = loss;
            else if (isfinite(turns) && isfinite(loss)) {
                rt_writer_add(w, "%.6g,%.9g\n", turns, loss);
                rt_figure_range_take(range, turns);
            }
        }
    rt_csv_close(&csv);
    return whole;
}

static void add_cutoffs(rt_figures *f, const char *folder)
{
    rt_writer data = {0}, w = {0};
    rt_figure_range range = RT_NO_RANGE;
    const double whole = read_cutoffs(&data, &range, folder);
    if (!data.length || !isfinite(whole)) {
        rt_writer_free(&data);
        return;
    }
    rt_figures_write(f, "cutoffs.csv", &data);
    rt_figures_scale(&w, 'x', range);
    rt_writer_add(&w,
                  "set xlabel 'full turns of the fastest pair that is switched "
                  "off'\nset ylabel 'cross entropy (nats)'\nset key left top\n"
                  "plot %.9g with lines dashtype 3 linecolor rgb '#444444' title 'all pairs', "
                  "\\\n     'cutoffs.csv' using 1:2 with linespoints linetype 1 pointtype 7 "
                  "pointsize 0.5 title 'without the slower pairs'\n",
                  whole);
    rt_figures_add(f, "cutoffs",
                   "Evaluation loss with pairs switched off: the pairs from "
                   "one on do not rotate, in every layer and head",
                   RT_FIGURE_WIDTH, RT_FIGURE_HEIGHT, &w);
}

void rt_report_usage(rt_figures *f, const char *folder)
{
    usage_points p = {.turns = RT_NO_RANGE};
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "usage.csv"))
        while (rt_csv_row(&csv))
            read_usage_row(&p, &csv);
    rt_csv_close(&csv);
    if (p.layers.count)
        add_usage(f, &p);
    free_layers(&p.layers);
    add_cutoffs(f, folder);
}
