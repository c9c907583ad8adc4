#ifndef ROTOR_TRAIN_STEP_MOST_LIKELY_H
#define ROTOR_TRAIN_STEP_MOST_LIKELY_H

/* What a language model would say next: tokens of text alone, although its logits have rows for
 * special tokens, and may have some that no token has. */

#include "core/real.h"
#include "data/tokenizers/vocabulary.h"

/* The token with the largest of the logits or probabilities, (V); of equals the first. */
int32_t rt_most_likely_token(const rt_vocabulary *vocabulary, const real *weights);

#endif
