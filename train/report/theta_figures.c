#include "core/memory.h"
#include "models/positions.h"
#include "train/report/private.h"
#include "util/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_LAYERS = 32,
    MOST_CURVES = 128, /* decay curves */
    MOST_PANELS = 6,
    ALL = -1,           /* layer or head if all of them share one theta */
    THETA_HEIGHT = 420, /* height of the two figures that are side by side */
    PANEL_HEIGHT = 210,
    USAGE_HEIGHT = 240,
    NEAREST_END = 64, /* limits of the largest distance r of a decay curve */
    FARTHEST_END = 256
};

/* A figure with a block of rows for each of the first layers of a table. */
typedef struct layers {
    int count;
    bool cut;  /* the table has more layers */
    int width; /* of the figure; 0: RT_FIGURE_WIDTH */
    int list[MOST_LAYERS];
    rt_writer rows[MOST_LAYERS + 1]; /* rows of each layer; the last: of layers not shown */
    rt_writer data;                  /* of a figure without such blocks */
    rt_writer script;
} layers;

/* Returns the index of a layer, which is added to the list; MOST_LAYERS if the list is full. */
static int layer_of(layers *l, int number)
{
    for (int i = 0; i < l->count; i++)
        if (l->list[i] == number)
            return i;
    if (l->count == MOST_LAYERS) {
        l->cut = true;
        return MOST_LAYERS;
    }
    l->list[l->count] = number;
    return l->count++;
}

/* Adds the figure, unless it has no layers, and empties its texts. The height is that with a key of
 * one row; `titles` is the number of titles in the key. gnuplot's `index` requires two empty lines
 * after a block. */
static void add_layers(rt_figures *f, layers *l, const char *name, int height, int titles,
                       const char *caption)
{
    enum { TITLES_IN_A_ROW = 4, ROW_HEIGHT = 17 };
    const rt_figure figure = {.name = name,
                              .plots = name,
                              .width = l->width,
                              .height = height + (titles - 1) / TITLES_IN_A_ROW * ROW_HEIGHT};
    const bool blocks = !l->data.length;
    char cut[40] = "";
    if (l->cut)
        snprintf(cut, sizeof cut, "; the first %d layers", MOST_LAYERS);
    rt_writer_add(&l->script, "layers = %d\narray labels[layers] = [", l->count);
    for (int i = 0; i < l->count; i++) {
        rt_writer_add(&l->script, l->list[i] == ALL ? "%s'all layers'" : "%s'layer %d'",
                      i ? ", " : "", l->list[i]);
        if (blocks)
            rt_writer_add(&l->data, "%s\n\n", l->rows[i].bytes ? l->rows[i].bytes : "");
        l->data.failed |= l->rows[i].failed;
        rt_writer_free(&l->rows[i]);
    }
    rt_writer_add(&l->script, "]\n");
    if (l->count)
        rt_figures_add(f, &figure, &l->data, &l->script, "%s%s", caption, cut);
    rt_writer_free(&l->rows[MOST_LAYERS]);
    rt_writer_free(&l->data);
    rt_writer_free(&l->script);
}

typedef struct theta_row {
    int layer, head, pair;
    double theta, start;
    double geometric, turns, use; /* only in theta_final.csv; may not be finite */
    double down, up;              /* tolerances, only in theta_final.csv; may not be finite */
} theta_row;

/* Reads a whole number, or ALL. Returns false for anything else. */
static bool read_number_or_all(const rt_csv *csv, const char *name, int *number)
{
    *number = ALL;
    return !strcmp(rt_csv_cell(csv, name), "all") || rt_csv_whole(csv, name, number);
}

/* Reads a row. Returns false if it lacks theta, its initial value or its place. */
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

/* Returns the relative drift of a theta. If mixed, `first` keeps the theta of the first coordinate
 * of each pair, and the drift of a pair is known with its second theta: the larger change of the
 * two, relative to their length. */
