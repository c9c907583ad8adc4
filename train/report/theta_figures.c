#include "core/memory.h"
#include "models/positions.h"
#include "text/number.h"
#include "train/report/private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_LAYERS = 32,
    MOST_CURVES = 128, /* of decay */
    MOST_PANELS = 6,
    ALL = -1,           /* the number of a layer or head where one theta is for all of them */
    THETA_HEIGHT = 420, /* of the two figures that stand side by side */
    PANEL_HEIGHT = 210,
    USAGE_HEIGHT = 240,
    KEY_ROW_HEIGHT = 17,
    NEAREST_END = 64, /* of the distances r of a decay curve */
    FARTHEST_END = 256
};

/* The options of a line that marks a limit. */
#define LIMIT_LINE "with lines dashtype 3 linecolor rgb '#444444' "

/* ---- layers ---- */

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
        rt_writer_add(&w, "%s\n\n", l->rows[i].bytes ? l->rows[i].bytes : "");
        w.failed |= l->rows[i].failed;
        rt_writer_free(&l->rows[i]);
    }
    rt_figures_write(f, name, &w);
}

/* Returns "layer 3" or "all layers". */
static const char *title_of(char title[24], int layer)
{
    snprintf(title, 24, layer == ALL ? "all layers" : "layer %d", layer);
    return title;
}

/* Returns the height of a figure whose key has so many titles. */
static int height_with_key(int height, int titles)
{
    enum { TITLES_IN_A_ROW = 4 };
    return height + (titles - 1) / TITLES_IN_A_ROW * KEY_ROW_HEIGHT;
}

/* Adds a figure, unless it has no layers; empties the script. */
static void add_layer_figure(rt_figures *f, const char *name, const char *caption, const layers *l,
                             int width, int height, rt_writer *script)
{
    rt_figure figure = {.name = name, .width = width};
    char cut[40] = "";
    if (l->cut)
        snprintf(cut, sizeof cut, "; the first %d layers", MOST_LAYERS);
    snprintf(figure.caption, sizeof figure.caption, "%s%s", caption, cut);
    if (l->count)
        rt_figures_add(f, &figure, height, script);
    rt_writer_free(script);
}

/* ---- theta.csv and theta_final.csv ---- */

typedef struct theta_row {
    int layer, head, pair;
    double theta, start;
    double geometric, turns, use; /* of theta_final.csv; may not be finite */
    double down, up;              /* likewise, its tolerances */
} theta_row;

/* Reads a whole number, or ALL. */
static bool read_number_or_all(const rt_csv *csv, const char *name, int *number)
{
    *number = ALL;
    return !strcmp(rt_csv_cell(csv, name), "all") || rt_csv_whole(csv, name, number);
}

/* Returns whether the row has a theta and its place. */
static bool read_theta_row(const rt_csv *csv, theta_row *row)
{
    row->theta = rt_csv_number(csv, "theta");
    row->start = rt_csv_number(csv, "theta_initial");
    row->geometric = rt_csv_number(csv, "geometric");
    row->turns = rt_csv_number(csv, "turns");
    row->use = rt_csv_number(csv, "use");
    row->down = rt_csv_number(csv, RT_TOLERANCE_DOWN);
    row->up = rt_csv_number(csv, RT_TOLERANCE_UP);
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

/* Draws the largest drift of each layer by step. */
static void add_drift(rt_figures *f, const char *folder, const rt_config *config)
{
    layers l = {.count = 0};
    double drift[MOST_LAYERS] = {0};
    char title[24];
    int step, current = -1;
    theta_row row;
    rt_writer data = {0}, w = {0};
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "theta.csv"))
        while (rt_csv_row(&csv)) {
            if (!rt_csv_whole(&csv, "step", &step) || !read_theta_row(&csv, &row))
                continue;
            if (step != current && current >= 0) {
                add_drift_row(&data, current, drift, l.count);
                memset(drift, 0, sizeof drift);
            }
            current = step;
            const int i = layer_of(&l, row.layer);
            if (i >= 0)
                drift[i] = fmax(drift[i], fabs(row.theta / row.start - 1));
        }
    rt_csv_close(&csv);
    if (current >= 0)
        add_drift_row(&data, current, drift, l.count);
    rt_figures_write(f, "drift.csv", &data);
    rt_writer_add(
        &w,
        "set xlabel 'step'\nset ylabel 'largest |θ_i/θ_i^0 - 1|' enhanced\nset yrange [0:*]\n"
        "plot %.9g " LIMIT_LINE "title 'tolerance'",
        config->theta.tolerance);
    for (int i = 0; i < l.count; i++) /* neighbouring lines differ in colour and dashes */
        rt_writer_add(&w,
                      ", \\\n     'drift.csv' using 1:%d with lines linetype %d dashtype %d title "
                      "'%s'",
                      i + 2, i % 7 + 1, i % 5 + 1, title_of(title, l.list[i]));
    rt_writer_add(&w, "\n");
    add_layer_figure(f, "drift",
                     "Relative drift of θ during training: the largest |θᵢ/θᵢ⁰ - 1| of a layer's "
                     "pairs, θᵢ⁰ the initial value",
                     &l, RT_FIGURE_WIDTH, height_with_key(THETA_HEIGHT, l.count + 1), &w);
}

