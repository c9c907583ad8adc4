#ifndef ROTOR_OPS_ATTENTION_CHECK_H
#define ROTOR_OPS_ATTENTION_CHECK_H

#include "ops/ops.h"

/* Whether these are arguments of rt_attention; if not, the graph fails and says why. */
bool rt_attention_fits(rt_graph *g, const rt_tensor *q, const rt_tensor *k, const rt_tensor *v,
                       const rt_attention_options *o);

#endif
