#include "optim/options.h"

#include <math.h>

/* Returns the schedule that was in use at a step. */
static rt_past_schedule schedule_at(const rt_optimizer_options *o, int step)
{
    for (int i = 0; i < o->past_count; i++)
        if (step <= o->past[i].until)
            return o->past[i];
    return (rt_past_schedule){step, o->lr, o->schedule, o->min_lr_ratio, o->schedule_steps};
}

/* Returns the learning rate of a step for a schedule with the peak lr. */
static double rate_from(double lr, const rt_optimizer_options *o, int step)
{
    const double pi = 3.141592653589793;
    const rt_past_schedule s = schedule_at(o, step);
    const int done = step - 1;
    if (done < o->warmup_steps)
        return lr * step / o->warmup_steps;
    if (s.schedule == RT_SCHEDULE_CONSTANT)
        return lr;
    const double way = s.schedule_steps - o->warmup_steps;
    const double share = way > 0 ? fmin(1, (done - o->warmup_steps) / way) : 1;
    const double left = s.schedule == RT_SCHEDULE_COSINE ? (1 + cos(pi * share)) / 2 : 1 - share;
    return lr * (s.min_lr_ratio + (1 - s.min_lr_ratio) * left);
}

double rt_learning_rate(const rt_optimizer_options *o, int step)
{
    return rate_from(schedule_at(o, step).lr, o, step);
}

rt_rates rt_learning_rates(const rt_optimizer_options *o, int step)
{
    const double lr = rt_learning_rate(o, step);
    return (rt_rates){lr, o->matrix_lr > 0 ? rate_from(o->matrix_lr, o, step) : lr};
}
