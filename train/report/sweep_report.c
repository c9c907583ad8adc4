#define _XOPEN_SOURCE 700 /* mkdtemp, realpath */

#include "core/memory.h"
#include "core/path.h"
#include "train/config/keys.h"
#include "train/folder/run_folder.h"
#include "train/report/report.h"
#include "train/report/sections.h"
#include "util/durable_file.h"
#include "util/files.h"
#include "util/number.h"

#include <ctype.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns whether no row has a value in the column. */
static bool is_empty(const rt_sweep_table *t, int column)
{
    for (int r = 1; r < t->rows; r++)
        if (strcmp(t->cells[column * t->rows + r], "-") != 0)
            return false;
    return t->rows > 1;
}

/* Adds the table. Long settings and names are wrapped. The best row is bold if its
 * difference from every other row is significant. */
static void add_table(rt_writer *w, const rt_sweep_study *s)
{
    const rt_sweep_table *t = &s->table;
    const bool apart = rt_sweep_best_is_apart(&s->best);
    rt_writer_add(w, "<div class=\"scroll\"><table>\n");
    for (int r = 0; r < t->rows; r++) {
        rt_writer_add(w, apart && r - 1 == s->best.row ? "<tr class=\"best\">" : "<tr>");
        for (int c = 0; c < t->columns; c++) {
            const rt_column_kind kind = t->list[c].kind;
            const bool wraps = (kind == RT_COLUMN_SETTING || kind == RT_COLUMN_NAMES) &&
                               strlen(t->cells[c * t->rows + r]) > 24;
            if (is_empty(t, c))
                continue;
            rt_writer_add(w, !r ? "<th>" : wraps ? "<td class=\"setting\">" : "<td>");
            rt_html_text(w, t->cells[c * t->rows + r]);
            rt_writer_add(w, r ? "</td>" : "</th>");
        }
        rt_writer_add(w, "</tr>\n");
    }
    rt_writer_add(w, "</table></div>\n<p>%s",
                  s->runs.seeds
                      ? "Mean ± standard deviation over the runs that differ in the seed alone. "
                      : "");
    if (s->ranking.differ)
        rt_writer_add(w, "No row is in bold: losses of different %s are not comparable.",
                      s->ranking.differ);
    else if (s->best.row >= 0)
        rt_writer_add(w,
                      apart ? "In bold: the row with the %s. The 95 %% interval of each other "
                              "row's difference from it excludes 0."
                      : s->best.same ? "No row is in bold: the 95 %% interval of another row's "
                                       "difference from the row with the %s includes 0."
                                     : "No row is in bold: without two common seeds nothing tells "
                                       "the row with the %s from another.",
                      strcmp(s->ranking.result, RT_RESULT_LOSS) ? "fewest bits per byte"
                                                                : "lowest loss");
    rt_writer_add(w, "</p>\n");
}

void rt_paired_page(rt_writer *w, const rt_paired *p)
{
    const bool has_compute = p->doubling < 0; /* runs with twice the steps have a lower loss */
    if (!p->pairs)
        return;
    rt_page_table(w, "Paired differences",
                  RT_COLUMNS("key", "value", "against",
                             p->bits ? "difference of the bits per byte" : "difference of the loss",
                             p->intervals ? "interval of 95 %" : "",
                             p->intervals ? "detectable" : "", has_compute ? "compute" : "",
                             "pairs"));
    for (int i = 0; i < p->count; i++) {
        const rt_paired_difference *d = &p->list[i];
        const double more = rt_paired_compute(p, d, d->loss.mean);
        if (!d->loss.count)
            continue;
        rt_writer_add(w, rt_difference_is_apart(&d->loss) ? "<tr class=\"best\">" : "<tr>");
        rt_page_cell(w, "td", d->key);
        rt_page_cell(w, "td", d->value);
        rt_page_cell(w, "td", d->against);
        rt_page_number(w, "%+.3g", d->loss.mean);
        if (p->intervals) {
            rt_writer_add(w, isnan(d->loss.low) ? "<td>-</td>" : "<td>%+.3g to %+.3g</td>",
                          d->loss.low, d->loss.high);
            rt_page_number(w, "%.3g", d->loss.detectable);
        }
        if (has_compute)
            rt_page_number(w, "%+.1f %%", more);
        rt_writer_add(w, "<td>%d</td></tr>\n", d->loss.count);
    }
    rt_writer_add(w, "</table></div>\n<p>%s%s</p>\n",
                  p->intervals ? "In bold: the interval excludes 0. " : "",
                  p->dependent ? "Pairs of one seed are not independent." : "");
}

