#include "train/run/outcome.h"

#include "core/memory.h"
#include "train/run/stop.h"
#include "train/run/theta.h"
#include "util/csv.h"
#include "util/durable_file.h"
#include "util/utf8.h"
#include "util/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double nearly_all = 0.99; /* accuracy of RT_RESULT_FIRST_STEP */

rt_status rt_run_evaluate(const rt_run *r, rt_evaluation *e, int64_t *tally)
{
    RT_TRY(rt_trainer_evaluate(r->trainer, r->config->data.length, r->config->train.eval_batches, e,
                               tally));
    return isfinite(e->loss) ? rt_ok()
                             : rt_error(RT_NONFINITE, "step %d: the loss of the evaluation is %g",
                                        r->state->step, e->loss);
}

void rt_outcome_free(rt_outcome *o)
{
    rt_results_free(&o->results);
    rt_free(o->tallies);
    rt_free(o->scores);
    rt_free(o->tolerances);
}

/* Returns whether a length is that of the training, which tables begin with. */
static bool is_trained(const rt_config *c, int length)
{
    return !c->data.shortest && length == c->data.length;
}

enum { SHOWN = 20 }; /* largest number of printed rows */

/* Returns the number of characters; nearly all are one column wide. */
static int width_of(const char *text)
{
    return (int)rt_utf8_count((const unsigned char *)text, strlen(text));
}

/* Computes the scores. Prints the macro F1 and a table of the classes that occur or are predicted,
 * or of those with the lowest F1. */
static void report_classes(rt_outcome *o)
{
    static const char heading[] = "label";
    const int classes = o->labels->count;
    int chosen[SHOWN], width = width_of(heading);
    const rt_macro_score macro = rt_scores_find(o->scores, o->tallies, classes);
    const int count = rt_scores_lowest(chosen, o->scores, classes, SHOWN);
    for (int i = 0; i < count; i++) {
        const int own = width_of(RT_QUOTED(o->labels->names[chosen[i]]));
        width = own > width ? own : width;
    }
    printf("macro F1 %.4f (%d classes)\n", macro.f1, macro.classes);
    printf("%s%*s  precision  recall      F1     count\n", heading, width - width_of(heading), "");
    for (int i = 0; i < count; i++) {
        const rt_class_score *s = o->scores + chosen[i];
        const char *quoted = RT_QUOTED(o->labels->names[chosen[i]]);
        printf("%s%*s  %9.4f  %6.4f  %6.4f  %8" PRId64 "\n", quoted, width - width_of(quoted), "",
               s->precision, s->recall, s->f1, s->count);
    }
    if (count < macro.classes)
        printf("these are the %d of the %d classes with the lowest F1\n", count, macro.classes);
    rt_results_put(&o->results, o->evaluation.accuracy, RT_RESULT_LABEL_ACCURACY);
    rt_results_put(&o->results, macro.f1, RT_RESULT_MACRO_F1);
}

/* Writes the table of all classes, and the nonzero cells of the confusion matrix. */
static rt_status record_classes(const rt_outcome *o, const char *folder)
{
    const int classes = o->labels->count;
    rt_writer w = {0};
    rt_writer_add(&w, "label,precision,recall,f1,count\n");
    for (int c = 0; c < classes; c++) {
        const rt_class_score *s = o->scores + c;
        rt_csv_put(&w, o->labels->names[c]);
        rt_writer_add(&w, ",%.9g,%.9g,%.9g,%" PRId64 "\n", s->precision, s->recall, s->f1,
                      s->count);
    }
    RT_TRY(rt_durable_write_and_free(folder, "classes.csv", rt_writer_take(&w)));
    rt_writer_add(&w, "true,predicted,count\n");
    for (int c = 0; c < classes; c++)
        for (int k = 0; k < classes; k++) {
            const int64_t pairs = o->tallies[(size_t)c * (size_t)classes + (size_t)k];
            if (!pairs)
                continue;
            rt_csv_put(&w, o->labels->names[c]);
            rt_writer_add(&w, ",");
            rt_csv_put(&w, o->labels->names[k]);
            rt_writer_add(&w, ",%" PRId64 "\n", pairs);
        }
    return rt_durable_write_and_free(folder, "confusion.csv", rt_writer_take(&w));
}

