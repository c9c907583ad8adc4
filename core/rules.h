#ifndef ROTOR_CORE_RULES_H
#define ROTOR_CORE_RULES_H

/* Reports of broken rules between options: a message and the names of the options. */

#include "core/status.h"

#include <stddef.h>

/* Receives a broken rule. `options` are the options concerned, by their names in a configuration
 * ("model.dim"; NULL-terminated), valid during the call. The message is for people. */
typedef void rt_rule_listener(void *context, const char *const *options, const char *message);

/* A listener and its context, as passed to the checks of a layer. */
typedef struct rt_rule_sink {
    rt_rule_listener *tell;
    void *context;
} rt_rule_sink;

/* First broken rule, as an error with this code. */
typedef struct rt_first_rule {
    rt_code code;
    rt_status status; /* set to rt_ok() by the caller */
} rt_first_rule;

/* Stores the first broken rule. A listener; its context is an rt_first_rule. */
void rt_keep_first_rule(void *context, const char *const *options, const char *message);

/* Names of options as a listener receives them. */
#define RT_OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Reports one broken rule. */
void rt_rule_broken(rt_rule_sink to, const char *const *options, const char *format, ...)
    RT_PRINTF(3, 4);

#endif
