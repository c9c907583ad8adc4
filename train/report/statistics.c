#include "train/report/statistics.h"

#include "util/number.h"

#include <math.h>

rt_summary rt_summarise(const double *values, int count)
{
    rt_summary s = {0, (double)NAN, (double)NAN};
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++)
        if (!isnan(values[i])) {
            sum += values[i];
            s.count++;
        }
    if (!s.count)
        return s;
    s.mean = sum / s.count;
    for (int i = 0; i < count; i++)
        if (!isnan(values[i]))
            squares += (values[i] - s.mean) * (values[i] - s.mean);
    if (s.count > 1)
        s.deviation = sqrt(squares / (s.count - 1));
    return s;
}

void rt_summary_report(rt_writer *w, const rt_summary *s, int decimals, int runs)
{
    rt_writer_add(w, "%s", s->count ? RT_SHOWN(decimals, s->mean) : "-");
    if (s->count > 1)
        rt_writer_add(w, " ± %s", RT_SHOWN(decimals, s->deviation));
    if (s->count && s->count < runs)
        rt_writer_add(w, " (%d of %d)", s->count, runs);
}

/* Returns P(Z > z) of a standard normal Z. */
static double normal_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2));
}

/* Returns P(|T| > t) of the noncentral t with mean `shift` and nu degrees of freedom: the integral
 * over s of P(|Z + shift| > t s), by Simpson's rule over the range where s has weight. s is the
 * ratio of the sample standard deviation to the true one: nu s^2 has the chi-squared distribution.
 */
static double tails_of_t(double t, double shift, double nu)
{
    enum { STEPS = 4000 };
    const double width = 12 / sqrt(2 * nu);
    const double low = width < 1 ? 1 - width : 0, step = (1 + width - low) / STEPS;
    const double at_zero = nu == 1 ? 0 : -INFINITY;
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double s = low + i * step, weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        const double power = s > 0 ? (nu - 1) * log(s) : at_zero;
        const double density =
            exp(log(2) + nu / 2 * log(nu / 2) - lgamma(nu / 2) + power - nu * s * s / 2);
        sum += weight * density * (normal_tail(t * s - shift) + normal_tail(t * s + shift));
    }
    return sum * step / 3;
}

/* Bisects the range from 0 to `most` and returns the quantile of t if `t` is 0, else the mean of
 * the noncentral t that has 90 % beyond t. */
static double halve(double most, double t, double nu)
{
    enum { HALVINGS = 45 };
    double low = 0;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (low + most) / 2;
        if (t > 0 ? tails_of_t(t, middle, nu) < 0.9 : tails_of_t(middle, 0, nu) > 0.05)
            low = middle;
        else
            most = middle;
    }
    return most;
}

rt_student rt_student_of(int count)
{
    if (count < 2)
        return (rt_student){count, NAN, NAN};
    const double nu = count - 1;
    const double t = halve(20, 0, nu); /* 12.7 for one degree of freedom */
    return (rt_student){count, t / sqrt(count), halve(40, t, nu) / sqrt(count)};
}

rt_difference rt_difference_of(const double *values, int count, int seeds, rt_student *t)
{
    const rt_summary s = rt_summarise(values, count);
    if (seeds < 2)
        return (rt_difference){count, s.mean, NAN, NAN, NAN};
    if (t->count != count)
        *t = rt_student_of(count);
    return (rt_difference){.count = count,
                           .mean = s.mean,
                           .low = s.mean - t->interval * s.deviation,
                           .high = s.mean + t->interval * s.deviation,
                           .detectable = t->detectable * s.deviation};
}

bool rt_difference_is_apart(const rt_difference *d)
{
    return d->low > 0 || d->high < 0;
}
