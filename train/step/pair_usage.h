#ifndef ROTOR_TRAIN_STEP_PAIR_USAGE_H
#define ROTOR_TRAIN_STEP_PAIR_USAGE_H

/* What the pairs of a model have of its queries and keys over the evaluation data. */

#include "models/usage.h"
#include "train/step/trainer.h"

/* Makes the usage of the sequences of that length that rt_trainer_evaluate takes, for
 * rt_usage_free; the same bits for any number of threads. Of a process alone. RT_CONFIG as
 * rt_usage_new. */
rt_status rt_trainer_usage(rt_trainer *trainer, int length, rt_usage *usage) RT_MUST_CHECK;

#endif
