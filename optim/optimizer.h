#ifndef ROTOR_OPTIM_OPTIMIZER_H
#define ROTOR_OPTIM_OPTIMIZER_H

/* An optimizer for programs with their own training loop: one thread, over all parameters. */

#include "core/parameters.h"
#include "core/status.h"
#include "optim/settings.h"

typedef struct rt_optimizer rt_optimizer;

/* Creates an optimizer; the parameters are borrowed. RT_ARGUMENT names a setting out of
 * its range. */
rt_status rt_optimizer_new(rt_optimizer **optimizer_new, rt_parameters *parameters,
                           const rt_optimizer_settings *settings) RT_MUST_CHECK;
void rt_optimizer_free(rt_optimizer *optimizer);

/* Updates the parameters with their gradients, which are unchanged: call rt_parameters_zero_grads
 * before the next backward. Parameters whose tensor wants no gradient are skipped, also in the
 * norm. *norm receives the norm of the gradient before clipping; it may be NULL. RT_NONFINITE,
 * without a change, names a parameter whose gradient is not finite. RT_ARGUMENT if a learning rate
 * is negative or not finite. rt_optimizer_step_by takes a separate learning rate for the matrices
 * of muon. */
rt_status rt_optimizer_step(rt_optimizer *optimizer, double learning_rate,
                            double *norm) RT_MUST_CHECK;
rt_status rt_optimizer_step_by(rt_optimizer *optimizer, rt_rates rates, double *norm) RT_MUST_CHECK;

#endif
