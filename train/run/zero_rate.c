#include "train/run/zero_rate.h"

#include "optim/schedule.h"

int rt_zero_rate_from(const rt_config *config, int step)
{
    const rt_optimizer_options *o = &config->optimizer;
    if (o->lr <= 0 || rt_learning_rate(o, config->train.steps) > 0)
        return 0;
    return (o->schedule_steps > step ? o->schedule_steps : step) + 1;
}

void rt_zero_rate_warn(rt_progress *p, const rt_config *config, int from, const char *where)
{
    const int steps = config->train.steps;
    rt_progress_say(p,
                    "warning: %sthe learning rate is 0 from step %d to the end at %d, since "
                    "optimizer.schedule_steps = %d: give optimizer.schedule_steps=%d or "
                    "optimizer.min_lr_ratio above 0",
                    where, from, steps, config->optimizer.schedule_steps, steps);
}
