/* Products of a few rows with a weight, against sums in double. */

#include "numbers.h"
#include "suite.h"

#include "ops/engine.h"
#include "ops/gemm.h"
#include "ops/private.h"

#include <math.h>

enum { MOST_ROWS = 5, MOST_COLUMNS = 13, LONGEST = 67, STRIDE = MOST_COLUMNS + 2 };

static real x[MOST_ROWS * LONGEST], w[MOST_COLUMNS * LONGEST];
static real y[MOST_ROWS * STRIDE], before[MOST_ROWS * STRIDE];
static uint16_t rounded_x[MOST_ROWS * LONGEST], rounded_w[MOST_COLUMNS * LONGEST];

typedef struct sizes {
    int m, n, k;
    real beta;
} sizes;

static void fill_all(uint32_t seed)
{
    fill(x, sizeof x / sizeof *x, seed);
    fill(w, sizeof w / sizeof *w, seed + 1);
    fill(y, sizeof y / sizeof *y, seed + 2);
    memcpy(before, y, sizeof y);
}

static double widened(uint16_t bits)
{
    const uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return (double)value;
}

/* Of place (i, j), or what stood there if it is none of the result's. */
static double expected(const sizes *s, int i, int j, bool rounded)
{
    const double there = (double)before[i * STRIDE + j];
    double sum = 0;
    if (i >= s->m || j >= s->n)
        return there;
    for (int k = 0; k < s->k; k++) {
        const int at = i * s->k + k, of = j * s->k + k;
        sum += rounded ? widened(rounded_x[at]) * widened(rounded_w[of])
                       : (double)x[at] * (double)w[of];
    }
    return s->beta == 0 ? sum : sum + (double)s->beta * there;
}

static void check(const sizes *s, bool rounded)
{
    const double tolerance = 8 * LONGEST * (double)RT_REAL_EPSILON;
    for (int i = 0; i < MOST_ROWS; i++)
        for (int j = 0; j < STRIDE; j++) {
            const double wanted = expected(s, i, j, rounded), got = (double)y[i * STRIDE + j];
            ck_assert_msg(fabs(got - wanted) <= tolerance,
                          "%d x %d x %d, beta %g: (%d, %d) is %.9g, not %.9g", s->m, s->n, s->k,
                          (double)s->beta, i, j, got, wanted);
        }
}

static void multiply(const sizes *s, bool rounded)
{
    fill_all((uint32_t)(s->m + s->n));
    rt_engine_round(rounded_x, x, sizeof x / sizeof *x);
    rt_engine_round(rounded_w, w, sizeof w / sizeof *w);
    if (rounded)
        rt_few_rows_bf16((rt_sizes){s->m, s->n, s->k}, rounded_x, rounded_w, s->beta, y, STRIDE);
    else
        rt_gemm_few((rt_sizes){s->m, s->n, s->k}, rt_rows_at(x, s->k), rt_rows_at(w, s->k), s->beta,
                    rt_result_at(y, STRIDE));
    check(s, rounded);
}

SUITE(.may_leak = true)

/* Of numbers as they are, and rounded. */
TEST_ROWS(a_product_is_what_its_sums_are, 0, 2)
{
    static const int lengths[] = {1, 2, 3, 16, 33, 66, LONGEST};
    static const real betas[] = {0, 1, (real)0.5};
    for (int m = 1; m <= MOST_ROWS; m++)
        for (int n = 1; n <= MOST_COLUMNS; n++)
            for (int i = 0; i < ROWS(lengths) * ROWS(betas); i++)
                multiply(&(sizes){m, n, lengths[i / ROWS(betas)], betas[i % ROWS(betas)]}, _i);
}

TEST(without_beta_what_was_there_is_not_read)
{
    fill_all(1);
    for (int i = 0; i < STRIDE; i++)
        y[i] = (real)NAN;
    rt_gemm_few((rt_sizes){1, MOST_COLUMNS, 9}, rt_rows_at(x, 9), rt_rows_at(w, 9), 0,
                rt_result_at(y, STRIDE));
    for (int j = 0; j < STRIDE; j++)
        ck_assert(isfinite(y[j]) == (j < MOST_COLUMNS));
}

TEST(a_nan_reaches_its_row_and_column_alone)
{
    enum { K = 10, N = 9, M = 3, BAD = 6 };
    fill_all(2);
    w[BAD * K + 3] = (real)NAN;
    x[K + 4] = (real)NAN;
    rt_gemm_few((rt_sizes){M, N, K}, rt_rows_at(x, K), rt_rows_at(w, K), 1,
                rt_result_at(y, STRIDE));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            ck_assert(isfinite(y[i * STRIDE + j]) == (i != 1 && j != BAD));
}

#ifndef RT_DOUBLE

/* As all products are: of a weight that is held, or rounded here, and of rows that were rounded
 * before, or here. */
TEST_ROWS(with_bf16_a_product_is_of_rounded_numbers, 0, IN_FLOAT)
{
    static const sizes s = {3, 7, 21, 1};
    for (int held = 0; held < 2; held++)
        for (int shared = 0; shared < 2; shared++) {
            if (rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_BF16).code)
                return;
            fill_all(3);
            rt_engine_round(rounded_x, x, sizeof x / sizeof *x);
            rt_engine_round(rounded_w, w, sizeof w / sizeof *w);
            if (held)
                rt_engine_hold(w, rounded_w, sizeof w / sizeof *w);
            rt_operand rows = rt_rows_at(x, s.k);
            if (shared)
                rows = rt_gemm_share((rt_batch_size){1, 1}, rows, s.m, s.k, 1);
            rt_gemm_few((rt_sizes){s.m, s.n, s.k}, rows, rt_rows_at(w, s.k), s.beta,
                        rt_result_at(y, STRIDE));
            rt_engine_hold(NULL, NULL, 0);
            ck_assert_int_eq(rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT).code, RT_OK);
            check(&s, true);
        }
}

#endif
