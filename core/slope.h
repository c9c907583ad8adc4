#ifndef ROTOR_CORE_SLOPE_H
#define ROTOR_CORE_SLOPE_H

/* The derivative of a function of one number by finite differences, for a check of a
 * derivative that is claimed.
 *
 * Central differences of fourth order decide wherever the function is smooth. A kink of the
 * function, or of its derivative, within a few steps spoils them: then one-sided differences
 * of fourth order and smaller steps are tried, and only those count that no kink has spoilt.
 * Their third differences show which these are: they vanish with the square of the step where
 * the function is smooth, and are as large as the error where it has a kink. At the kink itself
 * both sides count, and so does everything between their slopes.
 */

#include "core/status.h"

#include <stdbool.h>

/* *difference = f(t) - f(0). */
typedef rt_status rt_curve(void *context, double t, double *difference);

typedef struct rt_slope {
    double numeric; /* f'(0): of the differences that count, those nearest to the claim */
    bool kink;      /* central differences did not suffice */
    bool unknown;   /* none count: kinks on both sides, however small the step */
} rt_slope;

typedef struct rt_slope_options {
    double step;
    double tolerance; /* absolute */
    double rounding;  /* of f, absolute: steps so small that it drowns them do not count */
} rt_slope_options;

/* Looks for differences that agree with the claim to within the tolerance. A claim that differs
 * by more than kinks account for is never `unknown`. */
rt_status rt_slope_find(rt_curve *f, void *context, const rt_slope_options *o, double claim,
                        rt_slope *slope) RT_MUST_CHECK;

#endif
