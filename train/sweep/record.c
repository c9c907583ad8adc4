/* The files of a sweep: runs.csv, sweep.csv, paired.csv and growth.csv; its table on the terminal.
 */

#include "train/sweep/private.h"

#include "core/memory.h"
#include "core/path.h"
#include "text/csv.h"
#include "text/durable_file.h"
#include "train/report/report.h"

#include <string.h>
#include <unistd.h>

/* The names of all results, in the order in which runs first have them. */
typedef struct names {
    int count;
    const char **list; /* with room for every result */
} names;

static bool has_name(const names *n, const char *name)
{
    for (int i = 0; i < n->count; i++)
        if (!strcmp(n->list[i], name))
            return true;
    return false;
}

static bool collect_names(names *n, const rt_sweep *s, const rt_sweep_result *results)
{
    size_t most = 0;
    for (int run = 0; run < rt_sweep_count(s); run++)
        most += (size_t)results[run].results.count;
    *n = (names){.list = rt_alloc(most, sizeof *n->list)};
    for (int run = 0; n->list && run < rt_sweep_count(s); run++)
        for (int i = 0; i < results[run].results.count; i++) {
            const char *name = results[run].results.list[i].name;
            if (strcmp(name, RT_RESULT_EXIT_CODE) != 0 && !has_name(n, name))
                n->list[n->count++] = name;
        }
    return n->list != NULL;
}

static void add_headings(rt_writer *w, const rt_sweep *s, const names *n)
{
    rt_writer_add(w, "run,");
    if (s->variant_count)
        rt_writer_add(w, "variant,");
    for (int i = 0; i < s->axis_count; i++)
        rt_writer_add(w, "%s,", rt_key_name(s->axes[i].key));
    rt_writer_add(w, RT_RESULT_EXIT_CODE);
    for (int i = 0; i < n->count; i++)
        rt_writer_add(w, ",%s", n->list[i]);
    rt_writer_add(w, "\n");
}

static void add_run(rt_writer *w, const rt_sweep *s, int run, const rt_sweep_result *result,
                    const names *n)
{
    char name[RT_RUN_NAME_SIZE];
    const rt_variant *variant = rt_sweep_variant(s, run);
    rt_sweep_name(s, run, name);
    rt_csv_put(w, name);
    if (variant)
        rt_writer_add(w, ",%s", variant->name);
    for (int i = 0; i < s->axis_count; i++) {
        rt_writer_add(w, ",");
        rt_csv_put(w, rt_sweep_value(s, run, i));
    }
    rt_writer_add(w, ",");
    if (result->ended)
        rt_writer_add(w, "%d", result->exit_code);
    for (int i = 0; i < n->count; i++)
        rt_csv_add_number(w, rt_results_get(&result->results, "%s", n->list[i]));
    rt_writer_add(w, "\n");
}

static rt_status write_runs(const char *folder, const rt_sweep *s, const rt_sweep_result *results)
{
    rt_writer w = {0};
    names n;
    if (!collect_names(&n, s, results))
        return rt_out_of_memory("a table");
    add_headings(&w, s, &n);
    for (int run = 0; run < rt_sweep_count(s); run++)
        add_run(&w, s, run, &results[run], &n);
    rt_free(n.list);
    return rt_durable_given(folder, "runs.csv", rt_writer_take(&w));
}

static rt_status write_paired(const char *folder, const rt_sweep_runs *runs)
{
    rt_paired paired;
    rt_writer w = {0};
    rt_status status = rt_paired_make(&paired, runs);
    if (!status.code) {
        rt_paired_csv(&w, &paired);
        status = rt_durable_given(folder, "paired.csv", rt_writer_take(&w));
    }
    rt_paired_free(&paired);
    return status;
}

rt_status rt_sweep_record(const char *folder, const rt_sweep *s, const rt_sweep_result *results)
{
    rt_sweep_runs runs;
    rt_writer w = {0};
    rt_status status = write_runs(folder, s, results);
    if (status.code)
        return status;
    status = rt_sweep_runs_read(&runs, folder);
    if (!status.code) {
        rt_sweep_table_csv(&w, &runs);
        status = rt_durable_given(folder, "sweep.csv", rt_writer_take(&w));
    }
    if (!status.code)
        status = write_paired(folder, &runs);
    rt_sweep_runs_free(&runs);
    return status;
}

rt_status rt_sweep_print(FILE *to, const char *folder)
{
    rt_sweep_runs runs;
    rt_sweep_table table = {0};
    rt_paired paired = {.list = NULL};
    rt_writer w = {0};
    rt_status status = rt_sweep_runs_read(&runs, folder);
    if (!status.code)
        status = rt_paired_make(&paired, &runs);
    if (!status.code)
        status = rt_sweep_table_make(&table, &runs, RT_SETTINGS_FIRST);
    if (!status.code) {
        const rt_sweep_verdict verdict = rt_sweep_judge(&runs);
        const rt_ranking ranking = rt_report_rank(&runs);
        const rt_sweep_best best = rt_sweep_find_best(&runs, &ranking);
        rt_sweep_table_print(to, &table);
        rt_sweep_report_best(&w, &runs, &best, &ranking, RT_SETTINGS_FIRST);
        if (!ranking.differ)
            rt_paired_report(&w, &paired);
        rt_sweep_report_theta(&w, &verdict);
        rt_sweep_report_schedules(&w, &runs);
        char *line = rt_writer_take(&w);
        if (line)
            fputs(line, to);
        else
            status = rt_out_of_memory("the verdict of a sweep");
        rt_free(line);
    }
    rt_sweep_table_free(&table);
    rt_paired_free(&paired);
    rt_sweep_runs_free(&runs);
    return status;
}

/* ---- growth ---- */

static const char growth_file[] = "growth.csv";

/* Returns the number of runs of the earlier call. */
static int count_before(const char *folder)
{
    rt_csv csv;
    int count = 0;
    if (rt_csv_open(&csv, folder, "runs.csv"))
        while (rt_csv_row(&csv))
            count++;
    rt_csv_close(&csv);
    return count;
}

static void remove_growth(const char *folder)
{
    char path[RT_PATH_SIZE];
    const rt_status status = rt_path_join(path, folder, growth_file);
    if (!status.code)
        unlink(path);
}

rt_status rt_sweep_note_growth(const char *folder, const rt_sweep *sweep, const bool *taken,
                               bool from_start, int *fresh)
{
    const int before = count_before(folder), count = rt_sweep_count(sweep);
    rt_writer w = {0};
    *fresh = 0;
    if (from_start)
        remove_growth(folder);
    if (from_start || !before || count <= before)
        return rt_ok();
    rt_writer_add(&w, "run,run_is\n");
    for (int run = 0; run < count; run++) {
        char name[RT_RUN_NAME_SIZE];
        rt_sweep_name(sweep, run, name);
        *fresh += !taken[run];
        rt_csv_put(&w, name);
        rt_writer_add(&w, taken[run] ? ",before\n" : ",new\n");
    }
    char *table = rt_writer_take(&w);
    rt_status status = table ? rt_ok() : rt_out_of_memory("a table");
    if (!status.code && *fresh)
        status = rt_durable_text(folder, growth_file, table);
    rt_free(table);
    return status;
}
