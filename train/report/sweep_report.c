#include "train/report/report.h"

#include "core/path.h"
#include "text/csv.h"
#include "text/number.h"
#include "train/folder/results.h"
#include "train/report/page.h"
#include "train/report/sections.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

bool rt_is_sweep_folder(const char *folder)
{
    char path[RT_PATH_SIZE];
    return !rt_path_join(path, folder, "runs.csv").code && !access(path, R_OK);
}

static void add_verdict(rt_writer *w, const char *folder, const rt_sweep_runs *runs, bool compared)
{
    const rt_sweep_verdict v = rt_sweep_judge(runs);
    rt_writer lines = {0};
    rt_writer_add(&lines, "%d of %d runs finished\n", v.endings.finished, v.endings.runs);
    rt_sweep_report_theta(&lines, &v);
    if (!compared) /* whose columns are all that differs */
        rt_sweep_report_schedules(&lines, folder, runs);
    rt_page_verdict(w, &lines,
                    v.endings.finished < v.endings.runs ? RT_VERDICT_BAD
                    : v.near < v.learned                ? RT_VERDICT_MOVED
                                                        : RT_VERDICT_GOOD);
}

/* ---- the table over all runs ---- */

/* Returns whether no row has a value in the column. */
static bool is_empty(const rt_sweep_table *t, int column)
{
    for (int r = 1; r < t->rows; r++)
        if (strcmp(t->cells[r * t->columns + column], "-") != 0)
            return false;
    return t->rows > 1;
}

/* Returns whether a column has settings, which may be long and are wrapped. */
static bool is_setting(const rt_sweep_table *t, int column)
{
    return (t->first_setting && !column) ||
           (column >= t->first_setting && column < t->first_setting + t->settings);
}

static void add_cells(rt_writer *w, const rt_sweep_table *t, int row)
{
    for (int c = 0; c < t->columns; c++) {
        const char *text = t->cells[row * t->columns + c];
        if (is_empty(t, c))
            continue;
        if (row && is_setting(t, c)) {
            rt_writer_add(w, "<td class=\"setting\">");
            rt_html_text(w, text);
            rt_writer_add(w, "</td>");
        } else {
            rt_page_cell(w, row ? "td" : "th", text);
        }
    }
}

static void add_table(rt_writer *w, const rt_sweep_table *t, const rt_ranking *ranking, int best)
{
    rt_writer_add(w, "<div class=\"scroll\"><table>\n");
    for (int r = 0; r < t->rows; r++) {
        rt_writer_add(w, r && r - 1 == best ? "<tr class=\"best\">" : "<tr>");
        add_cells(w, t, r);
        rt_writer_add(w, "</tr>\n");
    }
    rt_writer_add(w,
                  "</table></div>\n<p>Mean ± standard deviation over the runs that differ in the "
                  "seed alone");
    if (ranking->differ)
        rt_writer_add(w, "; no row is in bold, for losses of different %s are not comparable",
                      ranking->differ);
    else if (best >= 0)
        rt_writer_add(w, "; in bold the row with the %s",
                      strcmp(ranking->result, RT_RESULT_LOSS) ? "fewest bits per byte"
                                                              : "lowest loss");
    rt_writer_add(w, ".</p>\n");
}

/* Explains bits per byte. */
static void explain_bits(rt_writer *w, const rt_sweep_runs *runs)
{
    if (rt_sweep_column(runs, RT_RESULT_BITS_PER_BYTE) >= 0)
        rt_writer_add(
            w, "<dl class=\"words\">\n<dt>bits/byte</dt><dd>loss × tokens / (bytes × ln 2): the "
               "tokens that the evaluation predicts, and the bytes of their text. Losses per token "
               "of different vocabularies are not comparable; bits per byte are. Only runs on text "
               "with data.objective = lm at level byte, char or bpe have it.</dd>\n</dl>\n");
}

/* Explains the columns of theta. */
static void explain_theta(rt_writer *w, const rt_sweep_runs *runs)
{
    if (rt_sweep_judge(runs).learned)
        rt_writer_add(
            w, "<dl class=\"words\">\n<dt>theta drift</dt><dd>the largest relative drift |θᵢ / "
               "base^(-2i/R) - 1| of a learned θ.</dd>\n<dt>phase</dt><dd>the extra rotation, in "
               "radians, that this gives two tokens at the two ends of a sequence, at most over "
               "all pairs.</dd>\n<dt>near</dt><dd>the share of runs whose drift is at most "
               "theta.tolerance.</dd>\n<dt>needed</dt><dd>the share of runs whose model depends on "
               "θ: resetting θ to its initial value makes it worse.</dd>\n</dl>\n");
}

/* ---- the runs ---- */

