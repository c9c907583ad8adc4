#include "optim/options.h"

#include "core/key.h"

#include <math.h>

#define OPTIONS rt_optimizer_options

RT_KEY_WORDS(schedule_word, RT_SCHEDULES)

/* Conditions that several keys share. */
#define LEARNED IS("theta.learn", "yes")
#define MEANS   IS_NOT("optimizer.kind", "sgd")
#define MUON    IS("optimizer.kind", "muon")
#define FALLING IS_NOT("optimizer.schedule", "constant")

/* clang-format off */
static const rt_key keys[] = {
    {"theta", "lr_scale", NUMBER(settings.theta_lr_scale, AT_LEAST(0)), "1.0",
     "learning rate of theta and head_scale, as a multiple of optimizer.lr", RT_FIXED_IN_RUN,
     WHEN(LEARNED, OR, IS("theta.head_scale", "yes"))},

    {"optimizer", "kind", CHOICE(settings.rule, rt_optimizer_rule_word), "adamw", "optimizer",
     RT_FIXED_IN_RUN, ALWAYS},
    {"optimizer", "lr", NUMBER(lr, AT_LEAST(0)), "1e-3",
     "learning rate, at the peak of the schedule", RT_WHEN_EXTENDED, ALWAYS},
    {"optimizer", "matrix_lr", NUMBER(matrix_lr, AT_LEAST(0)), "0",
     "for muon: learning rate of the layers' matrices; 0 = lr", RT_FIXED_IN_RUN, WHEN(MUON)},
    {"optimizer", "beta1", NUMBER(settings.beta1, FROM_BELOW(0, 1)), "0.9",
     "decay of the running mean of the gradients; for lion, weight of that mean in the update; not for "
     "sgd", RT_FIXED_IN_RUN, WHEN(MEANS)},
    {"optimizer", "beta2", NUMBER(settings.beta2, FROM_BELOW(0, 1)), "0.999",
     "decay of the running mean of the squared gradients; for lion, of the gradients, 0.99 by "
     "default; not for sgd", RT_FIXED_IN_RUN, WHEN(MEANS)},
    {"optimizer", "eps", NUMBER(settings.eps, ABOVE(0)), "1e-8",
     "for adamw, adam, muon: epsilon, added to the root of the mean square",
     RT_FIXED_IN_RUN, WHEN(IS("optimizer.kind", "adamw", "adam", "muon"))},
    {"optimizer", "weight_decay", NUMBER(settings.weight_decay, AT_LEAST(0)), "0.01",
     "of weights, including tables of positions (learned, t5, shaw); norms, biases, theta and head_scale "
     "have none", RT_FIXED_IN_RUN, ALWAYS},
    {"optimizer", "momentum", NUMBER(settings.momentum, FROM_BELOW(0, 1)), "0.9",
     "for sgd: momentum", RT_FIXED_IN_RUN, WHEN(IS("optimizer.kind", "sgd"))},
    {"optimizer", "muon_momentum", NUMBER(settings.muon_momentum, FROM_BELOW(0, 1)), "0.95",
     "for muon: momentum of the layers' matrices", RT_FIXED_IN_RUN, WHEN(MUON)},
    {"optimizer", "clip_norm", NUMBER(settings.clip_norm, AT_LEAST(0)), "1.0",
     "clip the gradient to this global norm; 0 = off", RT_FIXED_IN_RUN, ALWAYS},
    {"optimizer", "schedule", CHOICE(schedule, schedule_word), "cosine",
     "learning rate after the warmup: constant, or falling along a line or a half cosine",
     RT_WHEN_EXTENDED, ALWAYS},
    {"optimizer", "warmup_steps", WHOLE(warmup_steps, 0, RT_MOST_STEPS), "0",
     "steps in which the learning rate rises from 0 to lr", RT_FIXED_IN_RUN, ALWAYS},
    {"optimizer", "min_lr_ratio", NUMBER(min_lr_ratio, FROM_TO(0, 1)), "0",
     "learning rate after the schedule, as a fraction of lr",
     RT_WHEN_EXTENDED, WHEN(FALLING)},
    {"optimizer", "schedule_steps", WHOLE(schedule_steps, 0, RT_MOST_STEPS), "0",
     "steps of the schedule; 0 = train.steps when the run began",
     RT_WHEN_EXTENDED, WHEN(FALLING), FOLLOWS},
};
/* clang-format on */

const rt_key_table rt_optimizer_keys = {keys, sizeof keys / sizeof *keys};

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
