/* When a run has ended: it has taken all its steps, reached train.target_accuracy, or exhausted
 * train.patience. */

#include "train/run/state.h"

#include "core/memory.h"
#include "train/report/report.h"

#include <math.h>
#include <string.h>

/* ---- evaluations ---- */

rt_evaluations rt_evaluations_none(void)
{
    return (rt_evaluations){.loss = INFINITY, .best_loss = INFINITY, .reference = INFINITY};
}

bool rt_evaluations_add(rt_evaluations *e, const rt_train_options *o, int step, double loss)
{
    e->loss = loss;
    if (step % o->eval_every)
        return false;
    const bool improved = loss < e->reference && loss <= e->reference - o->min_delta;
    e->stalled = improved ? 0 : e->stalled + 1;
    if (improved)
        e->reference = loss;
    const bool best = loss < e->best_loss;
    if (best) {
        e->best_loss = loss;
        e->best_step = step;
    }
    return best;
}

bool rt_evaluations_stalled(const rt_evaluations *e, const rt_train_options *o)
{
    return o->patience && e->stalled >= o->patience;
}

void rt_evaluations_put(const rt_evaluations *e, rt_checkpoint_info *info)
{
    info->eval_loss = e->loss;
    info->best_eval_loss = e->best_loss;
    info->best_eval_step = e->best_step;
    info->patience_loss = e->reference;
    info->patience_count = e->stalled;
}

rt_evaluations rt_evaluations_of(const rt_checkpoint_info *info)
{
    return (rt_evaluations){.loss = info->eval_loss,
                            .best_loss = info->best_eval_loss,
                            .best_step = (int)info->best_eval_step,
                            .reference = info->patience_loss,
                            .stalled = (int)info->patience_count};
}

/* ---- the end ---- */

rt_status rt_run_evaluate(rt_run *r, rt_evaluation *evaluation, bool *best)
{
    const rt_config *c = r->config;
    const int step = r->state->step;
    rt_status status = rt_trainer_evaluate(r->trainer, c->data.length, evaluation);
    if (!status.code && !isfinite(evaluation->loss))
        status = rt_error(RT_NONFINITE, "step %d: the loss of the evaluation is %g", step,
                          evaluation->loss);
    *best = !status.code && rt_evaluations_add(&r->evaluations, &c->train, step, evaluation->loss);
    r->progress.eval_accuracy = evaluation->accuracy;
    return status;
}

static bool reached_target(const rt_config *c, const rt_evaluation *evaluation)
{
    return c->train.target_accuracy > 0 && evaluation->accuracy >= c->train.target_accuracy;
}

void rt_run_look_for_end(rt_run *r, const rt_evaluation *evaluation)
{
    const rt_config *c = r->config;
    const bool last = r->state->step >= c->train.steps;
    r->finished = last || (evaluation && reached_target(c, evaluation));
    r->stopped_early =
        !r->finished && evaluation && rt_evaluations_stalled(&r->evaluations, &c->train);
    r->finished |= r->stopped_early;
}

/* Prints the first line of a text, and releases the text. */
static void say_line(rt_run *r, rt_writer *w)
{
    if (w->bytes && !r->arguments->quiet)
        rt_progress_say(&r->progress, "%.*s", (int)strcspn(w->bytes, "\n"), w->bytes);
    rt_writer_free(w);
}

static void say_all_steps_are_taken(rt_run *r)
{
    const int step = r->state->step, steps = r->config->train.steps;
    rt_writer w = {0};
    rt_writer_add(&w, "nothing is left to train: the run has taken %d steps", step);
    if (step > steps)
        rt_writer_add(&w, ", more than train.steps = %d", steps);
    say_line(r, &w);
}

/* Finds whether train.patience has run out. A run that is given more steps begins to count anew. */
static void look_at_patience(rt_run *r)
{
    const rt_train_options *o = &r->config->train;
    rt_writer w = {0};
    if (!rt_evaluations_stalled(&r->evaluations, o))
        return;
    if (!r->before || o->steps > r->before->train.steps) {
        rt_writer_add(&w,
                      "the run had stopped early at step %d; it continues, and train.patience is "
                      "counted from 0 again",
                      r->state->step);
        r->evaluations.stalled = 0;
    } else {
        r->finished = r->stopped_early = true;
        rt_writer_add(&w, "nothing is left to train: ");
        rt_early_stop_report(&w, r->state->step, o);
        say_line(r, &w);
        rt_writer_add(&w, "set a larger train.patience or more train.steps to continue the run");
    }
    say_line(r, &w);
}

/* Finds whether the target is reached, at the same steps as a run that was never interrupted. */
static rt_status look_at_target(rt_run *r)
{
    rt_evaluation evaluation;
    const rt_config *c = r->config;
    const int step = r->state->step;
    if (!step || c->train.target_accuracy <= 0 || step % c->train.eval_every)
        return rt_ok();
    rt_status status = rt_trainer_evaluate(r->trainer, c->data.length, &evaluation);
    r->finished = !status.code && reached_target(c, &evaluation);
    return status;
}

rt_status rt_run_look_whether_ended(rt_run *r)
{
    rt_status status = rt_ok();
    r->finished = r->state->step >= r->config->train.steps;
    if (r->finished) {
        say_all_steps_are_taken(r);
        r->config->train.steps = r->state->step; /* reports give the steps that were taken */
        return rt_ok();
    }
    status = look_at_target(r);
    if (!status.code && !r->finished)
        look_at_patience(r);
    return status;
}
