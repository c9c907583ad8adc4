#ifndef ROTOR_OPTIM_CLIP_H
#define ROTOR_OPTIM_CLIP_H

/* The norm of a gradient, and how it is clipped. */

#include "core/real.h"

#include <stddef.h>

/* Returns the sum of squares of one span (optim/rules.h). */
double rt_sum_of_squares(const real *x, size_t size);

/* The factor that brings a gradient of that norm to max_norm at most; 1 if max_norm is 0. */
double rt_clip_factor(double norm, double max_norm);

#endif
