#include "core/memory.h"
#include "train/config/keys.h"
#include "train/report/sections.h"
#include "train/report/verdict.h"
#include "train/world/world.h"
#include "util/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Adds a row with the value of a key and, if that differs, the default, which may follow from other
 * keys. With `set_alone`, omits keys at their defaults. */
static void add_key(rt_writer *w, const rt_key *key, const char *name, const rt_config *config,
                    const rt_config *implied, bool set_alone)
{
    const char *initial = RT_KEY_VALUE(key, implied), *value = RT_KEY_VALUE(key, config);
    const bool set = !rt_key_value_equal(key, config, implied);
    if (set_alone && !set)
        return;
    rt_writer_add(w, "<tr%s>", set && !set_alone ? " class=\"set\"" : "");
    rt_page_cell(w, "th", name);
    rt_writer_add(w, "<td>");
    rt_page_cell(w, "span", value);
    if (set && *initial)
        rt_page_cell(w, "small",
                     RT_PRINTED(RT_VALUE_SIZE + 16, set_alone ? " (default %s)" : "default %s",
                                initial));
    rt_writer_add(w, "</td></tr>\n");
}

/* Adds a table of the keys that differ from their defaults; `shown`, unless NULL, selects keys. */
static void add_keys(rt_writer *w, const char *heading, const rt_config *config, const bool *shown)
{
    const rt_key *key;
    rt_config implied;
    RT_CLOSED_BY(rt_writer_free) rt_writer rows = {0};
    rt_config_implied(&implied, config);
    for (int i = 0; (key = rt_key_at(i)); i++)
        if (!shown || shown[i])
            add_key(&rows, key, rt_key_name(i), config, &implied, true);
    if (rows.length)
        rt_writer_add(w, "<h2>%s</h2>\n<table class=\"facts\">\n%s</table>\n", heading, rows.bytes);
    w->failed |= rows.failed;
}

rt_status rt_report_configuration(rt_run_page *p)
{
    rt_writer *w = &p->w;
    const rt_key *key;
    rt_config implied;
    add_keys(w, "Configuration", p->config, NULL);
    rt_config_implied(&implied, p->config);
    rt_writer_add(w, "<details><summary>every key, in bold what is not at its default</summary>\n"
                     "<div class=\"keys\">\n");
    for (int i = 0; (key = rt_key_at(i)); i++) {
        if (rt_key_starts_section(i)) {
            rt_writer_add(w, "%s<section>", i ? "</table></section>\n" : "");
            rt_page_cell(w, "h3", key->section);
            rt_writer_add(w, "<table>\n");
        }
        add_key(w, key, key->name, p->config, &implied, false);
    }
    rt_writer_add(w, "</table></section>\n</div>\n</details>\n");
    return rt_ok();
}

/* Compares the configurations of the runs with the first one, `first`, and clears `same` for each
 * key that differs. If `column` >= 0, compares only runs with the same cell in that column. Returns
 * false if no run has a configuration. */
static bool find_common_keys(bool same[RT_MAX_KEYS], rt_config *first, const rt_sweep_runs *runs,
                             int column)
{
    rt_config other;
    int known = -1;
    for (int run = 0; run < runs->count; run++) {
        if (known >= 0 && column >= 0 &&
            strcmp(runs->list[run].cells[column], runs->list[known].cells[column]) != 0)
            continue;
        if (rt_config_load_folder(known < 0 ? first : &other, runs->list[run].folder).code)
            continue;
        for (int i = 0; rt_key_at(i) && known >= 0; i++)
            same[i] = same[i] && rt_key_value_equal(rt_key_at(i), first, &other);
        known = known < 0 ? run : known;
    }
    return known >= 0;
}

void rt_sweep_report_schedules(rt_writer *w, const rt_sweep_runs *runs)
{
    bool same[RT_MAX_KEYS];
    rt_config first;
    const char *separator = "warning: the runs differ in keys that the sweep does not set: ";
    memset(same, true, sizeof same);
    /* a variant may set any key */
    find_common_keys(same, &first, runs, rt_sweep_column(runs, "variant"));
    const bool sets_steps = rt_sweep_column(runs, "train.steps") >= 0;
    for (int i = 0; rt_key_at(i); i++) {
        const rt_change change = rt_key_at(i)->change;
        if (same[i] || (change != RT_WHEN_EXTENDED && change != RT_HOW_LONG) ||
            rt_sweep_column(runs, rt_key_name(i)) >= 0 ||
            (sets_steps && i == rt_key_find("optimizer.schedule_steps"))) /* it follows the steps */
            continue;
        rt_writer_add(w, "%s%s", separator, rt_key_name(i));
        separator = ", ";
    }
    if (*separator == ',')
        rt_writer_add(w, "; their results may not be comparable\n");
}

void rt_report_common_keys(rt_writer *w, const rt_sweep_runs *runs)
{
    bool same[RT_MAX_KEYS];
    rt_config first;
    for (int i = 0; rt_key_at(i); i++)
        same[i] =
            rt_key_at(i)->change != RT_MAY_DIFFER || strcmp(rt_key_at(i)->section, "run") != 0;
    if (find_common_keys(same, &first, runs, -1))
        add_keys(w, "Configuration of all", &first, same);
}

