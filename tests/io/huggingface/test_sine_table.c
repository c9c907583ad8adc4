#include "util/scratch.h"

#include "io/huggingface/sines.h"
#include "ops/ops.h"

enum { MOST_ROWS = 1536, PAIRS = 4 };
static double values[MOST_ROWS * 2 * PAIRS];

/* To the nearest number with so many bits, as a cast to a narrower type rounds. */
static double round_to(double x, int bits)
{
    int exponent;
    frexp(x, &exponent);
    return x == 0 ? 0 : ldexp(nearbyint(ldexp(x, bits - exponent)), exponent - bits);
}

static rt_sine_table table_of(const double *theta, int rows, rt_dtype dtype)
{
    const int bits = dtype == RT_DTYPE_BF16 ? 8 : dtype == RT_DTYPE_F16 ? 11 : 24;
    for (int m = 0; m < rows; m++)
        for (int i = 0; i < PAIRS; i++) {
            values[m * 2 * PAIRS + i] = round_to(sin(m * theta[i]), bits);
            values[m * 2 * PAIRS + PAIRS + i] = round_to(cos(m * theta[i]), bits);
        }
    return (rt_sine_table){.values = values, .rows = rows, .pairs = PAIRS, .dtype = dtype};
}

static rt_sine_table theta_of(const rt_sine_table *t, double theta[PAIRS])
{
    rt_sine_table found = *t;
    expect_ok(rt_sine_table_theta(&found, "table", theta));
    return found;
}

static rt_sine_table table_of_base(double base, int rows, rt_dtype dtype, double exact[PAIRS])
{
    rt_theta_geometric(exact, PAIRS, base);
    return table_of(exact, rows, dtype);
}

/* Theta that follow from no base, small and large: the largest angles are many full turns. */
static const struct {
    double theta[PAIRS];
    int rotated;
} odd[] = {
    {{1, 0.31, 0.0123, 0.00017}, 4},
    {{3.1, 1.7, 4.5, 2e-5}, 4},
    {{-0.001, 0.5, -1.2, 0.25}, 4},
    {{0.9, 0.31, 0, 0.00017}, 4},
    {{0.9, 0.31, 0, 0}, 2},
    {{1, 0.1000002, 0.01, 0.001}, 4},
    {{1.000002, 0.1, 0.01, 0.001}, 4},
    {{1, 0.1, 0.01, 0.00100001}, 4},
};
enum { LENGTHS = 3 };
static const int lengths[LENGTHS] = {2, 16, MOST_ROWS};

TEST_ROWS(any_theta_is_recovered_from_a_table_of_floats, 0, ROWS(odd))
{
    for (int k = 0; k < LENGTHS; k++) {
        double theta[PAIRS];
        const rt_sine_table t = table_of(odd[_i].theta, lengths[k], RT_DTYPE_F32);
        ck_assert_int_eq(theta_of(&t, theta).rotated, odd[_i].rotated);
        for (int i = 0; i < PAIRS; i++)
            ck_assert_msg(fabs(theta[i] - odd[_i].theta[i]) <= 4e-7 * fabs(odd[_i].theta[i]),
                          "%d rows, theta %d: %.12g expected, got %.12g", lengths[k], i,
                          odd[_i].theta[i], theta[i]);
        ck_assert(rt_sine_table_is_of(&t, PAIRS, odd[_i].theta));
    }
}

TEST(a_table_does_not_match_other_theta)
{
    const double theta[PAIRS] = {1, 0.1, 0.01, 0.001};
    const rt_sine_table t = table_of(theta, 16, RT_DTYPE_F32);
    for (int i = 0; i < PAIRS; i++) {
        double other[PAIRS];
        memcpy(other, theta, sizeof other);
        other[i] *= 1 + 1e-6;
        ck_assert(!rt_sine_table_is_of(&t, PAIRS, other));
    }
    ck_assert(rt_sine_table_is_of(&t, PAIRS, theta));
}

static const double bases[] = {10000, 1000, 500000, 160000, 2, 12345.678};

TEST_ROWS(a_base_is_recovered_exactly, 0, ROWS(bases))
{
    for (int k = 0; k < LENGTHS; k++)
        for (int rotated = 2; rotated <= PAIRS; rotated++) {
            double exact[PAIRS] = {0}, theta[PAIRS];
            rt_theta_geometric(exact, rotated, bases[_i]);
            const rt_sine_table t = table_of(exact, lengths[k], RT_DTYPE_F32);
            const rt_sine_table found = theta_of(&t, theta);
            ck_assert_int_eq(found.rotated, rotated);
            ck_assert_msg(fabs(found.base / bases[_i] - 1) <= 1e-6,
                          "base %.12g expected, got %.12g", bases[_i], found.base);
            ck_assert(lengths[k] < 16 || found.base == bases[_i]);
        }
}

TEST_ROWS(a_narrow_table_that_fits_a_base_is_of_that_base, 0, 4)
{
    static const rt_dtype narrow[] = {RT_DTYPE_BF16, RT_DTYPE_F16};
    for (int k = 0; k < LENGTHS; k++) {
        double exact[PAIRS], theta[PAIRS];
        const double base = _i / 2 ? 500000 : 10000;
        const rt_sine_table t = table_of_base(base, lengths[k], narrow[_i % 2], exact);
        const rt_sine_table found = theta_of(&t, theta);
        ck_assert_msg(found.base == base, "%d rows: base %g", lengths[k], found.base);
        for (int i = 0; i < PAIRS; i++)
            ck_assert(theta[i] == exact[i]);
    }
}

TEST(a_table_whose_angles_were_computed_as_floats_is_of_its_base)
{
    double exact[PAIRS], theta[PAIRS];
    const rt_sine_table t = table_of_base(10000, 512, RT_DTYPE_F32, exact);
    for (int m = 0; m < 512; m++)
        for (int i = 0; i < PAIRS; i++) {
            const float angle = (float)m * (float)exact[i];
            values[m * 2 * PAIRS + i] = (double)sinf(angle);
            values[m * 2 * PAIRS + PAIRS + i] = (double)cosf(angle);
        }
    ck_assert(theta_of(&t, theta).base == 10000);
}

TEST(a_table_of_one_position_has_the_default_base)
{
    double exact[PAIRS], theta[PAIRS];
    const rt_sine_table t = table_of_base(500, 1, RT_DTYPE_F32, exact);
    ck_assert(theta_of(&t, theta).base == 10000);
}

TEST_ROWS(a_table_of_other_numbers_than_sines_is_refused, 0, 3)
{
    double exact[PAIRS], theta[PAIRS], *one = &values[5 * 2 * PAIRS + 2];
    rt_sine_table t = table_of_base(10000, 16, RT_DTYPE_F32, exact);
    *one = _i == 0 ? *one * 1.1 : _i == 1 ? (double)NAN : (double)INFINITY;
    ck_assert_int_eq(rt_sine_table_theta(&t, "table", theta).code, RT_CHECKPOINT);
    memset(values, 0, sizeof values);
    is_status(rt_sine_table_theta(&t, "table", theta), RT_CHECKPOINT,
              "table is not a table of sines and cosines: position 0, pair 0");
}
