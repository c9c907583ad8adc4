#ifndef ROTOR_TRAIN_MODEL_CHECK_H
#define ROTOR_TRAIN_MODEL_CHECK_H

/* --gradcheck: the gradient of every parameter of the configured model against central
 * differences, on two sequences of the configured task.
 *
 * The parameters are drawn anew, of size about 0.5: at their usual start, N(0, 0.02), the
 * gradient of theta drowns in the rounding of the differences. */

#include "core/parameters.h"
#include "train/config/config.h"

#include <stdio.h>

/* Elements of each parameter that --gradcheck compares one by one, drawn at random. */
enum { RT_MODEL_CHECK_SAMPLES = 24 };

/* Summary of one check. */
typedef struct rt_model_check_result {
    int parameters;
    int wrong;
    double error;             /* largest error of a parameter; NaN if one of them is */
    char worst[RT_NAME_SIZE]; /* name of the parameter with the largest error; of those that are
                                 wrong, if there are any */
    double worst_error;
} rt_model_check_result;

/* Compares `samples` elements of every parameter, and all of them along a random direction. Prints
 * a table to `to`, a line for each parameter, and fills in `result`; either may be NULL.
 *
 * Returns RT_CHECK if a gradient is wrong or was never reached, and RT_CONFIG in the float build,
 * which is too coarse for the check. `result` is zero if the check could not be made. */
rt_status rt_model_check(FILE *to, const rt_config *config, int samples,
                         rt_model_check_result *result) RT_MUST_CHECK;

#endif
