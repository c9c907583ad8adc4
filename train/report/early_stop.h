#ifndef ROTOR_TRAIN_REPORT_EARLY_STOP_H
#define ROTOR_TRAIN_REPORT_EARLY_STOP_H

/* The sentence that says why a run has taken fewer steps than it was to take. */

#include "train/config/config.h"
#include "text/writer.h"

/* Adds "stopped early at step ..." and a newline: train.patience has run out there. */
void rt_early_stop_tell(rt_writer *w, int step, const rt_train_options *o);

#endif