/* Adds the name of a run, linked to its report if the page is in the parent of the run's folder.
 * Special characters of URLs are escaped as %XX. */
static void add_name(rt_writer *w, const rt_sweep_run *run, bool linked)
{
    const char *name = run->cells[0];
    const bool has_report = linked && rt_folder_has(run->folder, "report.html");
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

/* Adds whether a run was new when the sweep last grew. The rows of growth.csv are usually in the
 * order of the runs: looks on from the row of the run before, then once from the beginning. */
static void add_growth(rt_writer *w, rt_csv *growth, const char *folder, const char *name)
{
    for (int again = 0; again < 2; again++) {
        while (rt_csv_row(growth))
            if (!strcmp(rt_csv_cell(growth, "run"), name)) {
                const bool is_new = !strcmp(rt_csv_cell(growth, "run_is"), "new");
                rt_page_cell(w, "td", is_new ? "new" : "before");
                return;
            }
        rt_csv_open(growth, folder, "growth.csv");
    }
    rt_page_cell(w, "td", "-");
}

static void add_runs(rt_writer *w, const char *folder, const rt_sweep_runs *runs, bool linked)
{
    static const char *const results[] = {RT_RESULT_LOSS, RT_RESULT_ACCURACY};
    RT_CLOSED_BY(rt_csv_close) rt_csv growth = {0};
    const bool grown = rt_csv_open(&growth, folder, "growth.csv");
    rt_page_table(w, "Runs",
                  RT_COLUMNS("run", "loss", "accuracy", "exit code", grown ? "trained" : ""));
    for (int run = 0; run < runs->count; run++) {
        char *const *cells = runs->list[run].cells;
        rt_writer_add(w, "<tr><td>");
        add_name(w, &runs->list[run], linked);
        rt_writer_add(w, "</td>");
        for (int i = 0; i < 2; i++) {
            const double x = rt_sweep_number(runs, run, rt_sweep_column(runs, results[i]));
            rt_page_cell(w, "td", isnan(x) ? "-" : RT_SHOWN(4, x));
        }
        rt_page_cell(w, "td", *cells[runs->exit_column] ? cells[runs->exit_column] : "-");
        if (grown)
            add_growth(w, &growth, folder, cells[0]);
        rt_writer_add(w, "</tr>\n");
    }
    rt_writer_add(w, "</table></div>\n%s",
                  grown ? "<p>trained: before: the run had finished when the sweep last grew, and "
                          "was reused; new: it was trained after that.</p>\n"
                        : "");
}

/* Writes the page of the runs, and draws its figures in the folder. A comparison has a `file`,
 * outside of the folders of its runs. */
static rt_status write_page(rt_sweep_study *s, const char *folder, const char *title,
                            const char *file)
{
    rt_figures figures;
    rt_writer w = {0}, lines = {0};
    const rt_sweep_verdict *v = &s->verdict;
    s->order = file ? RT_RESULTS_FIRST : RT_SETTINGS_FIRST;
    RT_TRY(rt_sweep_study_make(s));
    rt_figures_begin(&figures, folder);
    rt_report_curves(&figures, &s->runs, &s->ranking);
    rt_report_key_figures(&figures, &s->runs, &s->ranking);
    rt_status status = rt_figures_draw(&figures);
    rt_page_begin(&w, title, false);
    rt_sweep_report_best(&lines, s);
    rt_writer_add(&lines, "%d of %d runs finished\n", v->finished, s->runs.count);
    rt_sweep_report_left_out(&lines, v);
    rt_sweep_report_theta(&lines, v);
    if (!file) /* a comparison has a column for each difference */
        rt_sweep_report_schedules(&lines, &s->runs);
    rt_page_verdict(&w, &lines,
                    v->finished < s->runs.count || v->diverged ? RT_VERDICT_BAD
                    : v->near < v->learned                     ? RT_VERDICT_MOVED
                                                               : RT_VERDICT_GOOD);
    add_table(&w, s);
    if (!s->ranking.differ)
        rt_paired_page(&w, &s->paired);
    rt_page_figures(&w, &figures);
    rt_report_common_keys(&w, &s->runs);
    add_runs(&w, folder, &s->runs, !file);
    if (!file)
        rt_report_sweep_machine(&w, &s->runs);
    const rt_status ended = rt_page_end(&w, folder, file);
    return ended.code ? ended : status;
}

rt_status rt_sweep_report_write(const char *folder, const char *title)
{
    RT_CLOSED_BY(rt_sweep_study_free) rt_sweep_study s = {.order = RT_SETTINGS_FIRST};
    RT_TRY(rt_sweep_runs_read(&s.runs, folder));
    return write_page(&s, folder, title, NULL);
}

/* A run of a comparison, which is the page of a sweep whose runs are in other folders. Its name is
 * that of its folder, made unique. */
typedef struct member {
    char path[RT_PATH_SIZE];
    char name[RT_RUN_NAME_SIZE + 16];
    rt_config config;
    bool implied[RT_MAX_KEYS]; /* keys whose value follows from other keys */
    rt_results results;
} member;

/* Form of a key in the table. */
typedef enum shown_form { HIDDEN, VALUE, FILE_NAME } shown_form;

/* Compared runs, and a temporary folder for their table, runs.csv, and their figures. */
typedef struct comparison {
    int count;
    member *list[RT_MOST_COMPARED];
    shown_form shown[RT_MAX_KEYS]; /* of each key */
    char folder[RT_PATH_SIZE];
} comparison;

/* Returns the run with a name; NULL if there is none. */
static const member *find_member(const comparison *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (!strcmp(c->list[i]->name, name))
            return c->list[i];
    return NULL;
}

static rt_status add_run(comparison *c, const char *folder)
{
    char whole[PATH_MAX];
    rt_config implied;
    if (c->count == RT_MOST_COMPARED)
        return rt_error(RT_CONFIG, "more than %d runs to compare", RT_MOST_COMPARED);
    member *m = rt_alloc(1, sizeof *m);
    RT_TRY(rt_allocated(m, "a comparison"));
    rt_status status = rt_config_load_folder(&m->config, folder);
    if (!status.code &&
        (!realpath(folder, whole) || snprintf(m->path, RT_PATH_SIZE, "%s", whole) >= RT_PATH_SIZE))
        status = rt_error(RT_CONFIG, "the path is too long");
    if (status.code) {
        rt_free(m);
        return rt_error(RT_CONFIG, "%s is not the folder of a run: %.800s", folder, status.message);
    }
    const char *name = rt_path_name(whole);
    snprintf(m->name, sizeof m->name, "%.*s", RT_RUN_NAME_SIZE - 1, name);
    for (int n = 2; find_member(c, m->name); n++)
        snprintf(m->name, sizeof m->name, "%.*s (%d)", RT_RUN_NAME_SIZE - 1, name, n);
    rt_config_implied(&implied, &m->config);
    for (int i = 0; rt_key_at(i); i++)
        m->implied[i] = rt_key_value_equal(rt_key_at(i), &m->config, &implied);
    if (!rt_results_read(&m->results, folder))
        m->results = (rt_results){0};
    c->list[c->count++] = m;
    return rt_ok();
}

/* Adds a run, or those runs of a sweep that have begun. */
static rt_status add_folder(comparison *c, const char *folder)
{
    RT_CLOSED_BY(rt_sweep_runs_free) rt_sweep_runs runs = {0};
    if (!rt_is_sweep_folder(folder))
        return add_run(c, folder);
    RT_TRY(rt_sweep_runs_read(&runs, folder));
    for (int i = 0; i < runs.count; i++)
        if (!access(RT_PATH_IN(runs.list[i].folder, "config.ini"), R_OK))
            RT_TRY(add_run(c, runs.list[i].folder));
    return rt_ok();
}

/* Returns the form of a key in the table. Hides a key that does not affect results, has one value,
 * or follows from other keys in every run (except model.kind and keys of the data). Names of files
 * are enough if different files have different names. */
static shown_form form_of(const comparison *c, int key)
{
    char one[RT_VALUE_SIZE], other[RT_VALUE_SIZE];
    const rt_key *k = rt_key_at(key);
    bool different = false;
    bool follows = strcmp(k->section, "data") != 0 && rt_key_find("model.kind") != key;
    for (int i = 0; i < c->count; i++) {
        different |= !rt_key_value_equal(k, &c->list[0]->config, &c->list[i]->config);
        follows &= c->list[i]->implied[key];
    }
    if (k->change == RT_MAY_DIFFER || !different || follows)
        return HIDDEN;
    for (int i = 0; i < c->count && k->type == RT_KEY_TEXT; i++)
        for (int j = 0; j < i; j++) {
            rt_key_value_write(k, &c->list[i]->config, one);
            rt_key_value_write(k, &c->list[j]->config, other);
            if (strcmp(one, other) != 0 && !strcmp(rt_path_name(one), rt_path_name(other)))
                return VALUE;
        }
    return k->type == RT_KEY_TEXT ? FILE_NAME : VALUE;
}

/* Writes runs.csv: the name, the shown settings, the exit code and the results of each run. */
static rt_status write_table(comparison *c)
{
    const rt_key *key;
    RT_CLOSED_BY(rt_results_free) rt_results names = {0};
    rt_writer w = {0};
    for (int i = 0; rt_key_at(i); i++)
        c->shown[i] = form_of(c, i);
    for (int i = 0; i < c->count; i++)
        rt_sweep_add_names(&names, &c->list[i]->results);
    for (int n = -1; n < c->count; n++) {
        const member *m = n < 0 ? NULL : c->list[n]; /* NULL: the row of headings */
        rt_csv_put(&w, m ? m->name : "run");
        for (int i = 0; (key = rt_key_at(i)); i++) {
            if (c->shown[i] == HIDDEN)
                continue;
            const char *text = m ? RT_KEY_VALUE(key, &m->config) : rt_key_name(i);
            rt_writer_add(&w, ",");
            rt_csv_put(&w, m && c->shown[i] == FILE_NAME ? rt_path_name(text) : text);
        }
        if (m)
            rt_csv_add_number(&w, rt_results_get(&m->results, RT_RESULT_EXIT_CODE));
        else
            rt_writer_add(&w, "," RT_RESULT_EXIT_CODE);
        rt_sweep_add_results(&w, &names, m ? &m->results : NULL);
    }
    return rt_passing_write_and_free(c->folder, "runs.csv", rt_writer_take(&w));
}

/* Creates the temporary folder, and writes the page. */
static rt_status write_comparison(comparison *c, const char *file)
{
    RT_CLOSED_BY(rt_sweep_study_free) rt_sweep_study s = {.order = RT_RESULTS_FIRST};
    rt_sweep_runs *runs = &s.runs;
    const char *given = getenv("TMPDIR"), *parent = given && *given ? given : "/tmp";
    RT_TRY(rt_path_join(c->folder, parent, "rotor-compare-XXXXXX"));
    if (!mkdtemp(c->folder)) {
        *c->folder = '\0';
        return rt_error(RT_IO, "no folder can be made in %s", parent);
    }
    RT_TRY(write_table(c));
    RT_TRY(rt_sweep_runs_read(runs, c->folder));
    for (int i = 0; i < runs->count; i++) {
        const member *m = find_member(c, runs->list[i].cells[0]);
        if (!m)
            continue;
        rt_free(runs->list[i].folder);
        runs->list[i].folder = rt_copy_text(m->path);
        RT_TRY(rt_allocated(runs->list[i].folder, "a comparison"));
    }
    return write_page(&s, c->folder, RT_PRINTED(64, "%d runs compared", c->count), file);
}

/* Chooses the file of the page: `output` or, if that is NULL, report.html in the working directory
 * or, if that holds sources, in a folder beside the first run, named after the first two. */
static rt_status choose_file(char file[RT_PATH_SIZE], const char *const *folders,
                             const char *output)
{
    char first[RT_PATH_SIZE], second[RT_PATH_SIZE];
    snprintf(file, RT_PATH_SIZE, "%s", output ? output : "report.html");
    if (!output && (!access("CMakeLists.txt", F_OK) || !access(".git", F_OK))) {
        snprintf(first, sizeof first, "%s", folders[0]); /* basename and dirname change it */
        snprintf(second, sizeof second, "%s", folders[1]);
        const char *name =
            RT_PRINTED(256, "compare-%.100s-%.100s", basename(first), basename(second));
        snprintf(first, sizeof first, "%s", folders[0]);
        RT_TRY(rt_path_join(second, dirname(first), name));
        mkdir(second, 0777); /* a failure shows when the page is written */
        RT_TRY(rt_path_join(file, second, "report.html"));
    }
    return rt_page_may_replace(file);
}

rt_status rt_compare_write(const char *const *folders, int count, const char *output,
                           char file[RT_PATH_SIZE])
{
    comparison c = {.count = 0};
    rt_status status = rt_ok();
    for (int i = 0; i < count && !status.code; i++)
        status = add_folder(&c, folders[i]);
    if (!status.code && !c.count)
        status = rt_error(RT_CONFIG, "none of the runs has begun: there is nothing to compare");
    if (!status.code)
        status = choose_file(file, folders, output);
    if (!status.code)
        status = write_comparison(&c, file);
    if (*c.folder) {
        unlink(RT_PATH_IN(c.folder, "runs.csv"));
        rt_figures_clear(c.folder);
        rmdir(c.folder);
    }
    for (int i = 0; i < c.count; i++) {
        rt_results_free(&c.list[i]->results);
        rt_free(c.list[i]);
    }
    return status;
}
