/* Products by another engine, in float and in bf16, against sums in double. */

#include "suite.h"

#include "core/memory.h"
#include "ops/engine.h"
#include "ops/gemm.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SUITE(.timeout = 120, .may_leak = true)

#ifndef RT_DOUBLE

enum { LARGEST = 70 * 70 };

typedef struct sizes {
    int m, n, k;
    bool a_transposed, b_transposed;
    real alpha, beta;
    int more; /* columns that rows have beyond those of the matrix */
} sizes;

static const sizes products[] = {
    {1, 1, 1, false, false, 1, 0, 0},          {16, 16, 16, false, false, 1, 0, 0},
    {33, 17, 65, false, true, 1, 1, 0},        {64, 48, 32, true, false, 1, 1, 0},
    {7, 64, 5, true, true, (real)0.25, 0, 0},  {32, 32, 16, false, true, (real)0.25, 0, 6},
    {65, 3, 66, true, false, 2, (real)0.5, 4}, {1, 64, 64, false, false, 1, 0, 0},
    {64, 1, 64, false, true, 1, 1, 3},         {64, 64, 1, true, true, 1, 0, 0},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static real a[LARGEST * 2], b[LARGEST * 2], c[LARGEST * 2], before[LARGEST * 2];

static real drawn(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (real)((double)(*state >> 8) / (1 << 23) - 1);
}

static void fill(uint32_t seed)
{
    for (int i = 0; i < 2 * LARGEST; i++) {
        a[i] = drawn(&seed);
        b[i] = drawn(&seed);
        before[i] = c[i] = drawn(&seed);
    }
}

/* To the nearest number with 8 bits of fraction, the even one of two that are as near. */
static double as_bf16(double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}

static double element(const real *x, int i, int j, bool transposed, int stride, rt_math math)
{
    const double value = (double)(transposed ? x[j * stride + i] : x[i * stride + j]);
    return math == RT_MATH_BF16 ? as_bf16(value) : value;
}

static int stride_of(int rows, int columns, bool transposed, int more)
{
    return (transposed ? rows : columns) + more;
}

static rt_operand operand(const real *x, int rows, int columns, bool transposed, int more)
{
    return (rt_operand){.data = x,
                        .stride = stride_of(rows, columns, transposed, more),
                        .transposed = transposed};
}

static void multiply(const sizes *s, real *result)
{
    rt_gemm(s->m, s->n, s->k, s->alpha, operand(a, s->m, s->k, s->a_transposed, s->more),
            operand(b, s->k, s->n, s->b_transposed, s->more), s->beta, result, s->n + s->more);
}

/* Not reading c means that a NaN there does no harm. */
static void check_product(const sizes *s, rt_math math)
{
    const int a_stride = stride_of(s->m, s->k, s->a_transposed, s->more);
    const int b_stride = stride_of(s->k, s->n, s->b_transposed, s->more), stride = s->n + s->more;
    if (s->beta == 0)
        c[0] = (real)NAN;
    multiply(s, c);
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) {
            double sum = 0, size = 1;
            for (int l = 0; l < s->k; l++) {
                const double x = element(a, i, l, s->a_transposed, a_stride, math) *
                                 element(b, l, j, s->b_transposed, b_stride, math);
                sum += x;
                size += fabs(x);
            }
            sum *= (double)s->alpha;
            if (s->beta != 0)
                sum += (double)s->beta * (double)before[i * stride + j];
            ck_assert_msg(fabs((double)c[i * stride + j] - sum) <= 1e-6 * size,
                          "%d x %d x %d at %d, %d: %.9g instead of %.9g", s->m, s->n, s->k, i, j,
                          (double)c[i * stride + j], sum);
        }
    for (int i = 0; i + 1 < s->m; i++)
        for (int j = s->n; j < stride; j++)
            ck_assert(c[i * stride + j] == before[i * stride + j]);
}

/* Returns whether the engine is available; otherwise prints what is missing. */
static bool use(rt_math math)
{
    const rt_status status = rt_engine_use(RT_ENGINE_ONEDNN, math);
    if (status.code)
        printf("SKIP products in %s: needs oneDNN and a processor that has them (%s)\n",
               math == RT_MATH_BF16 ? "bf16" : "float", status.message);
    return !status.code;
}

static void back(void)
{
    ck_assert(!rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT).code);
}

TEST_ROWS(products_are_those_of_the_rounded_operands, 0, IN_FLOAT ? 2 * PRODUCTS : 0)
{
    const rt_math math = _i / PRODUCTS ? RT_MATH_BF16 : RT_MATH_FLOAT;
    fill((uint32_t)_i);
    if (use(math))
        check_product(products + _i % PRODUCTS, math);
    ck_assert(!rt_engine_status().code);
    back();
}

/* 1 + 2^-8 lies in the middle of two numbers, as 1 + 3 2^-8 does. */
TEST_ROWS(ties_go_to_the_even_number_and_nan_stays, 0, IN_FLOAT)
{
    static const double rows[][2] = {{1 + 0x1p-8, 1},
                                     {1 + 0x3p-8, 1 + 0x1p-6},
                                     {1 + 0x1.1p-8, 1 + 0x1p-7},
                                     {-1 - 0x1p-8, -1},
                                     {0, 0},
                                     {0x1p-100, 0x1p-100},
                                     {(double)NAN, (double)NAN},
                                     {(double)INFINITY, (double)INFINITY}};
    if (use(RT_MATH_BF16))
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const real x = (real)rows[i][0], one = 1;
            real y = 5;
            rt_gemm(1, 1, 1, 1, rt_rows_at(&x, 1), rt_rows_at(&one, 1), 0, &y, 1);
            ck_assert_msg((double)y == rows[i][1] || (isnan(y) && isnan(rows[i][1])),
                          "%.9g becomes %.9g", rows[i][0], (double)y);
        }
    back();
}

