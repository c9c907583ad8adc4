/* The tables that a run fills in by step, and the warnings of a run that is resumed and does not
 * find what it left. */

#include "train/run/metrics.h"

#include "core/memory.h"
#include "text/csv.h"
#include "text/text_file.h"
#include "train/folder/session.h"
#include "train/report/report.h"
#include "train/run/state.h"

#include <math.h>
#include <string.h>

/* The last step of a run is recorded whatever its number; a run that goes on past it must
 * not show that it once ended there. */
typedef struct cut {
    int finished_steps;
    int log_every;
    int eval_every;
    bool logs_theta;
} cut;

static void empty_cell(rt_csv *row, const char *name)
{
    const int i = rt_csv_column(row, name);
    if (i < row->columns)
        row->cells[i] += strlen(row->cells[i]);
}

static bool keep_metrics(rt_csv *row, int step, const void *context)
{
    const cut *c = context;
    if (step != c->finished_steps || step % c->eval_every == 0)
        return step <= c->finished_steps;
    empty_cell(row, "eval_loss");
    empty_cell(row, "eval_accuracy");
    return step % c->log_every == 0;
}

static bool keep_theta(rt_csv *row, int step, const void *context)
{
    const cut *c = context;
    (void)row;
    const bool due = step % c->eval_every == 0 || (c->logs_theta && step % c->log_every == 0);
    return step < c->finished_steps || (step == c->finished_steps && due);
}

static bool keep_timing(rt_csv *row, int step, const void *context)
{
    (void)row;
    return step <= ((const cut *)context)->finished_steps;
}

rt_status rt_metrics_open(rt_metrics *m, const rt_config *config, const char *folder,
                          int finished_steps, const char *session)
{
    const cut c = {finished_steps, config->run.log_every, config->train.eval_every,
                   config->theta.log};
    char path[RT_PATH_SIZE];
    *m = (rt_metrics){.config = config, .session = session};
    rt_status status = rt_step_table_open(
        &m->metrics, folder, "metrics.csv",
        "step,tokens,loss,eval_loss,eval_accuracy,lr,grad_norm,accuracy,theta_grad_norm",
        finished_steps ? keep_metrics : NULL, &c);
    if (!status.code)
        status = rt_step_table_open(&m->timing, folder, "timing.csv",
                                    "step,seconds,tokens_per_s," RT_SESSION_COLUMNS,
                                    finished_steps ? keep_timing : NULL, &c);
    if (!status.code && config->model.theta.learn)
        status = rt_step_table_open(&m->theta, folder, "theta.csv",
                                    "step,layer,head,i,theta,theta_initial",
                                    finished_steps ? keep_theta : NULL, &c);
    if (!status.code && config->run.tensorboard) {
        status = rt_path_join(path, folder, RT_EVENTS_FOLDER);
        if (!status.code)
            status = rt_event_file_open(&m->events, path, finished_steps);
    }
    return status;
}

static void add_number_or_all(rt_step_table *table, int number)
{
    if (number < 0)
        rt_step_table_add(table, ",all");
    else
        rt_step_table_add(table, ",%d", number);
}

rt_status rt_metrics_theta(rt_metrics *m, const rt_training_state *state)
{
    rt_theta_entry *list;
    int count;
    if (!m->theta.file)
        return rt_ok();
    rt_status status = rt_theta_list(&list, &count, state->model);
    for (int i = 0; i < count; i++) {
        rt_step_table_add(&m->theta, "%d", state->step);
        add_number_or_all(&m->theta, list[i].layer);
        add_number_or_all(&m->theta, list[i].head);
        rt_step_table_add(&m->theta, ",%d,%.9g,%.9g\n", list[i].pair, list[i].theta, list[i].start);
    }
    rt_free(list);
    return status;
}

