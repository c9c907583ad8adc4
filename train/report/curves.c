#include "train/report/curves.h"

#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CURVES = 28, LABEL_SIZE = 41 };

/* An evaluation of one of the runs of a row. */
typedef struct evaluation {
    int step;
    double loss, accuracy;
} evaluation;

typedef struct evaluations {
    int count, capacity;
    evaluation *list;
    bool failed;
} evaluations;

typedef struct curves {
    int count;
    bool cut;
    bool failed;
    char labels[MOST_CURVES][LABEL_SIZE];
    rt_writer data;
} curves;

/* ---- reading ---- */

static void add_evaluation(evaluations *e, evaluation one)
{
    if (e->count == e->capacity) {
        const int capacity = e->capacity ? 2 * e->capacity : 256;
        evaluation *list = rt_alloc((size_t)capacity, sizeof *list);
        if (!list) {
            e->failed = true;
            return;
        }
        if (e->count)
            memcpy(list, e->list, (size_t)e->count * sizeof *list);
        rt_free(e->list);
        e->list = list;
        e->capacity = capacity;
    }
    e->list[e->count++] = one;
}

static void read_run(evaluations *e, const char *folder, const char *run)
{
    char path[RT_PATH_SIZE];
    evaluation one;
    rt_csv metrics;
    if (rt_path_join(path, folder, run).code)
        return;
    if (rt_csv_open(&metrics, path, "metrics.csv"))
        while (!e->failed && rt_csv_row(&metrics)) {
            one.loss = rt_csv_number(&metrics, "eval_loss");
            one.accuracy = rt_csv_number(&metrics, "eval_accuracy");
            if (isfinite(one.loss) && rt_csv_whole(&metrics, "step", &one.step))
                add_evaluation(e, one);
        }
    rt_csv_close(&metrics);
}

static int by_step(const void *a, const void *b)
{
    const int one = ((const evaluation *)a)->step, other = ((const evaluation *)b)->step;
    return (one > other) - (one < other);
}

/* The end of a label that is too long for the key, from a whole character on. */
static void write_label(char label[LABEL_SIZE], const char *text)
{
    const size_t length = strlen(text);
    const char *end = text + (length >= LABEL_SIZE ? length - (LABEL_SIZE - 1) : 0);
    while (((unsigned char)*end & 0xC0) == 0x80)
        end++;
    snprintf(label, LABEL_SIZE, "%s", end);
}

/* A variant has its name alone, a key the part behind its section. */
static void add_setting(rt_writer *w, const char *column, const char *value)
{
    const char *dot = strchr(column, '.');
    rt_writer_add(w, "%s%s%s%s", w->length ? ", " : "", dot ? dot + 1 : "", dot ? "=" : "", value);
}

/* "kind=rope, lr=0.001": what sets the row apart. */
static bool label_row(char label[LABEL_SIZE], const rt_sweep_runs *runs, int row)
{
    char *const *cells = runs->list[runs->rows[row].first].cells;
    rt_writer w = {0};
    for (int i = 1; i < runs->exit_column; i++)
        if (rt_sweep_sets_apart(runs, i))
            add_setting(&w, runs->names[i], cells[i]);
    if (!w.length)
        rt_writer_add(&w, "all runs");
    char *text = rt_writer_take(&w);
    if (text)
        write_label(label, text);
    rt_free(text);
    return text != NULL;
}

/* ---- curves ---- */

static void add_moments(rt_writer *w, const double *values, int count)
{
    const rt_summary s = rt_summarise(values, count);
    if (s.count)
        rt_writer_add(w, ",%.6g,%.6g", s.mean, s.count > 1 ? s.deviation : 0);
    else
        rt_writer_add(w, ",,");
}

/* Columns: step, mean and deviation of the loss, mean and deviation of the accuracy. */
static bool write_curve(rt_writer *w, evaluations *e)
{
    double *losses = rt_alloc(2 * (size_t)e->count, sizeof *losses);
    double *accuracies = losses ? losses + e->count : NULL;
    if (!losses)
        return false;
    qsort(e->list, (size_t)e->count, sizeof *e->list, by_step);
    for (int i = 0; i < e->count; i++) {
        losses[i] = e->list[i].loss;
        accuracies[i] = e->list[i].accuracy;
    }
    for (int i = 0, end; i < e->count; i = end) {
        for (end = i; end < e->count && e->list[end].step == e->list[i].step;)
            end++;
        rt_writer_add(w, "%d", e->list[i].step);
        add_moments(w, losses + i, end - i);
        add_moments(w, accuracies + i, end - i);
        rt_writer_add(w, "\n");
    }
    rt_writer_add(w, "\n\n");
    rt_free(losses);
    return true;
}

/* Runs that have not come to an evaluation have no curve. */
static void add_row(curves *c, const rt_sweep_runs *runs, const char *folder, int row)
{
    evaluations e = {.count = 0};
    for (int i = runs->rows[row].first; i >= 0; i = runs->list[i].next)
        read_run(&e, folder, runs->list[i].cells[0]);
    c->failed |= e.failed;
    if (e.count && c->count == MOST_CURVES)
        c->cut = true;
    else if (e.count && label_row(c->labels[c->count], runs, row) && write_curve(&c->data, &e))
        c->count++;
    else if (e.count)
        c->failed = true;
    rt_free(e.list);
}

/* ---- drawing ---- */

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

/* Later lines are thinner: those that coincide can all be seen. */
static void add_lines(rt_writer *w, const curves *c, int column)
{
    for (int i = 0; i < c->count; i++)
        rt_writer_add(w,
                      "%s'curves.csv' index %d using 1:($%d-$%d):($%d+$%d) with filledcurves "
                      "linetype %d fillstyle transparent solid 0.12 noborder notitle",
                      i ? ", \\\n     " : "plot ", i, column, column + 1, column, column + 1,
                      i % 7 + 1);
    for (int i = 0; i < c->count; i++) {
        rt_writer_add(w,
                      ", \\\n     'curves.csv' index %d using 1:%d with lines linetype %d dashtype "
                      "%d linewidth %.2f title ",
                      i, column, i % 7 + 1, i / 7 + 1,
                      c->count > 1 ? 3.4 - 2.0 * i / (c->count - 1) : 2);
        rt_figures_quote(w, c->labels[i]);
    }
}

static void add_figure(rt_figures *f, const curves *c, const char *name, const char *what,
                       const char *range, const char *label, int column)
{
    char caption[RT_CAPTION_SIZE];
    rt_writer w = {0};
    rt_writer_add(&w, "set xlabel 'step'\nset ylabel '%s'\nset xrange [0:*]\nset yrange %s\n",
                  label, range);
    add_lines(&w, c, column);
    rt_writer_add(&w, "\n");
    snprintf(caption, sizeof caption,
             "%s: the mean over the seeds, and one standard deviation around it%s", what,
             c->cut ? "; the first groups of runs" : "");
    rt_figures_add_sized(f, name, caption, RT_FIGURE_WIDTH, 320 + key_height(c), &w);
}

void rt_report_curves(rt_figures *f, const char *folder, const rt_sweep_runs *runs)
{
    curves c = {.count = 0};
    for (int row = 0; row < runs->row_count && !c.cut && !c.failed; row++)
        add_row(&c, runs, folder, row);
    c.data.failed |= c.failed;
    rt_figures_write(f, "curves.csv", &c.data);
    if (!c.count)
        return;
    add_figure(f, &c, "loss", "Evaluation loss", "[*:*]", "cross entropy (nats)", 2);
    add_figure(f, &c, "accuracy", "Evaluation accuracy", "[0:1.02]", "accuracy", 4);
}
