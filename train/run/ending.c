#include "train/run/ending.h"

#include "core/memory.h"
#include "train/report/report.h"

#include <math.h>
#include <string.h>

rt_status rt_run_evaluate(rt_run *r, rt_evaluation *evaluation, bool *best)
{
    const rt_config *c = r->config;
    const int step = r->state->step;
    rt_status status = rt_trainer_evaluate(r->trainer, c->data.length, evaluation);
    if (!status.code && !isfinite(evaluation->loss))
        status = rt_error(RT_NONFINITE, "step %d: the loss of the evaluation is %g", step,
                          evaluation->loss);
    *best = !status.code && rt_evaluations_add(&r->evaluations, &c->train, step, evaluation->loss);
    rt_progress_evaluated(&r->progress, evaluation);
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

static void say(rt_run *r, rt_writer *w)
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
    say(r, &w);
}

/* Who asks for more steps than the run was to take gives it its patience anew. */
static void look_at_patience(rt_run *r)
{
    const rt_train_options *o = &r->config->train;
    rt_writer w = {0};
    if (!rt_evaluations_stalled(&r->evaluations, o))
        return;
    if (o->steps > r->steps_before) {
        rt_writer_add(&w,
                      "the run had stopped early at step %d; it continues, and train.patience is "
                      "counted from 0 again",
                      r->state->step);
        r->evaluations.stalled = 0;
    } else {
        r->finished = r->stopped_early = true;
        rt_writer_add(&w, "nothing is left to train: ");
        rt_early_stop_report(&w, r->state->step, o);
        say(r, &w);
        rt_writer_add(&w, "set a larger train.patience or more train.steps to continue the run");
    }
    say(r, &w);
}

/* A run is asked for its target where one that was never interrupted asks, after the steps that are
 * evaluated. */
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
        r->config->train.steps = r->state->step; /* what is told of it is what it has been */
        return rt_ok();
    }
    status = look_at_target(r);
    if (!status.code && !r->finished)
        look_at_patience(r);
    return status;
}
