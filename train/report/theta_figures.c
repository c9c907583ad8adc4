#include "train/report/theta_figures.h"

#include "core/memory.h"
#include "models/positions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_LAYERS = 32,
    MOST_THETAS = 128,
    MOST_PAIRS = 512,
    MOST_PANELS = 6,
    LINE_SIZE = 256,
    WORD_SIZE = 16,
    THETA_HEIGHT = 420, /* of the two figures that stand side by side */
    PANEL_HEIGHT = 210,
    NEAREST_END = 64, /* of the distances r of a decay curve */
    FARTHEST_END = 256
};

/* The layers of the tables, by the number that stands there; "all" if they share one theta. */
typedef struct layers {
    int count;
    bool cut;
    char list[MOST_LAYERS][WORD_SIZE];
} layers;

/* -1 for a layer beyond those that are shown. */
static int layer_of(layers *l, const char *name)
{
    for (int i = 0; i < l->count; i++)
        if (!strcmp(l->list[i], name))
            return i;
    if (l->count == MOST_LAYERS) {
        l->cut = true;
        return -1;
    }
    snprintf(l->list[l->count], WORD_SIZE, "%s", name);
    return l->count++;
}

static void write_title(char title[32], const char *layer)
{
    if (strcmp(layer, "all") != 0)
        snprintf(title, 32, "layer %s", layer);
    else
        snprintf(title, 32, "all layers");
}

/* Seven colours, and then dashes. */
static void add_style(rt_writer *w, int layer)
{
    rt_writer_add(w, "linetype %d dashtype %d", layer % 7 + 1, layer / 7 + 1);
}

/* What the rows of the key take away from a figure. */
static int height_with_key(int height, int titles)
{
    enum { TITLES_IN_A_ROW = 4, ROW_HEIGHT = 17 };
    return height + (titles - 1) / TITLES_IN_A_ROW * ROW_HEIGHT;
}

static void finish(rt_figures *f, const char *name, const char *caption, const layers *l, int width,
                   int height, rt_writer *script)
{
    char whole[RT_CAPTION_SIZE];
    char *commands = rt_writer_take(script);
    snprintf(whole, sizeof whole, l->cut ? "%s; the first %d layers" : "%s", caption, MOST_LAYERS);
    if (commands && l->count)
        rt_figures_add_sized(f, name, whole, width, height, commands);
    rt_free(commands);
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    return rt_path_join(path, folder, name).code ? NULL : fopen(path, "r");
}

/* ---- drift over the steps ---- */

static void add_drift_row(rt_writer *w, int step, const double *drift, int count)
{
    rt_writer_add(w, "%d", step);
    for (int i = 0; i < count; i++)
        rt_writer_add(w, ",%.6g", drift[i]);
    rt_writer_add(w, "\n");
}

/* The largest drift of each layer's pairs, by step. */
static void collect_drift(rt_writer *w, FILE *theta, layers *l)
{
    char line[LINE_SIZE], layer[WORD_SIZE];
    double drift[MOST_LAYERS] = {0}, value, start;
    int step, current = -1;
    while (fgets(line, sizeof line, theta)) {
        if (sscanf(line, "%d,%15[^,],%*15[^,],%*d,%lf,%lf", &step, layer, &value, &start) != 4)
            continue;
        if (step != current && current >= 0) {
            add_drift_row(w, current, drift, l->count);
            memset(drift, 0, sizeof drift);
        }
        current = step;
        const int i = layer_of(l, layer);
        if (i >= 0)
            drift[i] = fmax(drift[i], fabs(value / start - 1));
    }
    if (current >= 0)
        add_drift_row(w, current, drift, l->count);
}

static void add_drift(rt_figures *f, const char *folder)
{
    layers l = {.count = 0};
    rt_writer data = {0}, script = {0};
    char title[32];
    FILE *theta = open_in(folder, "theta.csv");
    if (!theta)
        return;
    collect_drift(&data, theta, &l);
    fclose(theta);
    rt_figures_write(f, "drift.csv", &data);
    rt_writer_add(&script, "set xlabel 'step'\nset ylabel 'largest relative drift'\n"
                           "set yrange [0:*]\nplot ");
    for (int i = 0; i < l.count; i++) {
        write_title(title, l.list[i]);
        rt_writer_add(&script, "%s'drift.csv' using 1:%d with lines ", i ? ", \\\n     " : "",
                      i + 2);
        add_style(&script, i);
        rt_writer_add(&script, " title '%s'", title);
    }
    rt_writer_add(&script, "\n");
    finish(f, "drift",
           "How far θ has gone from its start: the largest relative drift |θᵢ/θᵢ⁰ - 1| of a "
           "layer's pairs",
           &l, RT_FIGURE_WIDTH, height_with_key(THETA_HEIGHT, l.count), &script);
}

