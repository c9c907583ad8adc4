#ifndef ROTOR_TRAIN_REPORT_THETA_FIGURES_H
#define ROTOR_TRAIN_REPORT_THETA_FIGURES_H

/* Figures of a learned theta, from the theta.csv and theta_final.csv of a run: the drift over the
 * steps, theta beside base^(-2i/R), and the decay curve at the start and at the end. Heads of a
 * layer that have a theta each share its colour. */

#include "train/report/figures.h"

void rt_report_theta(rt_figures *f, const char *folder, const rt_config *config);

#endif
