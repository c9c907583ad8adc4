/* Opens the tables that a run fills in, and warns if one that is resumed does not find what it
 * left. */

#include "train/run/state.h"

#include "core/memory.h"
#include "text/csv.h"
#include "text/text_file.h"
#include "train/folder/session.h"

/* Returns the files of data of the newest session of the run, which the caller frees; NULL if they
 * are not known. */
static char *data_before(const rt_run *r)
{
    rt_csv timing;
    char *data = NULL;
    if (rt_csv_open(&timing, r->folder.path, "timing.csv"))
        while (rt_csv_row(&timing))
            if (*rt_csv_cell(&timing, "data")) {
                rt_free(data);
                data = rt_copy_text(rt_csv_cell(&timing, "data"));
            }
    rt_csv_close(&timing);
    return data;
}

/* Counts the files of data without the vocabulary, which is the last: that of the checkpoint holds.
 */
static int files_of(rt_data_options data)
{
    char path[RT_PATH_SIZE];
    int count = 0;
    data.vocab_file = NULL;
    while (rt_data_file_at(&data, count, path))
        count++;
    return count;
}

static void warn_of_data(rt_run *r, const char *data)
{
    char *earlier = data_before(r);
    rt_session_part before = {.text = earlier}, now = {.text = data};
    if (earlier && rt_session_data_differs(&before, &now, files_of(r->config->data)))
        rt_progress_say(&r->progress,
                        "warning: the data has changed since the run was stopped: it was %.*s, it "
                        "is %.*s; the continuation will not be bitwise identical",
                        before.length, before.text, now.length, now.text);
    rt_free(earlier);
}

void rt_run_compare_data(rt_run *r)
{
    char *data = rt_session_data(&r->config->data);
    if (data)
        warn_of_data(r, data);
    rt_free(data);
}

static void warn_of_rows(rt_run *r, const rt_step_table *table, int due)
{
    if (!table->file || table->last >= due)
        return;
    if (table->last < 0)
        rt_progress_say(&r->progress,
                        "warning: %s/%s has no rows: those up to step %d are lost, and the table "
                        "begins after them",
                        r->folder.path, table->name, r->state->step);
    else
        rt_progress_say(&r->progress,
                        "warning: %s/%s ends at step %d: its rows up to step %d are lost",
                        r->folder.path, table->name, table->last, due);
}

static void warn_of_tables(rt_run *r)
{
    const rt_config *before = r->before ? r->before : r->config;
    const int step = r->state->step;
    const int logged = step - step % before->run.log_every; /* last steps with a row */
    const int evaluated = step - step % before->train.eval_every;
    const int due = evaluated > logged ? evaluated : logged;
    warn_of_rows(r, &r->metrics.metrics, due);
    warn_of_rows(r, &r->metrics.timing, due);
    warn_of_rows(r, &r->metrics.theta, before->theta.log ? due : evaluated);
}

/* Copies a table of the trunk, of which the rows before the branch are kept later. */
static rt_status copy_table(rt_run *r, const char *name, bool wanted)
{
    char path[RT_PATH_SIZE];
    rt_status status = rt_path_join(path, *r->trunk ? r->trunk : ".", name);
    char *text = !status.code && wanted && *r->trunk ? rt_read_text(path) : NULL;
    if (!status.code && wanted && !text)
        rt_progress_say(&r->progress, "warning: the rows of %s until step %d are not known", name,
                        r->state->step);
    if (!status.code)
        status = rt_write_text(r->folder.path, name, text ? text : "");
    rt_free(text);
    return status;
}

rt_status rt_run_open_tables(rt_run *r)
{
    const rt_arguments *a = r->arguments;
    const bool resumed = r->state->step > 0 && !r->branches;
    rt_status status = r->branches ? copy_table(r, "metrics.csv", true) : rt_ok();
    if (!status.code && r->branches && r->config->model.theta.learn)
        status = copy_table(r, "theta.csv", r->theta == RT_BRANCH_CARRIED);
    if (status.code)
        return status;
    char *data = rt_session_data(&r->config->data);
    r->session = data ? rt_session_cells(data, a->revision, a->argc, a->argv) : NULL;
    if (resumed && data)
        warn_of_data(r, data);
    rt_free(data);
    if (!r->session)
        return rt_out_of_memory("a table");
    status = rt_metrics_open(&r->metrics, r->config, r->folder.path, r->state->step, r->session);
    if (resumed && !status.code)
        warn_of_tables(r);
    return status;
}
