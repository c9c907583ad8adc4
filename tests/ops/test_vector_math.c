/* The stated errors of the vector mathematics, over the whole range. In the double build the
 * functions of the C library have the same names. */

#include "core/gradcheck.h"
#include "ops/vector_math.h"
#include "suite.h"

#include <stdbool.h>

static const bool is_float = sizeof(real) < sizeof(double);

/* The distance in units of the last place of the exact value. */
static double ulps(real got, double exact)
{
    int exponent;
    frexp(exact, &exponent);
    return fabs((double)got - exact) / ldexp(1, exponent - (is_float ? 24 : 53));
}

TEST(exp_is_within_1_5_ulps)
{
    double worst = 0;
    for (double x = -87; x < 88.7; x += 0.000317)
        worst = rt_larger_error(worst, ulps(rt_exp_of((real)x), exp((double)(real)x)));
    ck_assert_msg(worst <= 1.5, "error %g ULP", worst);
}

TEST(exp_has_its_limits_at_infinity_and_nan)
{
    ck_assert(rt_exp_of(0) == 1);
    ck_assert(rt_exp_of((real)-INFINITY) == 0);
    ck_assert(rt_exp_of(-1000) == 0);
    ck_assert(isinf(rt_exp_of((real)INFINITY)));
    ck_assert(isinf(rt_exp_of(1000)));
    ck_assert(isnan(rt_exp_of((real)NAN)));
}

TEST(exp_of_bounded_numbers_has_the_bits_of_exp)
{
    for (double x = -90; x <= 88.7; x += 0.00317) {
        const real got = rt_exp_bounded_of((real)x), exp_of = rt_exp_of((real)x);
        ck_assert_msg(got == exp_of, "e^%g: %.9g and %.9g", x, (double)got, (double)exp_of);
    }
    ck_assert(rt_exp_bounded_of(0) == 1);
    ck_assert(rt_exp_bounded_of((real)-INFINITY) == 0 && rt_exp_bounded_of(-1000) == 0);
    ck_assert(isnan(rt_exp_bounded_of((real)NAN)));
}

TEST(the_normal_distribution_is_within_its_stated_error)
{
    const double bound = is_float ? 2e-7 : 1e-15, tail_bound = is_float ? 1e-5 : 1e-13;
    for (double x = -9; x < 9; x += 0.00037) {
        const double at = (double)(real)x, exact = 0.5 * erfc(-at / sqrt(2));
        const double density = exp(-0.5 * at * at) / sqrt(2 * 3.141592653589793);
        real cdf, slope;
        rt_normal((real)x, &cdf, &slope);
        ck_assert_msg(fabs((double)cdf - exact) < bound, "Phi(%g) is %g, not %g", x, (double)cdf,
                      exact);
        ck_assert_msg(fabs((double)slope - density) < bound, "phi(%g)", x);
        if (x < 0)
            ck_assert_msg(fabs((double)cdf / exact - 1) < tail_bound, "the tail at %g: error %g", x,
                          (double)cdf / exact - 1);
    }
}

/* Near 0, around several turns, and far out. */
TEST(cos_and_sin_are_within_their_stated_error)
{
    static const double from[] = {-40, 1e4, -1e6, 1e8};
    const double bound = is_float ? 1.2e-7 : 1e-16;
    for (int i = 0; i < ROWS(from); i++)
        for (double x = from[i]; x < from[i] + 40; x += 0.000731) {
            real cosine, sine;
            rt_turn_of(x, &cosine, &sine);
            ck_assert_msg(fabs((double)cosine - cos(x)) < bound, "cos(%.9g) is %.9g", x,
                          (double)cosine);
            ck_assert_msg(fabs((double)sine - sin(x)) < bound, "sin(%.9g) is %.9g", x,
                          (double)sine);
        }
    real cosine, sine;
    rt_turn_of((double)NAN, &cosine, &sine);
    ck_assert(isnan(cosine) && isnan(sine));
}

TEST(log1p_is_within_2_ulps)
{
    double worst = 0;
    for (double x = 1e-9; x <= 1; x *= 1.00013)
        worst = rt_larger_error(worst, ulps(rt_log1p_of((real)x), log1p((double)(real)x)));
    ck_assert_msg(worst <= 2, "error %g ULP", worst);
    ck_assert(rt_log1p_of(0) == 0 && isnan(rt_log1p_of((real)NAN)));
}

TEST(tanh_is_within_its_stated_error)
{
    for (double x = -20; x < 20; x += 0.0013)
        ck_assert(fabs((double)rt_tanh_of((real)x) - tanh((double)(real)x)) <
                  (is_float ? 2e-7 : 1e-15));
    ck_assert(rt_tanh_of(1000) == 1 && rt_tanh_of(-1000) == -1);
}