/* ---- theta at the end ---- */

/* The theta of a layer, or of one of its heads: a range of `start` and `end` below. */
typedef struct theta_curve {
    int layer; /* in `layers` */
    int head;
    int first, pairs;
} theta_curve;

typedef struct final_theta {
    int count, capacity;
    theta_row *rows;
    /* of the rows with base^(-2i/R) */
    layers layers;
    double lowest, highest; /* theta / base^(-2i/R) - 1 */
    bool elsewhere;         /* some theta did not start from base^(-2i/R) */
    bool by_head;
    int most_pairs;
    int curve_count; /* of the thetas that have a decay curve */
    theta_curve curves[MOST_CURVES];
    double *start, *end; /* the pairs of all curves */
} final_theta;

/* Adds a row to its decay curve. The rows of a theta follow each other. */
static void add_to_curve(final_theta *f, int layer, const theta_row *row)
{
    theta_curve *t = f->curve_count ? &f->curves[f->curve_count - 1] : NULL;
    if (!t || t->layer != layer || t->head != row->head) {
        const int numbers = t ? t->first + t->pairs : 0;
        if (f->curve_count == MOST_CURVES || layer >= MOST_PANELS)
            return;
        t = &f->curves[f->curve_count++];
        *t = (theta_curve){.layer = layer, .head = row->head, .first = numbers};
    }
    f->start[t->first + t->pairs] = row->start;
    f->end[t->first + t->pairs++] = row->theta;
}

static rt_status read_final(final_theta *f, const char *folder)
{
    rt_csv csv;
    theta_row row, *rows = NULL;
    if (rt_csv_open(&csv, folder, "theta_final.csv"))
        while (rt_csv_row(&csv)) {
            if (!read_theta_row(&csv, &row))
                continue;
            rows = rt_grown_list(f->rows, f->count, &f->capacity, sizeof row);
            if (!rows)
                break;
            f->rows = rows;
            f->rows[f->count++] = row;
        }
    rt_csv_close(&csv);
    f->start = rt_alloc((size_t)f->count, 2 * sizeof *f->start);
    if (!f->start || (f->rows && !rows))
        return rt_out_of_memory("a figure");
    f->end = f->start + f->count;
    for (int i = 0; i < f->count; i++) {
        const theta_row *r = &f->rows[i];
        if (!isfinite(r->geometric))
            continue;
        const int layer = layer_of(&f->layers, r->layer);
        const double change = r->theta / r->geometric - 1;
        f->elsewhere |= fabs(r->start / r->geometric - 1) > 1e-6;
        f->lowest = fmin(f->lowest, change);
        f->highest = fmax(f->highest, change);
        f->by_head |= r->head != ALL;
        f->most_pairs = r->pair >= f->most_pairs ? r->pair + 1 : f->most_pairs;
        if (layer < 0)
            continue;
        rt_writer_add(&f->layers.rows[layer], "%d,%.9g,%.9g,%.9g\n", r->pair, r->theta, r->start,
                      r->geometric);
        add_to_curve(f, layer, r);
    }
    return rt_ok();
}

/* Adds the layers' points, side by side around their pair. */
static void add_points(rt_writer *w, const final_theta *f, const char *value, bool titled)
{
    char title[24];
    for (int i = 0; i < f->layers.count; i++) {
        const double beside = f->layers.count > 1 ? 0.5 * i / (f->layers.count - 1) - 0.25 : 0;
        rt_writer_add(w,
                      ", \\\n     'theta.csv' index %d using ($1 + %.3f):(%s) with points "
                      "pointtype %d pointsize 0.5 linetype %d",
                      i, beside, value, i < 7 ? 7 : 5, i % 7 + 1);
        if (titled)
            rt_writer_add(w, " title '%s'", title_of(title, f->layers.list[i]));
        else
            rt_writer_add(w, " notitle");
    }
    rt_writer_add(w, "\n");
}

