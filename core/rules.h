#ifndef ROTOR_CORE_RULES_H
#define ROTOR_CORE_RULES_H

/* Reports of the rules that options break: the message, and the options. */

#include "core/status.h"

#include <stddef.h>

/* Receives a rule that is broken. `options` are those that it is between, by the names that a
 * configuration gives them ("model.dim"; NULL ends the list); they last as long as the call.
 * The message is for people. */
typedef void rt_rule_listener(void *context, const char *const *options, const char *message);

/* A listener and its context, as the checks of a layer pass them on. */
typedef struct rt_rule_sink {
    rt_rule_listener *tell;
    void *context;
} rt_rule_sink;

/* The first rule that was broken, as an error of this code. */
typedef struct rt_first_rule {
    rt_code code;
    rt_status status; /* begins as rt_ok() */
} rt_first_rule;

/* The listener; its context is an rt_first_rule. */
void rt_keep_first_rule(void *context, const char *const *options, const char *message);

/* The names of options as a listener receives them. */
#define RT_OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Reports one broken rule. */
void rt_rule_broken(rt_rule_sink to, const char *const *options, const char *format, ...)
    RT_PRINTF(3, 4);

#endif
