#ifndef ROTOR_OPS_ACTIVATION_H
#define ROTOR_OPS_ACTIVATION_H

/* Functions of one number. Most share work with their derivative, so forward computes both,
 * and backward is one product for all of them. */

#include "ops/ops.h"

/* y = f(x), derivative = f'(x). */
typedef void rt_activation_values(real *restrict y, real *restrict derivative,
                                  const real *restrict x, size_t size);

/* NULL, with the graph failed, if there is none of that kind. */
rt_activation_values *rt_activation_kernel(rt_graph *g, const char *op, rt_activation kind);

/* dx, in place of dy. */
void rt_activation_gradient(real *g, const real *derivative, size_t size);

#endif
