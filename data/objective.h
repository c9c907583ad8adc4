#ifndef ROTOR_DATA_OBJECTIVE_H
#define ROTOR_DATA_OBJECTIVE_H

/* Training objectives of texts, and texts with masks. */

#include "data/data.h"
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
 * *ids_new; *masks counts masks, `unknown` describes [UNK]. RT_ARGUMENT as for
 * rt_vocabulary_encode, and if there is no id. */
rt_status rt_masked_text_encode(const rt_vocabulary *vocabulary, bool begins, bool special,
                                const char *text, int32_t **ids_new, int *count, int *masks,
                                rt_unknown *unknown) RT_MUST_CHECK;

struct rt_draw;
struct rt_sequence;

/* Sets the labels of a row of tokens; for mlm also replaces chosen tokens by [MASK] or other
 * tokens. */
void rt_objective_apply(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

#endif
