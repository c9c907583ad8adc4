#include "train/report/sweep_report.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/folder/exit.h"
#include "train/report/curves.h"
#include "train/report/html.h"
#include "train/report/page.h"
#include "train/text/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_SIZE = 256, NAME_SIZE = 96 };

bool rt_is_sweep_folder(const char *folder)
{
    char path[RT_PATH_SIZE];
    return !rt_path_join(path, folder, "sweep.csv").code && !access(path, R_OK);
}

/* ---- verdict ---- */

static void add_verdict(rt_writer *w, const char *folder)
{
    rt_csv runs;
    rt_writer lines = {0};
    char worst[NAME_SIZE] = "";
    int count = 0, good = 0, learned = 0, near = 0;
    double most = -1;
    if (rt_csv_open(&runs, folder, "runs.csv"))
        while (rt_csv_row(&runs)) {
            const double code = rt_csv_number(&runs, "exit_code");
            const double is_near = rt_csv_number(&runs, "theta_near");
            const double drift = rt_csv_number(&runs, "theta_max_drift");
            count++;
            good += code == RT_EXIT_DONE || code == RT_EXIT_CHECK;
            learned += !isnan(is_near);
            near += is_near == 1;
            if (drift > most) {
                most = drift;
                snprintf(worst, sizeof worst, "%s", runs.cells[0]);
            }
        }
    rt_csv_close(&runs);
    rt_writer_add(&lines, "%d of %d runs have come to an end\n", good, count);
    if (learned)
        rt_writer_add(&lines,
                      "theta: near in %d of the %d runs that learn it, max relative drift %.3g "
                      "(%s)\n",
                      near, learned, most, worst);
    char *text = rt_writer_take(&lines);
    if (text)
        rt_page_verdict(w, text, good < count || near < learned);
    rt_free(text);
}

/* ---- the table over all runs ---- */

typedef struct shown {
    char name[NAME_SIZE]; /* in sweep.csv, without _mean, _sd, _n */
    char heading[NAME_SIZE];
    const char *format;
} shown;

static const shown always[] = {
    {"eval_loss", "loss", "%.4f"},
    {"eval_accuracy", "accuracy", "%.4f"},
    {"first_step_with_accuracy_0.99", "steps to 99 %", "%.0f"},
    {"theta_max_drift", "θ drift", "%.3f"},
    {"theta_max_phase", "phase (rad)", "%.2f"},
};
enum { ALWAYS = sizeof always / sizeof *always };

static bool has_results(const rt_csv *c, const char *name)
{
    char column[NAME_SIZE + 8];
    snprintf(column, sizeof column, "%.90s_mean", name);
    return rt_csv_column(c, column) < c->columns;
}

/* "0.0050 ± 0.0043 (2 of 3)" */
static void add_summary(rt_writer *w, const rt_csv *sweep, const char *name, const char *format)
{
    char column[NAME_SIZE + 8], text[TEXT_SIZE] = "–";
    snprintf(column, sizeof column, "%.90s_mean", name);
    const double mean = rt_csv_number(sweep, column);
    snprintf(column, sizeof column, "%.90s_sd", name);
    const double deviation = rt_csv_number(sweep, column);
    snprintf(column, sizeof column, "%.90s_n", name);
    const double count = rt_csv_number(sweep, column), runs = rt_csv_number(sweep, "runs");
    if (!isnan(mean)) {
        snprintf(text, sizeof text, format, mean);
        if (!isnan(deviation)) {
            strcat(text, " ± ");
            snprintf(text + strlen(text), sizeof text - strlen(text), format, deviation);
        }
        if (count < runs)
            snprintf(text + strlen(text), sizeof text - strlen(text), " (%.0f of %.0f)", count,
                     runs);
    }
    rt_page_cell(w, "td", text);
}

static void add_row(rt_writer *w, const rt_csv *sweep, int identity, const shown *list, int count)
{
    char runs[TEXT_SIZE];
    rt_writer_add(w, "<tr>");
    for (int i = 0; i < identity; i++)
        rt_page_cell(w, "td", sweep->cells[i]);
    snprintf(runs, sizeof runs, "%s of %s", rt_csv_cell(sweep, "good"), rt_csv_cell(sweep, "runs"));
    rt_page_cell(w, "td", runs);
    for (int i = 0; i < count; i++)
        add_summary(w, sweep, list[i].name, list[i].format);
    rt_writer_add(w, "</tr>\n");
}

