#ifndef ROTOR_DATA_TOKENIZERS_CHARACTERS_SEEN_H
#define ROTOR_DATA_TOKENIZERS_CHARACTERS_SEEN_H

/* The characters of texts that are read part by part. */

#include "data/tokenizers/vocabulary.h"

#include <stdbool.h>

typedef struct rt_characters_seen {
    bool *occurs; /* each code point */
    int count;
} rt_characters_seen;

/* Begins without characters. Returns false if the heap is exhausted. */
bool rt_characters_seen_open(rt_characters_seen *seen);
void rt_characters_seen_close(rt_characters_seen *seen);

/* Adds the characters of a part, which must be UTF-8. `seen` is an rt_characters_seen. */
void rt_characters_seen_add(void *seen, const unsigned char *text, size_t bytes);

/* Creates the vocabulary of the characters of all parts, as rt_vocabulary_of_text. */
rt_status rt_characters_seen_vocabulary(rt_vocabulary **vocabulary_new, const char *name,
                                        const rt_characters_seen *seen) RT_MUST_CHECK;

#endif