/* Draws theta on a logarithmic axis and below it the changes, which are too small for that axis. */
static void add_theta(rt_figures *f, final_theta *end)
{
    rt_writer w = {0};
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
                          "linecolor rgb '#777777' title 'initial'");
    add_points(&w, end, "$2", true);
    rt_writer_add(&w,
                  "set size 1, 0.42\nset origin 0, 0\nset tmargin 0.5\nset bmargin 3.6\n"
                  "unset logscale y\nset format y '%%g'\nset ytics %g\nset xtics format '%%g'\n"
                  "set xlabel 'pair i'\nset ylabel 'change (%%)'\n"
                  "plot 0 with lines linewidth 2 linecolor rgb '#888888' notitle",
                  rt_figures_tics(100 * (end->highest - end->lowest)));
    add_points(&w, end, "100*($2/$4 - 1)", false);
    rt_writer_add(&w, "unset multiplot\n");
    add_layer_figure(f, "theta",
                     "The learned θᵢ beside base^(-2i/R), and their difference in percent",
                     &end->layers, RT_FIGURE_WIDTH, height_with_key(THETA_HEIGHT, titles), &w);
}

/* Writes the distances r and, for each curve, start and end. Returns the largest value. */
static double write_decay(rt_figures *f, const final_theta *end, const rt_config *c)
{
    const int twice = 2 * c->data.length;
    const int last = twice < NEAREST_END    ? NEAREST_END
                     : twice > FARTHEST_END ? FARTHEST_END
                                            : twice;
    rt_writer w = {0};
    double highest = 0;
    for (int r = 0; r <= last; r++) {
        rt_writer_add(&w, "%d", r);
        for (int i = 0; i < end->curve_count; i++) {
            const theta_curve *t = &end->curves[i];
            const double xpos = c->model.position.xpos;
            const double first = rt_decay(end->start + t->first, t->pairs, r, xpos);
            const double learned = rt_decay(end->end + t->first, t->pairs, r, xpos);
            rt_writer_add(&w, ",%.5g,%.5g", first, learned);
            highest = fmax(highest, fmax(first, learned));
        }
        rt_writer_add(&w, "\n");
    }
    rt_figures_write(f, "decay.csv", &w);
    return highest;
}

