#ifndef ROTOR_DATA_TOKENIZERS_WORD_COUNTS_H
#define ROTOR_DATA_TOKENIZERS_WORD_COUNTS_H

/* How often texts have which words: those of BERT (words.h), or any others. */

#include "core/status.h"
#include "data/tokenizers/byte_map.h"

/* Starts zeroed, but for lowercase. */
typedef struct rt_word_counts {
    bool lowercase;    /* see words.h */
    rt_byte_map words; /* those that are not too long */
    int64_t *counts;   /* of each */
    int32_t capacity;
} rt_word_counts;

/* Counts the words of one more text. RT_DATA begins with `name` if the text is not UTF-8. */
rt_status rt_word_counts_add(rt_word_counts *counts, const char *name, const unsigned char *text,
                             size_t bytes) RT_MUST_CHECK;

/* Counts a word without a zero byte so many times more. Its number, or -1 when the heap is
 * exhausted. */
int32_t rt_word_counts_more(rt_word_counts *counts, const void *word, size_t size, int64_t times);
void rt_word_counts_free(rt_word_counts *counts);

#endif
