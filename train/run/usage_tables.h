#ifndef ROTOR_TRAIN_RUN_USAGE_TABLES_H
#define ROTOR_TRAIN_RUN_USAGE_TABLES_H

/* Tables of the pairs and heads of a trained model. */

#include "train/run/state.h"

/* Prints the table of --usage or --distances. Returns RT_CONFIG, with the reason, if the model has
 * no such pairs or weights. */
rt_status rt_run_print_usage(rt_run *r) RT_MUST_CHECK;

/* Writes usage.csv, if the model has rope and softmax attention, and cutoffs.csv, with
 * theta.cutoffs, into the folder of a run that has ended. Sets *stopped if a signal requested a
 * stop between two evaluations. For a single process. */
rt_status rt_run_record_usage(rt_run *r, bool *stopped) RT_MUST_CHECK;

#endif