rt_status rt_metrics_step(rt_metrics *m, const rt_training_state *state, const rt_step_result *r,
                          const rt_evaluation *evaluation, double seconds)
{
    m->tokens += r->tokens;
    if (!evaluation && state->step % m->config->run.log_every)
        return rt_ok();
    const long tokens = (long)state->sequences * m->config->data.length;
    rt_step_table_add(&m->metrics, "%d,%ld,%.9g,", state->step, tokens, r->loss);
    if (evaluation)
        rt_step_table_add(&m->metrics, "%.9g,%.9g", evaluation->loss, evaluation->accuracy);
    else
        rt_step_table_add(&m->metrics, ",");
    rt_step_table_add(&m->metrics, ",%.9g,%.9g,%.9g,%.9g\n", r->lr, r->grad_norm, r->accuracy,
                      r->theta_grad_norm);
    rt_step_table_add(&m->timing, "%d,%.3f,%.0f,%s\n", state->step, seconds,
                      seconds > 0 ? (double)m->tokens / seconds : 0,
                      m->session ? m->session : ",,,,");
    m->session = NULL;
    const rt_scalar scalars[] = {{"loss/training", r->loss},
                                 {"loss/evaluation", evaluation ? evaluation->loss : (double)NAN},
                                 {"accuracy/training", r->accuracy},
                                 {"accuracy/evaluation",
                                  evaluation ? evaluation->accuracy : (double)NAN},
                                 {"learning_rate", r->lr},
                                 {"gradient_norm/all", r->grad_norm},
                                 {"gradient_norm/theta", r->theta_grad_norm}};
    rt_event_file_add(&m->events, state->step, scalars, (int)(sizeof scalars / sizeof *scalars));
    return evaluation || m->config->theta.log ? rt_metrics_theta(m, state) : rt_ok();
}

const char *rt_metrics_failure(rt_metrics *m)
{
    const char *name = m->metrics.failed  ? m->metrics.name
                       : m->theta.failed  ? m->theta.name
                       : m->timing.failed ? m->timing.name
                       : m->events.failed ? RT_EVENTS_FOLDER
                                          : NULL;
    if (m->warned)
        return NULL;
    m->warned = name != NULL;
    return name;
}

void rt_metrics_close(rt_metrics *m)
{
    rt_step_table_close(&m->metrics);
    rt_step_table_close(&m->theta);
    rt_step_table_close(&m->timing);
    rt_event_file_close(&m->events);
}

double rt_metrics_first_step(const char *folder, double accuracy)
{
    double first = (double)NAN;
    int step;
    rt_csv metrics;
    if (rt_csv_open(&metrics, folder, "metrics.csv"))
        while (isnan(first) && rt_csv_row(&metrics))
            if (rt_csv_number(&metrics, "eval_accuracy") >= accuracy &&
                rt_csv_whole(&metrics, "step", &step))
                first = step;
    rt_csv_close(&metrics);
    return first;
}

/* ---- the tables of a run ---- */

/* Warns if the files of data are not those of the newest session in timing.csv. The vocabulary,
 * which is the last file, does not count: that of the checkpoint is used. */
static void warn_of_data(rt_run *r, const char *data)
{
    rt_csv timing;
    rt_data_options o = r->config->data;
    char *earlier = NULL, path[RT_PATH_SIZE];
    int files = 0;
    if (rt_csv_open(&timing, r->folder.path, "timing.csv"))
        while (rt_csv_row(&timing))
            if (*rt_csv_cell(&timing, "data")) {
                rt_free(earlier);
                earlier = rt_copy_text(rt_csv_cell(&timing, "data"));
            }
    rt_csv_close(&timing);
    o.vocab_file = NULL;
    while (rt_data_file_at(&o, files, path))
        files++;
    rt_session_part before = {.text = earlier}, now = {.text = data};
    if (earlier && rt_session_data_differs(&before, &now, files))
        rt_run_say(r,
                   "warning: the data has changed since the run was stopped: it was %.*s, it is "
                   "%.*s; the continuation will not be bitwise identical",
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
        rt_run_say(r,
                   "warning: %s/%s has no rows: those up to step %d are lost, and the table begins "
                   "after them",
                   r->folder.path, table->name, r->state->step);
    else
        rt_run_say(r, "warning: %s/%s ends at step %d: its rows up to step %d are lost",
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
        rt_run_say(r, "warning: the rows of %s until step %d are not known", name, r->state->step);
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