/* ---- theta at the end ---- */

/* One for each layer, or for each of its heads. */
typedef struct theta {
    int layer; /* in `layers` */
    char head[WORD_SIZE];
    int pairs;
    double start[MOST_PAIRS], end[MOST_PAIRS];
} theta;

typedef struct final {
    layers layers;
    int count;
    double lowest, highest; /* of all theta / base^(-2i/R) - 1 */
    bool elsewhere;         /* some theta did not start from base^(-2i/R) */
    theta list[MOST_THETAS];
} final;

static theta *theta_of(final *f, int layer, const char *head)
{
    for (int i = 0; i < f->count; i++)
        if (f->list[i].layer == layer && !strcmp(f->list[i].head, head))
            return &f->list[i];
    if (layer < 0 || f->count == MOST_THETAS)
        return NULL;
    theta *t = &f->list[f->count++];
    t->layer = layer;
    snprintf(t->head, WORD_SIZE, "%s", head);
    return t;
}

static bool read_final(final *f, const char *folder)
{
    char line[LINE_SIZE], layer[WORD_SIZE], head[WORD_SIZE];
    double end, start, geometric;
    int pair;
    FILE *file = open_in(folder, "theta_final.csv");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%15[^,],%15[^,],%d,%lf,%lf,%lf", layer, head, &pair, &end, &start,
                   &geometric) != 6 ||
            pair < 0 || pair >= MOST_PAIRS)
            continue;
        f->elsewhere |= fabs(start / geometric - 1) > 1e-6;
        f->lowest = fmin(f->lowest, end / geometric - 1);
        f->highest = fmax(f->highest, end / geometric - 1);
        theta *t = theta_of(f, layer_of(&f->layers, layer), head);
        if (!t)
            continue;
        t->end[pair] = end;
        t->start[pair] = start;
        t->pairs = pair + 1 > t->pairs ? pair + 1 : t->pairs;
    }
    if (file)
        fclose(file);
    return f->count > 0;
}

/* The layers' points stand side by side around their pair. */
static void add_points(rt_writer *w, const final *f, const char *value, bool titled)
{
    char title[32];
    for (int i = 0; i < f->layers.count; i++) {
        const double beside = f->layers.count > 1 ? 0.5 * i / (f->layers.count - 1) - 0.25 : 0;
        write_title(title, f->layers.list[i]);
        rt_writer_add(w,
                      ", \\\n     final using (strcol(1) eq '%s' ? $3 + %.3f : NaN):(%s) skip 1 "
                      "with points pointtype %d pointsize 0.5 linetype %d",
                      f->layers.list[i], beside, value, i < 7 ? 7 : 5, i % 7 + 1);
        if (titled)
            rt_writer_add(w, " title '%s'", title);
        else
            rt_writer_add(w, " notitle");
    }
    rt_writer_add(w, "\n");
}

