#include "train/run/theta_outcome.h"

#include "core/memory.h"
#include "text/csv.h"
#include "train/report/theta_report.h"
#include "train/run/stop.h"

#include <math.h>
#include <stdio.h>

/* The results of a run that has ended where the model stands; empty if there are none. */
static rt_results results_before(const char *folder, rt_trainer *trainer)
{
    rt_results before = {0};
    int step;
    if (folder && rt_results_read(&before, folder) &&
        !(rt_results_whole(&before, RT_RESULT_STEPS, &step) &&
          step == rt_trainer_state(trainer)->step))
        rt_results_free(&before);
    return before;
}

/* What the table of the pairs in the folder says; false if it does not say all. */
static bool read_tolerances(rt_theta_tolerance *tolerances, size_t count, const char *folder)
{
    rt_csv csv;
    size_t n = 0;
    bool valid = true;
    if (rt_csv_open(&csv, folder, "theta_final.csv"))
        for (; valid && rt_csv_row(&csv); n++) {
            const double down = rt_csv_number(&csv, RT_TOLERANCE_DOWN);
            const double up = rt_csv_number(&csv, RT_TOLERANCE_UP);
            valid = n < count && down >= 0 && up >= 0;
            if (valid)
                tolerances[n] = (rt_theta_tolerance){down, up};
        }
    rt_csv_close(&csv);
    return valid && n == count;
}

static rt_status find_tolerances(rt_outcome *o, const rt_config *c, rt_trainer *trainer,
                                 const char *folder)
{
    const rt_transformer *model = rt_trainer_state(trainer)->model;
    const size_t count = rt_transformer_theta_count(&model->options);
    if (!c->theta.tolerances)
        return rt_ok();
    o->tolerances = rt_alloc(count, sizeof *o->tolerances);
    if (!o->tolerances)
        return rt_out_of_memory("the tolerances of theta");
    if (folder && read_tolerances(o->tolerances, count, folder))
        return rt_ok();
    return rt_theta_tolerances(trainer, c->data.length, o->tolerances, rt_stop_requested,
                               &o->stopped);
}

/* Resets theta to `theta`, prints what that does to the model, and keeps it as results. */
static rt_status reset_to(rt_outcome *o, const rt_results *before, const rt_config *c,
                          rt_trainer *trainer, const double *theta, bool base, bool *hurts)
{
    const char *loss = base ? RT_RESULT_RESET_BASE_LOSS : RT_RESULT_RESET_LOSS;
    const char *accuracy = base ? RT_RESULT_RESET_BASE_ACCURACY : RT_RESULT_RESET_ACCURACY;
    rt_writer w = {0};
    rt_evaluation e = {.loss = rt_results_get(before, "%s", loss),
                       .accuracy = rt_results_get(before, "%s", accuracy)};
    if (isnan(e.accuracy)) {
        rt_status status =
            rt_theta_evaluate(trainer, c->data.length, c->train.eval_batches, theta, &e);
        if (status.code)
            return status;
    }
    const rt_theta_reset reset = {o->evaluation.loss, o->evaluation.accuracy, e.loss, e.accuracy};
    rt_theta_report_reset(&w, base ? RT_THETA_BASE_PLACE : RT_THETA_INIT_PLACE, &reset);
    char *line = rt_writer_take(&w);
    if (!line)
        return rt_out_of_memory("a report on theta");
    fputs(line, stdout);
    rt_free(line);
    rt_results_put(&o->results, e.loss, "%s", loss);
    rt_results_put(&o->results, e.accuracy, "%s", accuracy);
    *hurts = rt_theta_reset_hurts(&reset);
    return rt_ok();
}

/* To its initial value, and to base^(-2i/R) if that is another. */
static rt_status reset_theta(rt_outcome *o, const rt_results *before, const rt_config *c,
                             rt_trainer *trainer, bool elsewhere)
{
    const rt_transformer *model = rt_trainer_state(trainer)->model;
    const size_t count = rt_transformer_theta_count(&model->options);
    double *geometric;
    bool needed = false, base_hurts;
    rt_status status =
        reset_to(o, before, c, trainer, rt_transformer_theta_start(model), false, &needed);
    if (status.code)
        return status;
    o->theta_needed = c->theta.check == RT_THETA_CHECK_UNNEEDED && needed;
    rt_results_put(&o->results, needed, RT_RESULT_NEEDED);
    if (!elsewhere)
        return rt_ok();
    geometric = rt_alloc(count, sizeof *geometric);
    if (!geometric)
        return rt_out_of_memory("theta");
    rt_transformer_theta_geometric(&model->options, geometric);
    status = reset_to(o, before, c, trainer, geometric, true, &base_hurts);
    rt_free(geometric);
    return status;
}

rt_status rt_theta_outcome(rt_outcome *o, const rt_config *c, rt_trainer *trainer,
                           const char *folder)
{
    const rt_training_state *state = rt_trainer_state(trainer);
    rt_theta_verdict v;
    if (!c->model.theta.learn)
        return rt_ok();
    rt_results before = results_before(folder, trainer);
    rt_status status = find_tolerances(o, c, trainer, before.count ? folder : NULL);
    if (o->stopped) {
        rt_results_free(&before);
        return status;
    }
    if (!status.code)
        status = rt_theta_print(stdout, state->model, c, state->step, o->tolerances);
    if (!status.code)
        status = rt_theta_judge(&v, state->model, c);
    if (!status.code) {
        o->theta_moved = c->theta.check == RT_THETA_CHECK_UNMOVED && !v.near;
        rt_results_put(&o->results, v.near, RT_RESULT_NEAR);
        rt_results_put(&o->results, v.drift.value, RT_RESULT_DRIFT);
        rt_results_put(&o->results, v.mean_drift, RT_RESULT_MEAN_DRIFT);
        rt_results_put(&o->results, v.phase.value, RT_RESULT_PHASE);
        rt_results_put(&o->results, v.from_start.value, RT_RESULT_DRIFT_FROM_START);
        rt_results_put(&o->results, v.cosine, RT_RESULT_COSINE);
        status = reset_theta(o, &before, c, trainer, v.elsewhere);
    }
    rt_results_free(&before);
    return status;
}