static double drift_of(const theta_row *row, int pairs, theta_row *first)
{
    if (!first)
        return fabs(row->theta / row->start - 1);
    if (row->pair < pairs) {
        first[row->pair] = *row;
        return 0;
    }
    const theta_row *x = &first[(row->pair - pairs) % pairs];
    return fmax(fabs(x->theta - x->start), fabs(row->theta - row->start)) /
           hypot(x->start, row->start);
}

/* Draws the largest drift of each layer by step. */
static void add_drift(rt_figures *f, const char *folder, const rt_config *config)
{
    const int pairs = rt_transformer_pairs(&config->model);
    const bool mixed = rt_transformer_theta_axes(&config->model) > 1;
    theta_row *first = mixed ? rt_alloc((size_t)pairs, sizeof *first) : NULL;
    layers l = {.count = 0};
    double drift[MOST_LAYERS + 1] = {0};
    int step = -1, current = -1;
    theta_row row;
    rt_csv csv;
    bool more;
    rt_csv_open(&csv, folder, "theta.csv");
    do {
        more = rt_csv_row(&csv);
        if (more && (!rt_csv_whole(&csv, "step", &step) || !read_theta_row(&csv, &row)))
            continue;
        if (current >= 0 && (!more || step != current)) {
            rt_writer_add(&l.data, "%d", current);
            for (int i = 0; i < l.count; i++)
                rt_writer_add(&l.data, ",%.6g", drift[i]);
            rt_writer_add(&l.data, "\n");
            memset(drift, 0, sizeof drift);
        }
        if (more) {
            const int i = layer_of(&l, row.layer);
            drift[i] = fmax(drift[i], drift_of(&row, pairs, first));
            current = step;
        }
    } while (more);
    l.data.failed |= mixed && !first;
    rt_free(first);
    rt_writer_add(&l.script, "tolerance = %.9g\n", config->theta.tolerance);
    add_layers(f, &l, "drift", THETA_HEIGHT, l.count + 1,
               mixed ? "Relative drift of θ during training: the largest change of a layer's θ, "
                       "relative to the length of the two initial θ of its pair"
                     : "Relative drift of θ during training: the largest |θᵢ/θᵢ⁰ - 1| of a layer's "
                       "pairs, θᵢ⁰ the initial value");
}

/* Theta of a layer, or of one of its heads: a range of rows. */
typedef struct theta_curve {
    int layer; /* index in `layers` */
    int first, pairs;
} theta_curve;

/* Rows of theta_final.csv that have a geometric theta. */
typedef struct final_theta {
    int count;
    size_t capacity;
    theta_row *rows;
    double *start, *end; /* theta of each row */
    layers layers;
    double lowest, highest; /* theta / geometric theta - 1 */
    bool elsewhere;         /* some theta did not start at its geometric value */
    bool by_head;
    int most_pairs;
    int curve_count; /* number of decay curves */
    theta_curve curves[MOST_CURVES];
} final_theta;

static rt_status read_final(final_theta *f, const char *folder)
{
    rt_csv csv;
    theta_row row;
    bool grown = true;
    for (rt_csv_open(&csv, folder, "theta_final.csv"); rt_csv_row(&csv);) {
        if (!read_theta_row(&csv, &row) || !isfinite(row.geometric))
            continue;
        grown = rt_grow(&f->rows, &f->capacity, (size_t)f->count + 1, sizeof row);
        if (!grown)
            break;
        f->rows[f->count++] = row;
    }
    rt_csv_close(&csv);
    f->start = rt_alloc((size_t)f->count, 2 * sizeof *f->start);
    if (!f->start || !grown)
        return rt_out_of_memory("a figure");
    f->end = f->start + f->count;
    for (int n = 0; n < f->count; n++) {
        const theta_row *r = &f->rows[n], *before = r - 1;
        theta_curve *last = f->curve_count ? &f->curves[f->curve_count - 1] : NULL;
        const int layer = layer_of(&f->layers, r->layer);
        const double change = r->theta / r->geometric - 1;
        f->start[n] = r->start;
        f->end[n] = r->theta;
        f->elsewhere |= fabs(r->start / r->geometric - 1) > 1e-6;
        f->lowest = fmin(f->lowest, change);
        f->highest = fmax(f->highest, change);
        f->by_head |= r->head != ALL;
        f->most_pairs = r->pair >= f->most_pairs ? r->pair + 1 : f->most_pairs;
        rt_writer_add(&f->layers.rows[layer], "%d,%.9g,%.9g,%.9g\n", r->pair, r->theta, r->start,
                      r->geometric);
        /* the rows of a theta are consecutive */
        if (last && last->first + last->pairs == n && before->layer == r->layer &&
            before->head == r->head)
            last->pairs++;
        else if (f->curve_count < MOST_CURVES && layer < MOST_PANELS)
            f->curves[f->curve_count++] = (theta_curve){layer, n, 1};
    }
    return rt_ok();
}

