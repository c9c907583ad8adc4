#ifndef ROTOR_DATA_TOKENIZERS_BPE_TRAIN_H
#define ROTOR_DATA_TOKENIZERS_BPE_TRAIN_H

/* Trains a byte-level BPE: counts words, counts pairs of tokens, and merges. */

#include "core/crew.h"
#include "data/tokenizers/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- words ---- */

/* Counts of the words of texts, on which a byte-level BPE is trained: each line by itself, with its
 * newline, cut by GPT-2's pattern (words.h).
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

enum { RT_BPE_PARTS = 8 };

/* Listener for the progress of training a tokenizer. */
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

/* ---- pairs ---- */

/* Pairs of tokens by their two ids, while a byte-level BPE is trained. */

typedef struct rt_bpe_pair {
    uint64_t key;   /* the left id in the upper half, the right one below; ascending as both are */
    int64_t count;  /* how often the pair stands in the texts */
    int32_t places; /* the words that got it in this step, as a list; 0: none */
} rt_bpe_pair;

/* Starts zeroed. */
typedef struct rt_bpe_pairs {
    rt_bpe_pair *slots; /* by the hash of their key */
    size_t capacity;    /* a power of two */
    size_t count;
} rt_bpe_pairs;

/* The pair of a key, which is new if it was not there, until the next one is asked for; NULL when
 * the heap is exhausted. */
rt_bpe_pair *rt_bpe_pairs_at(rt_bpe_pairs *pairs, uint64_t key);
void rt_bpe_pairs_free(rt_bpe_pairs *pairs);

static inline uint64_t rt_bpe_key(int32_t left, int32_t right)
{
    return (uint64_t)left << 32 | (uint64_t)right;
}

/* ---- training ---- */

/* Trains a byte-level BPE (Sennrich et al. 2016, Radford et al. 2019) as BpeTrainer of Hugging
 * Face's tokenizers 0.23 does, so that both make the same file of the same texts.
 *
 * The first ids are those of the special tokens, <|endoftext|> and, if it is asked for, [MASK]. The
 * next 256 are the bytes in the order of the characters that they are written as. Then the most
 * frequent pair of neighbours within words is merged into a new token, again and again; of pairs
 * that are as frequent it is the one whose left id is smallest, and then whose right id is. */

/* Number of ids, <|endoftext|> and all bytes included. rotor can read a file with the most of
 * them. */
enum { RT_BPE_LEAST_IDS = 257, RT_BPE_MOST_IDS = 500000 };

/* Trains a tokenizer.json of `size` ids, with [MASK] if `mask`; of fewer, *ids, if every word is a
 * token before. The caller frees it. Returns RT_DATA if there are no words, or too many different
 * ones; RT_MEMORY. Tells `progress`, which may be NULL, of the ids. */
rt_status rt_bpe_train(const rt_word_counts *words, int size, bool mask,
                       const rt_bpe_progress *progress, char **text_new, int *ids) RT_MUST_CHECK;

#endif
