#ifndef ROTOR_MODELS_RULES_H
#define ROTOR_MODELS_RULES_H

/* The rules that the options of a model must obey. */

#include "core/rules.h"
#include "models/options.h"

/* Reports every rule that the options break. Of rules that build on each other, such as that rope
 * needs heads of even size and that a fraction of them makes whole pairs, only the first. */
void rt_transformer_rules(const rt_transformer_options *o, rt_rule_listener *tell, void *context);

/* RT_ARGUMENT with the first of them. */
rt_status rt_transformer_check(const rt_transformer_options *o) RT_MUST_CHECK;

#endif
