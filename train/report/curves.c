#include "train/report/curves.h"

#include "core/memory.h"
#include "train/text/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GROUPS = 28, MOST_POINTS = 4000, TITLE_SIZE = 160, LABEL_SIZE = 40 };

typedef struct sums {
    double of_values, of_squares;
} sums;

/* What the runs of a group came to at a step of evaluation. */
typedef struct point {
    int step, runs;
    sums loss, accuracy;
} point;

typedef struct group {
    char title[TITLE_SIZE];
    int count;
    point points[MOST_POINTS]; /* by step */
} group;

typedef struct groups {
    int count;
    bool cut;
    group *list[MOST_GROUPS];
} groups;

/* ---- reading ---- */

static group *group_named(groups *g, const char *title)
{
    for (int i = 0; i < g->count; i++)
        if (!strcmp(g->list[i]->title, title))
            return g->list[i];
    if (g->count == MOST_GROUPS || !(g->list[g->count] = rt_alloc(1, sizeof(group)))) {
        g->cut = true;
        return NULL;
    }
    snprintf(g->list[g->count]->title, TITLE_SIZE, "%s", title);
    return g->list[g->count++];
}

/* "rope, 0.001": what stands between the run's name and its exit code, but for the seed. */
static void write_title(char title[TITLE_SIZE], const rt_csv *runs)
{
    const int end = rt_csv_column(runs, "exit_code");
    title[0] = '\0';
    for (int i = 1; i < end; i++)
        if (strcmp(runs->names[i], "run.seed") != 0)
            snprintf(title + strlen(title), TITLE_SIZE - strlen(title), "%s%s", *title ? ", " : "",
                     runs->cells[i]);
    if (!*title)
        snprintf(title, TITLE_SIZE, "all runs");
    for (char *c = title; *c; c++)
        if (*c == '\'' || *c == '\\')
            *c = ' '; /* for gnuplot's strings */
}

static void add_to(sums *s, double value)
{
    s->of_values += value;
    s->of_squares += value * value;
}

static void add_point(group *g, int step, double loss, double accuracy)
{
    int i = g->count;
    while (i > 0 && g->points[i - 1].step > step)
        i--;
    if (i == 0 || g->points[i - 1].step != step) {
        if (g->count == MOST_POINTS)
            return;
        memmove(g->points + i + 1, g->points + i, (size_t)(g->count - i) * sizeof *g->points);
        g->points[i] = (point){.step = step};
        g->count++;
    } else {
        i--;
    }
    g->points[i].runs++;
    add_to(&g->points[i].loss, loss);
    add_to(&g->points[i].accuracy, accuracy);
}

static void read_run(group *g, const char *folder, const char *run)
{
    char path[RT_PATH_SIZE];
    rt_csv metrics;
    if (rt_path_join(path, folder, run).code)
        return;
    if (rt_csv_open(&metrics, path, "metrics.csv"))
        while (rt_csv_row(&metrics)) {
            const double loss = rt_csv_number(&metrics, "eval_loss");
            if (isfinite(loss))
                add_point(g, atoi(rt_csv_cell(&metrics, "step")), loss,
                          rt_csv_number(&metrics, "eval_accuracy"));
        }
    rt_csv_close(&metrics);
}

static void read_groups(groups *g, const char *folder)
{
    char title[TITLE_SIZE];
    rt_csv runs;
    if (rt_csv_open(&runs, folder, "runs.csv"))
        while (rt_csv_row(&runs)) {
            write_title(title, &runs);
            group *of = group_named(g, title);
            if (of)
                read_run(of, folder, runs.cells[0]);
        }
    rt_csv_close(&runs);
}

/* Runs that have not come to an evaluation have no curve. */
static void drop_empty(groups *g)
{
    int kept = 0;
    for (int i = 0; i < g->count; i++)
        if (g->list[i]->count)
            g->list[kept++] = g->list[i];
        else
            rt_free(g->list[i]);
    g->count = kept;
}

/* ---- drawing ---- */

