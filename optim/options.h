#ifndef ROTOR_OPTIM_OPTIONS_H
#define ROTOR_OPTIM_OPTIONS_H

/* Options of the optimizer: the update rule with its settings, and the schedule of the learning
 * rate. */

#include "core/choice.h"
#include "optim/rules.h"

#define RT_SCHEDULES(X)                                                                            \
    X(RT_SCHEDULE_CONSTANT, "constant")                                                            \
    X(RT_SCHEDULE_LINEAR, "linear")                                                                \
    X(RT_SCHEDULE_COSINE, "cosine")
typedef enum rt_schedule { RT_SCHEDULES(RT_CHOICE_VALUE) } rt_schedule;

/* Schedule of a run before it was extended with another one. */
typedef struct rt_past_schedule {
    int until; /* its last step */
    double lr;
    rt_schedule schedule;
    double min_lr_ratio;
    int schedule_steps;
} rt_past_schedule;

enum { RT_MOST_PAST_SCHEDULES = 32 };

typedef struct rt_optimizer_options {
    rt_optimizer_settings settings;
    double lr;        /* peak of the schedule */
    double matrix_lr; /* peak for the matrices of layers, with muon; 0 = lr */
    rt_schedule schedule;
    int warmup_steps;
    double min_lr_ratio; /* learning rate after the schedule, as a share of lr */
    int schedule_steps;  /* steps of the schedule */
    int past_count;      /* earlier schedules of an extended run */
    rt_past_schedule past[RT_MOST_PAST_SCHEDULES]; /* in their order */
} rt_optimizer_options;

/* Returns the learning rate of step 1, 2, ...; a warm-up rises in equal steps to lr. */
double rt_learning_rate(const rt_optimizer_options *o, int step);

/* Returns the learning rate of a step, and the rate of matrices, which follows the schedule with
 * its own peak. */
rt_rates rt_learning_rates(const rt_optimizer_options *o, int step);

/* Table of the keys of [optimizer] and theta.lr_scale, members of rt_optimizer_options. */
extern const struct rt_key_table rt_optimizer_keys; /* core/key.h */

#endif