/* Sets the axis of the pairs. */
static void add_pairs(rt_writer *w, const final_theta *end)
{
    rt_writer_add(w, "pairs = %d\npair_tics = %g\n", end->most_pairs,
                  fmax(1, rt_figures_tics(0.6 * end->most_pairs)));
}

/* Draws the two theta of each pair as a point, with a line from the initial ones. Those of the
 * second coordinate follow those of the first. */
static void add_plane(rt_figures *f, const final_theta *end)
{
    layers l = {.count = 0};
    const int pairs = end->most_pairs / 2;
    double farthest = 0;
    for (int n = 0; n + pairs < end->count; n++) {
        const theta_row *x = &end->rows[n], *y = x + pairs;
        if (x->pair >= pairs)
            continue;
        rt_writer_add(&l.rows[layer_of(&l, x->layer)], "%.6g,%.6g,%.6g,%.6g\n", x->start, y->start,
                      x->theta, y->theta);
        farthest = fmax(farthest, fmax(fmax(fabs(x->start), fabs(y->start)),
                                       fmax(fabs(x->theta), fabs(y->theta))));
    }
    rt_writer_add(&l.script, "farthest = %g\n", farthest > 0 ? 1.05 * farthest : 1);
    add_layers(f, &l, "plane", THETA_HEIGHT, l.count,
               "The learned θ of each pair, in radians per column and per row; a line leads from "
               "the initial ones");
}

/* Adds a list of columns of decay.csv for each panel: the columns of the final or of the initial
 * theta. An initial theta that all heads share is drawn once. */
static void add_columns(rt_writer *w, const final_theta *end, int panels, bool last)
{
    rt_writer_add(w, "array %s[panels] = [", last ? "learned" : "initial");
    for (int panel = 0; panel < panels; panel++) {
        bool more = true;
        rt_writer_add(w, panel ? ", '" : "'");
        for (int i = 0; i < end->curve_count && more; i++)
            if (end->curves[i].layer == panel) {
                rt_writer_add(w, " %d", 2 * i + 2 + last);
                more = last || end->elsewhere;
            }
        rt_writer_add(w, "'");
    }
    rt_writer_add(w, "]\n");
}

