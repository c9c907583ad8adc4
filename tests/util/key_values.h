#ifndef ROTOR_TESTS_KEY_VALUES_H
#define ROTOR_TESTS_KEY_VALUES_H

#include "train/config/keys.h"

/* Values to try for keys, by their type: NULL ends each list, those of a choice are its words. */
typedef const char *const *key_values[RT_KEY_TEXT + 1];
#define VALUES(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline const char *value_for(const key_values values, const rt_key *key, int i)
{
    return key->type == RT_KEY_CHOICE ? key->word(i) : values[key->type][i];
}

#endif
