/* The figures of a run: the rows of the table at the end. */

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"
#include "train/folder/session.h"
#include "train/report/sections.h"
#include "train/report/verdict.h"

#include <string.h>

/* Columns of training.csv, from 1 as in gnuplot: columns of metrics.csv, and the seconds. */
enum { STEP = 1, LOSS, EVAL_LOSS, EVAL_ACCURACY, LR, NORM, ACCURACY, THETA_NORM, TOKENS, SECONDS };
enum { COLUMNS = SECONDS + 1 };
static const char *const columns[COLUMNS - 1] = {NULL,        "step",          "loss",
                                                 "eval_loss", "eval_accuracy", "lr",
                                                 "grad_norm", "accuracy",      "theta_grad_norm",
                                                 "tokens"};

/* A row of theta_final.csv. Numbers of columns that the table lacks, and others but theta, start
 * and geometric, may not be finite. */
typedef struct theta_row {
    int layer, head, pair; /* layer and head: ALL if all of them share one theta */
    double theta, start, geometric, turns, use, down, up;
} theta_row;

/* Tables that figures are drawn from. */
typedef struct source {
    rt_run_page *page;
    const struct run_figure *figure; /* that is drawn */
    rt_figure_range ranges[COLUMNS]; /* of training.csv; of norms, which may be 0, only above 0 */
    double best[COLUMNS];            /* row of the best evaluation; an infinite loss: none */
    int count;                       /* theta_final.csv, if theta is learned */
    size_t capacity;
    theta_row *thetas;
    int pairs;      /* 1 + the largest i */
    bool elsewhere; /* some theta did not start at its geometric value */
} source;

typedef struct run_figure {
    const char *name, *axes, *plots, *caption, *choice; /* see rt_figure */
    int width, height;
    unsigned needs;
    /* Fills a drawing, which begins as a copy of the row. Returns whether there is anything. */
    bool (*draw)(rt_drawing *drawing, const source *source);
    int x, y[2];         /* of draw_training: columns of the axis and of the curves */
    const char *with[2]; /* their gnuplot options; NULL: no curve */
    bool fits; /* y shows the range of its values, on a logarithmic scale if that is wide */
    const char *table, *cells[3]; /* of draw_layers: the table of the run, and its columns */
} run_figure;

static void add_cells(rt_writer *w, const double row[COLUMNS])
{
    for (int i = STEP; i < COLUMNS; i++) {
        if (isfinite(row[i]))
            rt_writer_add(w, "%.9g", row[i]);
        rt_writer_add(w, i + 1 < COLUMNS ? "," : "\n");
    }
}

/* Writes training.csv for the scripts, with numbers only, and timing.csv, the same rows with their
 * seconds, so that only timing.csv differs between equal runs. */
static rt_status write_training(source *s, rt_run_page *p)
{
    rt_writer w = {0}, timed = {0};
    rt_csv metrics;
    rt_timing timing;
    int step;
    const bool has_times = rt_timing_open(&timing, p->folder);
    const int from = rt_session_evaluates_from(&p->config->data, p->folder);
    for (rt_csv_open(&metrics, p->folder, "metrics.csv"); rt_csv_row(&metrics);) {
        double row[COLUMNS] = {[SECONDS] = NAN};
        for (int i = STEP; i < SECONDS; i++)
            row[i] = rt_csv_number(&metrics, columns[i]);
        add_cells(&w, row);
        if (has_times && rt_csv_whole(&metrics, "step", &step))
            row[SECONDS] = rt_timing_seconds(&timing, step);
        if (isfinite(row[SECONDS]))
            add_cells(&timed, row);
        for (int i = STEP; i < COLUMNS; i++)
            if ((i != NORM && i != THETA_NORM) || row[i] > 0)
                rt_figure_range_take(&s->ranges[i], row[i]);
        if (row[EVAL_LOSS] < s->best[EVAL_LOSS] && row[STEP] >= from)
            memcpy(s->best, row, sizeof s->best);
    }
    rt_csv_close(&timing.csv);
    rt_figures_write(&p->figures, "training.csv", &w);
    rt_figures_write(&p->figures, "timing.csv", &timed);
    return metrics.status;
}

