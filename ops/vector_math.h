#ifndef ROTOR_OPS_VECTOR_MATH_H
#define ROTOR_OPS_VECTOR_MATH_H

/* exp, log1p, cos, sin, tanh and the normal distribution, written so that loops over them are
 * vectorized. In the float build they are polynomials, whose stated errors
 * tests/ops/test_vector_math.c checks over the whole range. In the double build, meant for
 * exactness, they are the C library's.
 */

#include "core/real.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef RT_DOUBLE

static inline double rt_exp_of(double x)
{
    return exp(x);
}

static inline double rt_exp_bounded_of(double x)
{
    return exp(x);
}

static inline double rt_tanh_of(double x)
{
    return tanh(x);
}

/* Computes the cosine and the sine of an angle. */
static inline void rt_turn_of(double angle, double *cosine, double *sine)
{
    *cosine = cos(angle);
    *sine = sin(angle);
}

/* Computes log(1 + x) for 0 <= x <= 1. */
static inline double rt_log1p_of(double x)
{
    return log1p(x);
}

/* Computes the distribution function of the standard normal and its density. */
static inline void rt_normal(double x, double *cdf, double *density)
{
    *cdf = 0.5 * erfc(-x * 0.7071067811865476);
    *density = 0.3989422804014327 * exp(-0.5 * x * x);
}

#else

/* Computes e^x to 1.5 ULP for -87.3 <= x <= 88.7: x = n ln 2 + r with |r| <= ln 2 / 2; e^r is a
 * polynomial, 2^n an exponent. */
static inline float rt_exp_within(float x)
{
    const float log2_e = 0x1.715476p+0f, ln2_high = 0x1.62ep-1f, ln2_low = 0x1.0bfbe8p-15f;
    const float round = 0x1.8p+23f; /* adding it leaves the nearest integer in the low bits */
    float shifted = x * log2_e + round;
    float n = shifted - round;
    float r = (x - n * ln2_high) - n * ln2_low;
    float p = 0x1.9f0812p-13f;
    p = p * r + 0x1.6d8db2p-10f;
    p = p * r + 0x1.111272p-7f;
    p = p * r + 0x1.55548ep-5f;
    p = p * r + 0x1.555554p-3f;
    p = p * r + 0.5f;
    p = p * r * r + r + 1;
    uint32_t bits, exponent;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&exponent, &shifted, sizeof exponent);
    bits += exponent << 23;
    memcpy(&p, &bits, sizeof p);
    return p;
}

/* Computes e^x for x <= 88.7, with the bits of rt_exp_of, in less time. */
static inline float rt_exp_bounded_of(float x)
{
    const float p = rt_exp_within(x);
    return x >= -87.3f ? p : x < 0 ? 0 : x;
}

/* Computes e^x to 1.5 ULP; 0 below -87.3 and for -infinity, infinity above 88.7. */
static inline float rt_exp_of(float x)
{
    const float low = -87.3f, high = 88.72f;
    float clamped = x < low ? low : x;
    clamped = clamped > high ? high : clamped;
    float p = rt_exp_within(clamped);
    p = x < low ? 0 : p;
    p = x > high ? INFINITY : p;
    return x == x ? p : x;
}

/* Computes tanh x with an absolute error below 2e-7. */
static inline float rt_tanh_of(float x)
{
    return 1 - 2 / (1 + rt_exp_of(2 * x));
}

/* Computes the cosine and the sine of an angle, each with an absolute error below 1.2e-7 up to
 * |angle| = 1e8: angle = n pi/2 + r with |r| <= pi/4, r in double; both of r are polynomials, and n
 * modulo 4 says which is which. */
static inline void rt_turn_of(double angle, float *cosine, float *sine)
{
    const double round = 0x1.8p52; /* adding it leaves the nearest integer in the low bits */
    const double high = 0x1.921fb54442d18p0, low = 0x1.1a62633145c07p-54;
    double shifted = angle * 0x1.45f306dc9c883p-1 + round;
    double n = shifted - round;
    float r = (float)((angle - n * high) - n * low), square = r * r;
    float s =
        r + r * square * (-0x1.555546p-3f + square * (0x1.11073cp-7f - square * 0x1.9943f2p-13f));
    float c =
        1 - 0.5f * square +
        square * square * (0x1.55554ap-5f + square * (-0x1.6c0c34p-10f + square * 0x1.99eb9cp-16f));
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    const uint32_t quarter = (uint32_t)bits;
    const float along = quarter & 1 ? s : c, across = quarter & 1 ? c : s;
    *cosine = (quarter + 1) & 2 ? -along : along;
    *sine = quarter & 2 ? -across : across;
}

/* Computes log(1 + x) for 0 <= x <= 1 to 2 ULP: 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...) with s = x
 * / (2 + x) <= 1/3. */
static inline float rt_log1p_of(float x)
{
    float s = x / (2 + x), square = s * s;
    float p = 0x1.3b13b2p-4f; /* 1/13 */
    p = p * square + 0x1.745d18p-4f;
    p = p * square + 0x1.c71c72p-4f;
    p = p * square + 0x1.24924ap-3f;
    p = p * square + 0x1.99999ap-3f;
    p = p * square + 0x1.555556p-2f;
    return 2 * s + 2 * s * (p * square);
}

/* Computes Phi(x) and phi(x), each with an absolute error below 2e-7. The tail is Phi(-a) =
 * e^(-a^2/2) erfcx(a / sqrt 2) / 2, with erfcx a polynomial in t = 1 / (1 + 0.5 a / sqrt 2), which
 * keeps its relative accuracy. */
static inline void rt_normal(float x, float *cdf, float *density)
{
    float a = x < 0 ? -x : x;
    float gauss = rt_exp_bounded_of(-0.5f * x * x);
    float t = 1 / (1 + 0.35355338f * a);
    float p = -0x1.e3e51ep-5f;
    p = p * t + 0x1.2367fp-2f;
    p = p * t - 0x1.f2e528p-2f;
    p = p * t + 0x1.1cbe54p-2f;
    p = p * t - 0x1.b44356p-6f;
    p = p * t + 0x1.9f1aa6p-3f;
    p = p * t + 0x1.f1e04cp-3f;
    p = p * t + 0x1.2127p-2f;
    p = p * t + 0x1.20db42p-2f;
    float tail = 0.5f * gauss * p * t;
    *cdf = x < 0 ? tail : 1 - tail;
    *density = 0.3989422804f * gauss;
}

#endif

#endif
