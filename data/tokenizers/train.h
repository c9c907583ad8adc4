#ifndef ROTOR_DATA_TOKENIZERS_TRAIN_H
#define ROTOR_DATA_TOKENIZERS_TRAIN_H

/* Trains a tokenizer: counts the words of texts, then merges the most frequent pairs of
 * neighbouring pieces. */

#include "core/crew.h"
#include "core/status.h"
#include "data/tokenizers/maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- words ---- */

/* Counts of the words of texts.
 *
 *     rt_word_counts counts = {.wordpiece = ...};
 *     rt_status status = rt_word_counts_add(&counts, crew, name, text, bytes, NULL);
 *     ...
 *     if (!status.code)
 *         status = rt_tokenizer_train(&counts, ...);
 *     rt_word_counts_free(&counts);
 *
 * Which part counts which lines depends on the texts alone: the numbers of words are the same for
 * any number of threads. */

enum { RT_WORD_PARTS = 8 };

/* Listener for the progress of training a tokenizer. */
typedef struct rt_train_progress {
    void (*tell)(void *context, const char *what, double done, double all);
    void *context;
} rt_train_progress;

typedef struct rt_word_part {
    rt_byte_map words;
    int64_t *counts; /* of each word */
    size_t capacity;
} rt_word_part;

/* Starts zeroed, but for the two flags. */
typedef struct rt_word_counts {
    bool wordpiece; /* words of BERT up to RT_WORD_CHARACTERS; otherwise those of GPT-2's pattern,
                       on each line by itself, with its newline (words.h) */
    bool lowercase; /* of the words of BERT */
    rt_word_part part[RT_WORD_PARTS];
} rt_word_counts;

/* Counts the words of one more text. RT_DATA begins with `name` if it is not UTF-8. Without a crew
 * (NULL) the parts are counted one after the other. `progress` is told of the bytes; it may be
 * NULL. */
rt_status rt_word_counts_add(rt_word_counts *counts, const rt_crew *crew, const char *name,
                             const unsigned char *text, size_t bytes,
                             const rt_train_progress *progress) RT_MUST_CHECK;
void rt_word_counts_free(rt_word_counts *counts);

/* ---- training ---- */

/* Number of ids of a byte-level BPE, <|endoftext|> and all bytes included. rotor can read a file
 * with the most of them. */
enum { RT_BPE_LEAST_IDS = 257, RT_BPE_MOST_IDS = 500000 };

/* Trains a tokenizer of `size` ids; of fewer, *ids, if every word is a piece before. Returns its
 * file as a text that the caller frees. The most frequent pair of neighbours within words, counted
 * as often as the texts have the words, is merged into a new piece, again and again. Tells
 * `progress`, which may be NULL, of the ids. RT_DATA if there are no words, or too many different
 * ones; RT_MEMORY.
 *
 * A byte-level BPE (Sennrich et al. 2016, Radford et al. 2019), as a tokenizer.json, is trained as
 * BpeTrainer of Hugging Face's tokenizers 0.23 does, so that both make the same file of the same
 * texts. The first ids are those of the special tokens, <|endoftext|> and, with `mask`, [MASK]. The
 * next 256 are the bytes in the order of the characters that they are written as. Of pairs that are
 * as frequent it is the one whose left id is smallest, and then whose right id is.
 *
 * WordPiece, as a vocab.txt: first come the special tokens in the order of BERT, then every
 * character of the texts, then with ## those that stand within words, both by code point. Of pairs
 * that are as frequent it is the one whose left piece comes first in the order of bytes (##
 * included), and then whose right piece does. So the same words give the same bytes, whatever their
 * order. RT_CONFIG if the special tokens and characters alone are more than `size`: the message
 * says how many there are. */
rt_status rt_tokenizer_train(rt_word_counts *counts, int size, bool mask,
                             const rt_train_progress *progress, char **text_new,
                             int *ids) RT_MUST_CHECK;

#endif
