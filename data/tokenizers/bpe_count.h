#ifndef ROTOR_DATA_TOKENIZERS_BPE_COUNT_H
#define ROTOR_DATA_TOKENIZERS_BPE_COUNT_H

/* How often texts have which words, as a byte-level BPE is trained on them: each line by itself,
 * with its newline, cut by GPT-2's pattern (pretokenize.h).
 *
 *     rt_bpe_counts counts = {0};
 *     rt_status status = rt_bpe_counts_add(&counts, crew, name, text, bytes, NULL);
 *     ...
 *     if (!status.code)
 *         status = rt_bpe_counts_join(&counts);      then counts.part[0] has all words
 *     rt_bpe_counts_free(&counts);
 *
 * Which part counts which lines depends on the texts alone: the numbers of words are the same for
 * any number of threads. */

#include "core/crew.h"
#include "data/tokenizers/word_counts.h"

enum { RT_BPE_PARTS = 8 };

/* What is told while a tokenizer is trained: how much of what is done. */
typedef struct rt_bpe_progress {
    void (*tell)(void *context, const char *what, double done, double all);
    void *context;
} rt_bpe_progress;

/* Starts zeroed. The words are escaped. */
typedef struct rt_bpe_counts {
    rt_word_counts part[RT_BPE_PARTS];
} rt_bpe_counts;

/* Counts the words of one more text. RT_DATA begins with `name` if it is not UTF-8. `progress` is
 * told of its bytes; it may be NULL. */
rt_status rt_bpe_counts_add(rt_bpe_counts *counts, const rt_crew *crew, const char *name,
                            const unsigned char *text, size_t bytes,
                            const rt_bpe_progress *progress) RT_MUST_CHECK;

/* Adds the words of the other parts to those of the first, and frees them. */
rt_status rt_bpe_counts_join(rt_bpe_counts *counts) RT_MUST_CHECK;
void rt_bpe_counts_free(rt_bpe_counts *counts);

/* The next byte of an escaped word, and how many bytes it is written as. The strings of a map have
 * no zero byte: byte 0 is written 1 1, and byte 1 is 1 2. */
size_t rt_bpe_unescape(const char *word, unsigned char *byte);

#endif
