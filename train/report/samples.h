#ifndef ROTOR_TRAIN_REPORT_SAMPLES_H
#define ROTOR_TRAIN_REPORT_SAMPLES_H

/* What a model of text predicts for the first sequences of its evaluation: the tokens that were
 * masked, or how it goes on from the first half of a sequence. */

#include "text/writer.h"
#include "train/step/trainer.h"

/* Adds a section to the page; nothing for data without a vocabulary. */
rt_status rt_report_samples(rt_writer *page, const rt_config *config,
                            rt_trainer *trainer) RT_MUST_CHECK;

#endif
