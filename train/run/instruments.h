#ifndef ROTOR_TRAIN_RUN_INSTRUMENTS_H
#define ROTOR_TRAIN_RUN_INSTRUMENTS_H

/* What is measured on the pairs of a model that has been trained: how much of queries and keys they
 * have (usage.csv), and the loss without the slower of them (cutoffs.csv); and how far its heads
 * attend. */

#include "train/step/trainer.h"

/* The usage of pairs over the evaluation data, as a new text; RT_CONFIG, with the reason, if there
 * is none for this model. */
rt_status rt_usage_text(char **text_new, const rt_config *config,
                        rt_trainer *trainer) RT_MUST_CHECK;

/* How much each head attends to each distance over the evaluation data, as a new text: a row for
 * each layer, head and distance. RT_CONFIG likewise. */
rt_status rt_distances_text(char **text_new, const rt_config *config,
                            rt_trainer *trainer) RT_MUST_CHECK;

/* Writes usage and cut-offs into the folder of a run that has ended: the first of a model with rope
 * and softmax attention, the second with theta.cutoffs. Between two evaluations `stop` is asked
 * whether to end; then *stopped is set. Of a process alone. */
rt_status rt_instruments_record(const rt_config *config, rt_trainer *trainer, const char *folder,
                                int (*stop)(void), bool *stopped) RT_MUST_CHECK;

#endif
