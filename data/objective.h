#ifndef ROTOR_DATA_OBJECTIVE_H
#define ROTOR_DATA_OBJECTIVE_H

/* The training objective of a sequence that repeats itself or is a text: to predict masked tokens,
 * or at every place the next one. */

#include "data/rules.h"

struct rt_draw;
struct rt_sequence;

/* As rt_data_rules, of data.mask_probability. */
void rt_objective_check(const rt_data_options *o, rt_rule_sink to);

/* Sets the labels of a row of tokens and, for mlm, puts [MASK] and other tokens in the place of
 * some. */
void rt_objective_apply(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

#endif
