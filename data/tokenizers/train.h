#ifndef ROTOR_DATA_TOKENIZERS_TRAIN_H
#define ROTOR_DATA_TOKENIZERS_TRAIN_H

/* Training of tokenizers: counts the words of texts, then merges the most frequent pairs of
 * neighbouring pieces. */

#include "core/graph.h"
#include "core/status.h"
#include "data/tokenizers/maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts of the words of texts.
 *
 *     rt_word_counts counts = {.wordpiece = ...};
 *     rt_status status = rt_word_counts_add(&counts, threads, name, text, bytes, NULL);
 *     ...
 *     if (!status.code)
 *         status = rt_tokenizer_train(&counts, ...);
 *     rt_word_counts_free(&counts);
 *
 * The texts alone decide which part counts which lines, so the numbers of words are the same for
 * any number of threads. */

enum { RT_WORD_PARTS = 8 };

/* Callback for the progress of training. */
typedef struct rt_train_progress {
    void (*tell)(void *context, const char *what, double done, double all);
    void *context;
} rt_train_progress;

typedef struct rt_word_part {
    rt_byte_map words;
    int64_t *counts; /* count of each word */
    size_t capacity;
    const unsigned char *text; /* lines to be counted */
    size_t bytes;
    bool failed; /* memory is exhausted */
} rt_word_part;

/* Word counts. They start zeroed except the two flags. */
typedef struct rt_word_counts {
    bool wordpiece; /* words of BERT up to RT_WORD_CHARACTERS; else words of GPT-2's pattern within
                       each line, newline included (words.h) */
    bool lowercase; /* words of BERT in lower case */
    rt_word_part part[RT_WORD_PARTS];
} rt_word_counts;

/* Counts the words of a text. RT_DATA, which begins with `name`, if it is not UTF-8. Without
 * threads (NULL) the parts are counted serially. `progress` counts bytes; it may be NULL. */
rt_status rt_word_counts_add(rt_word_counts *counts, const rt_threads *threads, const char *name,
                             const unsigned char *text, size_t bytes,
                             const rt_train_progress *progress) RT_MUST_CHECK;
void rt_word_counts_free(rt_word_counts *counts);

/* Number of ids of a byte-level BPE with <|endoftext|> and all bytes: the least, and the most that
 * rotor can read. */
enum { RT_BPE_LEAST_IDS = 257, RT_BPE_MOST_IDS = 500000 };

/* Trains a tokenizer of up to `size` ids and returns its file as a text, which the caller frees.
 * *ids is less than `size` if every word has become a piece. Training repeatedly merges the most
 * frequent pair of neighbours within words, weighted by the counts of the words. `progress` counts
 * ids; it may be NULL. RT_DATA if there are no words or too many.
 *
 * Byte-level BPE (Sennrich et al. 2016, Radford et al. 2019), a tokenizer.json: trained as by
 * BpeTrainer of Hugging Face's tokenizers 0.23, which gives the same file for the same texts. The
 * first ids are <|endoftext|> and, with `mask`, [MASK]; the next 256 are the bytes in the order of
 * their characters. On a tie the pair with the smallest left id, then the smallest right id, is
 * merged.
 *
 * WordPiece, a vocab.txt: the special tokens in the order of BERT, then all characters of the
 * texts, then those within words with ##, both by code point. On a tie the pair whose left piece,
 * then right piece, is first in the order of bytes (## included) is merged. The file depends on the
 * words but not on their order. RT_CONFIG, with the number needed, if special tokens and characters
 * exceed `size`. */
rt_status rt_tokenizer_train(rt_word_counts *counts, int size, bool mask,
                             const rt_train_progress *progress, char **text_new,
                             int *ids) RT_MUST_CHECK;

#endif