/* Above theta over decades, below what cannot be seen there. */
static void add_theta(rt_figures *f, const final *end)
{
    rt_writer w = {0};
    const int titles = end->layers.count + 1 + end->elsewhere;
    int pairs = 0;
    for (int i = 0; i < end->count; i++)
        pairs = end->list[i].pairs > pairs ? end->list[i].pairs : pairs;
    rt_writer_add(
        &w,
        "final = '../theta_final.csv'\nset multiplot\nset lmargin 9\nset rmargin 2\n"
        "set xrange [-0.6:%g]\nset xtics %g format ''\nset size 1, 0.58\nset origin 0, 0.42\n"
        "set bmargin 0.5\nset ylabel 'θ_i (radians/position)' enhanced\n"
        "set logscale y\nset format y '10^{%%L}'\n"
        "plot final using ($3 - 0.4):6:(0.8):(0) skip 1 with vectors nohead linewidth 2 "
        "linecolor rgb '#aaaaaa' title 'base^{-2i/R}' enhanced",
        pairs - 0.4, fmax(1, rt_figures_tics(0.6 * pairs)));
    if (end->elsewhere)
        rt_writer_add(&w, ", \\\n     final using 3:5 skip 1 with points pointtype 6 pointsize "
                          "0.7 linecolor rgb '#777777' title 'start'");
    add_points(&w, end, "$4", true);
    rt_writer_add(&w,
                  "set size 1, 0.42\nset origin 0, 0\nset tmargin 0.5\nset bmargin 3.6\n"
                  "unset logscale y\nset format y '%%g'\nset ytics %g\nset xtics format '%%g'\n"
                  "set xlabel 'pair i'\nset ylabel 'change (%%)'\n"
                  "plot 0 with lines linewidth 2 linecolor rgb '#aaaaaa' notitle",
                  rt_figures_tics(100 * (end->highest - end->lowest)));
    add_points(&w, end, "100*($4/$6 - 1)", false);
    rt_writer_add(&w, "unset multiplot\n");
    finish(f, "theta", "The learned θᵢ beside base^(-2i/R), and the change between them",
           &end->layers, RT_FIGURE_WIDTH, height_with_key(THETA_HEIGHT, titles), &w);
}

/* ---- decay ---- */

static int farthest(const rt_config *c)
{
    const int twice = 2 * c->data.length;
    return twice < NEAREST_END ? NEAREST_END : twice > FARTHEST_END ? FARTHEST_END : twice;
}

/* Columns: r, then the start and the end of each theta. The largest number among them. */
static double write_decay(rt_figures *f, const final *end, int last)
{
    rt_writer w = {0};
    double highest = 0;
    for (int r = 0; r <= last; r++) {
        rt_writer_add(&w, "%d", r);
        for (int i = 0; i < end->count; i++) {
            const theta *t = &end->list[i];
            const double start = rt_decay(t->start, t->pairs, r), C = rt_decay(t->end, t->pairs, r);
            rt_writer_add(&w, ",%.5g,%.5g", start, C);
            highest = fmax(highest, fmax(start, C));
        }
        rt_writer_add(&w, "\n");
    }
    rt_figures_write(f, "decay.csv", &w);
    return highest;
}

/* The curves of a layer in one panel; a start that all heads share is drawn once. */
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
                rt_writer_add(w, "linewidth 2.5 linecolor rgb '#bbbbbb' %s", title);
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
    char title[32], caption[RT_CAPTION_SIZE];
    const int shown = end->layers.count < MOST_PANELS ? end->layers.count : MOST_PANELS;
    const int columns = shown > 1 ? 2 : 1, rows = (shown + columns - 1) / columns;
    rt_writer w = {0};
    const double highest = write_decay(f, end, farthest(config));
    rt_writer_add(&w,
                  "set xlabel 'distance r (positions)'\nset yrange [0:*]\nset ytics %g\n"
                  "set multiplot layout %d,%d\n",
                  rt_figures_tics(highest), rows, columns);
    for (int i = 0; i < shown; i++) {
        write_title(title, end->layers.list[i]);
        rt_writer_add(&w, "set ylabel 'C(r), %s'\n", title);
        add_panel(&w, end, i);
    }
    rt_writer_add(&w, "unset multiplot\n");
    snprintf(caption, sizeof caption,
             "How attention can decay with the distance (figure 2 of the RoFormer paper), at the "
             "start and at the end%s",
             strcmp(end->list[0].head, "all") ? "; a line for each head" : "");
    if (shown < end->layers.count)
        snprintf(caption + strlen(caption), sizeof caption - strlen(caption), "; layers 0 to %d",
                 shown - 1);
    finish(f, "decay", caption, &end->layers, columns * RT_FIGURE_WIDTH,
           columns > 1 ? rows * PANEL_HEIGHT : RT_FIGURE_HEIGHT, &w);
}

void rt_report_theta(rt_figures *f, const char *folder, const rt_config *config)
{
    final *end = rt_alloc(1, sizeof *end);
    add_drift(f, folder);
    if (end && read_final(end, folder)) {
        add_theta(f, end);
        add_decay(f, end, config);
    }
    rt_free(end);
}
