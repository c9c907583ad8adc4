#include "train/report_sweep.h"

#include "core/memory.h"
#include "train/figures.h"
#include "train/html.h"
#include "train/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_COLUMNS = 192,
    MOST_GROUPS = 40,
    MOST_POINTS = 4000,
    CELL_SIZE = 160,
    PATH_SIZE = 4600
};

/* ---- CSV ---- */

/* A file of which one row at a time is looked at. Cells have no commas or quotes in them. */
typedef struct csv {
    char *text; /* cut up while it is read */
    char *next;
    int columns;
    char *names[MOST_COLUMNS];
    char *cells[MOST_COLUMNS];
} csv;

static int cut(char *line, char *cells[MOST_COLUMNS])
{
    int count = 0;
    while (line && count < MOST_COLUMNS) {
        char *comma = strchr(line, ',');
        if (comma)
            *comma = '\0';
        cells[count++] = line;
        line = comma ? comma + 1 : NULL;
    }
    return count;
}

static char *take_line(csv *c)
{
    char *line = c->next, *end = line ? strchr(line, '\n') : NULL;
    if (!end)
        return NULL;
    *end = '\0';
    c->next = end + 1;
    return line;
}

static bool csv_open(csv *c, const char *folder, const char *name)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *c = (csv){.text = rt_read_text(path)};
    c->next = c->text;
    char *header = take_line(c);
    c->columns = header ? cut(header, c->names) : 0;
    return c->columns > 0;
}

static bool csv_row(csv *c)
{
    char *line = take_line(c);
    return line && cut(line, c->cells) == c->columns;
}

static const char *csv_cell(const csv *c, const char *name)
{
    for (int i = 0; i < c->columns; i++)
        if (!strcmp(c->names[i], name))
            return c->cells[i];
    return "";
}

bool rt_is_sweep_folder(const char *folder)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/sweep.csv", folder);
    return !access(path, R_OK);
}

/* ---- groups of runs that differ in the seed alone ---- */

/* The sums at the steps of evaluations. */
typedef struct curve {
    int count;
    int steps[MOST_POINTS];
    int runs[MOST_POINTS];
    double loss[MOST_POINTS], loss_squares[MOST_POINTS], accuracy[MOST_POINTS];
} curve;

typedef struct group {
    char title[CELL_SIZE];
    curve curve;
} group;

typedef struct groups {
    int count;
    group *list[MOST_GROUPS];
} groups;

static group *group_named(groups *g, const char *title)
{
    for (int i = 0; i < g->count; i++)
        if (!strcmp(g->list[i]->title, title))
            return g->list[i];
    if (g->count == MOST_GROUPS || !(g->list[g->count] = rt_alloc(1, sizeof(group))))
        return NULL;
    snprintf(g->list[g->count]->title, CELL_SIZE, "%s", title);
    return g->list[g->count++];
}

/* "rope, 0.001": what stands between the run's name and its exit code, but for the seed. */
static void write_title(char title[CELL_SIZE], const csv *runs)
{
    title[0] = '\0';
    for (int i = 1; i < runs->columns && strcmp(runs->names[i], "exit_code") != 0; i++)
        if (strcmp(runs->names[i], "run.seed") != 0)
            snprintf(title + strlen(title), CELL_SIZE - strlen(title), "%s%s", *title ? ", " : "",
                     runs->cells[i]);
    for (char *c = title; *c; c++)
        if (*c == '\'' || *c == '\\')
            *c = ' '; /* for gnuplot's strings */
}

static void add_point(curve *c, int step, double loss, double accuracy)
{
    int i = 0;
    while (i < c->count && c->steps[i] != step)
        i++;
    if (i == MOST_POINTS)
        return;
    if (i == c->count)
        c->steps[c->count++] = step;
    c->runs[i]++;
    c->loss[i] += loss;
    c->loss_squares[i] += loss * loss;
    c->accuracy[i] += accuracy;
}

