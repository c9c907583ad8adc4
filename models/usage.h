#ifndef ROTOR_MODELS_USAGE_H
#define ROTOR_MODELS_USAGE_H

/* What positional encodings do with the tokens that a model reads: sums over the queries and keys
 * of each rotated pair, before the rotation, for softmax attention; over forget gates; and over the
 * sums of phases. */

#include "models/transformer.h"

/* Sums of one pair of a head; the features of a token are (a, b). */
typedef struct rt_pair_sum {
    double length; /* of sqrt(a^2 + b^2) */
    double a, b;
} rt_pair_sum;

/* Sums, over the texts, of the phases of the tokens up to a position, and of the squares of these.
 * Positions are at most RT_PHASE_PLACES, at equal distances up to the last. */
enum { RT_PHASE_PLACES = 8 };

typedef struct rt_phase_sum {
    double count, sum, square;
} rt_phase_sum;

typedef struct rt_usage {
    double tokens;        /* without padding */
    rt_pair_sum *query;   /* (layers that rotate, H, R/2) */
    rt_pair_sum *key;     /* (layers that rotate, G, R/2), behind the queries */
    size_t queries, keys; /* 0: there are no such pairs */
    double *gates;        /* (layers, H): of the forget gates of the tokens; NULL: none */
    rt_phase_sum *phases; /* (layers that rotate, H, R/2, places); NULL: rotations are by
                             position */
    int places;
    int length;      /* tokens of a text; what lies behind is not counted */
    double *numbers; /* all of the above but the tokens */
    size_t count;
} rt_usage;

/* Returns RT_CONFIG, with the reason, if the model rotates no pair or attention has no scores. */
rt_status rt_usage_check(const rt_transformer_options *options) RT_MUST_CHECK;

/* Allocates zeroed sums for texts of `length` tokens. The reason of rt_usage_check if there is
 * nothing to sum up; RT_MEMORY. */
rt_status rt_usage_new(rt_usage *usage, const rt_transformer_options *options,
                       int length) RT_MUST_CHECK;
void rt_usage_free(rt_usage *usage);

void rt_usage_clear(rt_usage *usage);
void rt_usage_add(rt_usage *sum, const rt_usage *usage);

/* Returns the position at one of the places. */
int rt_usage_position(const rt_usage *usage, int place);

/* Computes, for one head, the mean length of each pair, and the length of its mean over the tokens,
 * each divided by its mean over all pairs of the head; 0 without tokens. */
void rt_usage_shares(double *length, double *of_mean, const rt_pair_sum *sums, int pairs);

#endif