/* Adds a name as part of a URL; characters with a meaning in URLs are escaped as %XX. */
static void add_address(rt_writer *w, const char *name)
{
    for (; *name; name++)
        if (isalnum((unsigned char)*name) || strchr("-_.=+,~", *name))
            rt_writer_add(w, "%c", *name);
        else
            rt_writer_add(w, "%%%02X", (unsigned)(unsigned char)*name);
}

static void add_number(rt_writer *w, const rt_sweep_runs *runs, int run, const char *name,
                       int decimals)
{
    char text[RT_NUMBER_SIZE];
    const double x = rt_sweep_number(runs, run, rt_sweep_column(runs, name));
    rt_page_cell(w, "td", isnan(x) ? "-" : rt_number_show(text, decimals, x));
}

/* Adds whether a run was new when the sweep last grew; nothing if the sweep never grew. */
static void add_growth(rt_writer *w, const char *folder, const char *name)
{
    rt_csv csv;
    if (rt_csv_open(&csv, folder, "growth.csv")) {
        const char *word = "-";
        while (rt_csv_row(&csv))
            if (!strcmp(rt_csv_cell(&csv, "run"), name))
                word = strcmp(rt_csv_cell(&csv, "run_is"), "new") ? "before" : "new";
        rt_page_cell(w, "td", word);
    }
    rt_csv_close(&csv);
}

static void add_run(rt_writer *w, const char *folder, const rt_sweep_runs *runs, int run,
                    bool linked)
{
    char member[RT_PATH_SIZE], path[RT_PATH_SIZE];
    const char *name = runs->list[run].cells[0];
    const char *code = runs->list[run].cells[runs->exit_column];
    const bool has_report = linked && !rt_path_join(member, folder, name).code &&
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
    add_number(w, runs, run, RT_RESULT_LOSS, 4);
    add_number(w, runs, run, RT_RESULT_ACCURACY, 4);
    rt_page_cell(w, "td", *code ? code : "-");
    add_growth(w, folder, name);
    rt_writer_add(w, "</tr>\n");
}

static bool has_grown(const char *folder)
{
    rt_csv csv;
    const bool grown = rt_csv_open(&csv, folder, "growth.csv");
    rt_csv_close(&csv);
    return grown;
}

/* Adds the list of the runs, with links to their reports if the page lies beside them. */
static void add_runs(rt_writer *w, const char *folder, const rt_sweep_runs *runs, bool linked)
{
    const bool grown = has_grown(folder);
    rt_writer_add(w,
                  "<h2>Runs</h2>\n<div class=\"scroll\"><table>\n<tr><th>run</th><th>loss</th>"
                  "<th>accuracy</th><th>exit code</th>%s</tr>\n",
                  grown ? "<th>trained</th>" : "");
    for (int i = 0; i < runs->count; i++)
        add_run(w, folder, runs, i, linked);
    rt_writer_add(w, "</table></div>\n%s",
                  grown ? "<p>trained: before: the run had finished when the sweep last grew, and "
                          "was reused; new: it was trained after that.</p>\n"
                        : "");
}

static rt_status add_differences(rt_writer *w, const rt_sweep_runs *runs)
{
    rt_paired paired;
    const rt_status status = rt_paired_make(&paired, runs);
    if (!status.code)
        rt_paired_page(w, &paired);
    rt_paired_free(&paired);
    return status;
}

rt_status rt_sweep_report_write(const char *folder, const char *title, const char *file)
{
    rt_figures figures;
    rt_sweep_runs runs;
    rt_sweep_table table = {0};
    rt_writer w = {0};
    rt_status status = rt_sweep_runs_read(&runs, folder);
    if (!status.code)
        status = rt_sweep_table_make(&table, &runs, file ? RT_RESULTS_FIRST : RT_SETTINGS_FIRST);
    if (!status.code) {
        const rt_ranking ranking = rt_report_rank(folder, &runs);
        rt_figures_begin(&figures, folder);
        rt_report_key_figures(&figures, &runs, &ranking);
        rt_report_curves(&figures, folder, &runs, &ranking);
        const rt_status drawn = rt_figures_draw(&figures);
        rt_page_begin(&w, title, false);
        add_verdict(&w, folder, &runs, file != NULL);
        add_table(&w, &table, &ranking, rt_ranking_best(&ranking, &runs));
        explain_bits(&w, &runs);
        explain_theta(&w, &runs);
        if (!ranking.differ)
            status = add_differences(&w, &runs);
        rt_page_figures(&w, &figures);
        rt_report_common_keys(&w, folder, &runs);
        add_runs(&w, folder, &runs, !file);
        if (!file)
            rt_report_sweep_machine(&w, folder, &runs);
        const rt_status ended = rt_page_end(&w, folder, file);
        status = status.code ? status : ended;
        status = status.code ? status : drawn;
    }
    rt_sweep_table_free(&table);
    rt_sweep_runs_free(&runs);
    return status;
}
