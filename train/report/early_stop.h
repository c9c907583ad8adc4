#ifndef ROTOR_TRAIN_REPORT_EARLY_STOP_H
#define ROTOR_TRAIN_REPORT_EARLY_STOP_H

/* The sentence that says why a run has taken fewer steps than it was to take. */

#include "text/writer.h"
#include "train/config/config.h"

/* Adds "stopped early at step ..." and a newline: train.patience has run out there. */
void rt_early_stop_report(rt_writer *w, int step, const rt_train_options *o);

#endif
