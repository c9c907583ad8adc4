#ifndef ROTOR_DATA_TOKENIZERS_BPE_WRITE_H
#define ROTOR_DATA_TOKENIZERS_BPE_WRITE_H

/* A byte-level BPE as a tokenizer.json. */

#include "core/status.h"
#include "data/tokenizers/byte_map.h"

/* Special tokens of a new tokenizer, whose ids are their places: the token between texts, and the
 * token that stands for a masked one, which a tokenizer may lack. */
enum { RT_BPE_MOST_SPECIALS = 2 };
extern const char *const rt_bpe_specials[RT_BPE_MOST_SPECIALS];

/* Bytes, and the most characters that GPT-2 writes them as are twice as many. */
enum { RT_BPE_BYTE_COUNT = 256 };

/* The byte that a character stands for, or -1 (GPT-2: bytes as characters that can be seen). */
int32_t rt_bpe_byte_of(int32_t character);

/* The same the other way round. */
int32_t rt_bpe_character_of(unsigned char byte);

typedef struct rt_bpe_merge {
    int32_t left, right, made; /* ids */
} rt_bpe_merge;

/* Writes the file, with GPT-2's pattern, as tokenizers 0.23 saves it, byte for byte: tokens by
 * their ids, of which the first are the first `specials` of rt_bpe_specials, as they are written.
 * The caller frees it; NULL when the heap is exhausted. */
char *rt_bpe_write(const rt_byte_map *tokens, int specials, const rt_bpe_merge *merges,
                   size_t count) RT_MUST_CHECK;

#endif
