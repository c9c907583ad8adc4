#ifndef ROTOR_TRAIN_MODEL_CHECK_H
#define ROTOR_TRAIN_MODEL_CHECK_H

/* --gradcheck: compares the gradient of every parameter of the configured model with central
 * differences, on two sequences of the configured task.
 *
 * The parameters are redrawn with a size of about 0.5: at their usual initial values, N(0, 0.02),
 * the gradient of theta is lost in the rounding of the differences. */

#include "core/parameters.h"
#include "train/config/config.h"

#include <stdio.h>

/* Random elements of each parameter that --gradcheck compares one by one. */
enum { RT_MODEL_CHECK_SAMPLES = 24 };

/* Summary of one check. */
typedef struct rt_model_check_result {
    int parameters;
    int wrong;
    double error;             /* largest error of all parameters; NaN if one is NaN */
    char worst[RT_NAME_SIZE]; /* name of the parameter with the largest error, wrong ones first */
    double worst_error;
} rt_model_check_result;

/* Compares `samples` elements of every parameter one by one, and all of its elements along a random
 * direction. Prints a table to `to`, with a line for each parameter, and fills in `result`; either
 * may be NULL.
 *
 * Returns RT_CHECK if a gradient is wrong or was not reached, and RT_CONFIG in the float build,
 * which is too coarse for the check. `result` is zero if the check could not be made. */
rt_status rt_model_check(FILE *to, const rt_config *config, int samples,
                         rt_model_check_result *result) RT_MUST_CHECK;

#endif
