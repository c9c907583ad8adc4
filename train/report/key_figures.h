#ifndef ROTOR_TRAIN_REPORT_KEY_FIGURES_H
#define ROTOR_TRAIN_REPORT_KEY_FIGURES_H

#include "train/report/figures.h"
#include "train/report/ranking.h"
#include "train/report/sweep_runs.h"

/* For each setting that runs differ in, the result that they are ranked by against its values: the
 * mean over the runs of a value, or over those that differ from each other in the seed alone, and
 * one standard deviation. Nothing if the runs cannot be ranked. */
void rt_report_key_figures(rt_figures *f, const rt_sweep_runs *runs, const rt_ranking *ranking);

#endif
