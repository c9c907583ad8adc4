#ifndef ROTOR_DATA_ALPHABET_H
#define ROTOR_DATA_ALPHABET_H

/* The units (bytes) that occur in a text, and their token ids. A plain value that is
 * rebuilt from its units alone: what a checkpoint has to store. */

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

enum { RT_BYTE_VALUES = 256 };

typedef struct rt_alphabet {
    int count;
    uint8_t units[RT_BYTE_VALUES]; /* ascending; units[i] has the id RT_FIRST_SYMBOL + i */
    int32_t ids[RT_BYTE_VALUES];   /* of every byte; RT_ID_PAD if it does not occur */
} rt_alphabet;

/* The distinct bytes of a text; of an alphabet's own units, that alphabet. */
rt_alphabet rt_alphabet_of(const uint8_t *text, size_t bytes);

/* The ids of a text, as many as it has bytes. RT_ARGUMENT names a byte that is not in the
 * alphabet, and where it stands. */
rt_status rt_alphabet_encode(const rt_alphabet *alphabet, const char *text, size_t bytes,
                             int32_t *ids) RT_MUST_CHECK;

/* The byte of an id; -1 for a special token and for what is no id. */
int rt_alphabet_decode(const rt_alphabet *alphabet, int32_t id);

#endif
