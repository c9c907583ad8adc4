#include "train/run/metrics.h"

#include "core/memory.h"
#include "train/folder/session.h"
#include "train/report/verdict.h"
#include "util/csv.h"
#include "util/durable_file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Earlier rows that are kept: rows of steps before `step`, and the row of that step if it was due.
 * If that step was evaluated only as the last of a run, its cells eval_... are emptied. */
typedef struct kept_rows {
    const char *from; /* folder of the earlier table; NULL: there is none */
    bool of_trunk;    /* the earlier table is that of a trunk */
    int step;         /* 0: no row is kept */
    bool due, evaluated;
} kept_rows;

static rt_status write_rows(rt_durable_file *file, rt_writer *rows)
{
    const size_t size = rows->length;
    rows->length = 0;
    return rows->failed ? rt_out_of_memory("a table") : rt_durable_write(file, rows->bytes, size);
}

/* Writes the kept rows of an earlier table to `file`, in the order of the columns of `header`; the
 * last of them stay in `rows`. Returns RT_IO for damaged lines, which would be lost. */
static rt_status keep_rows(rt_step_table *table, const char *header, kept_rows kept,
                           rt_writer *rows, rt_durable_file *file)
{
    enum { BLOCK = 1 << 16, COLUMN_NAME_SIZE = 64 };
    rt_status status = rt_ok();
    RT_CLOSED_BY(rt_csv_close) rt_csv csv = {0};
    int step, damaged = 0;
    rt_csv_open(&csv, kept.from, table->name);
    while (!status.code && rt_csv_row(&csv)) {
        if (!rt_csv_whole(&csv, "step", &step)) {
            damaged++;
            continue;
        }
        table->last = step > table->last ? step : table->last;
        if (step > kept.step || (step == kept.step && !kept.due))
            continue;
        const bool evaluated = step < kept.step || kept.evaluated;
        for (const char *next = header; *next;) {
            const size_t length = strcspn(next, ",");
            const char *name = RT_PRINTED(COLUMN_NAME_SIZE, "%.*s", (int)length, next);
            rt_csv_put(rows, evaluated || strncmp(name, "eval_", 5) ? rt_csv_cell(&csv, name) : "");
            rt_writer_add(rows, "%c", next[length] ? ',' : '\n');
            next += length + (next[length] == ',');
        }
        if (rows->length > BLOCK)
            status = write_rows(file, rows);
    }
    if (csv.status.code) /* rows must not be lost: only a missing file has none */
        status = csv.status;
    damaged += csv.skipped;
    return status.code || !damaged
               ? status
               : rt_error(RT_IO,
                          "%s/%s: %s would lose damaged lines (%d): repair or delete them, or "
                          "rename the file",
                          kept.from, table->name, kept.of_trunk ? "a branch" : "--resume", damaged);
}

/* Opens folder/name for appending. Writes a new file with the header and the kept rows. */
static rt_status open_table(rt_step_table *table, const char *folder, const char *name,
                            const char *header, kept_rows kept)
{
    char path[RT_PATH_SIZE];
    rt_durable_file file;
    RT_CLOSED_BY(rt_writer_free) rt_writer rows = {0};
    *table = (rt_step_table){.name = name, .last = -1};
    RT_TRY(rt_path_join(path, folder, name));
    rt_status status = rt_durable_replace(&file, path);
    rt_writer_add(&rows, "%s\n", header);
    if (!status.code && kept.from && kept.step)
        status = keep_rows(table, header, kept, &rows, &file);
    if (!status.code)
        status = write_rows(&file, &rows);
    RT_TRY(rt_durable_close(&file, status));
    table->file = fopen(path, "ae");
    return table->file ? rt_ok() : rt_error(RT_IO, "%s: %s", path, strerror(errno));
}

