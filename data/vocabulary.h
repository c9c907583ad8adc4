#ifndef ROTOR_DATA_ALPHABET_H
#define ROTOR_DATA_ALPHABET_H

/* The units that occur in a text, and their token ids. Made again of its own bytes, it is
 * the same alphabet: they are what a checkpoint has to store. */

#include "data/data.h"

typedef struct rt_alphabet {
    rt_level level;
    int count;
    int32_t *units;       /* (count), ascending; units[i] has the id RT_FIRST_SYMBOL + i */
    int32_t *ids;         /* of every unit there can be; RT_ID_PAD if it does not occur */
    unsigned char *bytes; /* the units one after the other */
    size_t size;
} rt_alphabet;

/* The distinct units of a text, which must be UTF-8 at level char. */
rt_status rt_alphabet_new(rt_alphabet **alphabet_new, rt_level level, const unsigned char *text,
                          size_t bytes) RT_MUST_CHECK;
void rt_alphabet_free(rt_alphabet *alphabet);

/* The ids of a text, at most as many as it has bytes. RT_ARGUMENT names what is not in the
 * alphabet, or not UTF-8, and where it stands. */
rt_status rt_alphabet_encode(const rt_alphabet *alphabet, const char *text, size_t bytes,
                             int32_t *ids, int *count) RT_MUST_CHECK;

/* The unit of an id, zero-terminated; returns its size in bytes, 0 for a special token and
 * for what is no id. */
size_t rt_alphabet_decode(const rt_alphabet *alphabet, int32_t id, char unit[RT_UNIT_SIZE]);

#endif