/* Draws the initial and the final decay of each curve over the distance r. */
static void add_decay(rt_figures *f, final_theta *end, const rt_config *config)
{
    char most[24] = "", first[40] = "", caption[RT_CAPTION_SIZE];
    const double xpos = config->model.position.xpos;
    const int twice = 2 * config->data.length;
    const int last = twice < NEAREST_END    ? NEAREST_END
                     : twice > FARTHEST_END ? FARTHEST_END
                                            : twice;
    double highest = 0;
    int shown = 1; /* panels */
    for (int r = 0; r <= last; r++) {
        rt_writer_add(&end->layers.data, "%d", r);
        for (const theta_curve *t = end->curves; t < end->curves + end->curve_count; t++) {
            const double start = rt_decay(end->start + t->first, t->pairs, r, xpos);
            const double learned = rt_decay(end->end + t->first, t->pairs, r, xpos);
            rt_writer_add(&end->layers.data, ",%.5g,%.5g", start, learned);
            highest = fmax(highest, fmax(start, learned));
        }
        rt_writer_add(&end->layers.data, "\n");
    }
    for (int i = 0; i < end->curve_count; i++)
        shown = end->curves[i].layer >= shown ? end->curves[i].layer + 1 : shown;
    const int columns = shown > 1 ? 2 : 1, rows = (shown + columns - 1) / columns;
    rt_writer *w = &end->layers.script;
    rt_writer_add(w, "curve_tics = %g\nrows = %d\ncolumns = %d\npanels = %d\n",
                  rt_figures_tics(highest), rows, columns, shown);
    add_columns(w, end, shown, false);
    add_columns(w, end, shown, true);
    if (end->curve_count == MOST_CURVES)
        snprintf(most, sizeof most, ", at most %d", MOST_CURVES);
    if (shown < end->layers.count)
        snprintf(first, sizeof first, "; the first %d layers", shown);
    snprintf(caption, sizeof caption,
             "How attention can decay with the distance (figure 2 of the RoFormer paper), for "
             "the initial and the learned θ%s%s%s",
             end->by_head ? "; a line for each head" : "", most, first);
    end->layers.width = columns * RT_FIGURE_WIDTH;
    add_layers(f, &end->layers, "decay", columns > 1 ? rows * PANEL_HEIGHT : RT_FIGURE_HEIGHT, 1,
               caption);
}

/* Draws the range in which each theta does not harm the model, and the learned theta in it. */
static void add_tolerances(rt_figures *f, const final_theta *end)
{
    enum { FARTHEST = 1 }; /* on the axis */
    layers l = {.count = 0};
    double farthest = 0;
    for (int n = 0; n < end->count; n++) {
        const theta_row *row = &end->rows[n];
        const double drift = log(row->theta / row->start);
        if (!isfinite(drift + row->down + row->up))
            continue;
        const int i = layer_of(&l, row->layer);
        rt_writer_add(&l.rows[i], "%d,%.6g,%.6g,%.6g\n", row->pair, drift, drift - row->down,
                      row->down + row->up);
        if (i < MOST_LAYERS)
            farthest = fmax(farthest, fmax(row->down - drift, row->up + drift));
    }
    add_pairs(&l.script, end);
    rt_writer_add(&l.script, "farthest = %g\n",
                  farthest > 0 ? fmin(1.05 * farthest, FARTHEST) : FARTHEST);
    add_layers(f, &l, "tolerances", RT_FIGURE_HEIGHT, l.count,
               "Drift ln(θᵢ/θᵢ⁰) of each learned θ, θᵢ⁰ the initial value; the bar is the "
               "range in which the model works as well, cut off at ±1");
}

/* Draws the wavelengths of each pair, relative to the distance that attention reaches, before and
 * after the training, and its usage relative to the mean of its theta's pairs. */
static void add_wavelengths(rt_figures *f, const final_theta *end)
{
    layers l = {.count = 0};
    rt_figure_range range = {0};
    for (int n = 0; n < end->count; n++) {
        const theta_row *row = &end->rows[n];
        const double use = row->use * end->most_pairs;
        const double initial = fabs(row->theta / row->start) / row->turns, last = 1 / row->turns;
        if (!isfinite(use) || !(row->turns > 0) || row->start == 0)
            continue;
        rt_writer_add(&l.rows[layer_of(&l, row->layer)], "%.6g,%.6g,%.6g\n", initial, last, use);
        rt_figure_range_take(&range, initial);
        rt_figure_range_take(&range, last);
    }
    rt_figures_scale(&l.script, 'x', range);
    add_layers(f, &l, "wavelengths", RT_FIGURE_HEIGHT, l.count,
               "Learned wavelengths, with the share of the query and key weights that each "
               "pair rotates; a line leads from the initial wavelength, and 1 is the whole "
               "distance");
}