static bool draw_training(rt_drawing *d, const source *s)
{
    const run_figure *g = s->figure;
    rt_figure_range range = {0};
    const char *table = g->x == SECONDS ? "timing.csv" : "training.csv", *separator = "plot ";
    const bool is_loss = g->y[1] == EVAL_LOSS;
    const bool has_best = is_loss && isfinite(s->best[EVAL_LOSS]);
    rt_writer *w = &d->commands, plots = {0};
    for (int i = 0; i < 2 && g->with[i]; i++) {
        const rt_figure_range *y = &s->ranges[g->y[i]];
        if (!y->any)
            continue;
        rt_writer_add(&plots, "%s'%s' using %d:%d with %s", separator, table, g->x, g->y[i],
                      g->with[i]);
        separator = ", \\\n     ";
        rt_figure_range_take(&range, y->least);
        rt_figure_range_take(&range, y->most);
    }
    const bool drawn = plots.length && s->ranges[g->x].any;
    if (drawn) {
        if (g->x == TOKENS)
            rt_writer_add(w, "set xtics %.9g\n", rt_figures_tics(s->ranges[TOKENS].most));
        if (g->x != SECONDS && has_best && isfinite(s->best[g->x]))
            rt_writer_add(w,
                          "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dashtype 3 "
                          "linecolor rgb '#444444'\n",
                          s->best[g->x], s->best[g->x]);
        if (g->fits)
            rt_figures_scale(w, 'y', range);
        rt_writer_add(w, "%s", plots.bytes);
        if (is_loss)
            rt_writer_add(w,
                          "%s'%s' using %d:%d:(sprintf('evaluation, step %%d: %%.4g', $%d, $%d)) "
                          "@labelled",
                          separator, table, g->x, EVAL_LOSS, STEP, EVAL_LOSS);
        rt_writer_add(w, "\n");
        if (has_best)
            rt_figure_note(&d->figure, "; the lowest evaluation loss, %.4g, at step %.9g",
                           s->best[EVAL_LOSS], s->best[STEP]);
    }
    w->failed |= plots.failed;
    rt_writer_free(&plots);
    return drawn;
}

/* Draws the accuracy of labels by distance to the token that answers, a curve for each length. */
static bool draw_distances(rt_drawing *d, const source *s)
{
    enum { MOST_LENGTHS = 28 };
    RT_CLOSED_BY(rt_writer_free) rt_writer labels = {0};
    int length, last = 0, count = 0, distance;
    rt_csv csv;
    for (rt_csv_open(&csv, s->page->folder, "distances.csv"); rt_csv_row(&csv);) {
        const double accuracy = rt_csv_number(&csv, "eval_accuracy");
        if (!rt_csv_whole(&csv, "length", &length) || !rt_csv_whole(&csv, "distance", &distance) ||
            !isfinite(accuracy) || distance < 1 || length < 1 ||
            (length != last && count == MOST_LENGTHS))
            continue;
        if (length != last) {
            rt_writer_add(&d->data, last ? "\n\n" : "");
            rt_writer_add(&labels, "%s'%d tokens'", count++ ? ", " : "", length);
        }
        rt_writer_add(&d->data, "%d,%.6g,0\n", distance, accuracy);
        last = length;
    }
    if (count)
        rt_writer_add(&d->commands,
                      "file = 'distances.csv'\nstyle = 'linespoints pointtype 7 pointsize 0.4'\n"
                      "more = ''\nunit = 'tokens'\nhorizontal = 1\nset key maxcols 2\n"
                      "vertical = 2\ncurves = %d\narray labels[curves] = [%s]\n",
                      count, labels.bytes);
    d->commands.failed |= labels.failed;
    return count > 0;
}

enum {
    MOST_LAYERS = 32,
    MOST_CURVES = 128, /* decay curves */
    MOST_PANELS = 6,
    ALL = -1, /* layer or head if all of them share one theta */
    PANEL_HEIGHT = 210,
    NEAREST_END = 64, /* limits of the largest distance r of a decay curve */
    FARTHEST_END = 256
};