/* Writes the accuracy of labels by length of the sequence and distance to the answer. */
static rt_status record_distances(const rt_outcome *o, const rt_config *c, const char *folder)
{
    const rt_lengths *lengths = &c->train.eval_lengths;
    const int64_t *tally = o->tallies;
    rt_writer w = {0};
    rt_writer_add(&w, "length,distance,to,labels,eval_accuracy\n");
    for (int i = -1; i < lengths->count; i++)
        for (int bin = 0; bin < RT_DISTANCE_BINS; bin++, tally += 2) {
            if (!tally[0] || (i >= 0 && is_trained(c, lengths->at[i])))
                continue;
            rt_writer_add(&w, "%d,%d,%d,%" PRId64, i < 0 ? c->data.length : lengths->at[i],
                          rt_distance_first(bin), rt_distance_first(bin + 1) - 1, tally[0]);
            rt_csv_add_number(&w, (double)tally[1] / (double)tally[0]);
            rt_writer_add(&w, "\n");
        }
    return rt_durable_write_and_free(folder, "distances.csv", rt_writer_take(&w));
}

/* Prints an evaluation and adds it to the results. `length`, of images the size, is 0 for that of
 * the training. */
static void report_evaluation(rt_outcome *o, const rt_run *r, const rt_evaluation *e, int length)
{
    const double exact = (double)e->exact / (double)e->sequences;
    const char *word = rt_config_extent_word(r->config);
    const char *at = length ? RT_PRINTED(32, " at %s %d", word, length) : "";
    const char *answers = r->data->options.shortest ? RT_PRINTED(32, ", exact %.4f", exact) : "";
    printf("eval%s: loss %.6g, accuracy %.4f%s (%ld sequences, %ld labels)\n", at, e->loss,
           e->accuracy, answers, e->sequences, e->labels);
    rt_results_put(&o->results, e->loss, RT_RESULT_OF(RT_RESULT_LOSS, length));
    rt_results_put(&o->results, e->accuracy, RT_RESULT_OF(RT_RESULT_ACCURACY, length));
    if (*answers)
        rt_results_put(&o->results, exact, RT_RESULT_OF(RT_RESULT_EXACT, length));
}

/* Evaluates at the trained length. For labelled data also fills the confusion matrix. */
static rt_status evaluate_outcome(rt_outcome *o, const rt_run *r)
{
    const rt_config *c = r->config;
    const rt_evaluation *e = &o->evaluation;
    const size_t lengths = 1 + (size_t)c->train.eval_lengths.count;
    const bool counts = r->data->labels || r->data->task->distances;
    rt_writer w = {0};
    o->labels = r->data->labels;
    if (counts)
        o->tallies = rt_alloc(lengths * rt_trainer_tally_size(r->trainer), sizeof *o->tallies);
    if (o->labels)
        o->scores = rt_alloc((size_t)o->labels->count, sizeof *o->scores);
    if ((counts && !o->tallies) || (o->labels && !o->scores))
        return rt_out_of_memory("counts of an evaluation");
    RT_TRY(rt_run_evaluate(r, &o->evaluation, o->tallies));
    report_evaluation(o, r, e, 0);
    if (c->data.objective == RT_OBJECTIVE_LM && e->bytes) {
        rt_results_put(&o->results, e->loss * (double)e->labels / ((double)e->bytes * log(2)),
                       RT_RESULT_BITS_PER_BYTE);
        rt_results_put(&o->results, (double)e->bytes, RT_RESULT_BYTES);
    }
    o->target_missed = e->accuracy < c->train.target_accuracy && r->stage != RT_STAGE_TARGET;
    if (o->labels)
        report_classes(o);
    rt_perplexity_report(&w, &o->results, c);
    const double limit = rt_divergence_limit(&r->state->model->options);
    if (r->state->step && !(e->loss <= limit)) { /* an untrained model has not diverged */
        rt_divergence_report(&w, e->loss, limit);
        rt_results_put(&o->results, limit, RT_RESULT_DIVERGED);
    }
    return rt_writer_print(&w, stdout);
}

