#ifndef ROTOR_TRAIN_CONFIG_OPTIMIZER_OPTIONS_H
#define ROTOR_TRAIN_CONFIG_OPTIMIZER_OPTIONS_H

/* How the parameters move: the optimiser and the schedule of its learning rate. */

#include "core/choice.h"

#define RT_OPTIMIZERS(X) X(RT_ADAMW, "adamw") X(RT_SGD, "sgd")
typedef enum rt_optimizer_kind { RT_OPTIMIZERS(RT_CHOICE_VALUE) } rt_optimizer_kind;

#define RT_SCHEDULES(X)                                                                            \
    X(RT_SCHEDULE_CONSTANT, "constant")                                                            \
    X(RT_SCHEDULE_LINEAR, "linear")                                                                \
    X(RT_SCHEDULE_COSINE, "cosine")
typedef enum rt_schedule { RT_SCHEDULES(RT_CHOICE_VALUE) } rt_schedule;

/* A schedule that a run had until it was extended with another one. */
typedef struct rt_past_schedule {
    int until; /* its last step */
    double lr;
    rt_schedule schedule;
    double min_lr_ratio;
    int schedule_steps;
} rt_past_schedule;

enum { RT_MOST_PAST_SCHEDULES = 32 };

typedef struct rt_optimizer_options {
    rt_optimizer_kind kind;
    double lr; /* the peak of the schedule */
    double beta1;
    double beta2;
    double eps;
    double weight_decay; /* of weights only: not of norms, biases, theta */
    double momentum;     /* of sgd */
    double clip_norm;    /* 0 = off */
    rt_schedule schedule;
    int warmup_steps;
    double min_lr_ratio; /* of lr, where the schedule ends */
    int schedule_steps;  /* where the schedule ends */
    double theta_lr_scale;
    int past_count;                                /* of a run that was extended */
    rt_past_schedule past[RT_MOST_PAST_SCHEDULES]; /* in their order */
} rt_optimizer_options;

#endif
