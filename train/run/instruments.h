#ifndef ROTOR_TRAIN_RUN_INSTRUMENTS_H
#define ROTOR_TRAIN_RUN_INSTRUMENTS_H

/* Measurements on the pairs and heads of a trained model: the share of queries and keys in each
 * pair (usage.csv), the loss without the slower pairs (cutoffs.csv), and attention by distance. */

#include "train/step/trainer.h"

/* Returns a table of the usage of pairs over the evaluation data, which the caller frees. Returns
 * RT_CONFIG, with the reason, if the model has no such pairs. */
rt_status rt_usage_text(char **text_new, const rt_config *config,
                        rt_trainer *trainer) RT_MUST_CHECK;

/* Returns a table of the attention of each head to each distance over the evaluation data: a row
 * for each layer, head and distance. The caller frees it. Returns RT_CONFIG as rt_usage_text does.
 */
rt_status rt_distances_text(char **text_new, const rt_config *config,
                            rt_trainer *trainer) RT_MUST_CHECK;

/* Writes usage.csv, for a model with rope and softmax attention, and cutoffs.csv, with
 * theta.cutoffs, into the folder of a run that has ended. Between two evaluations `stop` is called;
 * if it returns true, *stopped is set. Not for a world of several processes. */
rt_status rt_instruments_record(const rt_config *config, rt_trainer *trainer, const char *folder,
                                int (*stop)(void), bool *stopped) RT_MUST_CHECK;

#endif
