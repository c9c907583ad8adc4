#ifndef ROTOR_TESTS_KEY_WORDS_H
#define ROTOR_TESTS_KEY_WORDS_H

/* Values of keys for tests. */

#include "util/key_value.h"

#include <stdio.h>
#include <stdlib.h>

/* Sets a key to a value, or to a number that the key does not accept, also of a choice. */
static inline void set_key(const rt_key_table *table, const char *name, const char *value,
                           void *options)
{
    const rt_key *key = rt_keys_find(table, name);
    rt_writer problem = {0};
    char *end = NULL;
    const double number = strtod(value, &end);
    if (key && !rt_key_value_read(key, value, options, &problem)) {
        void *at = (char *)options + key->offset;
        if (*end || (key->type != RT_KEY_NUMBER && key->type != RT_KEY_INTEGER &&
                     key->type != RT_KEY_INTERVAL && key->type != RT_KEY_CHOICE))
            key = NULL;
        else if (key->type == RT_KEY_NUMBER)
            *(double *)at = number;
        else
            *(int *)at = (int)number;
    }
    if (!key) {
        fprintf(stderr, "%s = %s: %s\n", name, value,
                problem.bytes ? problem.bytes : "no such key");
        abort();
    }
    rt_writer_free(&problem);
}

#endif
