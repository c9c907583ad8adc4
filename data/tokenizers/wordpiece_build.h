#ifndef ROTOR_DATA_TOKENIZERS_WORDPIECE_BUILD_H
#define ROTOR_DATA_TOKENIZERS_WORDPIECE_BUILD_H

/* Makes a WordPiece vocabulary of texts.
 *
 * First come the special tokens in the order of BERT, then every character of the texts, then with
 * ## those that stand within words, both by code point. Then pieces are joined, as in byte pair
 * encoding (Sennrich et al. 2016): again and again the two that stand side by side most often in
 * all words, counted as often as the texts have them, become a piece. Of pairs that are as
 * frequent, it is the one whose left piece comes first in the order of bytes (## included), and
 * then whose right piece does. So the same words give the same bytes, whatever their order. */

#include "data/tokenizers/words.h"

/* A vocab.txt with `size` lines, or fewer if all words are pieces before, which *lines tells; the
 * caller frees it. RT_DATA if there are no words that fit, RT_CONFIG if the special tokens and
 * characters alone are more than `size`: the message says how many there are. */
rt_status rt_wordpiece_build(const rt_word_counts *counts, int size, char **text_new,
                             int *lines) RT_MUST_CHECK;

#endif
