#ifndef ROTOR_TESTS_LAWS_H
#define ROTOR_TESTS_LAWS_H

/* Shared by the tests of laws: numbers to try the laws on, and messages of failures. */

#include "core/gradcheck.h"
#include "graphs.h"
#include "ops/ops.h"

#include <math.h>

/* Fails with the expected and the actual value, unless they differ by at most the tolerance. The
 * other arguments, as of printf, name the value. */
#define expect_near(number, wanted, tolerance_of_it, ...)                                          \
    do {                                                                                           \
        const double got_ = (number), wanted_ = (wanted), most_ = (tolerance_of_it);               \
        if (!(fabs(got_ - wanted_) <= most_))                                                      \
            ck_abort_msg("%s: expected %.17g within %g, got %.17g", lasting(__VA_ARGS__), wanted_, \
                         most_, got_);                                                             \
    } while (0)

/* Expects a number that exceeds a limit. */
#define expect_above(number, limit, ...)                                                           \
    do {                                                                                           \
        const double got_ = (number), limit_ = (limit);                                            \
        if (!(got_ > limit_))                                                                      \
            ck_abort_msg("%s: expected more than %.17g, got %.17g", lasting(__VA_ARGS__), limit_,  \
                         got_);                                                                    \
    } while (0)

static inline void expect_refusal(rt_status status, const char *message)
{
    ck_assert_int_eq(status.code, RT_ARGUMENT);
    ck_assert_msg(strstr(status.message, message) != NULL, "'%s' is not in: %s", message,
                  status.message);
}

/* The next of the random numbers, uniform in [-1, 1). */
static inline double draw(uint64_t *next)
{
    return 2 * rt_random_uniform((rt_random){17, 0, RT_STREAM_CHECK}, (*next)++) - 1;
}

static inline int draw_below(uint64_t *next, int n)
{
    return (int)rt_random_below((rt_random){18, 0, RT_STREAM_CHECK}, (*next)++, (uint32_t)n);
}

static inline void draw_row(real *x, size_t size, uint64_t *next)
{
    for (size_t i = 0; i < size; i++)
        x[i] = (real)draw(next);
}

static inline double dot(const real *x, const real *y, int size)
{
    double sum = 0;
    for (int i = 0; i < size; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* NaN if there is one. */
static inline double largest_difference(const real *x, const real *y, size_t size)
{
    double largest = 0;
    for (size_t i = 0; i < size; i++)
        largest = rt_larger_error(largest, fabs((double)x[i] - (double)y[i]));
    return largest;
}

#endif
