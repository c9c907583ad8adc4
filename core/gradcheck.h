#ifndef ROTOR_CORE_GRADCHECK_H
#define ROTOR_CORE_GRADCHECK_H

/* Compares the gradients that backward computes with central finite differences of fourth order.
 *
 * Of a function with many outputs it checks one of: the gradient of their sum weighted
 * by random numbers, element by element; the whole Jacobian, entry by entry; or the
 * derivative along one random direction per input, which is cheap for large inputs.
 * (Weights, because the gradient of a plain sum can be zero by symmetry, as that of a
 * softmax is.)
 *
 * The error of an input is max |analytic - numeric| / max(max |analytic|, floor). An element
 * with a kink of the function within the step, of relu for one, is compared with differences
 * that the kink has not spoilt, or with the slopes on its two sides (rt_slope_find).
 * Meant for the double build; in float the differences drown in rounding.
 */

#include "core/graph.h"
#include "core/status.h"

#include <math.h>
#include <stdbool.h>

/* The function to check: builds its output from the inputs. Must be deterministic. */
typedef rt_tensor *(*rt_function)(rt_graph *g, rt_tensor *const *inputs, void *context);

typedef enum rt_gradcheck_mode {
    RT_GRADCHECK_WEIGHTED,
    RT_GRADCHECK_JACOBIAN,
    RT_GRADCHECK_DIRECTION
} rt_gradcheck_mode;

typedef struct rt_gradcheck_options {
    rt_gradcheck_mode mode;
    double step;      /* of the differences, times max(1, |x|); 0 = 1e-5 */
    double tolerance; /* largest error that passes; 0 = 1e-7 */
    double floor;     /* 0 = 1e-3 */
    size_t samples;   /* how many elements of an input, drawn at random; 0 = all */
    uint64_t seed;    /* of the weights and directions */
} rt_gradcheck_options;

/* Sorted from right to wrong, after UNCHECKED. */
typedef enum rt_gradient_verdict {
    RT_GRADIENT_UNCHECKED, /* wants no gradient, or the check broke off */
    RT_GRADIENT_RIGHT,
    RT_GRADIENT_UNJUDGED,  /* kinks around all elements that were tried, however small the step */
    RT_GRADIENT_UNREACHED, /* no op asked for the gradient, not even to add a zero */
    RT_GRADIENT_WRONG      /* or not finite */
} rt_gradient_verdict;

/* Result of the check of one input. */
typedef struct rt_gradcheck_result {
    rt_gradient_verdict verdict;
    double error;             /* as defined above; NaN if a gradient or a difference is */
    size_t index;             /* of the element that differs most */
    size_t output;            /* its output, of a Jacobian */
    double analytic, numeric; /* there */
    double largest;           /* max |analytic| over the input */
    size_t judged;            /* elements, or directions, that were compared with differences */
    size_t kinks;             /* of these, those with a kink within the step */
    size_t unjudged;          /* and those that were skipped: kinks on both sides */
} rt_gradcheck_result;

/* Checks every input that wants a gradient. `results` has `count` entries, or is NULL.
 *
 * RT_CHECK, with the worst element named, if a verdict is not right, if a second evaluation
 * gives other bits, or if the function is not finite. The gradients of the inputs are left as
 * backward made them; their values are restored. */
rt_status rt_gradcheck(rt_function function, void *context, rt_tensor *const *inputs, int count,
                       const rt_gradcheck_options *options,
                       rt_gradcheck_result *results) RT_MUST_CHECK;

/* ---- derivatives of a function of one number ---- */

/* The derivative of a function of one number by finite differences, for a check of a
 * derivative that is claimed.
 *
 * Central differences of fourth order decide wherever the function is smooth. A kink of the
 * function, or of its derivative, within a few steps spoils them: then one-sided differences
 * of fourth order and smaller steps are tried, and only those count that no kink has spoilt.
 * Their third differences show which these are: they vanish with the square of the step where
 * the function is smooth, and are as large as the error where it has a kink. At the kink itself
 * both sides count, and so does everything between their slopes.
 */

/* *difference = f(t) - f(0). */
typedef rt_status rt_curve(void *context, double t, double *difference);

typedef struct rt_slope {
    double numeric; /* f'(0): of the differences that count, those nearest to the claim */
    bool kink;      /* central differences did not suffice */
    bool unknown;   /* none count: kinks on both sides, however small the step */
} rt_slope;

typedef struct rt_slope_options {
    double step;
    double tolerance; /* absolute */
    double rounding;  /* of f, absolute: steps so small that it drowns them do not count */
} rt_slope_options;

/* Looks for differences that agree with the claim to within the tolerance. A claim that differs
 * by more than kinks account for is never `unknown`. */
rt_status rt_slope_find(rt_curve *f, void *context, const rt_slope_options *o, double claim,
                        rt_slope *slope) RT_MUST_CHECK;

/* Returns the larger of two errors; NaN if one of them is NaN, which fmax and > would drop. */
static inline double rt_worse(double a, double b)
{
    return a <= b || isnan(b) ? b : a;
}

#endif
