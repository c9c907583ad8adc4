#ifndef ROTOR_MODELS_POSITIONS_H
#define ROTOR_MODELS_POSITIONS_H

/* Tables of positional encodings (models/encodings/), computed in double. */

#include "ops/ops.h"

/* Computes the frequencies w_i = base^(-2i/C) of C features, i = 0 ... (C + 1) / 2 - 1. */
void rt_sinusoidal_frequencies(double *w, int C, double base);

/* Sines and cosines of C features, side by side (RT_INTERLEAVED; Vaswani et al. 2017) or all sines
 * first (RT_HALF; Hugging Face's RoFormer). An odd C has one more sine. */
typedef struct rt_sinusoids {
    int C;
    const double *w;
    rt_pairing layout;
} rt_sinusoids;

/* Computes rows of C numbers, `stride` apart: row r holds sin(p w_i) and cos(p w_i), p =
 * position[r]. */
void rt_sinusoidal_table(real *table, int stride, const double *position, size_t rows,
                         rt_sinusoids of);

/* Computes the slopes of ALiBi, one for each head (Press et al. 2022): with n the largest power of
 * two that is at most H, the powers 1 ... n of 2^(-8/n), then the odd powers of 2^(-4/n). */
void rt_alibi_slopes(double *slopes, int heads);

/* Returns the classes of distances j - i for key j and query i, which share a learned bias or key.
 * `class_of` has room for 2 reach + 1 numbers; the result refers to it.
 *
 *   t5    (Raffel et al. 2020) 32 buckets: one for each of the nearest distances, then
 *         logarithmically wider ones up to 128. Half of them are for keys after the query;
 *         if causal, all are for keys before it.
 *   shaw  (Shaw et al. 2018) one for each distance, clipped to -16 ... 16. */
enum { RT_T5_BUCKETS = 32, RT_T5_REACH = 128, RT_SHAW_REACH = 16, RT_MAX_CLASSES_OF = 257 };
rt_distances rt_t5_distances(int16_t *class_of, bool causal);
rt_distances rt_shaw_distances(int16_t *class_of);

/* Computes the bound of the decay of attention with the distance r (figure 2 of the RoFormer
 * paper): the mean over j = 1 ... R/2 of |sum_{i<j} e^{i r theta_i}|. With xpos > 0, pair i is
 * multiplied by zeta_i^(r / xpos) (rt_rotation_decayed). */
double rt_decay(const double *theta, int pairs, double r, double xpos);

#endif