/* Appends to the current row. A final "\n" ends the row and flushes the file. */
static void add(rt_step_table *table, const char *format, ...) RT_PRINTF(2, 3);
static void add(rt_step_table *table, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    table->failed |= vfprintf(table->file, format, arguments) < 0;
    va_end(arguments);
    if (format[strlen(format) - 1] == '\n')
        table->failed |= fflush(table->file) != 0;
}

rt_status rt_metrics_check_trunk(const char *trunk, bool theta)
{
    rt_step_table table = {.name = "metrics.csv"};
    const kept_rows none = {.from = trunk, .of_trunk = true};
    RT_TRY(keep_rows(&table, NULL, none, &(rt_writer){0}, NULL));
    table.name = "theta.csv";
    return theta ? keep_rows(&table, NULL, none, &(rt_writer){0}, NULL) : rt_ok();
}

static rt_status open_timing(rt_metrics *m, const char *folder, int finished_steps)
{
    const kept_rows kept = {.from = folder, .step = finished_steps, .due = true, .evaluated = true};
    return open_table(&m->timing, folder, "timing.csv",
                      "step,seconds,tokens_per_s," RT_SESSION_COLUMNS, kept);
}

/* Adds the values of a step for TensorBoard, if it is asked for. */
static void add_event(rt_metrics *m, int step, const rt_step_result *r,
                      const rt_evaluation *evaluation)
{
    const rt_scalar scalars[] = {{"loss/training", r->loss},
                                 {"loss/evaluation", evaluation ? evaluation->loss : (double)NAN},
                                 {"accuracy/training", r->accuracy},
                                 {"accuracy/evaluation",
                                  evaluation ? evaluation->accuracy : (double)NAN},
                                 {"learning_rate", r->lr},
                                 {"gradient_norm/all", r->grad_norm},
                                 {"gradient_norm/theta", r->theta_grad_norm}};
    rt_event_file_add(&m->events, step, scalars, (int)(sizeof scalars / sizeof *scalars));
}

/* Opens a file of events, whose first record tells readers to drop those that metrics.csv has not
 * kept. If the row of the last step was kept without its evaluation, its event is written again. */
static rt_status open_events(rt_metrics *m, const char *folder, int step, bool evaluated,
                             bool logged)
{
    const int whole = evaluated ? step : step - 1; /* last step whose events are as they were */
    RT_CLOSED_BY(rt_csv_close) rt_csv csv = {0};
    int row;
    RT_TRY(rt_event_file_open(&m->events, RT_PATH_IN(folder, RT_EVENTS_FOLDER), whole));
    if (logged && !evaluated && rt_csv_open(&csv, folder, m->metrics.name))
        while (rt_csv_row(&csv))
            if (rt_csv_whole(&csv, "step", &row) && row == step)
                add_event(m, step,
                          &(rt_step_result){.loss = rt_csv_number(&csv, "loss"),
                                            .accuracy = rt_csv_number(&csv, "accuracy"),
                                            .lr = rt_csv_number(&csv, "lr"),
                                            .grad_norm = rt_csv_number(&csv, "grad_norm"),
                                            .theta_grad_norm =
                                                rt_csv_number(&csv, "theta_grad_norm")},
                          NULL);
    return rt_ok();
}