static void add_theta_row(rt_writer *w, const rt_csv *csv, bool tolerances, bool mixed,
                          bool by_position)
{
    static const char *const places[] = {"layer", "head", "i"};
    const double theta = rt_csv_number(csv, "theta"), start = rt_csv_number(csv, "theta_initial");
    const double use = rt_csv_number(csv, "use");
    int number = 0;
    rt_writer_add(w, "<tr>");
    for (int i = 0; i < 3; i++) {
        const bool is_number = rt_csv_whole(csv, places[i], &number);
        rt_writer_add(w, is_number ? "<td>%d</td>" : "<td>all</td>", number);
    }
    rt_page_number(w, "%.6g", start);
    rt_page_number(w, "%.6g", theta);
    rt_page_number(w, "%+.4f", mixed ? rt_csv_number(csv, "change") : log(theta / start));
    if (by_position) {
        rt_page_number(w, "%.3g", rt_csv_number(csv, "phase"));
        rt_page_number(w, "%.3g", rt_csv_number(csv, "turns"));
    }
    rt_writer_add(w, isfinite(use) ? "<td>%s %%</td>" : "<td>-</td>", RT_SHOWN(1, 100 * use));
    if (tolerances) {
        rt_page_number(w, "%.3g", -rt_csv_number(csv, RT_TOLERANCE_DOWN));
        rt_page_number(w, "%+.3g", rt_csv_number(csv, RT_TOLERANCE_UP));
    }
    rt_writer_add(w, "</tr>\n");
}

bool rt_report_theta_was_trained(const rt_run_page *p)
{
    return rt_config_trains_theta(p->config) || (!p->ended && p->config->train.trunk) ||
           rt_theta_has_moved(p->config, rt_results_get(&p->results, RT_RESULT_START_CHANGE),
                              rt_results_get(&p->results, RT_RESULT_CHANGE));
}

rt_status rt_report_theta_table(rt_run_page *p)
{
    rt_writer *w = &p->w;
    const bool mixed = rt_transformer_theta_axes(&p->config->model) > 1;
    const bool by_position = rt_transformer_turns_by_position(&p->config->model);
    const bool trained = rt_report_theta_was_trained(p);
    enum { MOST_ROWS = 512 };
    rt_csv csv;
    bool tolerances = false;
    int rows = 0;
    if (!p->config->model.theta.learn)
        return rt_ok();
    for (rt_csv_open(&csv, p->folder, "theta_final.csv"); rt_csv_row(&csv);) {
        if (!rows++) {
            tolerances = rt_csv_column(&csv, RT_TOLERANCE_DOWN) < csv.columns;
            rt_page_table(w, trained ? "Learned theta" : "Theta, which was not trained",
                          RT_COLUMNS("layer", "head", "i", "initial", trained ? "learned" : "last",
                                     mixed ? "change" : "drift", by_position ? "phase (rad)" : "",
                                     by_position ? "turns" : "", "use", tolerances ? "down" : "",
                                     tolerances ? "up" : ""));
        }
        if (rows <= MOST_ROWS)
            add_theta_row(w, &csv, tolerances, mixed, by_position);
    }
    if (!rows)
        return rt_ok();
    rt_writer_add(w, "</table></div>\n");
    if (rows > MOST_ROWS)
        rt_writer_add(w, "<p>The first %d rows of %d; theta_final.csv has all.</p>\n", MOST_ROWS,
                      rows);
    return rt_ok();
}

bool rt_timing_open(rt_timing *t, const char *folder)
{
    *t = (rt_timing){.step = -1};
    return rt_csv_open(&t->csv, folder, "timing.csv");
}

/* Reads the next row. Returns false after the last row. */
static bool read_timing(rt_timing *t)
{
    while (rt_csv_row(&t->csv)) {
        const double seconds = rt_csv_number(&t->csv, "seconds");
        const double rate = rt_csv_number(&t->csv, "tokens_per_s");
        if (!isfinite(seconds) || !rt_csv_whole(&t->csv, "step", &t->step))
            continue;
        if (*rt_csv_cell(&t->csv, "begun") || seconds < t->seconds - t->seconds_before) {
            t->seconds_before = t->seconds;
            t->tokens_before = t->tokens;
        }
        t->seconds = t->seconds_before + seconds;
        t->tokens = t->tokens_before + (isfinite(rate) ? rate * seconds : 0);
        return true;
    }
    return false;
}

double rt_timing_seconds(rt_timing *t, int step)
{
    bool more = true;
    while (t->step < step && (more = read_timing(t))) {
    }
    return more && t->step == step ? t->seconds : (double)NAN;
}

/* Reads up to the last row. */
static rt_timing read_total(const char *folder)
{
    rt_timing t;
    rt_timing_open(&t, folder);
    while (read_timing(&t)) {
    }
    return t;
}

