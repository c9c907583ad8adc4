#ifndef ROTOR_OPTIM_SCHEDULE_H
#define ROTOR_OPTIM_SCHEDULE_H

/* The schedule of the learning rate. */

#include "optim/options.h"

/* The learning rate of step 1, 2, ...; a warm-up rises in equal steps to lr. */
double rt_learning_rate(const rt_optimizer_options *o, int step);

/* Returns the learning rate of a step, and the rate of matrices, which follows the schedule from a
 * peak of its own. */
rt_rates rt_learning_rates(const rt_optimizer_options *o, int step);

#endif