/* What the key says: the end of a title that is too long for it, from a whole character on. */
static const char *label_of(const group *g)
{
    const size_t length = strlen(g->title);
    const char *label = g->title + (length > LABEL_SIZE ? length - LABEL_SIZE : 0);
    while (((unsigned char)*label & 0xC0) == 0x80)
        label++;
    return label;
}

static void add_moments(rt_writer *w, const sums *s, double n)
{
    const double mean = s->of_values / n;
    const double variance = n > 1 ? (s->of_squares - n * mean * mean) / (n - 1) : 0;
    rt_writer_add(w, ",%.6g,%.6g", mean, sqrt(fmax(variance, 0)));
}

/* Columns: step, mean and deviation of the loss, mean and deviation of the accuracy. */
static void write_curves(rt_figures *f, const groups *g)
{
    rt_writer w = {0};
    for (int i = 0; i < g->count; i++) {
        for (int k = 0; k < g->list[i]->count; k++) {
            const point *p = &g->list[i]->points[k];
            rt_writer_add(&w, "%d", p->step);
            add_moments(&w, &p->loss, p->runs);
            add_moments(&w, &p->accuracy, p->runs);
            rt_writer_add(&w, "\n");
        }
        rt_writer_add(&w, "\n\n");
    }
    rt_figures_write(f, "curves.csv", &w);
}

static int key_height(const groups *g)
{
    enum { LETTER = 8, SAMPLE = 48, ROW_HEIGHT = 17 };
    int longest = 0;
    for (int i = 0; i < g->count; i++) {
        const int length = (int)strlen(label_of(g->list[i]));
        longest = length > longest ? length : longest;
    }
    const int in_a_row = (RT_FIGURE_WIDTH - 60) / (longest * LETTER + SAMPLE);
    return g->count / (in_a_row > 1 ? in_a_row : 1) * ROW_HEIGHT;
}

/* Later lines are thinner: those that coincide can all be seen. */
static void add_lines(rt_writer *w, const groups *g, int column)
{
    for (int i = 0; i < g->count; i++)
        rt_writer_add(w,
                      "%s'curves.csv' index %d using 1:($%d-$%d):($%d+$%d) with filledcurves "
                      "linetype %d fillstyle transparent solid 0.12 noborder notitle",
                      i ? ", \\\n     " : "plot ", i, column, column + 1, column, column + 1,
                      i % 7 + 1);
    for (int i = 0; i < g->count; i++)
        rt_writer_add(w,
                      ", \\\n     'curves.csv' index %d using 1:%d with lines linetype %d dashtype "
                      "%d linewidth %.2f title '%s'",
                      i, column, i % 7 + 1, i / 7 + 1,
                      g->count > 1 ? 3.4 - 2.0 * i / (g->count - 1) : 2, label_of(g->list[i]));
}

static void add_curves(rt_figures *f, const groups *g, const char *name, const char *what,
                       const char *range, const char *label, int column)
{
    char caption[RT_CAPTION_SIZE];
    rt_writer w = {0};
    rt_writer_add(&w, "set xlabel 'step'\nset ylabel '%s'\nset xrange [0:*]\nset yrange %s\n",
                  label, range);
    add_lines(&w, g, column);
    rt_writer_add(&w, "\n");
    snprintf(caption, sizeof caption,
             "%s: the mean over the seeds, and one standard deviation "
             "around it%s",
             what, g->cut ? "; the first groups of runs" : "");
    char *commands = rt_writer_take(&w);
    if (commands)
        rt_figures_add_sized(f, name, caption, RT_FIGURE_WIDTH, 320 + key_height(g), commands);
    rt_free(commands);
}

void rt_report_curves(rt_figures *f, const char *folder)
{
    groups g = {.count = 0};
    read_groups(&g, folder);
    drop_empty(&g);
    write_curves(f, &g);
    if (g.count) {
        add_curves(f, &g, "loss", "Evaluation loss", "[0:*]", "cross entropy (nats)", 2);
        add_curves(f, &g, "accuracy", "Evaluation accuracy", "[0:1.02]", "accuracy", 4);
    }
    for (int i = 0; i < g.count; i++)
        rt_free(g.list[i]);
}
