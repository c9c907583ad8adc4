#ifndef ROTOR_TRAIN_REPORT_CURVES_H
#define ROTOR_TRAIN_REPORT_CURVES_H

/* The curves of a sweep, beside each other, of the runs that differ in the seed alone, their mean
 * and how far they spread: loss and accuracy of the evaluations by step, and by length where
 * train.eval_lengths are given; learned theta by pair. */

#include "train/report/figures.h"
#include "train/report/ranking.h"

/* Of these runs, whose folders are in FOLDER. The losses are shown as what the runs are ranked by,
 * nats or bits per byte; captions say what makes them incomparable. */
void rt_report_curves(rt_figures *f, const char *folder, const rt_sweep_runs *runs,
                      const rt_ranking *ranking);

#endif
