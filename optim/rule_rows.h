#ifndef ROTOR_OPTIM_RULE_ROWS_H
#define ROTOR_OPTIM_RULE_ROWS_H

/* The rows of RT_OPTIMIZER_RULES, for the files that define them. */

#include "optim/rules.h"

#define RT_RULE_DECLARATION(constant, rule) extern const rt_update_rule rule;
RT_OPTIMIZER_RULES(RT_RULE_DECLARATION)

#endif
