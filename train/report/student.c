#include "train/report/student.h"

#include <math.h>

enum { STEPS = 4000, HALVINGS = 45 };

/* P(Z > z) of a standard normal Z. */
static double normal_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2));
}

/* The density of s, the standard deviation of a sample over the true one, with so many degrees of
 * freedom: nu s^2 has the chi-squared distribution. */
static double density(double s, double nu)
{
    const double at_zero = nu == 1 ? 0 : -INFINITY;
    const double power = s > 0 ? (nu - 1) * log(s) : at_zero;
    return exp(log(2) + nu / 2 * log(nu / 2) - lgamma(nu / 2) + power - nu * s * s / 2);
}

/* P(|T| > t) of the noncentral t with mean `shift`: the integral over s of
 * P(|Z + shift| > t s), by Simpson's rule over all s that occur. */
static double tails(double t, double shift, double nu)
{
    const double width = 12 / sqrt(2 * nu);
    const double low = width < 1 ? 1 - width : 0, step = (1 + width - low) / STEPS;
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double s = low + i * step, weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * density(s, nu) * (normal_tail(t * s - shift) + normal_tail(t * s + shift));
    }
    return sum * step / 3;
}

/* t(0.975) */
static double critical(double nu)
{
    double low = 0, high = 20; /* it is 12.7 for one degree of freedom */
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;
        if (tails(middle, 0, nu) > 0.05)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The mean of the noncentral t that is beyond `t` on either side with a probability of 90 %. */
static double shift_seen(double t, double nu)
{
    double low = 0, high = 40;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + high) / 2;
        if (tails(t, middle, nu) < 0.9)
            low = middle;
        else
            high = middle;
    }
    return high;
}

rt_student rt_student_of(int count)
{
    if (count < 2)
        return (rt_student){count, NAN, NAN};
    const double t = critical(count - 1);
    return (rt_student){count, t / sqrt(count), shift_seen(t, count - 1) / sqrt(count)};
}