/* Adds the curves of a layer as one panel; a start that all heads share is drawn once. */
static void add_panel(rt_writer *w, const final_theta *end, int layer)
{
    const char *separator = "plot ";
    for (int last = 0; last < 2; last++) {
        const char *title = last ? "title 'learned'" : "title 'initial'";
        for (int i = 0; i < end->curve_count; i++) {
            if (end->curves[i].layer != layer)
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

static void add_decay(rt_figures *f, const final_theta *end, const rt_config *config)
{
    char title[24], most[24] = "", first[40] = "", caption[RT_CAPTION_SIZE];
    int shown = 1;
    for (int i = 0; i < end->curve_count; i++)
        shown = end->curves[i].layer >= shown ? end->curves[i].layer + 1 : shown;
    const int columns = shown > 1 ? 2 : 1, rows = (shown + columns - 1) / columns;
    rt_writer w = {0};
    rt_writer_add(&w,
                  "set xlabel 'distance r (positions)'\nset yrange [0:*]\nset ytics %g\n"
                  "set multiplot layout %d,%d\n",
                  rt_figures_tics(write_decay(f, end, config)), rows, columns);
    for (int i = 0; i < shown; i++) {
        rt_writer_add(&w, "set ylabel 'C(r), %s'\n", title_of(title, end->layers.list[i]));
        add_panel(&w, end, i);
    }
    rt_writer_add(&w, "unset multiplot\n");
    if (end->curve_count == MOST_CURVES)
        snprintf(most, sizeof most, ", at most %d", MOST_CURVES);
    if (shown < end->layers.count)
        snprintf(first, sizeof first, "; the first %d layers", shown);
    snprintf(caption, sizeof caption,
             "How attention can decay with the distance (figure 2 of the RoFormer paper), for "
             "the initial and the learned θ%s%s%s",
             end->by_head ? "; a line for each head" : "", most, first);
    add_layer_figure(f, "decay", caption, &end->layers, columns * RT_FIGURE_WIDTH,
                     columns > 1 ? rows * PANEL_HEIGHT : RT_FIGURE_HEIGHT, &w);
}

/* Draws the range of each theta in which the model works as well, and the learned theta in it. */
static void add_tolerances(rt_figures *f, const final_theta *end)
{
    enum { FARTHEST = 1 }; /* on the axis */
    layers l = {.count = 0};
    double farthest = 0;
    rt_writer w = {0};
    for (int n = 0; n < end->count; n++) {
        const theta_row *row = &end->rows[n];
        const double drift = log(row->theta / row->start);
        const int i = isfinite(drift + row->down + row->up) ? layer_of(&l, row->layer) : -1;
        if (i >= 0)
            rt_writer_add(&l.rows[i], "%d,%.6g,%.6g,%.6g\n", row->pair, drift, drift - row->down,
                          row->down + row->up);
        if (i >= 0)
            farthest = fmax(farthest, fmax(row->down - drift, row->up + drift));
    }
    if (!l.count)
        return;
    farthest = farthest > 0 ? fmin(1.05 * farthest, FARTHEST) : FARTHEST;
    write_layers(f, &l, "tolerances.csv");
    rt_writer_add(&w,
                  "set xlabel 'pair i'\nset ylabel 'ln(θ_i/θ_i^0)' enhanced\n"
                  "set xrange [-0.6:%g]\nset xtics %g\nset yrange [%g:%g]\n"
                  "plot 0 with lines linewidth 1 linecolor rgb '#888888' notitle",
                  end->most_pairs - 0.4, fmax(1, rt_figures_tics(0.6 * end->most_pairs)), -farthest,
                  farthest);
    for (int i = 0; i < l.count; i++) {
        char title[24];
        const double beside = l.count > 1 ? 0.5 * i / (l.count - 1) - 0.25 : 0;
        rt_writer_add(&w,
                      ", \\\n     'tolerances.csv' index %d using ($1 + %.3f):3:(0):4 with vectors "
                      "heads size graph 0.008,90 linetype %d linewidth 1 notitle, \\\n     "
                      "'tolerances.csv' index %d using ($1 + %.3f):2 with points pointtype 7 "
                      "pointsize 0.5 linetype %d title '%s'",
                      i, beside, i % 7 + 1, i, beside, i % 7 + 1, title_of(title, l.list[i]));
    }
    rt_writer_add(&w, "\n");
    add_layer_figure(f, "tolerances",
                     "Drift ln(θᵢ/θᵢ⁰) of each learned θ, θᵢ⁰ the initial value; the bar is the "
                     "range in which the model works as well, cut off at ±1",
                     &l, RT_FIGURE_WIDTH, height_with_key(RT_FIGURE_HEIGHT, l.count), &w);
}

/* Draws the wavelengths of each pair, over the distance that attention reaches, before and after
 * the training, and its usage over the mean of its theta's pairs. */
static void add_wavelengths(rt_figures *f, const final_theta *end)
{
    layers l = {.count = 0};
    char title[24];
    rt_figure_range range = RT_NO_RANGE;
    rt_writer w = {0};
    for (int n = 0; n < end->count; n++) {
        const theta_row *row = &end->rows[n];
        const double use = row->use * end->most_pairs;
        const double initial = fabs(row->theta / row->start) / row->turns, last = 1 / row->turns;
        if (!isfinite(use) || !(row->turns > 0) || row->start == 0)
            continue;
        const int i = layer_of(&l, row->layer);
        if (i >= 0)
            rt_writer_add(&l.rows[i], "%.6g,%.6g,%.6g\n", initial, last, use);
        rt_figure_range_take(&range, initial);
        rt_figure_range_take(&range, last);
    }
    write_layers(f, &l, "wavelengths.csv");
    rt_figures_scale(&w, 'x', range);
    rt_writer_add(&w, "set yrange [0:*]\nset ylabel 'usage / mean'\n"
                      "set xlabel 'wavelength 2π/θ over the reach of attention'\n"
                      "set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 3 linecolor rgb "
                      "'#444444'\n"
                      "plot 1 " LIMIT_LINE "notitle");
    for (int i = 0; i < l.count; i++)
        rt_writer_add(&w,
                      ", \\\n     'wavelengths.csv' index %d using 1:3:($2 - $1):(0) with vectors "
                      "nohead linetype %d notitle, \\\n     'wavelengths.csv' index %d using 2:3 "
                      "with points pointtype 7 pointsize 0.5 linetype %d title '%s'",
                      i, i % 7 + 1, i, i % 7 + 1, title_of(title, l.list[i]));
    rt_writer_add(&w, "\n");
    add_layer_figure(f, "wavelengths",
                     "Learned wavelengths, with the share of the query and key weights that each "
                     "pair rotates; a line leads from the initial wavelength, and 1 is the whole "
                     "distance",
                     &l, RT_FIGURE_WIDTH, height_with_key(RT_FIGURE_HEIGHT, l.count), &w);
}

void rt_report_theta(rt_figures *f, const char *folder, const rt_config *config)
{
    final_theta end = {.count = 0};
    rt_status status = read_final(&end, folder);
    add_drift(f, folder, config);
    if (!status.code && end.curve_count) {
        add_theta(f, &end);
        add_tolerances(f, &end);
        add_wavelengths(f, &end);
        add_decay(f, &end, config);
    }
    if (!f->status.code)
        f->status = status;
    rt_free(end.start);
    rt_free(end.rows);
}

/* ---- the table ---- */

/* Adds a cell with a number, or "-" if there is none. */
static void add_number(rt_writer *w, const char *format, double x)
{
    rt_page_number(w, isfinite(x) ? format : "-", x);
}

static void add_table_row(rt_writer *w, const rt_csv *csv, bool tolerances)
{
    static const char *const places[] = {"layer", "head", "i"};
    const double theta = rt_csv_number(csv, "theta"), start = rt_csv_number(csv, "theta_initial");
    const double use = rt_csv_number(csv, "use");
    char text[RT_NUMBER_SIZE];
    int number = 0;
    rt_writer_add(w, "<tr>");
    for (int i = 0; i < 3; i++) {
        const bool is_number = rt_csv_whole(csv, places[i], &number);
        rt_page_number(w, is_number ? "%d" : "all", number);
    }
    add_number(w, "%.6g", start);
    add_number(w, "%.6g", theta);
    add_number(w, "%+.4f", log(theta / start));
    add_number(w, "%.3g", rt_csv_number(csv, "phase"));
    add_number(w, "%.3g", rt_csv_number(csv, "turns"));
    rt_page_number(w, isfinite(use) ? "%s %%" : "-", rt_number_show(text, 1, 100 * use));
    if (tolerances) {
        add_number(w, "%.3g", -rt_csv_number(csv, RT_TOLERANCE_DOWN));
        add_number(w, "%+.3g", rt_csv_number(csv, RT_TOLERANCE_UP));
    }
    rt_writer_add(w, "</tr>\n");
}

void rt_report_theta_table(rt_writer *w, const char *folder)
{
    enum { MOST_ROWS = 512 };
    rt_csv csv;
    bool tolerances = false;
    int rows = 0;
    if (rt_csv_open(&csv, folder, "theta_final.csv"))
        while (rt_csv_row(&csv)) {
            if (!rows++) {
                tolerances = rt_csv_column(&csv, RT_TOLERANCE_DOWN) < csv.columns;
                rt_page_table(w, "Learned theta",
                              RT_COLUMNS("layer", "head", "i", "initial", "learned", "drift",
                                         "phase (rad)", "turns", "use", tolerances ? "down" : "",
                                         tolerances ? "up" : ""));
            }
            if (rows <= MOST_ROWS)
                add_table_row(w, &csv, tolerances);
        }
    rt_csv_close(&csv);
    if (!rows)
        return;
    rt_writer_add(w,
                  "</table></div>\n<p>The initial and the learned θ, in radians per "
                  "position. Drift: ln(learned/initial). Turns: full turns over the distance that "
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

/* ---- usage ---- */

/* Draws a panel for each measure of a pair, over the mean of its head's pairs. Points above twice
 * the mean are filled. */
static void add_usage(rt_figures *f, layers *l, rt_figure_range turns, int pairs)
{
    static const char *const panels[] = {"weights", "activations", "mean activation"};
    enum { PANELS = sizeof panels / sizeof *panels };
    rt_writer w = {0};
    write_layers(f, l, "usage.csv");
    rt_figures_scale(&w, 'x', turns);
    rt_writer_add(&w,
                  "set yrange [0:*]\nset xlabel 'full turns over the reach of attention'\n"
                  "set multiplot layout 1,%d\n",
                  PANELS);
    for (int i = 0; i < PANELS; i++) {
        rt_writer_add(&w, "set ylabel '%s / mean'\n", panels[i]);
        rt_writer_add(&w, "plot 2 " LIMIT_LINE "notitle");
        for (int layer = 0; layer < l->count; layer++) {
            char value[32], title[40] = "notitle";
            snprintf(value, sizeof value, i ? "$%d" : "$%d*%d", i + 2, pairs);
            if (!i)
                snprintf(title, sizeof title, "title 'layer %d'", l->list[layer]);
            rt_writer_add(&w,
                          ", \\\n     'usage.csv' index %d using 1:(%s) with points pointtype 6 "
                          "pointsize 0.6 linetype %d %s, \\\n     'usage.csv' index %d using "
                          "1:(%s > 2 ? %s : NaN) with points pointtype 7 pointsize 0.6 linetype "
                          "%d notitle",
                          layer, value, layer % 7 + 1, title, layer, value, value, layer % 7 + 1);
        }
        rt_writer_add(&w, "\n");
    }
    rt_writer_add(&w, "unset multiplot\n");
    add_layer_figure(f, "usage",
                     "What each pair has of queries and keys, over the mean of its head: norms of "
                     "weights, of activations, and of their mean over the tokens; filled above "
                     "twice the mean",
                     l, 2 * RT_FIGURE_WIDTH, USAGE_HEIGHT + l->count / 2 * KEY_ROW_HEIGHT, &w);
}

/* Draws the loss with the slower pairs switched off. The row with all pairs has no turns. */
static void add_cutoffs(rt_figures *f, const char *folder)
{
    double whole = (double)NAN;
    rt_writer data = {0}, w = {0};
    rt_figure_range range = RT_NO_RANGE;
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "cutoffs.csv"))
        while (rt_csv_row(&csv)) {
            const double turns = rt_csv_number(&csv, "turns");
            const double loss = rt_csv_number(&csv, "eval_loss");
            if (!*rt_csv_cell(&csv, "turns"))
                whole = loss;
            else if (isfinite(turns) && isfinite(loss)) {
                rt_writer_add(&data, "%.6g,%.9g\n", turns, loss);
                rt_figure_range_take(&range, turns);
            }
        }
    rt_csv_close(&csv);
    if (!data.length || !isfinite(whole)) {
        rt_writer_free(&data);
        return;
    }
    rt_figures_write(f, "cutoffs.csv", &data);
    rt_figures_scale(&w, 'x', range);
    rt_writer_add(&w,
                  "set xlabel 'full turns of the fastest pair that is switched "
                  "off'\nset ylabel 'cross entropy (nats)'\nset key left top\n"
                  "plot %.9g " LIMIT_LINE "title 'all pairs', "
                  "\\\n     'cutoffs.csv' using 1:2 with linespoints linetype 1 pointtype 7 "
                  "pointsize 0.5 title 'without the slower pairs'\n",
                  whole);
    rt_figures_add(f,
                   &(rt_figure){.name = "cutoffs",
                                .caption = "Evaluation loss with pairs switched off: the pairs "
                                           "from one on do not rotate, in every layer and head",
                                .width = RT_FIGURE_WIDTH},
                   RT_FIGURE_HEIGHT, &w);
}

void rt_report_usage(rt_figures *f, const char *folder)
{
    layers l = {.count = 0};
    rt_figure_range range = RT_NO_RANGE;
    int layer, pair, pairs = 0;
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "usage.csv"))
        while (rt_csv_row(&csv)) {
            const double turns = rt_csv_number(&csv, "turns"), use = rt_csv_number(&csv, "use");
            const double length = sqrt(rt_csv_number(&csv, "query") * rt_csv_number(&csv, "key"));
            const double mean =
                sqrt(rt_csv_number(&csv, "query_mean") * rt_csv_number(&csv, "key_mean"));
            if (!rt_csv_whole(&csv, "layer", &layer) || !rt_csv_whole(&csv, "i", &pair) ||
                !isfinite(turns + use + length + mean))
                continue;
            const int i = layer_of(&l, layer);
            pairs = pair >= pairs ? pair + 1 : pairs;
            rt_figure_range_take(&range, turns);
            if (i >= 0)
                rt_writer_add(&l.rows[i], "%.6g,%.6g,%.6g,%.6g\n", turns, use, length, mean);
        }
    rt_csv_close(&csv);
    if (l.count)
        add_usage(f, &l, range, pairs);
    add_cutoffs(f, folder);
}
