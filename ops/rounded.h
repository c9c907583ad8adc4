#ifndef ROTOR_OPS_ROUNDED_H
#define ROTOR_OPS_ROUNDED_H

/* Numbers of a whole tensor in bf16, for ops whose products read them. */

#include "core/graph.h"

#include <stdint.h>

/* Memory for the numbers of a result that is kept for backward, where products are made of rounded
 * numbers; else NULL. */
uint16_t *rt_rounded_numbers(rt_graph *g, size_t size);

/* Rounds in parts of the pass under way. */
void rt_round_numbers(const rt_node *n, uint16_t *to, const real *from, size_t size);

#endif
