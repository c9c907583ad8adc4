#ifndef ROTOR_TRAIN_RUN_EVALUATIONS_H
#define ROTOR_TRAIN_RUN_EVALUATIONS_H

/* What the evaluations of a run have come to: the best one, and how many in a row brought no
 * improvement.
 *
 * Regular evaluations are those every train.eval_every steps. One at the last step alone counts as
 * the best if it is, but nothing else follows from it: a run that is extended is as one that was
 * to take all the steps from the start. */

#include "io/checkpoint/checkpoint.h"
#include "train/config/config.h"

typedef struct rt_evaluations {
    double loss;      /* at the step where the run stands; infinite: it was not evaluated there */
    double best_loss; /* of the regular ones; infinite: there was none */
    int best_step;
    double reference; /* the loss that the next must be below, by train.min_delta at least */
    int stalled;      /* regular evaluations since the one with that loss */
} rt_evaluations;

/* Those of a run that has not begun. */
rt_evaluations rt_evaluations_none(void);

/* Counts the evaluation after a step; true if no regular one before was as good. */
bool rt_evaluations_add(rt_evaluations *e, const rt_train_options *o, int step, double loss);

/* Whether train.patience has run out. */
bool rt_evaluations_stalled(const rt_evaluations *e, const rt_train_options *o);

/* To a checkpoint and from it. */
void rt_evaluations_put(const rt_evaluations *e, rt_checkpoint_info *info);
rt_evaluations rt_evaluations_of(const rt_checkpoint_info *info);

#endif
