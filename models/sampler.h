#ifndef ROTOR_MODELS_SAMPLER_H
#define ROTOR_MODELS_SAMPLER_H

/* Sampling of the next token from a row of logits: temperature, top-k and nucleus (top-p) sampling
 * (Holtzman et al. 2020).
 *
 *   p[i] = exp(logits[i] / temperature) / (sum of these over all tokens)
 *
 * top_k keeps the most likely tokens; of these, top_p keeps the fewest, at least one, whose
 * probabilities reach the sum top_p. The kept probabilities are scaled to a sum of 1. Equally
 * likely tokens are ordered by id. Probabilities are rounded to `real`.
 *
 * A draw depends only on the logits, the options and its number, n + 2^32 k for token n of text k:
 * the uniform number is number k of (seed, n, RT_STREAM_SAMPLE), core/random.h. It does not depend
 * on earlier draws or on threads. A sampler belongs to one thread at a time, and serves any number
 * of texts.
 *
 * A token with a logit of -infinity is never drawn. RT_NONFINITE if a logit is NaN or +infinity, or
 * if none is finite.
 */

#include "core/real.h"
#include "core/status.h"

#include <stdint.h>

typedef struct rt_sampling {
    double temperature; /* finite, >= 0; 0: always the token with the largest logit */
    int top_k;          /* 0, or more than there are tokens: all tokens */
    double top_p;       /* in (0, 1]; 1: all tokens */
    uint64_t seed;
} rt_sampling;

typedef struct rt_sampler rt_sampler;

/* Creates a sampler for rows whose first `count` > 0 logits belong to tokens; a model may have more
 * rows than its vocabulary has tokens, and these are ignored. RT_ARGUMENT if an option is out of
 * its range; RT_MEMORY. */
rt_status rt_sampler_new(rt_sampler **sampler_new, const rt_sampling *options,
                         int count) RT_MUST_CHECK;
void rt_sampler_free(rt_sampler *sampler);

/* Draws a token, 0 ... count-1; each draw of each text needs its own `number`. Allocates nothing.
 *
 *   logits  (count) or longer */
rt_status rt_sampler_draw(rt_sampler *sampler, const real *logits, uint64_t number,
                          int32_t *token) RT_MUST_CHECK;

/* Computes the probabilities of such a draw: 0 for tokens excluded by top_k or top_p, and at
 * temperature 0 a single 1.
 *
 *   logits         (count) or longer
 *   probabilities  (count) */
rt_status rt_sampler_probabilities(rt_sampler *sampler, const real *logits,
                                   double *probabilities) RT_MUST_CHECK;

/* Computes the softmax of a row of logits, in double; count > 0.
 *
 *   logits         (count)
 *   probabilities  (count) */
rt_status rt_probabilities(const real *logits, int count, double *probabilities) RT_MUST_CHECK;

#endif
