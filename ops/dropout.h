#ifndef ROTOR_OPS_DROPOUT_H
#define ROTOR_OPS_DROPOUT_H

/* The mask of dropout as a function of a counter, for the two ops that drop. */

#include "core/random.h"
#include "core/real.h"

#include <stddef.h>

/* For `count` elements, from counter `index` on (four elements to a counter): 0 with
 * probability p, else 1 / (1 - p). */
void rt_dropout_factors(real *factor, size_t count, rt_random random, uint64_t index, double p);

#endif
