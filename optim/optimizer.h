#ifndef ROTOR_OPTIM_OPTIMIZER_H
#define ROTOR_OPTIM_OPTIMIZER_H

/* An optimizer for those who train by hand: one thread, over all parameters. */

#include "core/status.h"
#include "optim/rules.h"

typedef struct rt_optimizer rt_optimizer;

/* The parameters are borrowed. RT_ARGUMENT names a setting that is out of its range. */
rt_status rt_optimizer_new(rt_optimizer **optimizer_new, rt_parameters *parameters,
                           const rt_optimizer_settings *settings) RT_MUST_CHECK;
void rt_optimizer_free(rt_optimizer *optimizer);

/* Moves the parameters by their gradients, which stay as they are: rt_parameters_zero_grads before
 * the next backward. Those whose tensor wants no gradient stay, and do not count in the norm.
 * *norm, unless it is NULL, is that of the gradient before clipping. RT_NONFINITE names a parameter
 * whose gradient is not finite: then nothing has changed. RT_ARGUMENT for a learning rate that is
 * negative or not finite.
 * The matrices that muon moves as a whole take the same learning rate; rt_optimizer_step_by takes
 * one of their own. */
rt_status rt_optimizer_step(rt_optimizer *optimizer, double learning_rate,
                            double *norm) RT_MUST_CHECK;
rt_status rt_optimizer_step_by(rt_optimizer *optimizer, rt_rates rates, double *norm) RT_MUST_CHECK;

#endif
