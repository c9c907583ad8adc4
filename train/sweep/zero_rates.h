#ifndef ROTOR_TRAIN_SWEEP_ZERO_RATES_H
#define ROTOR_TRAIN_SWEEP_ZERO_RATES_H

/* The runs of a sweep that would take steps at a learning rate of 0, most of all those that are
 * extended under the schedule that they have had: said once, before the first begins. */

#include "train/config/sweep.h"
#include "train/run/arguments.h"
#include "train/run/progress.h"

/* Zeroed: none. */
typedef struct rt_zero_rates {
    int count; /* of such runs, of which the rest is about the first */
    int run;
    int from; /* step */
    rt_config config;
} rt_zero_rates;

/* Counts a run that is to be trained, if it is one of them: under that configuration, in that
 * folder. As of a run alone, --quiet leaves out those that are not extended. */
void rt_zero_rates_add(rt_zero_rates *z, int run, const rt_config *config, const char *folder,
                       const rt_arguments *arguments);

void rt_zero_rates_warn(const rt_zero_rates *z, const rt_sweep *sweep, rt_progress *progress);

#endif
