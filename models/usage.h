#ifndef ROTOR_MODELS_USAGE_H
#define ROTOR_MODELS_USAGE_H

/* Usage of pairs: sums over queries and keys before their rotation, over all tokens that a model
 * with rope and softmax attention reads. */

#include "models/transformer.h"

/* Sums of one pair of a head; the features of a token are (a, b). */
typedef struct rt_pair_sum {
    double length; /* of sqrt(a^2 + b^2) */
    double a, b;
} rt_pair_sum;

typedef struct rt_usage {
    double tokens;      /* without padding */
    rt_pair_sum *query; /* (layers in which rope rotates, H, R/2) */
    rt_pair_sum *key;   /* (layers in which rope rotates, G, R/2), behind the queries */
    size_t queries, keys;
} rt_usage;

/* Allocates zeroed sums. RT_CONFIG if the model rotates no pair or its attention has no scores;
 * RT_MEMORY. */
rt_status rt_usage_new(rt_usage *usage, const rt_transformer_options *options) RT_MUST_CHECK;
void rt_usage_free(rt_usage *usage);

void rt_usage_clear(rt_usage *usage);
void rt_usage_add(rt_usage *sum, const rt_usage *usage);

/* Adds the queries (B, T, H, D) and keys (B, T, G, D) of layer l, which has positions; the first
 * such layer also adds the number of tokens. */
void rt_usage_add_layer(rt_usage *usage, const rt_transformer_options *options, int l,
                        const rt_transformer_input *input, const rt_tensor *query,
                        const rt_tensor *key);

/* Computes, for one head, the mean length of each pair, and the length of its mean over the tokens,
 * each divided by its mean over all pairs of the head; 0 without tokens. */
void rt_usage_shares(double *length, double *of_mean, const rt_pair_sum *sums, int pairs);

#endif
