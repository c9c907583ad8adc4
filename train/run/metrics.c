/* The tables that a run fills in by step. */

#include "train/run/metrics.h"

#include "core/memory.h"
#include "text/csv.h"
#include "text/text_file.h"
#include "train/folder/session.h"
#include "train/report/report.h"

#include <math.h>

rt_status rt_metrics_open(rt_metrics *m, const rt_config *config, const char *folder,
                          int finished_steps, const char *session)
{
    /* The last step of a run is recorded whatever its number; a run that goes on past it must not
     * show that it once ended there. */
    const bool evaluated = finished_steps % config->train.eval_every == 0;
    const bool logged = finished_steps % config->run.log_every == 0;
    char path[RT_PATH_SIZE];
    *m = (rt_metrics){.config = config, .session = session};
    rt_status status = rt_step_table_open(
        &m->metrics, folder, "metrics.csv",
        "step,tokens,loss,eval_loss,eval_accuracy,lr,grad_norm,accuracy,theta_grad_norm",
        (rt_kept_rows){finished_steps, evaluated || logged, evaluated});
    if (!status.code)
        status = rt_step_table_open(&m->timing, folder, "timing.csv",
                                    "step,seconds,tokens_per_s," RT_SESSION_COLUMNS,
                                    (rt_kept_rows){finished_steps, true, true});
    if (!status.code && config->model.theta.learn)
        status =
            rt_step_table_open(&m->theta, folder, "theta.csv",
                               "step,layer,head,i,theta,theta_initial",
                               (rt_kept_rows){finished_steps,
                                              evaluated || (config->theta.log && logged), true});
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
