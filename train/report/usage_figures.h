#ifndef ROTOR_TRAIN_REPORT_USAGE_FIGURES_H
#define ROTOR_TRAIN_REPORT_USAGE_FIGURES_H

/* Figures of the pairs of a model, from the usage.csv and cutoffs.csv of a run: how much of queries
 * and keys they have over how often they turn, and the loss without the slower of them. */

#include "train/report/figures.h"

/* Nothing for a table that is not there. */
void rt_report_usage(rt_figures *f, const char *folder);

#endif
