#ifndef ROTOR_DATA_OBJECTIVE_H
#define ROTOR_DATA_OBJECTIVE_H

/* What is asked about a sequence that repeats itself or is a text: units that were hidden, or at
 * every place the one that follows. */

#include "data/rules.h"

struct rt_draw;
struct rt_sequence;

/* As rt_data_rules, of data.mask_probability. */
void rt_objective_check(const rt_data_options *o, rt_rule_sink to);

/* Turns a row of units behind its first token into a question: labels, and [MASK] and other units
 * in the place of some. */
void rt_objective_ask(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

#endif