/* Draws the loss with the slower pairs switched off. The row of all pairs has no turns. */
static void add_cutoffs(rt_figures *f, const char *folder)
{
    double whole = (double)NAN;
    rt_writer data = {0}, w = {0};
    rt_figure_range range = {0};
    rt_csv csv;
    for (rt_csv_open(&csv, folder, "cutoffs.csv"); rt_csv_row(&csv);) {
        const double turns = rt_csv_number(&csv, "turns");
        const double loss = rt_csv_number(&csv, "eval_loss");
        if (!*rt_csv_cell(&csv, "turns"))
            whole = loss;
        else if (isfinite(turns) && isfinite(loss)) {
            rt_writer_add(&data, "%.6g,%.9g\n", turns, loss);
            rt_figure_range_take(&range, turns);
        }
    }
    if (data.length && isfinite(whole)) {
        rt_figures_scale(&w, 'x', range);
        rt_writer_add(&w, "whole = %.9g\n", whole);
        rt_figures_add(f, &(rt_figure){.name = "cutoffs", .axes = "nats", .plots = "cutoffs"},
                       &data, &w,
                       "Evaluation loss with pairs switched off: the pairs from one on do not "
                       "rotate, in every layer and head");
    }
    rt_writer_free(&data);
}

/* Draws a panel for each measure of a pair, relative to the mean of its head's pairs. */
static void add_usage(rt_figures *f, const char *folder)
{
    layers l = {.width = 2 * RT_FIGURE_WIDTH};
    rt_figure_range range = {0};
    int layer, pair, pairs = 0;
    rt_csv csv;
    for (rt_csv_open(&csv, folder, "usage.csv"); rt_csv_row(&csv);) {
        const double turns = rt_csv_number(&csv, "turns"), use = rt_csv_number(&csv, "use");
        const double length = sqrt(rt_csv_number(&csv, "query") * rt_csv_number(&csv, "key"));
        const double mean =
            sqrt(rt_csv_number(&csv, "query_mean") * rt_csv_number(&csv, "key_mean"));
        if (!rt_csv_whole(&csv, "layer", &layer) || !rt_csv_whole(&csv, "i", &pair) ||
            !isfinite(turns + use + length + mean))
            continue;
        pairs = pair >= pairs ? pair + 1 : pairs;
        rt_figure_range_take(&range, turns);
        rt_writer_add(&l.rows[layer_of(&l, layer)], "%.6g,%.6g,%.6g,%.6g\n", turns, use, length,
                      mean);
    }
    if (!rt_figures_scale(&l.script, 'x', range) &&
        range.most > 0) { /* few tics: panels are narrow */
        const double step = pow(10, floor(log10(range.most)));
        rt_writer_add(&l.script, "set xtics %g\n", range.most < 2 * step ? step / 2 : step);
    }
    rt_writer_add(&l.script, "pairs = %d\n", pairs);
    add_layers(f, &l, "usage", USAGE_HEIGHT, 2 * l.count + 1,
               "What each pair has of queries and keys, over the mean of its head: norms of "
               "weights, of activations, and of their mean over the tokens; filled above "
               "twice the mean");
}

void rt_report_theta(rt_figures *f, const char *folder, const rt_config *config)
{
    const rt_transformer_options *o = &config->model;
    if (o->theta.learn) {
        final_theta end = {.count = 0};
        const rt_status status = read_final(&end, folder);
        add_drift(f, folder, config);
        const bool mixed = rt_transformer_theta_axes(o) > 1;
        if (!status.code && mixed)
            add_plane(f, &end);
        if (!status.code && end.curve_count && !mixed) {
            add_pairs(&end.layers.script, &end);
            rt_writer_add(&end.layers.script, "elsewhere = %d\nchange_tics = %g\n", end.elsewhere,
                          rt_figures_tics(100 * (end.highest - end.lowest)));
            add_layers(f, &end.layers, "theta", THETA_HEIGHT, end.layers.count + 1 + end.elsewhere,
                       "The learned θᵢ beside the geometric series, and their difference in "
                       "percent");
            add_tolerances(f, &end);
            add_wavelengths(f, &end);
            if (o->position.axes < 2) /* else there is no single distance */
                add_decay(f, &end, config);
        }
        if (!f->status.code)
            f->status = status;
        for (int i = 0; i <= MOST_LAYERS; i++)
            rt_writer_free(&end.layers.rows[i]);
        rt_free(end.start);
        rt_free(end.rows);
    }
    if (o->position.kind == RT_POSITION_ROPE &&
        (o->theta.learn || config->theta.cutoffs || config->theta.init_from)) {
        add_usage(f, folder);
        add_cutoffs(f, folder);
    }
}

