#ifndef ROTOR_TRAIN_RUN_ENDING_H
#define ROTOR_TRAIN_RUN_ENDING_H

/* When a run has ended: it has taken all its steps, reached train.target_accuracy, or exhausted
 * train.patience. */

#include "train/run/state.h"

/* Evaluates the run where it stands; *best tells whether no regular evaluation before was as good.
 * RT_NONFINITE if the loss is not finite. */
rt_status rt_run_evaluate(rt_run *r, rt_evaluation *evaluation, bool *best) RT_MUST_CHECK;

/* Sets r->finished, and r->stopped_early, after a step. `evaluation` is NULL if there was none. */
void rt_run_look_for_end(rt_run *r, const rt_evaluation *evaluation);

/* The same for a run that was opened, and says so. */
rt_status rt_run_look_whether_ended(rt_run *r) RT_MUST_CHECK;

#endif
