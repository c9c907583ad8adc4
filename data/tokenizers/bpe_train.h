#ifndef ROTOR_DATA_TOKENIZERS_BPE_TRAIN_H
#define ROTOR_DATA_TOKENIZERS_BPE_TRAIN_H

/* Trains a byte-level BPE (Sennrich et al. 2016, Radford et al. 2019) as BpeTrainer of Hugging
 * Face's tokenizers 0.23 does, so that both make the same file of the same texts.
 *
 * Id 0 is <|endoftext|>, and 1 to 256 are the bytes in the order of the characters that they are
 * written as. Then the most frequent pair of neighbours within words is merged into a new token,
 * again and again; of pairs that are as frequent it is the one whose left id is smallest, and then
 * whose right id is. */

#include "data/tokenizers/bpe_count.h"

/* Ids, <|endoftext|> and all bytes included. Rotor can read a file with the most of them. */
enum { RT_BPE_LEAST_IDS = 257, RT_BPE_MOST_IDS = 500000 };

/* A tokenizer.json of `size` ids, or fewer if every word is a token before, which *ids tells; the
 * caller frees it. RT_DATA if there are no words, or too many different ones; RT_MEMORY.
 * `progress` is told of the ids; it may be NULL. */
rt_status rt_bpe_train(const rt_word_counts *words, int size, const rt_bpe_progress *progress,
                       char **text_new, int *ids) RT_MUST_CHECK;

#endif
