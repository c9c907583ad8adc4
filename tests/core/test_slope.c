/* Derivatives of functions of one number, with and without kinks: right ones pass and wrong ones
 * fail wherever the kink lies. */

#include "core/gradcheck.h"
#include "suite.h"

static const double step = 1e-5, tolerance = 1e-9;

/* sin(0.7 + t), and added to it a function of x = at + t with a kink at 0. */
typedef struct curve {
    enum { SMOOTH, RELU, HINGE, ELU, DEAD_ZONE, ROUGH, HOLE } kind;
    double at;
} curve;

static double value(const curve *c, double t)
{
    const double x = c->at + t, smooth = sin(0.7 + t);
    switch (c->kind) {
    case SMOOTH:
        return smooth;
    case RELU:
        return smooth + fmax(x, 0);
    case HINGE: /* a kink on each side, 3e-6 apart */
        return smooth + fmax(x, 0) + 2 * fmax(3e-6 - x, 0);
    case ELU: /* a jump of the second derivative */
        return smooth + (x > 0 ? x : exp(x) - 1);
    case DEAD_ZONE:
        return smooth + fmax(x - 6e-6, 0) - fmax(-x - 6e-6, 0);
    case ROUGH: /* a kink every 1e-9 */
        return smooth + fabs(remainder(x, 1e-9));
    case HOLE:
        return t > 0 ? (double)NAN : smooth;
    }
    return 0;
}

static rt_status difference(void *context, double t, double *result)
{
    const curve *c = context;
    *result = value(c, t) - value(c, 0);
    return rt_ok();
}

/* The derivative at t = 0, at the kink that from above. */
static double derivative(const curve *c)
{
    const double x = c->at, smooth = cos(0.7);
    switch (c->kind) {
    case RELU:
        return smooth + (x >= 0);
    case HINGE:
        return smooth + (x >= 0) - 2 * (x < 3e-6);
    case ELU:
        return smooth + (x > 0 ? 1 : exp(x));
    case DEAD_ZONE:
        return smooth + (fabs(x) >= 6e-6);
    case SMOOTH:
    case ROUGH:
    case HOLE:
        break;
    }
    return smooth;
}

static rt_slope find(const curve *c, double claim)
{
    rt_slope slope;
    const rt_slope_options o = {step, tolerance, 1e-16};
    expect_ok(rt_slope_find(difference, (curve *)c, &o, claim, &slope));
    return slope;
}

static bool is_right(const curve *c, double claim)
{
    const rt_slope slope = find(c, claim);
    return !slope.unknown && fabs(slope.numeric - claim) <= tolerance;
}

/* Distances of the kink, in steps: at 0, within the differences, at their points, outside. */
static const double places[] = {0,    1e-9, -1e-9, 1e-3, -1e-3, 0.01, -0.01, 0.3, -0.3, 0.5,
                                -0.5, 0.6,  -0.6,  0.86, -0.86, 1,    -1,    1.5, -1.5, 1.99,
                                -2,   2.5,  -3,    4,    -5,    7,    -8.5,  1000};
enum { PLACES = sizeof places / sizeof *places };

TEST(only_the_right_derivative_passes_wherever_the_kink_lies)
{
    static const int kinds[] = {SMOOTH, RELU, ELU};
    static const double errors[] = {0, 1e-8, -1e-6, 0.1, -0.1, 1.5, -1.5};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < PLACES; i++)
            for (int e = 0; e < ROWS(errors); e++) {
                const curve c = {kinds[k], places[i] * step};
                /* Derivatives between the two slopes of a kink pass. Beside a kink, differences on
                 * its other side are 1e-8 off and look as good. */
                const bool between =
                    kinds[k] == RELU && fabs(places[i]) < 1e-4 && errors[e] < 0 && errors[e] > -1;
                const bool beside = kinds[k] == ELU && fabs(places[i]) < 0.01 && errors[e] == 1e-8;
                if (between || beside)
                    continue;
                const rt_slope slope = find(&c, derivative(&c) + errors[e]);
                const double off = fabs(slope.numeric - derivative(&c) - errors[e]);
                ck_assert_msg(!slope.unknown && (off > tolerance) == (errors[e] != 0),
                              "kind %d, kink at %g steps, error %g: %g", kinds[k], places[i],
                              errors[e], slope.numeric);
            }
}

TEST(everything_between_the_slopes_is_right_at_a_kink)
{
    const curve c = {RELU, 0};
    static const double shares[] = {0, 0.3, 0.5, 1};
    for (int i = 0; i < 4; i++) {
        ck_assert(is_right(&c, cos(0.7) + shares[i]));
        ck_assert(find(&c, cos(0.7) + shares[i]).kink == (shares[i] != 0.5));
    }
    ck_assert_double_eq_tol(find(&c, cos(0.7) + 1.1).numeric, cos(0.7) + 1, 1e-8);
    ck_assert_double_eq_tol(find(&c, cos(0.7) - 0.1).numeric, cos(0.7), 1e-8);
}

TEST(kinks_on_both_sides_are_distinguished_from_errors)
{
    const curve hinge = {HINGE, 1.5e-6}, zone = {DEAD_ZONE, 0}, rough = {ROUGH, 0};
    ck_assert(is_right(&hinge, derivative(&hinge)) || find(&hinge, derivative(&hinge)).unknown);
    ck_assert(!find(&hinge, derivative(&hinge) + 20).unknown);
    ck_assert(is_right(&zone, derivative(&zone)));
    ck_assert(!is_right(&zone, derivative(&zone) + 0.5));
    ck_assert(!is_right(&rough, derivative(&rough) + 1));
}

TEST(a_non_finite_derivative_never_passes)
{
    const curve smooth = {SMOOTH, 0}, hole = {HOLE, 0};
    static const double claims[] = {(double)NAN, (double)INFINITY, (double)-INFINITY};
    for (int i = 0; i < 3; i++)
        ck_assert(!is_right(&smooth, claims[i]));
    ck_assert(!is_right(&hole, derivative(&hole)));
    ck_assert(isnan(find(&hole, derivative(&hole)).numeric));
}