rt_status rt_metrics_open(rt_metrics *m, const rt_config *config, const rt_config *before,
                          const char *folder, int finished_steps, const char *session,
                          const char *const *trunk)
{
    /* The last step of a run is always recorded. If the run is continued, its tables must not show
     * that it once ended there. The steps that were due may differ from those that will be. */
    const rt_config *const configs[] = {config, before ? before : config};
    bool evaluated = false, logged = false, logs_theta = false;
    for (int i = 0; i < 2; i++) {
        evaluated |= finished_steps % configs[i]->train.eval_every == 0;
        const bool row = finished_steps % configs[i]->run.log_every == 0;
        logged |= row;
        logs_theta |= row && configs[i]->theta.log;
    }
    kept_rows kept = {.from = trunk ? trunk[0] : folder,
                      .of_trunk = trunk != NULL,
                      .step = finished_steps,
                      .due = evaluated || logged,
                      .evaluated = evaluated};
    *m = (rt_metrics){.config = config, .session = session};
    RT_TRY(
        open_table(&m->metrics, folder, "metrics.csv",
                   "step,tokens,loss,eval_loss,eval_accuracy,lr,grad_norm,accuracy,theta_grad_norm",
                   kept));
    RT_TRY(open_timing(m, folder, finished_steps));
    kept.evaluated = true;
    kept.due = evaluated || logs_theta;
    kept.from = trunk ? trunk[1] : folder;
    if (config->model.theta.learn)
        RT_TRY(open_table(&m->theta, folder, "theta.csv", "step,layer,head,i,theta,theta_initial",
                          kept));
    return config->run.tensorboard
               ? open_events(m, folder, finished_steps, evaluated, logged && !trunk)
               : rt_ok();
}

rt_status rt_metrics_theta(rt_metrics *m, const rt_training_state *state)
{
    RT_OWNED rt_theta_entry *list = NULL;
    int count;
    if (!m->theta.file)
        return rt_ok();
    RT_TRY(rt_theta_list(&list, &count, state->model));
    for (int i = 0; i < count; i++)
        add(&m->theta, "%d,%s,%s,%d,%.9g,%.9g\n", state->step, RT_THETA_PLACE(list[i].layer),
            RT_THETA_PLACE(list[i].head), list[i].pair, list[i].theta, list[i].start);
    return rt_ok();
}

static void add_timing(rt_metrics *m, int step, double seconds)
{
    add(&m->timing, "%d,%.3f,%.0f,%s\n", step, seconds,
        seconds > 0 ? (double)m->tokens / seconds : 0, m->session ? m->session : ",,,,");
    m->session = NULL;
}

void rt_metrics_session(rt_metrics *m, int step, double seconds)
{
    if (m->session)
        add_timing(m, step, seconds);
}

rt_status rt_metrics_add_session(const char *folder, int step, const char *session)
{
    rt_metrics m = {.session = session};
    const rt_status status = open_timing(&m, folder, step);
    if (!status.code)
        rt_metrics_session(&m, step, 0);
    rt_metrics_close(&m);
    return status;
}

rt_status rt_metrics_step(rt_metrics *m, const rt_training_state *state, const rt_step_result *r,
                          const rt_evaluation *evaluation, double seconds)
{
    m->tokens += r->tokens;
    if (!evaluation && state->step % m->config->run.log_every)
        return rt_ok();
    const long tokens = (long)state->sequences * m->config->data.length;
    add(&m->metrics, "%d,%ld,%.9g,", state->step, tokens, r->loss);
    if (evaluation)
        add(&m->metrics, "%.9g,%.9g", evaluation->loss, evaluation->accuracy);
    else
        add(&m->metrics, ",");
    add(&m->metrics, ",%.9g,%.9g,%.9g,%.9g\n", r->lr, r->grad_norm, r->accuracy,
        r->theta_grad_norm);
    add_timing(m, state->step, seconds);
    add_event(m, state->step, r, evaluation);
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
    rt_step_table *const tables[] = {&m->metrics, &m->theta, &m->timing};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (tables[i]->file)
            fclose(tables[i]->file);
        tables[i]->file = NULL;
    }
    rt_event_file_close(&m->events);
}

double rt_metrics_first_step(const char *folder, double accuracy)
{
    double first = (double)NAN;
    int step;
    RT_CLOSED_BY(rt_csv_close) rt_csv metrics = {0};
    if (rt_csv_open(&metrics, folder, "metrics.csv"))
        while (isnan(first) && rt_csv_row(&metrics))
            if (rt_csv_number(&metrics, "eval_accuracy") >= accuracy &&
                rt_csv_whole(&metrics, "step", &step))
                first = step;
    return first;
}
