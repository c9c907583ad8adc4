#ifndef ROTOR_DATA_RULES_H
#define ROTOR_DATA_RULES_H

/* What the options of a source of data must obey, for those who ask which options are wrong. */

#include "core/rules.h"
#include "data/data.h"

/* Tells of every rule that the options break, in the words of rt_data_check, which keeps the
 * first. Of rules that build on each other, such as that a sequence is long enough for its task
 * and that a distance fits into it, only the first. */
void rt_data_rules(const rt_data_options *o, rt_rule_listener *listener, void *context);

#endif