static void add_row(rt_writer *w, const char *what, const char *value)
{
    rt_writer_add(w, "<tr>");
    rt_page_cell(w, "th", what);
    rt_page_cell(w, "td", value);
    rt_writer_add(w, "</tr>");
}

/* Adds "28.0 s", "3 min 20 s" or "2 h 5 min". */
static void write_seconds(rt_writer *w, double seconds)
{
    const double minutes = floor(seconds / 60), hours = floor(minutes / 60);
    if (!(seconds < 1e9) || minutes < 1)
        rt_writer_add(w, "%s s", RT_SHOWN(1, seconds));
    else if (hours < 1)
        rt_writer_add(w, "%.0f min %.0f s", minutes, floor(seconds - 60 * minutes));
    else
        rt_writer_add(w, "%.0f h %.0f min", hours, minutes - 60 * hours);
}

/* Adds the sessions of a run from timing.csv, see train/folder/session.h. The program and the data
 * are added only if they have changed. */
static void add_sessions(rt_writer *w, const char *folder)
{
    enum { MOST_SESSIONS = 100, CHANGING = 2 };
    static const char *const columns[CHANGING] = {"program", "data"};
    rt_writer last[CHANGING] = {{0}};
    RT_CLOSED_BY(rt_csv_close) rt_csv timing = {0};
    int sessions = 0;
    if (rt_csv_open(&timing, folder, "timing.csv"))
        while (sessions < MOST_SESSIONS && rt_csv_row(&timing)) {
            if (!*rt_csv_cell(&timing, "begun"))
                continue;
            rt_writer_add(w, "<tr><th>%s</th><td>", sessions++ ? "resumed" : "begun");
            rt_html_text(w, rt_csv_cell(&timing, "begun"));
            rt_writer_add(w, " UTC on ");
            rt_html_text(w, rt_csv_cell(&timing, "host"));
            rt_writer_add(w, ": ");
            rt_page_cell(w, "code", rt_csv_cell(&timing, "command"));
            rt_writer_add(w, "</td></tr>");
            for (int i = 0; i < CHANGING; i++) {
                const char *cell = rt_csv_cell(&timing, columns[i]);
                if (!*cell || (last[i].bytes && !strcmp(cell, last[i].bytes)))
                    continue;
                add_row(w, columns[i], cell);
                rt_writer_free(&last[i]);
                rt_writer_add(&last[i], "%s", cell);
            }
        }
    for (int i = 0; i < CHANGING; i++)
        rt_writer_free(&last[i]);
}

/* Adds the version, the processor and the end of the section. Everything that differs between two
 * equal runs is in one line, so that reports can be compared without it. */
static void end_machine(rt_writer *w)
{
    char line[256], processor[128] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !*processor && fgets(line, sizeof line, file))
        sscanf(line, "model name : %127[^\n]", processor);
    if (file)
        fclose(file);
    rt_writer_add(w, "\n");
    add_row(w, "report made by",
            RT_PRINTED(256, "rotor %s (%s), %s%s%d processor%s", ROTOR_VERSION, RT_PRECISION,
                       processor, *processor ? ", " : "", rt_processors(NULL),
                       rt_processors(NULL) > 1 ? "s" : ""));
    rt_writer_add(w, "\n</table>\n");
}

rt_status rt_report_machine(rt_run_page *p)
{
    rt_writer *w = &p->w;
    const rt_timing t = read_total(p->folder);
    rt_writer_add(w, "<h2>Run</h2>\n<table class=\"facts\">\n");
    if (p->trainer) {
        const rt_parameters *parameters = &rt_trainer_state(p->trainer)->model->parameters;
        add_row(w, "model",
                RT_PRINTED(128, "%zu parameters, a vocabulary of %d token ids",
                           rt_parameters_count(parameters), rt_trainer_data(p->trainer)->vocab));
        rt_writer_add(w, "\n");
    }
    if (t.seconds > 0 && t.step > 0) {
        rt_writer_add(w, "<tr><th>time</th><td>");
        write_seconds(w, t.seconds);
        rt_writer_add(w, " up to step %s", RT_SHOWN(0, t.step));
        if (t.tokens > 0)
            rt_writer_add(w, ", %s tokens a second", RT_SHOWN(0, t.tokens / t.seconds));
        rt_writer_add(w, "</td></tr>");
    }
    add_sessions(w, p->folder);
    end_machine(w);
    return rt_ok();
}

void rt_report_sweep_machine(rt_writer *w, const rt_sweep_runs *runs)
{
    double seconds = 0;
    for (int i = 0; i < runs->count; i++)
        seconds += read_total(runs->list[i].folder).seconds;
    rt_writer_add(w, "<h2>Run</h2>\n<table class=\"facts\">\n<tr><th>time</th><td>");
    write_seconds(w, seconds);
    rt_writer_add(w, ", the sum over %d runs</td></tr>", runs->count);
    if (runs->count)
        add_sessions(w, runs->list[0].folder);
    end_machine(w);
}
