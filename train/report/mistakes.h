#ifndef ROTOR_TRAIN_REPORT_MISTAKES_H
#define ROTOR_TRAIN_REPORT_MISTAKES_H

#include "text/writer.h"
#include "train/step/trainer.h"

/* The labels of the evaluation that a model takes for others, those that it is surest of first,
 * with their texts; of the task tag with the sentence around each token. Nothing for data without
 * labels, for a file that is gone, or if there is no mistake. */
rt_status rt_report_mistakes(rt_writer *w, const rt_config *config,
                             rt_trainer *trainer) RT_MUST_CHECK;

#endif
