#ifndef ROTOR_DATA_TOKENIZERS_BPE_TRAIN_H
#define ROTOR_DATA_TOKENIZERS_BPE_TRAIN_H

/* Trains a byte-level BPE (Sennrich et al. 2016, Radford et al. 2019) as BpeTrainer of Hugging
 * Face's tokenizers 0.23 does, so that both make the same file of the same texts.
 *
 * The first ids are those of the special tokens, <|endoftext|> and, if it is asked for, [MASK]. The
 * next 256 are the bytes in the order of the characters that they are written as. Then the most
 * frequent pair of neighbours within words is merged into a new token, again and again; of pairs
 * that are as frequent it is the one whose left id is smallest, and then whose right id is. */

#include "data/tokenizers/bpe_count.h"

/* Number of ids, <|endoftext|> and all bytes included. rotor can read a file with the most of
 * them. */
enum { RT_BPE_LEAST_IDS = 257, RT_BPE_MOST_IDS = 500000 };

/* Trains a tokenizer.json of `size` ids, with [MASK] if `mask`; of fewer, *ids, if every word is a
 * token before. The caller frees it. Returns RT_DATA if there are no words, or too many different
 * ones; RT_MEMORY. Tells `progress`, which may be NULL, of the ids. */
rt_status rt_bpe_train(const rt_word_counts *words, int size, bool mask,
                       const rt_bpe_progress *progress, char **text_new, int *ids) RT_MUST_CHECK;

#endif
