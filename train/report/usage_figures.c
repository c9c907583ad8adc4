#include "train/report/usage_figures.h"

#include "text/csv.h"

#include <math.h>
#include <stdio.h>

enum { MOST_LAYERS = 32, USAGE_HEIGHT = 560, KEY_ROW = 17 };

/* ---- usage ---- */

/* What the panels show of a pair, as a multiple of the mean of its head's pairs. */
static const char *const panels[] = {"weights", "activations", "mean activation"};
enum { PANELS = sizeof panels / sizeof *panels };

typedef struct points {
    int count; /* of layers */
    bool cut;  /* there are more */
    int pairs; /* of a head */
    int layers[MOST_LAYERS];
    rt_writer rows[MOST_LAYERS];
} points;

/* Rows of a layer follow each other. Where they belong; NULL beyond the layers that are shown. */
static rt_writer *rows_of(points *p, int layer)
{
    if (p->count && p->layers[p->count - 1] == layer)
        return &p->rows[p->count - 1];
    p->cut |= p->count == MOST_LAYERS;
    if (p->cut)
        return NULL;
    p->layers[p->count] = layer;
    return &p->rows[p->count++];
}

static void read_point(points *p, const rt_csv *csv)
{
    const double turns = rt_csv_number(csv, "turns"), use = rt_csv_number(csv, "use");
    const double length = sqrt(rt_csv_number(csv, "query") * rt_csv_number(csv, "key"));
    const double mean = sqrt(rt_csv_number(csv, "query_mean") * rt_csv_number(csv, "key_mean"));
    int layer, pair;
    if (!rt_csv_whole(csv, "layer", &layer) || !rt_csv_whole(csv, "i", &pair) ||
        !isfinite(turns + use + length + mean))
        return;
    p->pairs = pair >= p->pairs ? pair + 1 : p->pairs;
    rt_writer *w = rows_of(p, layer);
    if (w)
        rt_writer_add(w, "%.6g,%.6g,%.6g,%.6g\n", turns, use, length, mean);
}

/* A block for each layer. */
static void write_points(rt_figures *f, points *p)
{
    rt_writer w = {0};
    for (int i = 0; i < p->count; i++) {
        rt_writer_add(&w, "%s\n\n", p->rows[i].bytes ? p->rows[i].bytes : "");
        w.failed |= p->rows[i].failed;
    }
    rt_figures_write(f, "usage.csv", &w);
}

/* Points, filled above twice the mean. */
static void add_layer(rt_writer *w, const points *p, int layer, int panel)
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
        rt_writer_add(w, "title 'layer %d'", p->layers[layer]);
    rt_writer_add(w,
                  ", \\\n     'usage.csv' index %d using 1:(%s > 2 ? %s : NaN) with points "
                  "pointtype 7 pointsize 0.6 linetype %d notitle",
                  layer, value, value, layer % 7 + 1);
}

static void add_usage(rt_figures *f, points *p)
{
    rt_writer w = {0};
    write_points(f, p);
    rt_writer_add(&w,
                  "set logscale x\nset yrange [0:*]\nset lmargin 9\nset rmargin 2\n"
                  "set multiplot layout %d,1\n",
                  PANELS);
    for (int i = 0; i < PANELS; i++) {
        rt_writer_add(&w, "set ylabel '%s / mean'\n", panels[i]);
        if (i == PANELS - 1)
            rt_writer_add(&w, "set xlabel 'full turns over the distance that attention reaches'\n");
        rt_writer_add(&w, "plot 2 with lines dashtype 3 linecolor rgb '#444444' notitle");
        for (int layer = 0; layer < p->count; layer++)
            add_layer(&w, p, layer, i);
        rt_writer_add(&w, "\n");
    }
    rt_writer_add(&w, "unset multiplot\n");
    rt_figures_add_sized(f, "usage",
                         p->cut ? "What the pairs of the first layers have of queries and keys, "
                                  "over the mean of their head; filled above twice the mean"
                                : "What each pair has of queries and keys, over the mean of its "
                                  "head: norms of weights, of activations, and of their mean over "
                                  "the tokens; filled above twice the mean",
                         RT_FIGURE_WIDTH, USAGE_HEIGHT + p->count / 4 * KEY_ROW, &w);
}

/* ---- cut-offs ---- */

/* Columns: turns, loss. The loss with all pairs, which has no turns. */
static double read_cutoffs(rt_writer *w, const char *folder, int *rows)
{
    double whole = (double)NAN;
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "cutoffs.csv"))
        while (rt_csv_row(&csv)) {
            const double turns = rt_csv_number(&csv, "turns");
            const double loss = rt_csv_number(&csv, "eval_loss");
            if (!*rt_csv_cell(&csv, "turns"))
                whole = loss;
            else if (isfinite(turns) && isfinite(loss) && ++*rows)
                rt_writer_add(w, "%.6g,%.9g\n", turns, loss);
        }
    rt_csv_close(&csv);
    return whole;
}

static void add_cutoffs(rt_figures *f, const char *folder)
{
    rt_writer data = {0}, w = {0};
    int rows = 0;
    const double whole = read_cutoffs(&data, folder, &rows);
    if (!rows || !isfinite(whole)) {
        rt_writer_free(&data);
        return;
    }
    rt_figures_write(f, "cutoffs.csv", &data);
    rt_writer_add(&w,
                  "set logscale x\nset xlabel 'full turns of the fastest pair that is switched "
                  "off'\nset ylabel 'cross entropy (nats)'\nset key left top\n"
                  "plot %.9g with lines dashtype 3 linecolor rgb '#444444' title 'all pairs', "
                  "\\\n     'cutoffs.csv' using 1:2 with linespoints linetype 1 pointtype 7 "
                  "pointsize 0.5 title 'without the slower pairs'\n",
                  whole);
    rt_figures_add_sized(f, "cutoffs",
                         "Evaluation loss with pairs switched off: the pairs from "
                         "one on do not rotate, in every layer and head",
                         RT_FIGURE_WIDTH, RT_FIGURE_HEIGHT, &w);
}

void rt_report_usage(rt_figures *f, const char *folder)
{
    points p = {.count = 0};
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "usage.csv"))
        while (rt_csv_row(&csv))
            read_point(&p, &csv);
    rt_csv_close(&csv);
    if (p.count)
        add_usage(f, &p);
    for (int i = 0; i < p.count; i++)
        rt_writer_free(&p.rows[i]);
    add_cutoffs(f, folder);
}
