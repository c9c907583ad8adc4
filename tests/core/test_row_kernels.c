/* Row kernels: the choice of the instruction set, and equal results of every set. */

/* The test recognizes a set by fused products and sums, which gcc only generates when it optimizes.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#endif

#include "core/real.h"
#include "suite.h"

/* Whole numbers: each order of the sum has the same bits. */
static RT_ROW_FUNCTION(double, weighted_sum, (const real *restrict x, size_t n), (x, n))
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)(i % 7);
    return sum;
}

static RT_ROW_KERNEL(add_twice, (real *restrict y, const real *restrict x, size_t n), (y, x, n))
{
    for (size_t i = 0; i < n; i++)
        y[i] += 2 * x[i];
}

/* Returns whether the set in use was compiled with FMA. */
static RT_ROW_FUNCTION(int, compiled_for_fma, (int unused), (unused))
{
    /* (1 + e)(1 - e) - 1 is -e^2 where multiply and add round once, and 0 where they round twice.
     */
    volatile real e = RT_REAL_EPSILON;
    const real a = 1 + e, b = 1 - e;
    (void)unused;
    return a * b - 1 != 0;
}

TEST(every_set_computes_the_same)
{
    enum { SIZE = 1003 };
    static real x[SIZE], y[SIZE];
    const rt_row_set before = rt_row_set_in_use;
    for (int set = RT_ROWS_BASELINE; set <= RT_ROWS_AVX512; set++) {
        if (!rt_row_set_works(set))
            continue;
        ck_assert(!rt_row_set_use(set).code);
        ck_assert_str_eq(rt_row_kernels(), rt_row_set_name(set));
        double wanted = 0;
        for (size_t i = 0; i < SIZE; i++) {
            x[i] = (real)(i % 11);
            y[i] = 1;
            wanted += (double)((i % 11) * (i % 7));
        }
        ck_assert_double_eq(weighted_sum(x, SIZE), wanted);
        add_twice(y, x, SIZE);
        for (size_t i = 0; i < SIZE; i++)
            ck_assert_double_eq((double)y[i], (double)(1 + 2 * (i % 11)));
    }
    ck_assert(!rt_row_set_use(before).code);
}

#if defined(__x86_64__)
TEST(the_set_that_is_chosen_is_the_one_that_runs)
{
    const rt_row_set before = rt_row_set_in_use;
    ck_assert(!rt_row_set_use(RT_ROWS_BASELINE).code);
    ck_assert_int_eq(compiled_for_fma(0), 0);
    if (rt_row_set_works(RT_ROWS_AVX2)) {
        ck_assert(!rt_row_set_use(RT_ROWS_AVX2).code);
        ck_assert_int_eq(compiled_for_fma(0), 1);
    }
    ck_assert(!rt_row_set_use(before).code);
}
#endif

TEST(the_best_set_is_chosen_at_the_start)
{
    NEEDS(!getenv("ROTOR_ROW_KERNELS"), "an environment that asks for no other set");
    for (int set = rt_row_set_in_use + 1; set <= RT_ROWS_AVX512; set++)
        ck_assert_msg(!rt_row_set_works(set), "%s is there, %s is in use", rt_row_set_name(set),
                      rt_row_kernels());
}

TEST(a_set_that_the_processor_lacks_is_refused)
{
    const rt_row_set before = rt_row_set_in_use;
    for (int set = RT_ROWS_BASELINE; set <= RT_ROWS_AVX512; set++) {
        const rt_status status = rt_row_set_use_named(rt_row_set_name(set));
        ck_assert_int_eq(status.code, rt_row_set_works(set) ? RT_OK : RT_CONFIG);
        if (status.code)
            ck_assert_ptr_nonnull(strstr(status.message, rt_row_set_name(set)));
        ck_assert(!rt_row_set_use(before).code);
    }
    const rt_status unknown = rt_row_set_use_named("MMX");
    ck_assert_int_eq(unknown.code, RT_CONFIG);
    ck_assert_ptr_nonnull(strstr(unknown.message, "AVX2"));
    ck_assert(!rt_row_set_use_named(NULL).code && !rt_row_set_use_named("").code);
    ck_assert_int_eq(rt_row_set_in_use, before);
}
