#ifndef ROTOR_MODELS_RULES_H
#define ROTOR_MODELS_RULES_H

/* What the options of a RoFormer must obey, each rule in one place for all who ask. */

#include "models/options.h"

/* Hears of a rule that is broken. `options` are those that it is between, by the names that a
 * configuration gives them ("model.dim"; NULL ends the list); the message names them, too. */
typedef void rt_rule_listener(void *context, const char *const *options, const char *message);

/* Tells of every rule that the options break. Of rules that build on each other, such as that
 * rope needs heads of even size and that a fraction of them makes whole pairs, only the first. */
void rt_roformer_rules(const rt_roformer_options *o, rt_rule_listener *tell, void *context);

#endif
