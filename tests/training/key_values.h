#ifndef ROTOR_TESTS_TRAINING_KEY_VALUES_H
#define ROTOR_TESTS_TRAINING_KEY_VALUES_H

/* Values to try for a key, by its type: those of a choice are its words. NULL ends each list. */

#include "train/config/keys.h"

typedef struct key_values {
    const char *const *wholes, *const *numbers, *const *lengths,
                                                    *const *seeds, *const *flags, *const *factors,
                                                                                      *const *texts;
} key_values;

static inline const char *value_for(const key_values *values, const rt_key *key, int i)
{
    switch (key->type) {
    case RT_KEY_CHOICE:
        return key->word(i);
    case RT_KEY_INTEGER:
        return values->wholes[i];
    case RT_KEY_NUMBER:
        return values->numbers[i];
    case RT_KEY_LENGTHS:
        return values->lengths[i];
    case RT_KEY_SEED:
        return values->seeds[i];
    case RT_KEY_YES_NO:
        return values->flags[i];
    case RT_KEY_FACTORS:
        return values->factors[i];
    default:
        return values->texts[i];
    }
}

#endif