/* The first layers of a table, and a block of rows for each. */
typedef struct layers {
    int count;
    bool cut; /* the table has more layers */
    int list[MOST_LAYERS];
    rt_writer rows[MOST_LAYERS + 1]; /* rows of each layer; the last: of layers not shown */
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

/* Adds the names of the layers and, unless the figure has data without blocks, their rows. Makes
 * room for a key with so many titles. Returns whether there are layers. gnuplot's `index` requires
 * two empty lines after a block. */
static bool add_layers(rt_drawing *d, layers *l, int titles)
{
    enum { TITLES_IN_A_ROW = 4, ROW_HEIGHT = 17 };
    const bool blocks = !d->data.length;
    d->figure.height += (titles - 1) / TITLES_IN_A_ROW * ROW_HEIGHT;
    if (l->cut)
        rt_figure_note(&d->figure, "; the first %d layers", MOST_LAYERS);
    rt_writer_add(&d->commands, "layers = %d\narray labels[layers] = [", l->count);
    for (int i = 0; i < l->count; i++) {
        rt_writer_add(&d->commands, l->list[i] == ALL ? "%s'all layers'" : "%s'layer %d'",
                      i ? ", " : "", l->list[i]);
        if (blocks)
            rt_writer_add(&d->data, "%s\n\n", l->rows[i].bytes ? l->rows[i].bytes : "");
        d->data.failed |= l->rows[i].failed;
        rt_writer_free(&l->rows[i]);
    }
    rt_writer_add(&d->commands, "]\n");
    rt_writer_free(&l->rows[MOST_LAYERS]);
    return l->count > 0;
}

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

static rt_status read_thetas(source *s)
{
    RT_CLOSED_BY(rt_csv_close) rt_csv csv = {0};
    theta_row row;
    bool grown = true;
    for (rt_csv_open(&csv, s->page->folder, "theta_final.csv"); rt_csv_row(&csv);) {
        if (!read_theta_row(&csv, &row) || !isfinite(row.geometric))
            continue;
        grown = rt_grow(&s->thetas, &s->capacity, (size_t)s->count + 1, sizeof row);
        if (!grown)
            break;
        s->thetas[s->count++] = row;
        s->pairs = row.pair >= s->pairs ? row.pair + 1 : s->pairs;
        s->elsewhere |= fabs(row.start / row.geometric - 1) > 1e-6;
    }
    return rt_allocated(grown, "a figure");
}

/* Returns the relative change of a theta. If mixed, `first` keeps the theta of the first coordinate
 * of each pair, and the change of a pair is known with its second theta: the larger change of the
 * two, relative to their length. */
static double change_of(const theta_row *row, int pairs, theta_row *first)
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

/* Draws the largest relative change of each layer by step, from theta.csv. */
static bool draw_change(rt_drawing *d, const source *s)
{
    const rt_config *config = s->page->config;
    const int pairs = rt_transformer_pairs(&config->model);
    const bool mixed = rt_transformer_theta_axes(&config->model) > 1;
    theta_row row, *first = mixed ? rt_alloc((size_t)pairs, sizeof *first) : NULL;
    layers l = {.count = 0};
    double change[MOST_LAYERS + 1] = {0};
    int step = -1, current = -1;
    rt_csv csv;
    bool more;
    rt_csv_open(&csv, s->page->folder, "theta.csv");
    do {
        more = rt_csv_row(&csv);
        if (more && (!rt_csv_whole(&csv, "step", &step) || !read_theta_row(&csv, &row)))
            continue;
        if (current >= 0 && (!more || step != current)) {
            rt_writer_add(&d->data, "%d", current);
            for (int i = 0; i < l.count; i++)
                rt_writer_add(&d->data, ",%.6g", change[i]);
            rt_writer_add(&d->data, "\n");
            memset(change, 0, sizeof change);
        }
        if (more) {
            const int i = layer_of(&l, row.layer);
            change[i] = fmax(change[i], change_of(&row, pairs, first));
            current = step;
        }
    } while (more);
    d->data.failed |= mixed && !first;
    rt_free(first);
    rt_writer_add(&d->commands, "tolerance = %.9g\n", config->theta.tolerance);
    return add_layers(d, &l, l.count + 1);
}

static void add_pairs(rt_writer *w, int pairs)
{
    rt_writer_add(w, "pairs = %d\npair_tics = %g\n", pairs, fmax(1, rt_figures_tics(0.6 * pairs)));
}

static bool draw_theta(rt_drawing *d, const source *s)
{
    layers l = {.count = 0};
    double lowest = 0, highest = 0; /* theta / geometric theta - 1 */
    for (int n = 0; n < s->count; n++) {
        const theta_row *r = &s->thetas[n];
        const double change = r->theta / r->geometric - 1;
        lowest = fmin(lowest, change);
        highest = fmax(highest, change);
        rt_writer_add(&l.rows[layer_of(&l, r->layer)], "%d,%.9g,%.9g,%.9g\n", r->pair, r->theta,
                      r->start, r->geometric);
    }
    add_pairs(&d->commands, s->pairs);
    rt_writer_add(&d->commands, "elsewhere = %d\nchange_tics = %g\n", s->elsewhere,
                  rt_figures_tics(100 * (highest - lowest)));
    return add_layers(d, &l, l.count + 1 + s->elsewhere);
}

/* Draws the two theta of each pair as a point, with a line from the initial ones. Those of the
 * second coordinate follow those of the first. */
static bool draw_plane(rt_drawing *d, const source *s)
{
    layers l = {.count = 0};
    const int pairs = s->pairs / 2;
    double farthest = 0;
    for (int n = 0; n + pairs < s->count; n++) {
        const theta_row *x = &s->thetas[n], *y = x + pairs;
        if (x->pair >= pairs)
            continue;
        rt_writer_add(&l.rows[layer_of(&l, x->layer)], "%.6g,%.6g,%.6g,%.6g\n", x->start, y->start,
                      x->theta, y->theta);
        farthest = fmax(farthest, fmax(fmax(fabs(x->start), fabs(y->start)),
                                       fmax(fabs(x->theta), fabs(y->theta))));
    }
    rt_writer_add(&d->commands, "farthest = %g\n", farthest > 0 ? 1.05 * farthest : 1);
    return add_layers(d, &l, l.count);
}

/* Draws the range in which each theta does not harm the model, and the learned theta in it. */
static bool draw_tolerances(rt_drawing *d, const source *s)
{
    enum { FARTHEST = 1 }; /* on the axis */
    layers l = {.count = 0};
    double farthest = 0;
    for (int n = 0; n < s->count; n++) {
        const theta_row *r = &s->thetas[n];
        const double drift = log(r->theta / r->start);
        if (!isfinite(drift + r->down + r->up))
            continue;
        const int i = layer_of(&l, r->layer);
        rt_writer_add(&l.rows[i], "%d,%.6g,%.6g,%.6g\n", r->pair, drift, drift - r->down,
                      r->down + r->up);
        if (i < MOST_LAYERS)
            farthest = fmax(farthest, fmax(r->down - drift, r->up + drift));
    }
    add_pairs(&d->commands, s->pairs);
    rt_writer_add(&d->commands, "farthest = %g\n",
                  farthest > 0 ? fmin(1.05 * farthest, FARTHEST) : FARTHEST);
    return add_layers(d, &l, l.count);
}

/* Draws the wavelengths of each pair, relative to the distance that attention reaches, before and
 * after the training, and its usage relative to the mean of its theta's pairs. */
static bool draw_wavelengths(rt_drawing *d, const source *s)
{
    layers l = {.count = 0};
    rt_figure_range range = {0};
    for (int n = 0; n < s->count; n++) {
        const theta_row *r = &s->thetas[n];
        const double use = r->use * s->pairs;
        const double initial = fabs(r->theta / r->start) / r->turns, last = 1 / r->turns;
        if (!isfinite(use) || !(r->turns > 0) || r->start == 0)
            continue;
        rt_writer_add(&l.rows[layer_of(&l, r->layer)], "%.6g,%.6g,%.6g\n", initial, last, use);
        rt_figure_range_take(&range, initial);
        rt_figure_range_take(&range, last);
    }
    rt_figures_scale(&d->commands, 'x', range);
    return add_layers(d, &l, l.count);
}

/* Decay curve of the theta of a layer, or of one of its heads: a range of rows. */
typedef struct decay_curve {
    int layer; /* index in `layers` */
    int first, pairs;
} decay_curve;

/* Lists all layers and the curves of the first ones. The rows of a theta are consecutive. */
static int find_curves(decay_curve curves[MOST_CURVES], layers *l, const source *s)
{
    int count = 0;
    for (int n = 0; n < s->count; n++) {
        const theta_row *r = &s->thetas[n];
        decay_curve *last = count ? &curves[count - 1] : NULL;
        const int layer = layer_of(l, r->layer);
        if (last && last->first + last->pairs == n && r[-1].layer == r->layer &&
            r[-1].head == r->head)
            last->pairs++;
        else if (count < MOST_CURVES && layer < MOST_PANELS)
            curves[count++] = (decay_curve){layer, n, 1};
    }
    return count;
}

/* Draws the initial and the final decay of each curve over the distance r. The script has a list of
 * columns for each panel: those of the final theta, and those of the initial theta or, if all heads
 * share it, the first. */
static bool draw_decay(rt_drawing *d, const source *s)
{
    static const char *const arrays[] = {"initial", "learned"};
    const rt_config *config = s->page->config;
    decay_curve curves[MOST_CURVES];
    layers l = {.count = 0};
    const int count = find_curves(curves, &l, s), twice = 2 * config->data.length;
    const int last = twice < NEAREST_END    ? NEAREST_END
                     : twice > FARTHEST_END ? FARTHEST_END
                                            : twice;
    double *theta = rt_alloc((size_t)s->count, 2 * sizeof *theta), highest = 0;
    bool by_head = false;
    int shown = 1; /* panels */
    rt_writer *w = &d->commands;
    for (int n = 0; n < s->count && theta; n++) {
        theta[n] = s->thetas[n].start;
        theta[s->count + n] = s->thetas[n].theta;
        by_head |= s->thetas[n].head != ALL;
    }
    d->data.failed |= !theta;
    for (int r = 0; r <= last && count && theta; r++) {
        rt_writer_add(&d->data, "%d", r);
        for (int i = 0; i < 2 * count; i++) {
            const decay_curve *c = &curves[i / 2];
            const double decay = rt_decay(theta + i % 2 * s->count + c->first, c->pairs, r,
                                          config->model.position.xpos);
            rt_writer_add(&d->data, ",%.5g", decay);
            highest = fmax(highest, decay);
        }
        rt_writer_add(&d->data, "\n");
    }
    rt_free(theta);
    for (int i = 0; i < count; i++)
        shown = curves[i].layer >= shown ? curves[i].layer + 1 : shown;
    const int wide = shown > 1 ? 2 : 1, rows = (shown + wide - 1) / wide;
    rt_writer_add(w, "curve_tics = %g\nrows = %d\ncolumns = %d\npanels = %d\n",
                  rt_figures_tics(highest), rows, wide, shown);
    for (int learned = 0; learned < 2; learned++) {
        rt_writer_add(w, "array %s[panels] = [", arrays[learned]);
        for (int panel = 0; panel < shown; panel++) {
            bool more = true;
            rt_writer_add(w, panel ? ", '" : "'");
            for (int i = 0; i < count && more; i++)
                if (curves[i].layer == panel) {
                    rt_writer_add(w, " %d", 2 * i + 2 + learned);
                    more = learned || s->elsewhere;
                }
            rt_writer_add(w, "'");
        }
        rt_writer_add(w, "]\n");
    }
    rt_figure_note(&d->figure, by_head ? "; a line for each head" : "");
    if (count == MOST_CURVES)
        rt_figure_note(&d->figure, ", at most %d", MOST_CURVES);
    if (shown < l.count)
        rt_figure_note(&d->figure, "; the first %d layers", shown);
    d->figure.width = wide * RT_FIGURE_WIDTH;
    d->figure.height = wide > 1 ? rows * PANEL_HEIGHT : RT_FIGURE_HEIGHT;
    return add_layers(d, &l, 1);
}

/* Draws a panel for each measure of a pair, relative to the mean of its head's pairs. */
static bool draw_usage(rt_drawing *d, const source *s)
{
    layers l = {.count = 0};
    rt_figure_range range = {0};
    int layer, pair, pairs = 0;
    rt_csv csv;
    for (rt_csv_open(&csv, s->page->folder, "usage.csv"); rt_csv_row(&csv);) {
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
    if (!rt_figures_scale(&d->commands, 'x', range)) /* few tics: panels are narrow */
        rt_writer_add(&d->commands, "set xtics %g\n", rt_figures_tics(range.most));
    rt_writer_add(&d->commands, "pairs = %d\n", pairs);
    return add_layers(d, &l, 2 * l.count + 1);
}

/* Draws columns of a table by layer. An empty line ends a curve where the first column falls. */
static bool draw_layers(rt_drawing *d, const source *s)
{
    const run_figure *g = s->figure;
    layers l = {.count = 0};
    int layer;
    double before = 0;
    rt_csv csv;
    for (rt_csv_open(&csv, s->page->folder, g->table); rt_csv_row(&csv);)
        if (rt_csv_whole(&csv, "layer", &layer)) {
            rt_writer *rows = &l.rows[layer_of(&l, layer)];
            const double first = rt_csv_number(&csv, g->cells[0]);
            rt_writer_add(rows, rows->length && first < before ? "\n" : "");
            before = first;
            for (int i = 0; i < 3 && g->cells[i]; i++)
                rt_writer_add(rows, i ? ",%.6g" : "%.6g", rt_csv_number(&csv, g->cells[i]));
            rt_writer_add(rows, "\n");
        }
    return add_layers(d, &l, l.count + 1);
}

/* Draws the loss with the slower pairs switched off. The row of all pairs has no turns. */
static bool draw_cutoffs(rt_drawing *d, const source *s)
{
    double whole = (double)NAN;
    rt_figure_range range = {0};
    rt_csv csv;
    for (rt_csv_open(&csv, s->page->folder, "cutoffs.csv"); rt_csv_row(&csv);) {
        const double turns = rt_csv_number(&csv, "turns");
        const double loss = rt_csv_number(&csv, "eval_loss");
        if (!*rt_csv_cell(&csv, "turns"))
            whole = loss;
        else if (isfinite(turns) && isfinite(loss)) {
            rt_writer_add(&d->data, "%.6g,%.9g\n", turns, loss);
            rt_figure_range_take(&range, turns);
        }
    }
    rt_figures_scale(&d->commands, 'x', range);
    rt_writer_add(&d->commands, "whole = %.9g\n", whole);
    return d->data.length && isfinite(whole);
}

static bool draw_attention(rt_drawing *d, const source *s)
{
    return rt_draw_attention(d, s->page);
}

/* What a figure needs to be shown. */
enum {
    SCALAR = 1,  /* a learned theta for each pair */
    MIXED = 2,   /* two of them */
    DECAY = 4,   /* a model that C(r) describes */
    PAIRS = 8,   /* a run about theta, with measures of pairs by their turns */
    WEIGHTS = 16 /* a model with attention weights */
};

static unsigned find_needs(const rt_run_page *p)
{
    const rt_config *c = p->config;
    const rt_transformer_options *o = &c->model;
    const bool learns = o->theta.learn, mixed = rt_transformer_theta_axes(o) > 1;
    const bool pairs = rt_transformer_pairs(o) && rt_transformer_turns_by_position(o) &&
                       (learns || c->theta.cutoffs || c->theta.init_from);
    const bool weights = p->trainer && o->attention == RT_ATTENTION_SOFTMAX;
    return (learns && !mixed ? SCALAR : 0) | (learns && mixed ? MIXED : 0) |
           (rt_decay_obstacle(o) ? 0 : DECAY) | (pairs ? PAIRS : 0) | (weights ? WEIGHTS : 0);
}

#define TRAINING   "lines linetype 6 dashtype 2 title 'training'"
#define EVALUATION "linespoints linetype 1 pointtype 7 pointsize 0.5 title 'evaluation'"
#define ALL_NORMS  "lines linetype 1 title 'all parameters'"
#define OF_THETA   "lines linetype 2 dashtype 2 title 'theta'"
#define LOSSES                                                                                     \
    .draw = draw_training, .y = {LOSS, EVAL_LOSS}, .with = {TRAINING, EVALUATION}, .fits = true

/* All figures, in their order; no more than a page has room for. */
static const run_figure figures[RT_MOST_FIGURES] = {
    {"loss", "steps nats", NULL, "Loss of the training steps and of the evaluations", "steps",
     .x = STEP, LOSSES},
    {"loss_by_tokens", "tokens nats", NULL, "Loss by tokens of training", "tokens", .x = TOKENS,
     LOSSES},
    {"loss_by_time", "seconds nats", NULL, "Loss by seconds of training", "seconds", .x = SECONDS,
     LOSSES},
    {"accuracy", "steps accuracy", NULL,
     "Accuracy: the fraction of labels that were predicted correctly", .draw = draw_training,
     .x = STEP, .y = {ACCURACY, EVAL_ACCURACY}, .with = {TRAINING, EVALUATION}},
    {"distances", "distances accuracy", "curves",
     "Accuracy by distance to the token that answers, for each length of sequences",
     .draw = draw_distances},
    {"change", NULL, "change",
     "Relative change of θ during training: the largest |θᵢ/θᵢ⁰ - 1| of a layer's pairs, θᵢ⁰ the "
     "initial value",
     .needs = SCALAR, .draw = draw_change, .height = 420},
    {"change", NULL, "change",
     "Relative change of θ during training: the largest change of a layer's θ, relative to the "
     "length of the two initial θ of its pair",
     .needs = MIXED, .draw = draw_change, .height = 420},
    {"plane", NULL, "plane",
     "The learned θ of each pair, in radians per column and per row; a line leads from the initial "
     "ones",
     .needs = MIXED, .draw = draw_plane, .height = 420},
    {"theta", NULL, "theta",
     "The learned θᵢ beside the geometric series, and their difference in percent", .needs = SCALAR,
     .draw = draw_theta, .height = 420},
    {"tolerances", NULL, "tolerances",
     "Drift ln(θᵢ/θᵢ⁰) of each learned θ, θᵢ⁰ the initial value; the bar is the range in which the "
     "model works as well, cut off at ±1",
     .needs = SCALAR, .draw = draw_tolerances, .height = RT_FIGURE_HEIGHT},
    {"wavelengths", NULL, "wavelengths",
     "Learned wavelengths, with the share of the query and key weights that each pair rotates; a "
     "line leads from the initial wavelength, and 1 is the whole distance",
     .needs = SCALAR | PAIRS, .draw = draw_wavelengths, .height = RT_FIGURE_HEIGHT},
    {"decay", NULL, "decay",
     "How attention can decay with the distance (figure 2 of the RoFormer paper), for the initial "
     "and the learned θ",
     .needs = SCALAR | DECAY, .draw = draw_decay},
    {"usage", NULL, "usage",
     "What each pair has of queries and keys, over the mean of its head: norms of weights, of "
     "activations, and of their mean over the tokens; filled above twice the mean",
     .needs = PAIRS, .draw = draw_usage, .width = 2 * RT_FIGURE_WIDTH, .height = 240},
    {"phases", NULL, "phases",
     "Sums of the phases of each pair up to a position: mean over the texts and a band of one "
     "deviation; with RoPE each token has the phase 1",
     .draw = draw_layers, .table = "phases.csv", .cells = {"position", "sum", "deviation"}},
    {"gates", NULL, "gates", "Mean forget gate of each head over the tokens: 1 forgets nothing",
     .draw = draw_layers, .table = "gates.csv", .cells = {"head", "gate"}},
    {"cutoffs", "nats", "cutoffs",
     "Evaluation loss with pairs switched off: the pairs from one on do not rotate, in every layer "
     "and head",
     .needs = PAIRS, .draw = draw_cutoffs},
    {"gradient", "steps gradient", NULL, "Gradient norm before clipping", .draw = draw_training,
     .x = STEP, .y = {NORM, THETA_NORM}, .with = {ALL_NORMS, OF_THETA}, .fits = true},
    {"rate", "steps rate", NULL, "Learning rate", .draw = draw_training, .x = STEP, .y = {LR},
     .with = {"lines linetype 1"}},
    {"attention", NULL, "attention", "Attention weights in ", .needs = WEIGHTS,
     .draw = draw_attention},
};

rt_status rt_report_figures(rt_run_page *p)
{
    source s = {.page = p, .best = {[EVAL_LOSS] = INFINITY}};
    const unsigned met = find_needs(p);
    const rt_status status = write_training(&s, p);
    const rt_status read = p->config->model.theta.learn ? read_thetas(&s) : rt_ok();
    const bool trained = rt_report_theta_was_trained(p);
    for (int i = 0; i < RT_MOST_FIGURES && figures[i].name && !read.code; i++) {
        const run_figure *g = s.figure = &figures[i];
        rt_drawing d = {.figure = {g->name, g->axes, g->choice, g->plots, g->width, g->height, ""}};
        rt_figure_note(&d.figure, "%s%s", g->caption,
                       g->needs & (SCALAR | MIXED) && !trained ? " (θ was not trained)" : "");
        if (!(g->needs & ~met) && g->draw(&d, &s))
            rt_figures_add(&p->figures, &d);
        rt_writer_free(&d.data);
        rt_writer_free(&d.commands);
    }
    rt_free(s.thetas);
    p->best_loss = s.best[EVAL_LOSS];
    p->best_step = s.best[STEP];
    if (!p->figures.status.code)
        p->figures.status = read;
    return status;
}