static void add_table_row(rt_writer *w, const rt_csv *csv, bool tolerances, bool mixed)
{
    static const char *const places[] = {"layer", "head", "i"};
    const double theta = rt_csv_number(csv, "theta"), start = rt_csv_number(csv, "theta_initial");
    const double use = rt_csv_number(csv, "use");
    char text[RT_NUMBER_SIZE];
    int number = 0;
    rt_writer_add(w, "<tr>");
    for (int i = 0; i < 3; i++) {
        const bool is_number = rt_csv_whole(csv, places[i], &number);
        rt_writer_add(w, is_number ? "<td>%d</td>" : "<td>all</td>", number);
    }
    rt_page_number(w, "%.6g", start);
    rt_page_number(w, "%.6g", theta);
    rt_page_number(w, "%+.4f", mixed ? rt_csv_number(csv, "drift_from_start") : log(theta / start));
    rt_page_number(w, "%.3g", rt_csv_number(csv, "phase"));
    rt_page_number(w, "%.3g", rt_csv_number(csv, "turns"));
    rt_writer_add(w, isfinite(use) ? "<td>%s %%</td>" : "<td>-</td>",
                  rt_number_show(text, 1, 100 * use));
    if (tolerances) {
        rt_page_number(w, "%.3g", -rt_csv_number(csv, RT_TOLERANCE_DOWN));
        rt_page_number(w, "%+.3g", rt_csv_number(csv, RT_TOLERANCE_UP));
    }
    rt_writer_add(w, "</tr>\n");
}

void rt_report_theta_table(rt_writer *w, const char *folder, const rt_config *config)
{
    const bool mixed = rt_transformer_theta_axes(&config->model) > 1;
    enum { MOST_ROWS = 512 };
    rt_csv csv;
    bool tolerances = false;
    int rows = 0;
    for (rt_csv_open(&csv, folder, "theta_final.csv"); rt_csv_row(&csv);) {
        if (!rows++) {
            tolerances = rt_csv_column(&csv, RT_TOLERANCE_DOWN) < csv.columns;
            rt_page_table(w, "Learned theta",
                          RT_COLUMNS("layer", "head", "i", "initial", "learned", "drift",
                                     "phase (rad)", "turns", "use", tolerances ? "down" : "",
                                     tolerances ? "up" : ""));
        }
        if (rows <= MOST_ROWS)
            add_table_row(w, &csv, tolerances, mixed);
    }
    if (!rows)
        return;
    rt_writer_add(w,
                  "</table></div>\n<p>The initial and the learned θ, in radians per "
                  "position. %sTurns: full turns over the distance that attention reaches. %s are "
                  "defined at the top of the page.",
                  mixed ? "" : "Drift: ln(learned/initial). ",
                  mixed ? "Drift, phase and use" : "Phase and use");
    if (tolerances)
        rt_writer_add(
            w,
            " Down, up: how far ln θ can change before the model gets worse; at most %g was tried.",
            RT_THETA_FARTHEST);
    if (rows > MOST_ROWS)
        rt_writer_add(w, " The first %d rows of %d; theta_final.csv has all.", MOST_ROWS, rows);
    rt_writer_add(w, "</p>\n");
}
