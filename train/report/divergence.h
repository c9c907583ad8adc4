#ifndef ROTOR_TRAIN_REPORT_DIVERGENCE_H
#define ROTOR_TRAIN_REPORT_DIVERGENCE_H

/* When a loss tells that a training has diverged, and the sentence that says so. */

#include "models/options.h"
#include "text/writer.h"

/* The loss beyond which a model of that head has diverged: twice ln n, where ln n is the cross
 * entropy of guessing any of n classes alike. Infinite for fewer than two. */
double rt_divergence_limit(const rt_transformer_options *model);

/* Adds "diverged: ..." and a newline. */
void rt_divergence_report(rt_writer *w, double loss, double limit);

#endif
