#ifndef ROTOR_TRAIN_RUN_THETA_OUTCOME_H
#define ROTOR_TRAIN_RUN_THETA_OUTCOME_H

/* What a learned theta has come to: how far it is from its start, what resetting it costs, and
 * how far each pair can go. */

#include "train/run/outcome.h"

/* Prints it and adds it to the outcome of a model that has been evaluated; `folder` as for
 * rt_outcome_print. Nothing for a model whose theta is fixed. */
rt_status rt_theta_outcome(rt_outcome *o, const rt_config *config, rt_trainer *trainer,
                           const char *folder) RT_MUST_CHECK;

#endif
