/* Frequencies and their scalings for longer texts: position interpolation (Chen et al. 2023), ntk,
 * yarn (Peng et al. 2023). */

#include "laws.h"

#include "models/frequencies.h"

enum { MOST = 64 };

static rt_frequency_options options(rt_scaling scaling, double scale)
{
    return (rt_frequency_options){.base = 10000,
                                  .scaling = scaling,
                                  .scale = scale,
                                  .original_len = 2048};
}

static void both(double *plain, double *scaled, int pairs, const rt_frequency_options *o)
{
    rt_frequency_options none = *o;
    none.scaling = RT_SCALING_NONE;
    rt_frequencies(plain, pairs, &none);
    rt_frequencies(scaled, pairs, o);
}

TEST(the_linear_family_is_evenly_spaced_between_the_ends_of_the_geometric)
{
    double theta[MOST], geometric[MOST];
    rt_frequency_options o = options(RT_SCALING_NONE, 1);
    o.family = RT_FREQUENCIES_LINEAR;
    for (int pairs = 1; pairs <= MOST; pairs++) {
        rt_frequencies(theta, pairs, &o);
        rt_theta_geometric(geometric, pairs, o.base);
        expect_near(theta[0], 1, 0, "the first of %d", pairs);
        expect_near(theta[pairs - 1], geometric[pairs - 1], 1e-15, "the last of %d", pairs);
        for (int i = 2; i < pairs; i++)
            expect_near(theta[i] - theta[i - 1], theta[1] - theta[0], 1e-15, "step %d of %d", i,
                        pairs);
    }
}

/* Linear scaling divides it, as if positions were divided. */
TEST(the_reciprocal_family_is_1_over_1_plus_i)
{
    double theta[MOST];
    rt_frequency_options o = options(RT_SCALING_LINEAR, 3);
    o.family = RT_FREQUENCIES_RECIPROCAL;
    rt_frequencies(theta, MOST, &o);
    for (int i = 0; i < MOST; i++)
        expect_near(3 * theta[i] * (1 + i), 1, 4e-16, "3 theta_%d (1 + %d)", i, i);
    expect_near(rt_frequencies_magnitude(&o), 1, 0, "the magnitude");
}

TEST(ntk_leaves_the_first_theta_and_divides_the_last_by_the_scale)
{
    static const double scales[] = {1, 1.5, 2, 4, 8, 32}, bases[] = {100, 10000, 500000};
    double plain[MOST], scaled[MOST];
    for (int pairs = 2; pairs <= MOST; pairs++)
        for (int n = 0; n < 18; n++) {
            rt_frequency_options o = options(RT_SCALING_NTK, scales[n % 6]);
            o.base = bases[n / 6];
            both(plain, scaled, pairs, &o);
            expect_near(scaled[0], 1, 0, "theta_0 of %d, s = %g", pairs, o.scale);
            expect_near(plain[pairs - 1] / scaled[pairs - 1], o.scale, 1e-13 * o.scale,
                        "the last theta of %d over that of ntk, base %g", pairs, o.base);
            for (int i = 1; i < pairs; i++) /* the share grows steadily between the two */
                expect_near(plain[i] / scaled[i], pow(o.scale, (double)i / (pairs - 1)),
                            1e-13 * o.scale, "theta_%d of %d over that of ntk", i, pairs);
            expect_near(rt_frequencies_magnitude(&o), 1, 0, "the magnitude");
        }
}

/* A ramp between the ends; texts so short that no pair makes 32 turns, or one; and texts so long
 * that the ramp ends beyond the pairs, at feature 2 * 32 - 1. */
TEST(yarn_keeps_fast_pairs_and_interpolates_slow_ones)
{
    static const struct {
        int length;
        double base, low, high;
    } rows[] = {{2048, 1e4, 8, 21},       {64, 1e4, 0, 9},    {20, 1e4, 0, 5},
                {6, 1e4, 0, 0.001},       {1, 1e4, 0, 0.001}, {1000, 10, 22, 63},
                {2000000000, 1e4, 55, 63}};
    double plain[32], scaled[32], low, high;
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        rt_frequency_options o = options(RT_SCALING_YARN, 4);
        o.original_len = rows[n].length;
        o.base = rows[n].base;
        rt_yarn_ramp(&o, 32, &low, &high);
        expect_near(low, rows[n].low, 0, "low, length %d", rows[n].length);
        expect_near(high, rows[n].high, 0, "high, length %d", rows[n].length);
        expect_near(rt_frequencies_magnitude(&o), 1.138629, 5e-7, "the magnitude");
        both(plain, scaled, 32, &o);
        for (int i = 0; i < 32; i++) {
            const double ramp = i <= rows[n].low ? 0
                                : i >= rows[n].high
                                    ? 1
                                    : (i - rows[n].low) / (rows[n].high - rows[n].low);
            expect_near(scaled[i] / plain[i], 1 - 0.75 * ramp, ramp == 0 ? 0 : 1e-15,
                        "theta_%d, length %d", i, rows[n].length);
        }
    }
}