rt_status rt_outcome_evaluate(rt_outcome *o, const rt_run *r)
{
    const rt_lengths *lengths = &r->config->train.eval_lengths;
    *o = (rt_outcome){0};
    rt_results_put(&o->results, r->last_step ? r->last_step : r->state->step, RT_RESULT_STEPS);
    if (r->last_step) {
        rt_results_put(&o->results, r->state->step, RT_RESULT_MODEL_STEP);
        rt_results_put(&o->results, r->evaluations.loss, RT_RESULT_LAST_LOSS);
    }
    RT_TRY(evaluate_outcome(o, r));
    for (int i = 0; i < lengths->count; i++) {
        const int length = lengths->at[i];
        rt_evaluation e;
        int64_t *tally = r->data->task->distances
                             ? o->tallies + (size_t)(i + 1) * rt_trainer_tally_size(r->trainer)
                             : NULL;
        RT_TRY(rt_trainer_evaluate(r->trainer, length, r->config->train.eval_batches, &e, tally));
        report_evaluation(o, r, &e, rt_config_extent(r->config, i));
    }
    return rt_ok();
}

/* Returns the tolerances of all pairs from theta_final.csv, if `known` and none is missing there;
 * otherwise measures them. */
static rt_status find_tolerances(rt_outcome *o, const rt_run *r, bool known)
{
    const size_t count = rt_transformer_theta_count(&r->state->model->options);
    rt_csv csv;
    size_t n = 0;
    bool valid = known;
    if (!r->config->theta.tolerances)
        return rt_ok();
    o->tolerances = rt_alloc(count, sizeof *o->tolerances);
    RT_TRY(rt_allocated(o->tolerances, "the tolerances of theta"));
    if (known && rt_csv_open(&csv, r->folder.path, "theta_final.csv"))
        for (; valid && rt_csv_row(&csv); n++) {
            const double down = rt_csv_number(&csv, RT_TOLERANCE_DOWN);
            const double up = rt_csv_number(&csv, RT_TOLERANCE_UP);
            valid = n < count && down >= 0 && up >= 0;
            if (valid)
                o->tolerances[n] = (rt_theta_tolerance){down, up};
        }
    if (known)
        rt_csv_close(&csv);
    if (valid && n == count)
        return rt_ok();
    return rt_theta_tolerances(r->trainer, r->config->data.length, o->tolerances, rt_stop_requested,
                               &o->stopped);
}

/* Evaluates the model with theta reset to its initial value and, if that is `elsewhere`, also to
 * base^(-2i/R). Prints the effects and adds them to the results. Results in `before` are reused. */
static rt_status reset_theta(rt_outcome *o, const rt_results *before, const rt_run *r,
                             bool elsewhere)
{
    const rt_config *c = r->config;
    const rt_transformer *model = r->state->model;
    const rt_shape shape = rt_transformer_theta_shape(&model->options);
    RT_OWNED double *geometric = rt_alloc(rt_shape_size(shape), sizeof *geometric);
    RT_TRY(rt_allocated(geometric, "theta"));
    rt_transformer_theta_geometric(&model->options, shape, geometric);
    for (int i = 0; i < 1 + elsewhere; i++) {
        const rt_reset_names *n = &rt_theta_resets[i];
        rt_writer w = {0};
        rt_evaluation e = {.loss = rt_results_get(before, n->loss),
                           .accuracy = rt_results_get(before, n->accuracy)};
        if (isnan(e.accuracy))
            RT_TRY(rt_theta_evaluate(r->trainer, c->data.length, c->train.eval_batches,
                                     i ? geometric : rt_transformer_theta_start(model), NULL, &e));
        const rt_theta_reset reset = {o->evaluation.loss, o->evaluation.accuracy, e.loss,
                                      e.accuracy};
        rt_theta_report_reset(&w, n->place, &reset);
        RT_TRY(rt_writer_print(&w, stdout));
        rt_results_put(&o->results, e.loss, n->loss);
        rt_results_put(&o->results, e.accuracy, n->accuracy);
        if (i)
            continue;
        const bool needed = rt_theta_reset_hurts(&reset);
        o->theta_needed = c->theta.check == RT_THETA_CHECK_UNNEEDED && needed;
        rt_results_put(&o->results, needed, RT_RESULT_NEEDED);
    }
    return rt_ok();
}

/* Prints the report on a learned theta, with its table after a training, and adds it to the
 * results. */
