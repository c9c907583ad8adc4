#include "models/frequencies.h"

#include "ops/ops.h"

#include <math.h>
#include <stdbool.h>

static double or_else(double value, double fallback)
{
    return value > 0 ? value : fallback;
}

rt_status rt_frequencies_check(const rt_frequency_options *o, int pairs)
{
    static const char *const names[] = {RT_SCALINGS(RT_CHOICE_WORD)};
    const rt_scaling scaling = o->scaling;
    const bool yarn = scaling == RT_SCALING_YARN, llama3 = scaling == RT_SCALING_LLAMA3;
    const double few = or_else(yarn ? o->beta_slow : o->low_freq_factor, 1);
    const double many =
        yarn ? or_else(o->beta_fast, 32) : or_else(o->high_freq_factor, 4); /* rotations */
    const bool by_power = scaling == RT_SCALING_NTK || scaling == RT_SCALING_DYNAMIC;
    const bool lengthens =
        yarn || llama3 || scaling == RT_SCALING_DYNAMIC || scaling == RT_SCALING_LONGROPE;
    if (scaling != RT_SCALING_NONE && !(o->scale >= 1))
        return rt_error(RT_ARGUMENT, "the scale must be at least 1; got %g", o->scale);
    if ((by_power || yarn) && o->family != RT_FREQUENCIES_GEOMETRIC)
        return rt_error(RT_ARGUMENT, "%s scales geometric frequencies only", names[scaling]);
    if (by_power && pairs < 2)
        return rt_error(RT_ARGUMENT, "%s needs at least two rotated pairs; got %d", names[scaling],
                        pairs);
    if (lengthens && o->original_len < 1)
        return rt_error(RT_ARGUMENT, "%s needs the original length", names[scaling]);
    for (int k = 0; scaling == RT_SCALING_LONGROPE && k < 2; k++) {
        const rt_factors *factors = k ? &o->long_factors : &o->short_factors;
        const char *name = k ? "long_factors" : "short_factors";
        if (factors->count != pairs)
            return rt_error(RT_ARGUMENT,
                            "longrope needs %s, one for each of the %d rotated pairs; got %d", name,
                            pairs, factors->count);
        for (int i = 0; i < pairs; i++)
            if (!(factors->at[i] > 0) || isinf(factors->at[i]))
                return rt_error(RT_ARGUMENT, "%s must be above 0; number %d is %g", name, i + 1,
                                factors->at[i]);
    }
    if (scaling == RT_SCALING_LONGROPE && o->scale > 1 && o->original_len < 2)
        return rt_error(RT_ARGUMENT, "longrope needs an original length of at least 2");
    if ((yarn || llama3) && !(few < many))
        return rt_error(RT_ARGUMENT,
                        "%s needs a lower bound of rotations below its upper bound; got %g and %g",
                        names[scaling], few, many);
    return rt_ok();
}

/* Returns the pair, as a real number, with `turns` rotations within the original length. */
static double pair_that_turns(const rt_frequency_options *o, int pairs, double turns)
{
    const double two_pi = 6.283185307179586;
    return pairs * log(o->original_len / (turns * two_pi)) / log(o->base);
}

void rt_yarn_ramp(const rt_frequency_options *o, int pairs, double *low, double *high)
{
    *low = fmax(floor(pair_that_turns(o, pairs, or_else(o->beta_fast, 32))), 0);
    *high = fmin(ceil(pair_that_turns(o, pairs, or_else(o->beta_slow, 1))), 2 * pairs - 1);
    if (*high <= *low)
        *high = *low + 0.001; /* a step, without a division by 0 */
}

double rt_frequencies_magnitude(const rt_frequency_options *o)
{
    if (o->scaling == RT_SCALING_YARN)
        return or_else(o->attention_factor, 0.1 * log(o->scale) + 1);
    if (o->scaling == RT_SCALING_LONGROPE)
        return or_else(o->attention_factor,
                       o->scale > 1 ? sqrt(1 + log(o->scale) / log(o->original_len)) : 1);
    return 1;
}

int rt_frequencies_regime(const rt_frequency_options *o, int T)
{
    if (T <= o->original_len)
        return 0;
    return o->scaling == RT_SCALING_DYNAMIC ? T : o->scaling == RT_SCALING_LONGROPE;
}

void rt_frequencies_at(double *theta, int pairs, const rt_frequency_options *o, int T)
{
    const double two_pi = 6.283185307179586;
    const double power = (double)pairs / (pairs - 1);
    const double few = or_else(o->low_freq_factor, 1), many = or_else(o->high_freq_factor, 4);
    const bool is_longer = T > o->original_len;
    const rt_factors *factors = is_longer ? &o->long_factors : &o->short_factors;
    double base = o->base, low = 0, high = 1;
    if (o->scaling == RT_SCALING_NTK)
        base = o->base * pow(o->scale, power);
    if (o->scaling == RT_SCALING_DYNAMIC && is_longer)
        base = o->base * pow(o->scale * T / o->original_len - (o->scale - 1), power);
    if (o->scaling == RT_SCALING_YARN)
        rt_yarn_ramp(o, pairs, &low, &high);
    rt_theta_geometric(theta, pairs, base);
    const double last = pairs ? theta[pairs - 1] : 0;
    for (int i = 0; i < pairs; i++) {
        if (o->family == RT_FREQUENCIES_LINEAR && pairs > 1)
            theta[i] = 1 + (last - 1) * i / (pairs - 1);
        if (o->family == RT_FREQUENCIES_RECIPROCAL)
            theta[i] = 1.0 / (1 + i);
        const double ramp = fmin(fmax((i - low) / (high - low), 0), 1);
        const double turns = o->original_len * theta[i] / two_pi;
        const double share = fmin(fmax((turns - few) / (many - few), 0), 1);
        if (o->scaling == RT_SCALING_LINEAR)
            theta[i] /= o->scale;
        if (o->scaling == RT_SCALING_LONGROPE)
            theta[i] /= factors->at[i];
        if (o->scaling == RT_SCALING_YARN)
            theta[i] *= 1 - ramp + ramp / o->scale;
        if (o->scaling == RT_SCALING_LLAMA3)
            theta[i] = (1 - share) * theta[i] / o->scale + share * theta[i];
    }
}

void rt_frequencies(double *theta, int pairs, const rt_frequency_options *o)
{
    rt_frequencies_at(theta, pairs, o, 0);
}
