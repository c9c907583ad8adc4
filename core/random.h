#ifndef ROTOR_CORE_RANDOM_H
#define ROTOR_CORE_RANDOM_H

/* Random numbers without a state: each is a function of its purpose. The key is the seed, the
 * counter is (index, step, stream), the generator Philox4x32-10 (Salmon et al. 2011). So a number
 * does not depend on the thread, on earlier numbers, or on where a training was interrupted.
 */

#include <stdint.h>

/* Uses of random numbers. Each has a stream; RT_STREAM_SHARE also orders images. */
enum {
    RT_STREAM_PARAMETER,       /* initial values; step = hash of the parameter's name */
    RT_STREAM_THETA,           /* perturbation of the initial theta */
    RT_STREAM_TASK,            /* sequences of a toy task */
    RT_STREAM_WINDOW,          /* starts of text windows */
    RT_STREAM_MASK,            /* masks of masked language modelling */
    RT_STREAM_CHECK,           /* gradient checks */
    RT_STREAM_SAMPLE,          /* sampling from a language model */
    RT_STREAM_DROPOUT,         /* the n-th dropout of a graph uses this number + n */
    RT_STREAM_ORDER = 1 << 30, /* order of labelled rows */
    RT_STREAM_SHARE,           /* split of labelled rows into training and evaluation */
    RT_STREAM_LENGTH,          /* lengths of questions */
    RT_STREAM_POSITION         /* position.randomized */
};

typedef struct rt_random {
    uint64_t seed;
    uint32_t step;
    uint32_t stream;
} rt_random;

/* Draws four independent words of 32 bits. */
void rt_random_words(rt_random r, uint64_t index, uint32_t words[4]);

/* Returns a uniform number in [0, 1), a multiple of 2^-53. */
double rt_random_uniform(rt_random r, uint64_t index);

/* Returns a normal number with mean 0 and variance 1. */
double rt_random_normal(rt_random r, uint64_t index);

/* Returns a uniform number in 0 ... n-1, n >= 1. */
uint32_t rt_random_below(rt_random r, uint64_t index, uint32_t n);

#endif
