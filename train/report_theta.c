#include "train/report_theta.h"

#include "core/memory.h"
#include "models/positions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CURVES = 12, MOST_PAIRS = 512, LINE_SIZE = 256, WORD_SIZE = 16, FARTHEST = 256 };

/* One theta for a layer (and head): what a curve is about. "all" where they share. */
typedef struct owner {
    char layer[WORD_SIZE], head[WORD_SIZE];
} owner;

typedef struct owners {
    int count;
    owner list[MOST_CURVES];
} owners;

/* The number of the owner; -1 for one beyond those that are shown. */
static int owner_of(owners *o, const char *layer, const char *head)
{
    int i = 0;
    while (i < o->count && (strcmp(o->list[i].layer, layer) || strcmp(o->list[i].head, head)))
        i++;
    if (i == MOST_CURVES)
        return -1;
    if (i == o->count) {
        snprintf(o->list[i].layer, WORD_SIZE, "%s", layer);
        snprintf(o->list[i].head, WORD_SIZE, "%s", head);
        o->count++;
    }
    return i;
}

static void write_title(char title[64], const owner *o)
{
    if (!strcmp(o->layer, "all"))
        snprintf(title, 64, "all layers");
    else if (!strcmp(o->head, "all"))
        snprintf(title, 64, "layer %s", o->layer);
    else
        snprintf(title, 64, "layer %s, head %s", o->layer, o->head);
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[RT_PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "r");
}

/* ---- drift over the steps ---- */

static void add_drift_row(rt_writer *w, int step, const double *drift, int count)
{
    rt_writer_add(w, "%d", step);
    for (int i = 0; i < count; i++)
        rt_writer_add(w, ",%.6g", drift[i]);
    rt_writer_add(w, "\n");
}

/* The largest drift of each owner's pairs, by step. */
static void collect_drift(rt_writer *w, FILE *theta, owners *o)
{
    char line[LINE_SIZE], layer[WORD_SIZE], head[WORD_SIZE];
    double drift[MOST_CURVES] = {0}, value, start;
    int step, pair, current = -1;
    while (fgets(line, sizeof line, theta)) {
        if (sscanf(line, "%d,%15[^,],%15[^,],%d,%lf,%lf", &step, layer, head, &pair, &value,
                   &start) != 6)
            continue;
        if (step != current && current >= 0) {
            add_drift_row(w, current, drift, o->count);
            memset(drift, 0, sizeof drift);
        }
        current = step;
        const int i = owner_of(o, layer, head);
        if (i >= 0)
            drift[i] = fmax(drift[i], fabs(value / start - 1));
    }
    if (current >= 0)
        add_drift_row(w, current, drift, o->count);
}

static void add_drift(rt_figures *f, const char *folder)
{
    owners o = {.count = 0};
    rt_writer data = {0}, script = {0};
    char title[64];
    FILE *theta = open_in(folder, "theta.csv");
    if (!theta)
        return;
    collect_drift(&data, theta, &o);
    fclose(theta);
    rt_figures_write(f, "drift.csv", &data);
    rt_writer_add(&script, "set xlabel 'step'\nset ylabel 'largest relative drift'\n"
                           "set yrange [0:*]\nset key top left\nplot ");
    for (int i = 0; i < o.count; i++) {
        write_title(title, &o.list[i]);
        rt_writer_add(&script, "%s'drift.csv' using 1:%d with lines linetype %d title '%s'",
                      i ? ", \\\n     " : "", i + 2, i + 1, title);
    }
    rt_writer_add(&script, "\n");
    char *commands = rt_writer_take(&script);
    if (commands && o.count)
        rt_figures_add(
            f, "drift",
            "How far theta is from its start: the largest |theta/theta0 - 1| of all pairs",
            commands);
    rt_free(commands);
}

/* ---- theta at the end ---- */

typedef struct final {
    owners owners;
    int pairs[MOST_CURVES];
    double theta[MOST_CURVES][MOST_PAIRS], start[MOST_PAIRS]; /* the start: of the first owner */
} final;

