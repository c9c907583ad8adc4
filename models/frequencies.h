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

/* With s the scale:
 *
 *     linear  theta_i / s, which is position / s (Chen et al. 2023)
 *     ntk     base * s^(R/(R-2)) for the base: theta_0 stays, the last theta is divided by s
 *     yarn    theta_i for pairs that turn more than 32 times within the original length,
 *             theta_i / s for those that turn less than once, a linear ramp between; cosines
 *             and sines times 0.1 ln s + 1 (Peng et al. 2023) */
#define RT_SCALINGS(X)                                                                             \
    X(RT_SCALING_NONE, "none")                                                                     \
    X(RT_SCALING_LINEAR, "linear")                                                                 \
    X(RT_SCALING_NTK, "ntk")                                                                       \
    X(RT_SCALING_YARN, "yarn")
typedef enum rt_scaling { RT_SCALINGS(RT_CHOICE_VALUE) } rt_scaling;

typedef struct rt_frequency_options {
    rt_frequency_family family;
    double base;
    rt_scaling scaling;
    double scale;     /* s, at least 1 */
    int original_len; /* yarn: tokens of the texts that the model was trained on */
} rt_frequency_options;

/* RT_ARGUMENT if the options contradict each other for that many pairs. */
rt_status rt_frequencies_check(const rt_frequency_options *o, int pairs) RT_MUST_CHECK;

void rt_frequencies(double *theta, int pairs, const rt_frequency_options *o);

/* What cosines and sines are multiplied by: 1, but for yarn. */
double rt_frequencies_magnitude(const rt_frequency_options *o);

/* The pairs between which yarn's ramp lies, for R rotated features. */
void rt_yarn_ramp(const rt_frequency_options *o, int pairs, double *low, double *high);

#endif
