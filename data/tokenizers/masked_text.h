#ifndef ROTOR_DATA_TOKENIZERS_MASKED_TEXT_H
#define ROTOR_DATA_TOKENIZERS_MASKED_TEXT_H

/* Texts with masks, as users write them. */

#include "data/tokenizers/vocabulary.h"

/* Position of the next mask in a text: "[MASK]", or the mask token as the vocabulary writes it
 * ("<mask>"). */
typedef struct rt_mask_place {
    const char *at; /* NULL: none */
    size_t size;
} rt_mask_place;
rt_mask_place rt_mask_find(const rt_vocabulary *vocabulary, const char *text);

/* Encodes a text with masks as input of a model: [CLS] if `begins`, then the tokens, with the mask
 * token for each mask. Other special tokens are encoded as text, unless `special`. The caller frees
 * *ids_new; *masks counts masks (NULL: masks are text), `unknown` describes [UNK]. RT_ARGUMENT as
 * for rt_vocabulary_encode, and if there is no id. */
rt_status rt_masked_text_encode(const rt_vocabulary *vocabulary, bool begins, bool special,
                                const char *text, int32_t **ids_new, int *count, int *masks,
                                rt_unknown *unknown) RT_MUST_CHECK;

#endif
