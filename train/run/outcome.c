#include "train/run/outcome.h"

#include "core/memory.h"
#include "text/durable_file.h"
#include "text/writer.h"
#include "train/report/report.h"
#include "train/report/theta_report.h"
#include "train/run/metrics.h"
#include "train/run/theta_outcome.h"

#include <math.h>
#include <stdio.h>

static const double nearly_all = 0.99; /* of RT_RESULT_FIRST_STEP */

void rt_outcome_free(rt_outcome *o)
{
    rt_results_free(&o->results);
    rt_class_outcome_free(&o->classes);
    rt_free(o->tolerances);
    o->tolerances = NULL;
}

/* ---- printing ---- */

static rt_status print(rt_writer *w)
{
    char *text = rt_writer_take(w);
    if (!text)
        return rt_out_of_memory("the results");
    fputs(text, stdout);
    rt_free(text);
    return rt_ok();
}

static rt_status report_divergence(rt_outcome *o, double limit)
{
    rt_writer w = {0};
    rt_divergence_report(&w, o->evaluation.loss, limit);
    rt_results_put(&o->results, limit, RT_RESULT_DIVERGED);
    return print(&w);
}

static rt_status report_classes(rt_outcome *o)
{
    rt_writer w = {0};
    rt_class_outcome_report(&w, &o->classes);
    rt_results_put(&o->results, o->evaluation.accuracy, RT_RESULT_LABEL_ACCURACY);
    rt_results_put(&o->results, o->classes.macro.f1, RT_RESULT_MACRO_F1);
    return print(&w);
}

/* Counts what each class is taken for where there are labels. */
static rt_status find_loss(rt_outcome *o, const rt_config *c, rt_trainer *trainer)
{
    rt_evaluation *e = &o->evaluation;
    rt_status status = rt_class_outcome_new(&o->classes, rt_trainer_data(trainer));
    if (status.code)
        return status;
    return o->classes.labels
               ? rt_trainer_confusion(trainer, c->data.length, e, o->classes.confusion)
               : rt_trainer_evaluate(trainer, c->data.length, e);
}

static rt_status evaluate(rt_outcome *o, const rt_config *c, rt_trainer *trainer)
{
    rt_evaluation *e = &o->evaluation;
    rt_status status = find_loss(o, c, trainer);
    if (!status.code && !isfinite(e->loss))
        status = rt_error(RT_NONFINITE, "step %d: the loss of the evaluation is %g",
                          rt_trainer_state(trainer)->step, e->loss);
    if (status.code)
        return status;
    printf("eval: loss %.6g, accuracy %.4f (%ld sequences, %ld labels)\n", e->loss, e->accuracy,
           e->sequences, e->labels);
    rt_results_put(&o->results, e->loss, RT_RESULT_LOSS);
    rt_results_put(&o->results, e->accuracy, RT_RESULT_ACCURACY);
    if (c->data.objective == RT_OBJECTIVE_LM && e->bytes)
        rt_results_put(&o->results, e->loss * (double)e->labels / ((double)e->bytes * log(2)),
                       RT_RESULT_BITS_PER_BYTE);
    o->target_missed = e->accuracy < c->train.target_accuracy;
    if (o->classes.labels)
        status = report_classes(o);
    if (status.code)
        return status;
    const double limit = rt_divergence_limit(&rt_trainer_state(trainer)->model->options);
    const bool trained = rt_trainer_state(trainer)->step > 0; /* here, and not by somebody else */
    return trained && e->loss > limit ? report_divergence(o, limit) : rt_ok();
}

static rt_status evaluate_lengths(rt_outcome *o, const rt_config *c, rt_trainer *trainer)
{
    const rt_lengths *lengths = &c->train.eval_lengths;
    rt_status status = rt_ok();
    for (int i = 0; i < lengths->count && !status.code; i++) {
        const int length = lengths->at[i];
        rt_evaluation e;
        status = rt_trainer_evaluate(trainer, length, &e);
        if (status.code)
            break;
        printf("eval at length %d: loss %.6g, accuracy %.4f (%ld sequences, %ld labels)\n", length,
               e.loss, e.accuracy, e.sequences, e.labels);
        rt_results_put(&o->results, e.loss, RT_RESULT_LOSS_AT "%d", length);
        rt_results_put(&o->results, e.accuracy, RT_RESULT_ACCURACY_AT "%d", length);
    }
    return status;
}

rt_status rt_outcome_evaluate(rt_outcome *o, const rt_config *config, rt_trainer *trainer)
{
    *o = (rt_outcome){0};
    rt_results_put(&o->results, rt_trainer_state(trainer)->step, RT_RESULT_STEPS);
    rt_status status = evaluate(o, config, trainer);
    return status.code ? status : evaluate_lengths(o, config, trainer);
}

rt_status rt_outcome_print(rt_outcome *o, const rt_config *config, rt_trainer *trainer,
                           const char *folder)
{
    rt_status status = rt_outcome_evaluate(o, config, trainer);
    return status.code ? status : rt_theta_outcome(o, config, trainer, folder);
}

/* ---- recording ---- */

static void add_length(rt_writer *w, int length, double loss, double accuracy)
{
    rt_writer_add(w, "%d", length);
    rt_csv_add_number(w, loss);
    rt_csv_add_number(w, accuracy);
    rt_writer_add(w, "\n");
}

static char *list_lengths(const rt_outcome *o, const rt_config *c)
{
    const rt_lengths *lengths = &c->train.eval_lengths;
    rt_writer w = {0};
    rt_writer_add(&w, "length,eval_loss,eval_accuracy\n");
    add_length(&w, c->data.length, o->evaluation.loss, o->evaluation.accuracy);
    for (int i = 0; i < lengths->count; i++)
        add_length(&w, lengths->at[i],
                   rt_results_get(&o->results, RT_RESULT_LOSS_AT "%d", lengths->at[i]),
                   rt_results_get(&o->results, RT_RESULT_ACCURACY_AT "%d", lengths->at[i]));
    return rt_writer_take(&w);
}

static rt_status record_classes(const rt_outcome *o, const char *folder)
{
    rt_writer classes = {0}, confusion = {0};
    rt_class_outcome_classes(&classes, &o->classes);
    rt_status status = rt_durable_given(folder, "classes.csv", rt_writer_take(&classes));
    if (status.code)
        return status;
    rt_class_outcome_confusion(&confusion, &o->classes);
    return rt_durable_given(folder, "confusion.csv", rt_writer_take(&confusion));
}

rt_status rt_outcome_record(rt_outcome *o, const rt_config *config, const rt_transformer *model,
                            const char *folder, int exit_code)
{
    rt_status status = rt_ok();
    rt_results_put(&o->results, rt_metrics_first_step(folder, nearly_all), RT_RESULT_FIRST_STEP);
    rt_results_put(&o->results, exit_code, RT_RESULT_EXIT_CODE);
    const bool evaluated = !isnan(rt_results_get(&o->results, RT_RESULT_LOSS));
    if (config->train.eval_lengths.count && evaluated)
        status = rt_durable_given(folder, "lengths.csv", list_lengths(o, config));
    if (!status.code && o->classes.labels && evaluated)
        status = record_classes(o, folder);
    if (!status.code && config->model.theta.learn)
        status =
            rt_durable_given(folder, "theta_final.csv", rt_theta_csv(model, config, o->tolerances));
    return status.code ? status : rt_results_write(&o->results, folder);
}
