#include "train/run/evaluations.h"

#include <math.h>

rt_evaluations rt_evaluations_none(void)
{
    return (rt_evaluations){.loss = INFINITY, .best_loss = INFINITY, .reference = INFINITY};
}

static void count(rt_evaluations *e, double loss, double least)
{
    const bool improved = loss < e->reference && loss <= e->reference - least;
    e->stalled = improved ? 0 : e->stalled + 1;
    if (improved)
        e->reference = loss;
}

bool rt_evaluations_add(rt_evaluations *e, const rt_train_options *o, int step, double loss)
{
    e->loss = loss;
    if (step % o->eval_every)
        return false;
    count(e, loss, o->min_delta);
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