static void read_run(curve *c, const char *folder, const char *run)
{
    char path[PATH_SIZE];
    csv metrics;
    snprintf(path, sizeof path, "%s/%s", folder, run);
    if (csv_open(&metrics, path, "metrics.csv"))
        while (csv_row(&metrics)) {
            const char *loss = csv_cell(&metrics, "eval_loss");
            if (*loss)
                add_point(c, atoi(csv_cell(&metrics, "step")), strtod(loss, NULL),
                          strtod(csv_cell(&metrics, "eval_accuracy"), NULL));
        }
    rt_free(metrics.text);
}

static void read_groups(groups *g, const char *folder)
{
    char title[CELL_SIZE];
    csv runs;
    if (csv_open(&runs, folder, "runs.csv"))
        while (csv_row(&runs)) {
            write_title(title, &runs);
            group *of = group_named(g, title);
            if (of)
                read_run(&of->curve, folder, runs.cells[0]);
        }
    rt_free(runs.text);
}

/* ---- figures ---- */

static void write_curves(rt_figures *f, const groups *g)
{
    rt_writer w = {0};
    for (int i = 0; i < g->count; i++) {
        const curve *c = &g->list[i]->curve;
        for (int k = 0; k < c->count; k++) {
            const double n = c->runs[k], mean = c->loss[k] / n;
            const double variance = n > 1 ? (c->loss_squares[k] - n * mean * mean) / (n - 1) : 0;
            rt_writer_add(&w, "%d,%.6g,%.6g,%.6g\n", c->steps[k], mean,
                          sqrt(variance > 0 ? variance : 0), c->accuracy[k] / n);
        }
        rt_writer_add(&w, "\n\n");
    }
    rt_figures_write(f, "curves.csv", &w);
}

static void add_curves(rt_figures *f, const groups *g, const char *name, const char *caption,
                       const char *label, int column)
{
    rt_writer w = {0};
    rt_writer_add(&w,
                  "set xlabel 'step'\nset ylabel '%s'\nset yrange [0:*]\nset key outside right top "
                  "font ',11'\nplot ",
                  label);
    for (int i = 0; i < g->count; i++)
        rt_writer_add(&w,
                      "%s'curves.csv' index %d using 1:%d with lines linetype %d dashtype %d "
                      "title '%s'",
                      i ? ", \\\n     " : "", i, column, i % 7 + 1, i / 7 + 1, g->list[i]->title);
    rt_writer_add(&w, "\n");
    char *commands = rt_writer_take(&w);
    if (commands && g->count)
        rt_figures_add_sized(f, name, caption, 760, 380, commands);
    rt_free(commands);
}

/* ---- the page ---- */

/* The results that the table shows, as they are named in sweep.csv. */
static const char *const shown[][3] = {
    {"eval_loss", "loss", "%.4f"},
    {"eval_accuracy", "accuracy", "%.4f"},
    {"first_step_with_accuracy_0.99", "steps to 99 %", "%.0f"},
    {"theta_max_drift", "θ drift", "%.3f"},
    {"theta_max_phase", "phase (rad)", "%.2f"},
};
enum { SHOWN = sizeof shown / sizeof *shown };

static void add_summary(rt_writer *w, const csv *sweep, const char *name, const char *format)
{
    char column[64], text[64] = "";
    snprintf(column, sizeof column, "%s_mean", name);
    const char *mean = csv_cell(sweep, column);
    if (*mean)
        snprintf(text, sizeof text, format, strtod(mean, NULL));
    snprintf(column, sizeof column, "%s_sd", name);
    const char *deviation = csv_cell(sweep, column);
    rt_writer_add(w, "<td>%s", *mean ? text : "–");
    if (*mean && *deviation) {
        snprintf(text, sizeof text, format, strtod(deviation, NULL));
        rt_writer_add(w, " ± %s", text);
    }
    rt_writer_add(w, "</td>");
}

static bool has_column(const csv *c, const char *name)
{
    char column[64];
    snprintf(column, sizeof column, "%s_mean", name);
    for (int i = 0; i < c->columns; i++)
        if (!strcmp(c->names[i], column))
            return true;
    return false;
}

