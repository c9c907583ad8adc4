#ifndef ROTOR_DATA_OBJECTIVE_H
#define ROTOR_DATA_OBJECTIVE_H

/* Training objectives of texts, and texts with masks. */

#include "data/data.h"
#include "data/tokenizers/vocabulary.h"

/* ---- texts with masks ---- */

/* A text as a model of text gets it: [CLS], if `begins`, its tokens, and a masked token wherever
 * [MASK] stands, or the mask as the vocabulary writes it ("<mask>"). */

/* The next mask of a text. */
typedef struct rt_mask_place {
    const char *at; /* NULL: there is none */
    size_t size;
} rt_mask_place;
rt_mask_place rt_mask_find(const rt_vocabulary *vocabulary, const char *text);

/* The ids, in a block that the caller frees, how many of them are masks, and what of the text
 * became [UNK]. Other special tokens in it are text, unless `special`. RT_ARGUMENT as
 * rt_vocabulary_encode, and if there is no id. */
rt_status rt_masked_text_encode(const rt_vocabulary *vocabulary, bool begins, bool special,
                                const char *text, int32_t **ids_new, int *count, int *masks,
                                rt_unknown *unknown) RT_MUST_CHECK;

/* ---- objectives ---- */

/* The training objective of a sequence that repeats itself or is a text: to predict masked tokens,
 * or at every place the next one. */

struct rt_draw;
struct rt_sequence;

/* Checks data.mask_probability, as rt_data_rules. */
void rt_objective_check(const rt_data_options *o, rt_rule_sink to);

/* Sets the labels of a row of tokens and, for mlm, puts [MASK] and other tokens in the place of
 * some. */
void rt_objective_apply(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

#endif
