#ifndef ROTOR_TRAIN_MODEL_CHECK_H
#define ROTOR_TRAIN_MODEL_CHECK_H

/* --gradcheck: the gradient of every parameter of the configured model against central
 * differences, on two sequences of the configured task.
 *
 * The parameters are drawn anew, of size about 0.5: at their usual start, N(0, 0.02), the
 * gradient of theta drowns in the rounding of the differences. */

#include "train/config/config.h"

#include <stdio.h>

/* Prints a table, a line for each parameter. RT_CHECK if one of them is wrong or was never
 * reached; RT_CONFIG in the float build, which is too coarse for it. */
rt_status rt_model_check(FILE *to, const rt_config *config) RT_MUST_CHECK;

#endif
