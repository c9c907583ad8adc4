#include "models/frequencies.h"

#include "ops/ops.h"

#include <math.h>
#include <stdbool.h>

rt_status rt_frequencies_check(const rt_frequency_options *o, int pairs)
{
    const bool by_base = o->scaling == RT_SCALING_NTK || o->scaling == RT_SCALING_YARN;
    if (o->scaling != RT_SCALING_NONE && !(o->scale >= 1))
        return rt_error(RT_ARGUMENT, "the scale must be at least 1; got %g", o->scale);
    if (by_base && o->family != RT_FREQUENCIES_GEOMETRIC)
        return rt_error(RT_ARGUMENT, "ntk and yarn scale geometric frequencies only");
    if (o->scaling == RT_SCALING_NTK && pairs < 2)
        return rt_error(RT_ARGUMENT, "ntk needs at least two rotated pairs; got %d", pairs);
    if (o->scaling == RT_SCALING_YARN && o->original_len < 1)
        return rt_error(RT_ARGUMENT, "yarn needs the original length");
    return rt_ok();
}

/* ---- yarn ---- */

/* The pair, as a real number, that turns `turns` times within the original length. */
static double pair_that_turns(const rt_frequency_options *o, int pairs, double turns)
{
    const double two_pi = 6.283185307179586;
    return pairs * log(o->original_len / (turns * two_pi)) / log(o->base);
}

void rt_yarn_ramp(const rt_frequency_options *o, int pairs, double *low, double *high)
{
    *low = fmax(floor(pair_that_turns(o, pairs, 32)), 0);
    *high = fmin(ceil(pair_that_turns(o, pairs, 1)), 2 * pairs - 1);
    if (*high <= *low)
        *high = *low + 0.001; /* a step: never a division by 0 */
}

static void stretch_yarn(double *theta, int pairs, const rt_frequency_options *o)
{
    double low, high;
    rt_yarn_ramp(o, pairs, &low, &high);
    for (int i = 0; i < pairs; i++) {
        const double ramp = fmin(fmax((i - low) / (high - low), 0), 1);
        theta[i] *= 1 - ramp + ramp / o->scale;
    }
}

/* ---- all ---- */

double rt_frequencies_magnitude(const rt_frequency_options *o)
{
    return o->scaling == RT_SCALING_YARN ? 0.1 * log(o->scale) + 1 : 1;
}

static double base_of(const rt_frequency_options *o, int pairs)
{
    return o->scaling == RT_SCALING_NTK ? o->base * pow(o->scale, (double)pairs / (pairs - 1))
                                        : o->base;
}

void rt_frequencies(double *theta, int pairs, const rt_frequency_options *o)
{
    rt_theta_geometric(theta, pairs, base_of(o, pairs));
    const double last = pairs ? theta[pairs - 1] : 0;
    for (int i = 0; i < pairs; i++) {
        if (o->family == RT_FREQUENCIES_LINEAR && pairs > 1)
            theta[i] = 1 + (last - 1) * i / (pairs - 1);
        if (o->family == RT_FREQUENCIES_RECIPROCAL)
            theta[i] = 1.0 / (1 + i);
        if (o->scaling == RT_SCALING_LINEAR)
            theta[i] /= o->scale;
    }
    if (o->scaling == RT_SCALING_YARN)
        stretch_yarn(theta, pairs, o);
}
