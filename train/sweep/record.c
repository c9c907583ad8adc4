/* Files of a sweep, runs.csv, sweep.csv, paired.csv and growth.csv, and its printed table. */

#include "train/sweep/private.h"

#include "core/memory.h"
#include "core/path.h"
#include "text/csv.h"
#include "text/durable_file.h"
#include "train/report/report.h"

#include <string.h>
#include <unistd.h>

/* Context of add_run and results_of. */
typedef struct recorded {
    const rt_sweep *sweep;
    const rt_sweep_result *results;
} recorded;

static void add_run(rt_writer *w, const void *context, int run)
{
    const recorded *r = context;
    const rt_sweep *s = r->sweep;
    char name[RT_RUN_NAME_SIZE] = "run";
    if (run >= 0)
        rt_sweep_name(s, run, name);
    rt_csv_put(w, name);
    if (s->variant_count)
        rt_writer_add(w, ",%s", run < 0 ? "variant" : rt_sweep_variant(s, run)->name);
    for (int i = 0; i < s->axis_count; i++) {
        rt_writer_add(w, ",");
        rt_csv_put(w, run < 0 ? rt_key_name(s->axes[i].key) : rt_sweep_value(s, run, i));
    }
    rt_writer_add(w, run < 0 ? "," RT_RESULT_EXIT_CODE : ",");
    if (run >= 0 && r->results[run].ended)
        rt_writer_add(w, "%d", r->results[run].exit_code);
}

static const rt_results *results_of(const void *context, int run)
{
    return &((const recorded *)context)->results[run].results;
}

/* Prints the table of the runs, the best row, the paired differences and the verdict on theta. */
static rt_status print_runs(FILE *to, const rt_sweep_runs *runs, const rt_paired *paired)
{
    rt_sweep_table table = {0};
    rt_writer w = {0};
    const rt_sweep_verdict verdict = rt_sweep_judge(runs);
    const rt_ranking ranking = rt_report_rank(runs);
    const rt_sweep_best best = rt_sweep_find_best(runs, &ranking);
    const rt_status status = rt_sweep_table_make(&table, runs, RT_SETTINGS_FIRST);
    if (!status.code)
        rt_sweep_table_print(to, &table);
    rt_sweep_table_free(&table);
    if (status.code)
        return status;
    rt_sweep_report_best(&w, runs, &best, &ranking, RT_SETTINGS_FIRST);
    if (!ranking.differ)
        rt_paired_report(&w, paired);
    rt_sweep_report_theta(&w, &verdict);
    rt_sweep_report_schedules(&w, runs);
    return rt_writer_print(&w, to);
}

rt_status rt_sweep_record(FILE *to, const char *folder, const rt_sweep *s,
                          const rt_sweep_result *results)
{
    rt_sweep_runs runs;
    rt_paired paired = {.list = NULL};
    rt_writer w = {0};
    rt_sweep_runs_csv(&w, rt_sweep_count(s), add_run, results_of, &(recorded){s, results});
    rt_status status = rt_durable_write_and_free(folder, "runs.csv", rt_writer_take(&w));
    if (status.code)
        return status;
    status = rt_sweep_runs_read(&runs, folder);
    if (!status.code) {
        rt_sweep_table_csv(&w, &runs);
        status = rt_durable_write_and_free(folder, "sweep.csv", rt_writer_take(&w));
    }
    if (!status.code)
        status = rt_paired_make(&paired, &runs);
    if (!status.code) {
        rt_paired_csv(&w, &paired);
        status = rt_durable_write_and_free(folder, "paired.csv", rt_writer_take(&w));
    }
    if (!status.code)
        status = print_runs(to, &runs, &paired);
    rt_paired_free(&paired);
    rt_sweep_runs_free(&runs);
    return status;
}

/* Returns the number of runs in the runs.csv of an earlier call. */
static int count_before(const char *folder)
{
    rt_csv csv;
    int count = 0;
    for (rt_csv_open(&csv, folder, "runs.csv"); rt_csv_row(&csv);)
        count++;
    return count;
}

rt_status rt_sweep_note_growth(const char *folder, const rt_sweep *sweep,
                               const rt_sweep_result *results, bool from_start, int *fresh)
{
    static const char name_of_file[] = "growth.csv";
    const int before = count_before(folder), count = rt_sweep_count(sweep);
    char path[RT_PATH_SIZE];
    rt_writer w = {0};
    *fresh = 0;
    if (from_start && !rt_path_join(path, folder, name_of_file).code)
        unlink(path);
    if (from_start || !before || count <= before)
        return rt_ok();
    rt_writer_add(&w, "run,run_is\n");
    for (int run = 0; run < count; run++) {
        char name[RT_RUN_NAME_SIZE];
        rt_sweep_name(sweep, run, name);
        *fresh += !results[run].ended;
        rt_csv_put(&w, name);
        rt_writer_add(&w, results[run].ended ? ",before\n" : ",new\n");
    }
    char *table = rt_writer_take(&w);
    if (table && !*fresh) {
        rt_free(table);
        return rt_ok();
    }
    return rt_durable_write_and_free(folder, name_of_file, table);
}
