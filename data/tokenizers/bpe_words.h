#ifndef ROTOR_DATA_TOKENIZERS_BPE_WORDS_H
#define ROTOR_DATA_TOKENIZERS_BPE_WORDS_H

/* The words of one text as ids, one after the other: merging, and a memory of the words that came
 * before. A word of n bytes costs n log n at most. */

#include "data/tokenizers/bpe.h"

typedef struct rt_bpe_words rt_bpe_words;

/* For a text of so many bytes. */
rt_status rt_bpe_words_new(rt_bpe_words **words_new, const rt_vocabulary *v, size_t bytes,
                           rt_id_taker *take, void *context, rt_unknown *unknown) RT_MUST_CHECK;
void rt_bpe_words_free(rt_bpe_words *words);

/* Takes the ids of a word, which begins at byte `at` of the text. */
rt_status rt_bpe_word(rt_bpe_words *words, const unsigned char *word, size_t bytes,
                      size_t at) RT_MUST_CHECK;

/* Takes an id. */
void rt_bpe_take(rt_bpe_words *words, int32_t id);

#endif