/* What there are columns for: the usual results, and the accuracy at other lengths. */
static int choose_shown(const rt_csv *sweep, shown *list)
{
    static const char at[] = "eval_accuracy_at_", mean[] = "_mean";
    int count = 0;
    for (int i = 0; i < ALWAYS; i++)
        if (has_results(sweep, always[i].name))
            list[count++] = always[i];
    for (int i = 0; i < sweep->columns; i++) {
        const char *name = sweep->names[i], *end = strstr(name, mean);
        if (strncmp(name, at, strlen(at)) != 0 || !end)
            continue;
        shown *s = &list[count++];
        snprintf(s->name, NAME_SIZE, "%.*s", (int)(end - name), name);
        snprintf(s->heading, NAME_SIZE, "at length %.60s", s->name + strlen(at));
        s->format = "%.4f";
    }
    return count;
}

static void add_table(rt_writer *w, const char *folder)
{
    rt_csv sweep;
    shown *list = rt_alloc(RT_CSV_COLUMNS + ALWAYS, sizeof *list);
    const bool is_open = rt_csv_open(&sweep, folder, "sweep.csv");
    if (list && is_open) {
        const int identity = rt_csv_column(&sweep, "runs"), count = choose_shown(&sweep, list);
        rt_writer_add(w, "<div class=\"scroll\"><table>\n<tr>");
        for (int i = 0; i < identity; i++)
            rt_page_cell(w, "th", sweep.names[i]);
        rt_page_cell(w, "th", "runs");
        for (int i = 0; i < count; i++)
            rt_page_cell(w, "th", list[i].heading);
        rt_writer_add(w, "</tr>\n");
        while (rt_csv_row(&sweep))
            add_row(w, &sweep, identity, list, count);
        rt_writer_add(w, "</table></div>\n<p>Mean ± standard deviation over the runs that differ "
                         "in the seed alone.</p>\n");
    }
    rt_csv_close(&sweep);
    rt_free(list);
}

/* ---- the runs ---- */

/* A name as part of an address: what could mean something else there is written as %XX. */
static void add_address(rt_writer *w, const char *name)
{
    for (; *name; name++)
        if (isalnum((unsigned char)*name) || strchr("-_.=+,~", *name))
            rt_writer_add(w, "%c", *name);
        else
            rt_writer_add(w, "%%%02X", (unsigned)(unsigned char)*name);
}

static void add_number(rt_writer *w, const rt_csv *runs, const char *name, const char *format)
{
    char text[TEXT_SIZE] = "–";
    const double x = rt_csv_number(runs, name);
    if (!isnan(x))
        snprintf(text, sizeof text, format, x);
    rt_page_cell(w, "td", text);
}

static void add_run(rt_writer *w, const char *folder, const rt_csv *runs)
{
    char member[RT_PATH_SIZE], path[RT_PATH_SIZE];
    const char *name = runs->cells[0];
    const bool has_report = !rt_path_join(member, folder, name).code &&
                            !rt_path_join(path, member, "report.html").code && !access(path, R_OK);
    rt_writer_add(w, "<tr><td>");
    if (has_report) {
        rt_writer_add(w, "<a href=\"");
        add_address(w, name);
        rt_writer_add(w, "/report.html\">");
        rt_html_text(w, name);
        rt_writer_add(w, "</a>");
    } else {
        rt_html_text(w, name);
    }
    rt_writer_add(w, "</td>");
    add_number(w, runs, "eval_loss", "%.4f");
    add_number(w, runs, "eval_accuracy", "%.4f");
    add_number(w, runs, "exit_code", "%.0f");
    rt_writer_add(w, "</tr>\n");
}

static void add_runs(rt_writer *w, const char *folder)
{
    rt_csv runs;
    rt_writer_add(w, "<h2>Runs</h2>\n<div class=\"scroll\"><table>\n<tr><th>run</th><th>loss</th>"
                     "<th>accuracy</th><th>exit code</th></tr>\n");
    if (rt_csv_open(&runs, folder, "runs.csv"))
        while (rt_csv_row(&runs))
            add_run(w, folder, &runs);
    rt_writer_add(w, "</table></div>\n");
    rt_csv_close(&runs);
}

rt_status rt_sweep_report_write(const char *folder, const char *title)
{
    rt_figures figures;
    rt_writer w = {0};
    rt_figures_begin(&figures, folder);
    rt_report_curves(&figures, folder);
    rt_status drawn = rt_figures_draw(&figures);
    rt_page_begin(&w, title);
    add_verdict(&w, folder);
    add_table(&w, folder);
    rt_page_figures(&w, &figures);
    add_runs(&w, folder);
    rt_status written = rt_page_end(&w, folder);
    return written.code ? written : drawn;
}