static void add_table(rt_writer *w, const char *folder)
{
    csv sweep;
    rt_writer_add(w, "<div class=\"scroll\"><table>\n<tr>");
    if (csv_open(&sweep, folder, "sweep.csv")) {
        int identity = 0;
        while (identity < sweep.columns && strcmp(sweep.names[identity], "runs") != 0)
            identity++;
        for (int i = 0; i < identity; i++) {
            rt_writer_add(w, "<th>");
            rt_html_text(w, sweep.names[i]);
            rt_writer_add(w, "</th>");
        }
        rt_writer_add(w, "<th>runs</th>");
        for (int i = 0; i < SHOWN; i++)
            if (has_column(&sweep, shown[i][0]))
                rt_writer_add(w, "<th>%s</th>", shown[i][1]);
        rt_writer_add(w, "</tr>\n");
        while (csv_row(&sweep)) {
            rt_writer_add(w, "<tr>");
            for (int i = 0; i < identity; i++) {
                rt_writer_add(w, "<td>");
                rt_html_text(w, sweep.cells[i]);
                rt_writer_add(w, "</td>");
            }
            rt_writer_add(w, "<td>%s of %s</td>", csv_cell(&sweep, "good"),
                          csv_cell(&sweep, "runs"));
            for (int i = 0; i < SHOWN; i++)
                if (has_column(&sweep, shown[i][0]))
                    add_summary(w, &sweep, shown[i][0], shown[i][2]);
            rt_writer_add(w, "</tr>\n");
        }
    }
    rt_writer_add(w, "</table></div>\n");
    rt_free(sweep.text);
}

static void add_links(rt_writer *w, const char *folder)
{
    csv runs;
    rt_writer_add(w, "<h2>Runs</h2>\n<ul>\n");
    if (csv_open(&runs, folder, "runs.csv"))
        while (csv_row(&runs)) {
            rt_writer_add(w, "<li><a href=\"");
            rt_html_text(w, runs.cells[0]);
            rt_writer_add(w, "/report.html\">");
            rt_html_text(w, runs.cells[0]);
            rt_writer_add(w, "</a></li>\n");
        }
    rt_writer_add(w, "</ul>\n");
    rt_free(runs.text);
}

static rt_status write_page(const char *folder, const char *title, const rt_figures *f)
{
    rt_writer w = {0};
    rt_run_folder sweep;
    rt_html_begin(&w, title);
    add_table(&w, folder);
    rt_writer_add(&w, "<div class=\"figures\">\n");
    for (int i = 0; i < f->count; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s.svg", f->folder, f->list[i].name);
        rt_html_figure(&w, path, f->list[i].caption, f->list[i].wide);
    }
    rt_writer_add(&w, "</div>\n");
    add_links(&w, folder);
    rt_html_end(&w);
    char *page = rt_writer_take(&w);
    rt_status status = page ? rt_ok() : rt_out_of_memory("a report");
    snprintf(sweep.path, sizeof sweep.path, "%s", folder);
    if (!status.code)
        status = rt_run_folder_write(&sweep, "report.html", page);
    rt_free(page);
    return status;
}

rt_status rt_sweep_report_write(const char *folder, const char *title)
{
    groups g = {.count = 0};
    rt_figures figures;
    read_groups(&g, folder);
    rt_figures_begin(&figures, folder);
    write_curves(&figures, &g);
    add_curves(&figures, &g, "loss",
               "Evaluation loss, the mean over the seeds; figures/curves.csv has the spread",
               "cross entropy (nats)", 2);
    add_curves(&figures, &g, "accuracy", "Evaluation accuracy, the mean over the seeds", "accuracy",
               4);
    rt_status drawn = rt_figures_draw(&figures);
    rt_status written = write_page(folder, title, &figures);
    for (int i = 0; i < g.count; i++)
        rt_free(g.list[i]);
    return written.code ? written : drawn;
}
