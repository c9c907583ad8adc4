#include "core/path.h"
#include "text/number.h"
#include "train/report/private.h"

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
    if (!compared) /* a comparison has a column for each difference */
        rt_sweep_report_schedules(&lines, folder, runs);
    rt_page_verdict(w, &lines,
                    v.endings.finished < v.endings.runs ? RT_VERDICT_BAD
                    : v.near < v.learned                ? RT_VERDICT_MOVED
                                                        : RT_VERDICT_GOOD);
}

/* ---- the table over all runs ---- */

/* Returns the row with the lowest mean of the ranked result; -1 if there is none, or one row only.
 */
static int best_row(const rt_ranking *ranking, const rt_sweep_runs *runs)
{
    const int column = ranking->result ? rt_sweep_column(runs, ranking->result) : -1;
    double lowest = INFINITY;
    int best = -1;
    for (int row = 0; row < runs->row_count && runs->row_count > 1; row++) {
        const rt_summary s = rt_sweep_summary(runs, row, column);
        if (s.count && s.mean < lowest) {
            lowest = s.mean;
            best = row;
        }
    }
    return best;
}

/* Returns whether no row has a value in the column. */
static bool is_empty(const rt_sweep_table *t, int column)
{
    for (int r = 1; r < t->rows; r++)
        if (strcmp(t->cells[r * t->columns + column], "-") != 0)
            return false;
    return t->rows > 1;
}

/* Adds the cells of a row. Settings and names may be long and are wrapped. */
static void add_cells(rt_writer *w, const rt_sweep_table *t, int row)
{
    for (int c = 0; c < t->columns; c++) {
        const rt_column_kind kind = t->list[c].kind;
        const char *text = t->cells[row * t->columns + c];
        if (is_empty(t, c))
            continue;
        if (row && (kind == RT_COLUMN_SETTING || kind == RT_COLUMN_NAMES)) {
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

/* Explains bits per byte and the columns of theta, if the table has them. */
static void explain_columns(rt_writer *w, const rt_sweep_runs *runs)
{
    if (rt_sweep_column(runs, RT_RESULT_BITS_PER_BYTE) >= 0)
        rt_writer_add(
            w, "<dl class=\"words\">\n<dt>bits/byte</dt><dd>loss × tokens / (bytes × ln 2): the "
               "tokens that the evaluation predicts, and the bytes of their text. Losses per token "
               "of different vocabularies are not comparable; bits per byte are. Only runs on text "
               "with data.objective = lm at level byte, char or bpe have it.</dd>\n</dl>\n");
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

/* Adds the name of a run, with a link to its report if the page lies beside the run. Characters
 * with a meaning in URLs are escaped as %XX. */
static void add_name(rt_writer *w, const char *folder, const char *name, bool linked)
{
    char member[RT_PATH_SIZE], path[RT_PATH_SIZE];
    const bool has_report = linked && !rt_path_join(member, folder, name).code &&
                            !rt_path_join(path, member, "report.html").code && !access(path, R_OK);
    if (has_report) {
        rt_writer_add(w, "<a href=\"");
        for (const char *c = name; *c; c++)
            rt_writer_add(w, isalnum((unsigned char)*c) || strchr("-_.=+,~", *c) ? "%c" : "%%%02X",
                          (unsigned char)*c);
        rt_writer_add(w, "/report.html\">");
    }
    rt_html_text(w, name);
    rt_writer_add(w, has_report ? "</a>" : "");
}

/* Adds whether a run was new when the sweep last grew. */
static void add_growth(rt_writer *w, const char *folder, const char *name)
{
    rt_csv csv;
    const char *word = "-";
    if (rt_csv_open(&csv, folder, "growth.csv"))
        while (rt_csv_row(&csv))
            if (!strcmp(rt_csv_cell(&csv, "run"), name))
                word = strcmp(rt_csv_cell(&csv, "run_is"), "new") ? "before" : "new";
    rt_page_cell(w, "td", word);
    rt_csv_close(&csv);
}

static void add_runs(rt_writer *w, const char *folder, const rt_sweep_runs *runs, bool linked)
{
    static const char *const results[] = {RT_RESULT_LOSS, RT_RESULT_ACCURACY};
    char text[RT_NUMBER_SIZE];
    rt_csv growth;
    const bool grown = rt_csv_open(&growth, folder, "growth.csv");
    rt_csv_close(&growth);
    rt_writer_add(w,
                  "<h2>Runs</h2>\n<div class=\"scroll\"><table>\n<tr><th>run</th><th>loss</th>"
                  "<th>accuracy</th><th>exit code</th>%s</tr>\n",
                  grown ? "<th>trained</th>" : "");
    for (int run = 0; run < runs->count; run++) {
        char *const *cells = runs->list[run].cells;
        rt_writer_add(w, "<tr><td>");
        add_name(w, folder, cells[0], linked);
        rt_writer_add(w, "</td>");
        for (int i = 0; i < 2; i++) {
            const double x = rt_sweep_number(runs, run, rt_sweep_column(runs, results[i]));
            rt_page_cell(w, "td", isnan(x) ? "-" : rt_number_show(text, 4, x));
        }
        rt_page_cell(w, "td", *cells[runs->exit_column] ? cells[runs->exit_column] : "-");
        if (grown)
            add_growth(w, folder, cells[0]);
        rt_writer_add(w, "</tr>\n");
    }
    rt_writer_add(w, "</table></div>\n%s",
                  grown ? "<p>trained: before: the run had finished when the sweep last grew, and "
                          "was reused; new: it was trained after that.</p>\n"
                        : "");
}

/* ---- the page ---- */

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
        add_table(&w, &table, &ranking, best_row(&ranking, &runs));
        explain_columns(&w, &runs);
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