static void *multiply_all(void *results)
{
    for (int i = 0; i < PRODUCTS; i++)
        multiply(products + i, (real *)results + (size_t)i * LARGEST);
    return NULL;
}

TEST_ROWS(threads_come_to_the_same_bits, 0, IN_FLOAT)
{
    static real one[PRODUCTS * LARGEST], other[PRODUCTS * LARGEST];
    pthread_t threads[2];
    fill(7);
    for (int math = 0; math < 2; math++) {
        if (!use(math ? RT_MATH_BF16 : RT_MATH_FLOAT))
            continue;
        memset(one, 0, sizeof one);
        memset(other, 0, sizeof other);
        ck_assert(!pthread_create(&threads[0], NULL, multiply_all, one));
        ck_assert(!pthread_create(&threads[1], NULL, multiply_all, other));
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        ck_assert(!memcmp(one, other, sizeof one));
        memset(other, 0, sizeof other);
        multiply_all(other);
        ck_assert(!memcmp(one, other, sizeof one));
    }
    back();
}

/* An operand that is shared is read as it was when it was shared, whole or transposed. */
TEST_ROWS(an_operand_is_rounded_once_for_several_products, 0, IN_FLOAT)
{
    enum { ROWS = 20, COLUMNS = 12, STRIDE = 15 };
    static real expected[2][ROWS * ROWS], got[2][ROWS * ROWS];
    const rt_operand x = rt_rows_at(a, STRIDE), y = rt_rows_at(b, ROWS);
    fill(9);
    if (use(RT_MATH_BF16)) {
        rt_gemm(ROWS, ROWS, COLUMNS, 1, x, y, 0, expected[0], ROWS);
        rt_gemm(COLUMNS, COLUMNS, ROWS, 1, rt_transposed(x), x, 0, expected[1], ROWS);
        const rt_operand shared = rt_gemm_share(x, ROWS, COLUMNS, 3);
        rt_gemm(ROWS, ROWS, COLUMNS, 1, shared, y, 0, got[0], ROWS);
        a[0] = 100;
        rt_gemm(COLUMNS, COLUMNS, ROWS, 1, rt_transposed(shared), shared, 0, got[1], ROWS);
        ck_assert(!memcmp(expected, got, sizeof got));
    }
    back();
    ck_assert_ptr_null(rt_gemm_share(x, ROWS, COLUMNS, 0).rounded);
}

/* Of what is held, products read what was rounded; of what lies beside it, what stands there. */
TEST_ROWS(parameters_that_are_held_are_read_rounded, 0, IN_FLOAT)
{
    enum { N = 8, HELD = 2 * N * N };
    static uint16_t rounded[HELD];
    real whole[N * N], other[N * N];
    fill(10);
    if (use(RT_MATH_BF16)) {
        rt_engine_round(rounded, b, HELD);
        rt_gemm(N, N, N, 1, rt_rows_at(a, N), rt_rows_at(b + N * N, N), 0, whole, N);
        rt_engine_hold(b, rounded, HELD);
        b[N * N] = 100;
        rt_gemm(N, N, N, 1, rt_rows_at(a, N), rt_rows_at(b + N * N, N), 0, other, N);
        ck_assert(!memcmp(whole, other, sizeof whole));
        b[HELD] = 100;
        rt_gemm(1, N, 1, 1, rt_rows_at(b + HELD, 1), rt_rows_at(a, N), 0, other, N);
        ck_assert(fabs((double)other[0]) > 50 * fabs((double)a[0]));
        rt_engine_hold(NULL, NULL, 0);
        rt_gemm(N, N, N, 1, rt_rows_at(a, N), rt_rows_at(b + N * N, N), 0, other, N);
        ck_assert(memcmp(whole, other, sizeof whole) != 0);
    }
    back();
}

/* Of a NaN whose bits are all set, rounding up would make a number. */
TEST_ROWS(every_nan_stays_one, 0, IN_FLOAT)
{
    static const uint32_t bits[] = {0x7fffffff, 0xffffffff, 0x7f800001, 0xff80ffff};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        real x;
        uint16_t rounded;
        memcpy(&x, bits + i, sizeof x);
        rt_engine_round(&rounded, &x, 1);
        ck_assert_msg((rounded & 0x7fff) > 0x7f80, "%08x becomes %04x", bits[i], rounded);
        ck_assert_uint_eq(rounded >> 15, bits[i] >> 31);
    }
}

/* More shapes than a thread keeps, or has places for. */
TEST_ROWS(any_number_of_shapes_can_be_multiplied, 0, IN_FLOAT)
{
    fill(8);
    if (use(RT_MATH_BF16))
        for (int round = 0; round < 2; round++)
            for (int i = 0; i < 1100; i++) {
                const sizes s = {1 + i % 40, 1 + i / 40, 3, false, true, 1, 0, 0};
                check_product(&s, RT_MATH_BF16);
            }
    back();
}

#endif

TEST(what_is_missing_is_said)
{
    const rt_status status = rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_BF16);
    ck_assert_int_eq(status.code, RT_CONFIG);
    ck_assert_ptr_nonnull(strstr(status.message, "oneDNN"));
    ck_assert_str_eq(rt_engine_name(), "OpenBLAS");
#ifdef RT_DOUBLE
    const rt_status other = rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_FLOAT);
    ck_assert_int_eq(other.code, RT_CONFIG);
    ck_assert_ptr_nonnull(strstr(other.message, "double"));
#endif
    ck_assert(!strstr(rt_engine_kernels(), " "));
}
