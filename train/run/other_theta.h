#ifndef ROTOR_TRAIN_RUN_OTHER_THETA_H
#define ROTOR_TRAIN_RUN_OTHER_THETA_H

/* Evaluations of a trained model with another theta. */

#include "train/run/state.h"

/* Overrides the effective theta of the model, after context scaling, learned or fixed, by --theta:
 * start, base, off:K, off:Xturns, scale:X, or the path of a CSV file with any finite theta per
 * layer and key head. Prints a line on the result. Returns RT_CONFIG if the model has no theta or
 * no such pair, or if the file does not fit the model. */
rt_status rt_run_change_theta(rt_run *r) RT_MUST_CHECK;

/* Writes cutoffs.csv: for every K, the loss without the pairs from K on, and the largest number of
 * turns of pair K in any layer and head. Sets *stopped if a signal requested a stop. */
rt_status rt_run_record_cutoffs(rt_run *r, bool *stopped) RT_MUST_CHECK;

#endif
