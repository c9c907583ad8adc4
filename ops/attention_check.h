#ifndef ROTOR_OPS_ATTENTION_CHECK_H
#define ROTOR_OPS_ATTENTION_CHECK_H

#include "ops/ops.h"

/* Returns whether the arguments fit rt_attention. Otherwise the graph fails with the reason. */
bool rt_attention_fits(rt_graph *g, const rt_tensor *q, const rt_tensor *k, const rt_tensor *v,
                       const rt_attention_options *o);

#endif
