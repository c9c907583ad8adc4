#ifndef ROTOR_OPS_ROTATION_H
#define ROTOR_OPS_ROTATION_H

/* The check of a rotation before its table is read. */

#include "ops/ops.h"

/* Whether the numbers of a rotation fit each other: one that was filled by hand may not. Otherwise
 * the graph has failed. */
bool rt_rotation_is_sound(rt_graph *g, const rt_rotation *r);

#endif
