#ifndef ROTOR_MODELS_SAMPLER_H
#define ROTOR_MODELS_SAMPLER_H

/* Sampling of the next token from a row of logits: temperature, top-k and nucleus (top-p) sampling
 * (Holtzman et al. 2020).
 *
 *   p[i] = exp(logits[i] / temperature) / (sum of these over the tokens that may be drawn)
 *
 * top_k keeps the most likely tokens, top_p of those the most likely whose probabilities reach
 * that sum, at least one; what is kept is scaled to a sum of 1. Of tokens that are as likely, the
 * one with the smaller id comes first. Probabilities are rounded to `real`.
 *
 * A draw is a function of the logits, the options and its number alone: the uniform number is that
 * of (seed, number, RT_STREAM_SAMPLE), core/random.h. What was drawn before, by whom, and in how
 * many threads changes nothing. A sampler belongs to one thread at a time, and serves any number of
 * texts.
 *
 * A logit of -infinity is that of a token that cannot be drawn. RT_ARGUMENT names a logit that is
 * NaN or +infinity, and is the answer where none is finite.
 */

#include "core/real.h"
#include "core/status.h"

#include <stdint.h>

typedef struct rt_sampling {
    double temperature; /* finite, >= 0; 0: the token with the largest logit, whatever the rest */
    int top_k;          /* 0: all tokens, as with more than there are */
    double top_p;       /* in (0, 1]; 1: all tokens */
    uint64_t seed;
} rt_sampling;

typedef struct rt_sampler rt_sampler;

/* For rows whose first `count` logits are those of tokens that may be drawn, count > 0: a model
 * may have more rows than its vocabulary has tokens, and these are never looked at. RT_ARGUMENT for
 * an option that is out of its range; RT_MEMORY. */
rt_status rt_sampler_new(rt_sampler **sampler_new, const rt_sampling *options,
                         int count) RT_MUST_CHECK;
void rt_sampler_free(rt_sampler *sampler);

/* Draws a token, 0 ... count-1; `number` tells the draws of a text apart. Allocates nothing.
 *
 *   logits  (count) or longer */
rt_status rt_sampler_draw(rt_sampler *sampler, const real *logits, uint32_t number,
                          int32_t *token) RT_MUST_CHECK;

/* The probabilities that such a draw has: 0 for what top_k and top_p leave out, and at temperature
 * 0 a single 1.
 *
 *   logits         (count) or longer
 *   probabilities  (count) */
rt_status rt_sampler_probabilities(rt_sampler *sampler, const real *logits,
                                   double *probabilities) RT_MUST_CHECK;

/* The softmax of a row of logits, in double; count > 0.
 *
 *   logits         (count)
 *   probabilities  (count) */
rt_status rt_probabilities(const real *logits, int count, double *probabilities) RT_MUST_CHECK;

#endif
