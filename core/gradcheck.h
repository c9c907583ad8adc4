#ifndef ROTOR_CORE_GRADCHECK_H
#define ROTOR_CORE_GRADCHECK_H

/* Compares the gradients that backward computes with central finite differences of fourth order.
 *
 * For a function with many outputs, a mode selects what is checked: the gradient of a weighted sum
 * of the outputs, element by element; the Jacobian, entry by entry; or the derivative along one
 * random direction per input, which is cheap for large inputs. The weights are random, because the
 * gradient of a plain sum can be zero by symmetry, as for a softmax.
 *
 * The error of an input is max |analytic - numeric| / max(max |analytic|, floor). Near a kink of
 * the function, such as that of relu, an element is compared with differences that the kink does
 * not affect, or with the slopes on its two sides (rt_slope_find). Meant for the double build: in
 * float, rounding dominates the differences.
 */

#include "core/graph.h"
#include "core/status.h"

#include <math.h>
#include <stdbool.h>

/* Builds the output of the function to check from the inputs. Must be deterministic. */
typedef rt_tensor *(*rt_function)(rt_graph *g, rt_tensor *const *inputs, void *context);

typedef enum rt_gradcheck_mode {
    RT_GRADCHECK_WEIGHTED,
    RT_GRADCHECK_JACOBIAN,
    RT_GRADCHECK_DIRECTION
} rt_gradcheck_mode;

typedef struct rt_gradcheck_options {
    rt_gradcheck_mode mode;
    double step;      /* of the differences, times max(1, |x|) except in a direction; 0 = 1e-5 */
    double tolerance; /* largest error that passes; 0 = 1e-7 */
    double floor;     /* see above; 0 = 1e-3 */
    size_t samples;   /* elements of an input to check, drawn at random; 0 = all */
    uint64_t seed;    /* of the weights and directions */
} rt_gradcheck_options;

/* Verdicts, sorted from right to wrong after UNCHECKED. */
typedef enum rt_gradient_verdict {
    RT_GRADIENT_UNCHECKED, /* wants no gradient, or the check broke off */
    RT_GRADIENT_RIGHT,
    RT_GRADIENT_UNJUDGED, /* kinks around all elements that were tried, even at the smallest step */
    RT_GRADIENT_UNREACHED, /* no op asked for the gradient, not even to add a zero */
    RT_GRADIENT_WRONG      /* or not finite */
} rt_gradient_verdict;

/* Result of the check of one input. */
typedef struct rt_gradcheck_result {
    rt_gradient_verdict verdict;
    double error;             /* as defined above; NaN if a gradient or a difference is NaN */
    size_t index;             /* element with the largest error */
    size_t output;            /* its output, for a Jacobian */
    double analytic, numeric; /* its derivatives */
    double largest;           /* max |analytic| over the input */
    size_t judged;            /* elements, or directions, that were compared */
    size_t kinks;             /* compared ones with a kink within the step */
    size_t unjudged;          /* skipped ones, with kinks on both sides */
} rt_gradcheck_result;

/* Checks every input that wants a gradient. `results` has `count` entries, or is NULL.
 *
 * RT_CHECK, naming the worst element, if a verdict is not right, if a second evaluation gives other
 * bits, or if the function is not finite. The gradients of the inputs stay as backward computed
 * them; their values are restored. */
rt_status rt_gradcheck(rt_function function, void *context, rt_tensor *const *inputs, int count,
                       const rt_gradcheck_options *options,
                       rt_gradcheck_result *results) RT_MUST_CHECK;

/* Derivative of a function of one number by finite differences, to check a claimed derivative.
 *
 * Where the function is smooth, central differences of fourth order decide. A kink of the function,
 * or of its derivative, within a few steps makes them invalid; then one-sided differences of fourth
 * order and smaller steps are tried, and only the valid ones count. Third differences show which
 * are valid: they vanish with the square of the step where the function is smooth, and are as large
 * as the error where it has a kink. At the kink itself, any value between the slopes of both sides
 * is accepted.
 */

/* Computes *difference = f(t) - f(0). */
typedef rt_status rt_curve(void *context, double t, double *difference);

typedef struct rt_slope {
    double numeric; /* f'(0): the valid difference nearest to the claim, else the central one */
    bool kink;      /* one-sided differences explain the claim */
    bool unknown;   /* no valid differences: kinks on both sides, even at the smallest step */
} rt_slope;

typedef struct rt_slope_options {
    double step;
    double tolerance; /* absolute */
    double rounding;  /* of f, absolute: steps that it dominates are not used */
} rt_slope_options;

/* Searches for differences that agree with the claim within the tolerance. A claim that differs by
 * more than kinks explain is never `unknown`. */
rt_status rt_slope_find(rt_curve *f, void *context, const rt_slope_options *o, double claim,
                        rt_slope *slope) RT_MUST_CHECK;

/* Returns the larger of two errors, or NaN if one of them is NaN, which fmax and > would drop. */
static inline double rt_larger_error(double a, double b)
{
    return a <= b || isnan(b) ? b : a;
}

#endif