/* clang-format off */
#define OF(kind, factor, length, ...)                                                              \
    {.base = 10000, .scaling = RT_SCALING_##kind, .scale = factor, .original_len = length,         \
     __VA_ARGS__}
#define RECIPROCAL .family = RT_FREQUENCIES_RECIPROCAL
#define FACTORS(number, ...) {number, (const double[]){__VA_ARGS__}}
static const struct {
    rt_frequency_options o;
    int pairs;
    const char *message;
} checks[] = {
    {OF(LINEAR, 0.5, 2048), 8, "the scale must be at least 1; got 0.5"},
    {OF(NTK, 0, 2048), 8, "the scale must be at least 1; got 0"},
    {OF(NTK, -2, 2048), 8, "the scale must be at least 1; got -2"},
    {OF(YARN, 0.5, 2048), 8, "the scale must be at least 1; got 0.5"},
    {OF(YARN, NAN, 2048), 8, "the scale must be at least 1; got nan"},
    {OF(LINEAR, 1, 2048), 8, ""},
    {OF(NTK, 1, 2048), 8, ""},
    {OF(YARN, 1, 2048), 8, ""},
    {OF(LINEAR, 1, 2048, RECIPROCAL), 8, ""},
    {OF(NTK, 1, 2048, RECIPROCAL), 8, "ntk scales geometric frequencies only"},
    {OF(YARN, 1, 2048, RECIPROCAL), 8, "yarn scales geometric frequencies only"},
    {OF(NONE, 0, 2048), 1, ""},
    {OF(NTK, 2, 2048), 1, "ntk needs at least two rotated pairs; got 1"},
    {OF(NTK, 2, 2048), 2, ""},
    {OF(YARN, 2, 0), 8, "yarn needs the original length"},
    {OF(LLAMA3, 2, 0), 8, "llama3 needs the original length"},
    {OF(LLAMA3, 2, 2048, .low_freq_factor = 4), 8,
     "llama3 needs a lower bound of rotations below its upper bound; got 4 and 4"},
    {OF(YARN, 2, 2048, .beta_slow = 33), 8,
     "yarn needs a lower bound of rotations below its upper bound; got 33 and 32"},
    {OF(DYNAMIC, 2, 2048), 1, "dynamic needs at least two rotated pairs; got 1"},
    {OF(LONGROPE, 2, 2048), 2,
     "longrope needs short_factors, one for each of the 2 rotated pairs; got 0"},
    {OF(LONGROPE, 2, 2048, .short_factors = FACTORS(2, 1, 1), .long_factors = FACTORS(2, 1, 0)), 2,
     "long_factors must be above 0; number 2 is 0"},
    {OF(LONGROPE, 2, 2048, .short_factors = FACTORS(2, 1, 1), .long_factors = FACTORS(2, 1, 3)), 2,
     ""},
};
/* clang-format on */

TEST_ROWS(options_that_contradict_each_other_are_refused, 0, ROWS(checks))
{
    is_status(rt_frequencies_check(&checks[_i].o, checks[_i].pairs),
              *checks[_i].message ? RT_ARGUMENT : RT_OK, checks[_i].message);
}

/* Values of the formulas of transformers 5.23, which computes them in float, to 1e-7. */
TEST(scalings_by_length_have_the_published_values)
{
    static const double dynamic[][4] = {{1, 0.1, 0.01, 0.001},
                                        {1, 0.09705710012810347, 0.0094200806852767,
                                         0.0009142857142857143},
                                        {1, 0.05665163349427047, 0.0032094075775691484,
                                         0.0001818181818181818}};
    static const int lengths[] = {32, 33, 80}, regimes[] = {0, 33, 80};
    double theta[4];
    rt_frequency_options o = options(RT_SCALING_DYNAMIC, 3);
    o.original_len = 32;
    for (int n = 0; n < 3; n++) {
        rt_frequencies_at(theta, 4, &o, lengths[n]);
        ck_assert_int_eq(rt_frequencies_regime(&o, lengths[n]), regimes[n]);
        for (int i = 0; i < 4; i++)
            expect_near(theta[i] / dynamic[n][i], 1, 1e-14, "theta_%d at %d", i, lengths[n]);
    }
    o.scaling = RT_SCALING_LONGROPE;
    o.scale = 2;
    o.short_factors = (rt_factors){4, (const double[]){1, 1.1, 1.2, 1.3}};
    o.long_factors = (rt_factors){4, (const double[]){2, 3, 4, 5}};
    expect_near(rt_frequencies_magnitude(&o), 1.0954451150103321, 1e-15, "the magnitude");
    for (int n = 0; n < 3; n++) {
        rt_frequencies_at(theta, 4, &o, lengths[n]);
        ck_assert_int_eq(rt_frequencies_regime(&o, lengths[n]), n > 0);
        for (int i = 0; i < 4; i++)
            expect_near(theta[i] * (n ? o.long_factors : o.short_factors).at[i] / dynamic[0][i], 1,
                        1e-14, "theta_%d at %d", i, lengths[n]);
    }
    o.attention_factor = 1.5;
    expect_near(rt_frequencies_magnitude(&o), 1.5, 0, "a magnitude that is given");
}
