#ifndef ROTOR_TRAIN_RUN_ZERO_RATE_H
#define ROTOR_TRAIN_RUN_ZERO_RATE_H

/* Steps at a learning rate of 0: they change nothing, whatever time they take. */

#include "train/run/progress.h"

/* The first of the steps after `step` that are taken at a rate of 0 until the end of the run; 0 if
 * there are none, or if optimizer.lr = 0 asks for it. */
int rt_zero_rate_from(const rt_config *config, int step);

/* Warns of it, and says what to give. `where` it is, such as "in 2 of 3 runs ", or "". */
void rt_zero_rate_warn(rt_progress *p, const rt_config *config, int from, const char *where);

#endif
