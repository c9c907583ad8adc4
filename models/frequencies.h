#ifndef ROTOR_MODELS_FREQUENCIES_H
#define ROTOR_MODELS_FREQUENCIES_H

/* The theta of a rotation by the keys position.*, in double: a family of frequencies, and their
 * scaling for texts longer than those of the training. */

#include "core/choice.h"
#include "core/status.h"

/* Families of theta_i, i = 0 ... R/2 - 1: base^(-2i/R); evenly spaced from the first to the last of
 * these; 1 / (1 + i). */
#define RT_FREQUENCIES(X)                                                                          \
    X(RT_FREQUENCIES_GEOMETRIC, "geometric")                                                       \
    X(RT_FREQUENCIES_LINEAR, "linear")                                                             \
    X(RT_FREQUENCIES_RECIPROCAL, "reciprocal")
typedef enum rt_frequency_family { RT_FREQUENCIES(RT_CHOICE_VALUE) } rt_frequency_family;

/* Scalings. With s the scale, L the original length, and T the length of the sequence:
 *
 *     linear  theta_i / s, equivalent to position / s (Chen et al. 2023)
 *     ntk     base * s^(R/(R-2)) for the base: theta_0 stays, the last theta is divided by s
 *     yarn    theta_i for pairs with more than beta_fast = 32 rotations within L, theta_i / s for
 *             pairs with fewer than beta_slow = 1, a linear ramp between; cosines and
 *             sines times 0.1 ln s + 1 (Peng et al. 2023)
 *     dynamic for T > L, base * (s T/L - (s - 1))^(R/(R-2)) for the base
 *     longrope  theta_i divided by a short factor per pair, for T > L by a long one; cosines and
 *             sines times sqrt(1 + ln s / ln L), 1 for s = 1 (Ding et al. 2024)
 *     llama3  theta_i for pairs with more than high_freq_factor = 4 rotations within L,
 *             theta_i / s for pairs with fewer than low_freq_factor = 1; between them a mix
 *             of both that is linear in the number of rotations (Llama 3, 2024)
 *
 * as computed by transformers 5. */
#define RT_SCALINGS(X)                                                                             \
    X(RT_SCALING_NONE, "none")                                                                     \
    X(RT_SCALING_LINEAR, "linear")                                                                 \
    X(RT_SCALING_NTK, "ntk")                                                                       \
    X(RT_SCALING_YARN, "yarn")                                                                     \
    X(RT_SCALING_DYNAMIC, "dynamic")                                                               \
    X(RT_SCALING_LONGROPE, "longrope")                                                             \
    X(RT_SCALING_LLAMA3, "llama3")
typedef enum rt_scaling { RT_SCALINGS(RT_CHOICE_VALUE) } rt_scaling;

/* Defaults of a scaling, equal to those of the keys position.*. */
#define RT_FREQUENCY_DEFAULTS                                                                      \
    .base = 10000, .scale = 1, .beta_fast = 32, .beta_slow = 1, .low_freq_factor = 1,              \
    .high_freq_factor = 4

typedef struct rt_frequency_options {
    rt_frequency_family family;
    double base;
    rt_scaling scaling;
    double scale;     /* s, at least 1 */
    int original_len; /* L, length of the texts in training, in tokens: for yarn, dynamic, longrope,
                         llama3 */
    double beta_fast, beta_slow; /* 0: the values above, also for the next two */
    double low_freq_factor, high_freq_factor;
    double attention_factor; /* yarn, longrope: factor of cosines and sines; 0: as above */
    rt_factors short_factors, long_factors; /* longrope */
} rt_frequency_options;

/* Checks the options for a number of pairs. RT_ARGUMENT if they contradict each other. */
rt_status rt_frequencies_check(const rt_frequency_options *o, int pairs) RT_MUST_CHECK;

/* Computes theta for sequences of up to the original length. */
void rt_frequencies(double *theta, int pairs, const rt_frequency_options *o);

/* Computes theta for sequences of T tokens: beyond the original length, dynamic and longrope change
 * it. */
void rt_frequencies_at(double *theta, int pairs, const rt_frequency_options *o, int T);

/* Returns a number that is equal for lengths with equal theta. */
int rt_frequencies_regime(const rt_frequency_options *o, int T);

/* Returns the factor of cosines and sines: 1, except for yarn and longrope. */
double rt_frequencies_magnitude(const rt_frequency_options *o);

/* Computes the pairs between which yarn's ramp lies; R = 2 pairs. */
void rt_yarn_ramp(const rt_frequency_options *o, int pairs, double *low, double *high);

#endif
