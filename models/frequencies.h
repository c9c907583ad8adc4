#ifndef ROTOR_MODELS_FREQUENCIES_H
#define ROTOR_MODELS_FREQUENCIES_H

/* The theta of a rotation as position.* describes it, in double: a family of frequencies, and
 * what is done to them so that a model can read longer texts than it was trained on. */

#include "core/choice.h"
#include "core/status.h"

/* theta_i, i = 0 ... R/2 - 1: base^(-2i/R); evenly spaced from the first to the last of those;
 * 1 / (1 + i). */
#define RT_FREQUENCIES(X)                                                                          \
    X(RT_FREQUENCIES_GEOMETRIC, "geometric")                                                       \
    X(RT_FREQUENCIES_LINEAR, "linear")                                                             \
    X(RT_FREQUENCIES_RECIPROCAL, "reciprocal")
typedef enum rt_frequency_family { RT_FREQUENCIES(RT_CHOICE_VALUE) } rt_frequency_family;

/* With s the scale, L the original length, and T the length of the sequence:
 *
 *     linear  theta_i / s, which is position / s (Chen et al. 2023)
 *     ntk     base * s^(R/(R-2)) for the base: theta_0 stays, the last theta is divided by s
 *     yarn    theta_i for pairs with more than beta_fast = 32 rotations within L, theta_i / s for
 *             those with less than beta_slow = 1, a linear ramp between; cosines and
 *             sines times 0.1 ln s + 1 (Peng et al. 2023)
 *     dynamic for T > L, base * (s T/L - (s - 1))^(R/(R-2)) for the base
 *     longrope  theta_i over a short factor of its own, for T > L over a long one; cosines and
 *             sines times sqrt(1 + ln s / ln L), 1 for s = 1 (Ding et al. 2024)
 *     llama3  theta_i for pairs with more than high_freq_factor = 4 rotations within L,
 *             theta_i / s for those with less than low_freq_factor = 1; between them a mix
 *             of both that is linear in the number of rotations (Llama 3, 2024)
 *
 * as transformers 5 computes them. */
#define RT_SCALINGS(X)                                                                             \
    X(RT_SCALING_NONE, "none")                                                                     \
    X(RT_SCALING_LINEAR, "linear")                                                                 \
    X(RT_SCALING_NTK, "ntk")                                                                       \
    X(RT_SCALING_YARN, "yarn")                                                                     \
    X(RT_SCALING_DYNAMIC, "dynamic")                                                               \
    X(RT_SCALING_LONGROPE, "longrope")                                                             \
    X(RT_SCALING_LLAMA3, "llama3")
typedef enum rt_scaling { RT_SCALINGS(RT_CHOICE_VALUE) } rt_scaling;

/* The defaults of a scaling, as those of the keys of position.*. */
#define RT_FREQUENCY_DEFAULTS                                                                      \
    .base = 10000, .scale = 1, .beta_fast = 32, .beta_slow = 1, .low_freq_factor = 1,              \
    .high_freq_factor = 4

typedef struct rt_frequency_options {
    rt_frequency_family family;
    double base;
    rt_scaling scaling;
    double scale;     /* s, at least 1 */
    int original_len; /* L of yarn, dynamic, longrope, llama3: tokens of the texts that the model
                         was trained on */
    double beta_fast, beta_slow; /* 0: as above, and so are the others */
    double low_freq_factor, high_freq_factor;
    double attention_factor; /* yarn, longrope: what cosines and sines are multiplied by */
    rt_factors short_factors, long_factors; /* longrope */
} rt_frequency_options;

/* RT_ARGUMENT if the options contradict each other for that many pairs. */
rt_status rt_frequencies_check(const rt_frequency_options *o, int pairs) RT_MUST_CHECK;

/* For sequences of up to the original length. */
void rt_frequencies(double *theta, int pairs, const rt_frequency_options *o);

/* For sequences of T tokens: another theta beyond the original length with dynamic and longrope. */
void rt_frequencies_at(double *theta, int pairs, const rt_frequency_options *o, int T);

/* Two lengths for which that is the same have the same number. */
int rt_frequencies_regime(const rt_frequency_options *o, int T);

/* Returns the factor of cosines and sines: 1, except for yarn and longrope. */
double rt_frequencies_magnitude(const rt_frequency_options *o);

/* The pairs between which yarn's ramp lies, for R rotated features. */
void rt_yarn_ramp(const rt_frequency_options *o, int pairs, double *low, double *high);

#endif