static rt_status report_theta(rt_outcome *o, const rt_run *r, const rt_results *before)
{
    const rt_config *c = r->config;
    rt_theta_verdict v;
    rt_writer w = {0};
    RT_TRY(find_tolerances(o, r, before->count > 0));
    if (o->stopped)
        return rt_ok();
    RT_TRY(rt_theta_judge(&v, r->state->model, c));
    if (r->arguments->command != RT_COMMAND_EVAL || o->tolerances) /* that were asked for */
        RT_TRY(rt_theta_table(&w, r->state->model, c, r->state->step, o->tolerances));
    rt_theta_report_verdict(&w, &v, c);
    RT_TRY(rt_writer_print(&w, stdout));
    o->theta_moved = c->theta.check == RT_THETA_CHECK_UNMOVED && !v.near;
    rt_results_put(&o->results, v.near, RT_RESULT_NEAR);
    rt_results_put(&o->results, v.change.value, RT_RESULT_CHANGE);
    rt_results_put(&o->results, v.mean_change, RT_RESULT_MEAN_CHANGE);
    if (rt_transformer_turns_by_position(&c->model))
        rt_results_put(&o->results, v.phase.value, RT_RESULT_PHASE);
    rt_results_put(&o->results, v.from_start.value, RT_RESULT_START_CHANGE);
    rt_results_put(&o->results, v.cosine, RT_RESULT_COSINE);
    return reset_theta(o, before, r, v.elsewhere);
}

rt_status rt_outcome_print(rt_outcome *o, rt_run *r, bool ended_before)
{
    const rt_config *c = r->config;
    RT_CLOSED_BY(rt_results_free)
    rt_results before = {0}; /* results of a run that had ended at the step of the model */
    int step;
    if (c->model.theta.learn && ended_before && rt_results_read(&before, r->folder.path) &&
        !(rt_results_model_step(&before, &step) && step == r->state->step))
        rt_results_free(&before);
    if (c->model.theta.learn && c->theta.tolerances && !before.count) { /* it can take long */
        const size_t count = rt_transformer_theta_count(&r->state->model->options);
        rt_run_note(
            r, "measuring how far each of %zu theta can change: up to %zu evaluations of one batch",
            count, 2 * RT_THETA_EVALUATIONS * count);
    }
    RT_TRY(rt_outcome_evaluate(o, r));
    return c->model.theta.learn ? report_theta(o, r, &before) : rt_ok();
}

rt_status rt_outcome_record(rt_outcome *o, const rt_run *r, rt_exit code)
{
    const rt_config *c = r->config;
    const rt_lengths *lengths = &c->train.eval_lengths;
    const char *folder = r->folder.path;
    const rt_results *results = &o->results;
    rt_writer w = {0};
    rt_results_put(&o->results, rt_metrics_first_step(folder, nearly_all), RT_RESULT_FIRST_STEP);
    rt_results_put(&o->results, (int)code, RT_RESULT_EXIT_CODE);
    const bool evaluated = !isnan(rt_results_get(results, RT_RESULT_LOSS));
    if (c->train.eval_lengths.count && evaluated) {
        const bool exact = r->data->options.shortest > 0;
        rt_writer_add(&w, "%s,eval_loss,eval_accuracy%s\n", rt_config_extent_word(c),
                      exact ? ",eval_exact" : "");
        for (int i = -1; i < lengths->count; i++) {
            const int length = i < 0 ? 0 : rt_config_extent(c, i);
            if (i >= 0 && is_trained(c, lengths->at[i]))
                continue;
            if (i < 0 && exact)
                rt_writer_add(&w, "%d..", c->data.shortest);
            rt_writer_add(&w, "%d", rt_config_extent(c, i));
            rt_csv_add_number(&w, rt_results_get(results, RT_RESULT_OF(RT_RESULT_LOSS, length)));
            rt_csv_add_number(&w,
                              rt_results_get(results, RT_RESULT_OF(RT_RESULT_ACCURACY, length)));
            if (exact)
                rt_csv_add_number(&w,
                                  rt_results_get(results, RT_RESULT_OF(RT_RESULT_EXACT, length)));
            rt_writer_add(&w, "\n");
        }
        RT_TRY(rt_durable_write_and_free(folder, "lengths.csv", rt_writer_take(&w)));
    }
    if (o->labels && evaluated)
        RT_TRY(record_classes(o, folder));
    if (o->tallies && !o->labels && evaluated)
        RT_TRY(record_distances(o, c, folder));
    if (c->model.theta.learn)
        RT_TRY(rt_durable_write_and_free(folder, "theta_final.csv",
                                         rt_theta_csv(r->state->model, c, o->tolerances)));
    return rt_results_write(&o->results, folder);
}
