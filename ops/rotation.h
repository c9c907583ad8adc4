#ifndef ROTOR_OPS_ROTATION_H
#define ROTOR_OPS_ROTATION_H

/* The check of a rotation before its table is read. */

#include "ops/ops.h"

/* Returns whether the sizes of a rotation agree, which one filled by hand may not. Otherwise the
 * graph fails. */
bool rt_rotation_is_sound(rt_graph *g, const rt_rotation *r);

#endif