static bool read_final(final *end, const char *folder)
{
    char line[LINE_SIZE], layer[WORD_SIZE], head[WORD_SIZE];
    double theta, start;
    int pair;
    FILE *file = open_in(folder, "theta_final.csv");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%15[^,],%15[^,],%d,%lf,%lf", layer, head, &pair, &theta, &start) != 5 ||
            pair < 0 || pair >= MOST_PAIRS)
            continue;
        const int i = owner_of(&end->owners, layer, head);
        if (i < 0)
            continue;
        end->theta[i][pair] = theta;
        end->pairs[i] = pair + 1 > end->pairs[i] ? pair + 1 : end->pairs[i];
        if (i == 0)
            end->start[pair] = start;
    }
    if (file)
        fclose(file);
    return end->owners.count > 0;
}

static void add_theta(rt_figures *f, const final *end)
{
    char title[64];
    rt_writer w = {0};
    rt_writer_add(&w, "set xlabel 'pair i'\nset ylabel 'theta (radians per position)'\n"
                      "set logscale y\nset format y '10^{%%L}'\nset key top right\n"
                      "set xrange [-0.5:*]\nfinal = '../theta_final.csv'\n"
                      "plot final using 3:6 skip 1 with points pointtype 2 pointsize 1.2 linecolor "
                      "rgb '#888888' title 'base^{-2i/R}' enhanced");
    for (int i = 0; i < end->owners.count; i++) {
        const owner *o = &end->owners.list[i];
        write_title(title, o);
        rt_writer_add(
            &w,
            ", \\\n     final using ($3 + %.2f):(strcol(1) eq '%s' && strcol(2) eq '%s' ? "
            "$4 : NaN) skip 1 with points pointtype 7 pointsize 0.6 linetype %d title '%s'",
            0.08 * (i % 5 + 1), o->layer, o->head, i + 1, title);
    }
    rt_writer_add(&w, "\n");
    char *commands = rt_writer_take(&w);
    if (commands)
        rt_figures_add(f, "theta", "The learned theta of each layer beside base^(-2i/R)", commands);
    rt_free(commands);
}

static void add_decay(rt_figures *f, const final *end)
{
    char title[64];
    rt_writer data = {0}, script = {0};
    for (int r = 0; r <= FARTHEST; r++) {
        rt_writer_add(&data, "%d,%.6g", r, rt_decay(end->start, end->pairs[0], r));
        for (int i = 0; i < end->owners.count; i++)
            rt_writer_add(&data, ",%.6g", rt_decay(end->theta[i], end->pairs[i], r));
        rt_writer_add(&data, "\n");
    }
    rt_figures_write(f, "decay.csv", &data);
    rt_writer_add(&script,
                  "set xlabel 'distance r (positions)'\nset ylabel 'C(r)'\n"
                  "set yrange [0:*]\nset xrange [0:256]\nset key outside top "
                  "horizontal\nplot 'decay.csv' using 1:2 with lines linewidth 3 linecolor rgb "
                  "'#bbbbbb' title 'start'");
    for (int i = 0; i < end->owners.count; i++) {
        write_title(title, &end->owners.list[i]);
        rt_writer_add(&script,
                      ", \\\n     'decay.csv' using 1:%d with lines linetype %d title '%s'", i + 3,
                      i + 1, title);
    }
    rt_writer_add(&script, "\n");
    char *commands = rt_writer_take(&script);
    if (commands)
        rt_figures_add(
            f, "decay",
            "How attention can decay with the distance (figure 2 of the RoFormer paper), "
            "at the start and at the end",
            commands);
    rt_free(commands);
}

void rt_report_theta(rt_figures *f, const char *folder)
{
    final *end = rt_alloc(1, sizeof *end);
    add_drift(f, folder);
    if (end && read_final(end, folder)) {
        add_theta(f, end);
        add_decay(f, end);
    }
    rt_free(end);
}
