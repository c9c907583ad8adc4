/* Products by each engine, one or in batches, in float and in bf16, and products of a few rows with
 * a weight, against sums in double. */

#include "numbers.h"

#include "core/random.h"
#include "ops/gemm.h"
#include "ops/private.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

enum { ROOM = 40000 };

typedef enum layout {
    BEHIND, /* one matrix after the other */
    BESIDE, /* inner matrices in the same rows */
    LOOSE,  /* the same, among columns that are not of the batch */
    SHARED  /* one matrix for all inner products */
} layout;

typedef struct sizes {
    rt_batch_size batch;
    int m, n, k;
    bool a_transposed, b_transposed;
    double alpha, beta;
    layout a, b, c;
} sizes;

static const sizes batches[] = {
    {{1, 1}, 5, 4, 3, false, false, 1, 0, BEHIND, BEHIND, BEHIND},
    {{1, 4}, 32, 32, 16, false, true, 0.25, 0, BESIDE, BESIDE, BEHIND},
    {{3, 4}, 32, 16, 32, false, false, 1, 1, BEHIND, BESIDE, BESIDE},
    {{3, 4}, 32, 16, 32, true, false, 0.3, 1, BEHIND, BESIDE, BESIDE},
    {{2, 3}, 40, 16, 33, true, false, 0.3, 1, BEHIND, BESIDE, BESIDE},
    {{3, 2}, 17, 5, 7, true, true, -2, 0, BESIDE, BEHIND, BESIDE},
    {{2, 5}, 7, 9, 1, false, true, 1, 0, LOOSE, LOOSE, BEHIND},
    {{2, 3}, 1, 16, 20, false, false, 1, 0, BEHIND, LOOSE, LOOSE},
    {{3, 1}, 20, 8, 20, false, false, 1, 1, BEHIND, BESIDE, LOOSE},
    {{2, 3}, 6, 8, 10, false, false, 1, 0.5, BEHIND, BESIDE, BESIDE},
    {{2, 4}, 12, 10, 6, false, true, 1, 0, BESIDE, SHARED, BEHIND},
    {{2, 4}, 12, 10, 6, true, false, 0.5, 1, BEHIND, BESIDE, SHARED},
    {{1, 30}, 1, 1, 1, false, true, 1, 1, BESIDE, BESIDE, BEHIND},
    {{1, 1}, 1, 1, 1, false, false, 1, 0, BEHIND, BEHIND, BEHIND},
    {{1, 1}, 16, 16, 16, false, false, 1, 0, BEHIND, BEHIND, BEHIND},
    {{1, 1}, 33, 17, 65, false, true, 1, 1, BEHIND, BEHIND, BEHIND},
    {{1, 1}, 64, 48, 32, true, false, 1, 1, BEHIND, BEHIND, BEHIND},
    {{1, 1}, 7, 64, 5, true, true, 0.25, 0, BEHIND, BEHIND, BEHIND},
    {{1, 1}, 32, 32, 16, false, true, 0.25, 0, LOOSE, LOOSE, LOOSE},
    {{1, 1}, 65, 3, 66, true, false, 2, 0.5, LOOSE, LOOSE, LOOSE},
    {{1, 1}, 1, 64, 64, false, false, 1, 0, BEHIND, BEHIND, BEHIND},
    {{1, 1}, 64, 1, 64, false, true, 1, 1, LOOSE, LOOSE, LOOSE},
    {{1, 1}, 64, 64, 1, true, true, 1, 0, BEHIND, BEHIND, BEHIND},
};
enum { BATCHES = ROWS(batches) };

static real a[ROOM], b[ROOM], c[ROOM + 1];
static double expected[ROOM + 1], sizes_of_sums[ROOM];

static void draw(real *x, size_t size, uint32_t stream)
{
    for (size_t i = 0; i < size; i++)
        x[i] = (real)(rt_random_uniform((rt_random){5, stream, RT_STREAM_CHECK}, i) - 0.5);
}

/* To the nearest number with 8 bits of fraction, the even one of two that are as near. */
static double as_bf16(double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    return ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}

typedef struct place {
    int stride;
    rt_steps step;
} place;

static place place_of(rt_batch_size batch, layout lie, int height, int width)
{
    const size_t size = (size_t)height * (size_t)width, inner = (size_t)batch.inner;
    const int gap = lie == LOOSE ? 3 : 0;
    if (lie == BEHIND)
        return (place){width, {size * inner, size}};
    if (lie == SHARED)
        return (place){width, {size, 0}};
    const int stride = (width + gap) * batch.inner;
    return (place){stride, {(size_t)stride * (size_t)height, (size_t)(width + gap)}};
}

static size_t start_of(place p, int i, int j)
{
    return (size_t)i * p.step.outer + (size_t)j * p.step.inner;
}

static double element(const real *x, place p, size_t start, bool transposed, int i, int j,
                      rt_math math)
{
    const size_t at =
        start + (size_t)(transposed ? j : i) * (size_t)p.stride + (size_t)(transposed ? i : j);
    return math == RT_MATH_BF16 ? as_bf16((double)x[at]) : (double)x[at];
}

static void expect_product(const sizes *s, const place *p, int outer, int inner, rt_math math)
{
    const size_t a_start = start_of(p[0], outer, inner), b_start = start_of(p[1], outer, inner);
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) {
            const size_t at =
                start_of(p[2], outer, inner) + (size_t)i * (size_t)p[2].stride + (size_t)j;
            double sum = 0, size = 0;
            for (int l = 0; l < s->k; l++) {
                const double term = element(a, p[0], a_start, s->a_transposed, i, l, math) *
                                    element(b, p[1], b_start, s->b_transposed, l, j, math);
                sum += term;
                size += fabs(term);
            }
            expected[at] = s->alpha * sum + (s->beta != 0 ? s->beta * expected[at] : 0);
            sizes_of_sums[at] += size;
        }
}

static rt_operand operand(const real *x, place p, bool transposed)
{
    return (rt_operand){.data = x, .stride = p.stride, .transposed = transposed, .step = p.step};
}

static void places_of(const sizes *s, place p[3])
{
    const int a_rows = s->a_transposed ? s->k : s->m, b_rows = s->b_transposed ? s->n : s->k;
    p[0] = place_of(s->batch, s->a, a_rows, s->m + s->k - a_rows);
    p[1] = place_of(s->batch, s->b, b_rows, s->n + s->k - b_rows);
    p[2] = place_of(s->batch, s->c, s->m, s->n);
}

/* Ways to multiply: the batch itself; with operands rounded in advance, to the same bits; single
 * products; and products of a few rows, with operands in float, rounded in advance, or bf16-only.
 */
enum { BATCH, SHARED_BATCH, SINGLE, WAYS, FEW = WAYS, FEW_SHARED, FEW_ROUNDED };

static void multiply_few(const sizes *s, int way, real *result, int stride)
{
    static uint16_t rounded_a[ROOM], rounded_b[ROOM];
    const rt_sizes size = {s->m, s->n, s->k};
    rt_operand x = rt_rows_at(a, s->k);
    if (way != FEW) {
        rt_engine_round(rounded_a, a, (size_t)(s->m * s->k));
        rt_engine_round(rounded_b, b, (size_t)(s->n * s->k));
    }
    if (way == FEW_ROUNDED) {
        rt_few_rows_bf16(size, rounded_a, rounded_b, (real)s->beta, result, stride);
        return;
    }
    if (way == FEW_SHARED) {
        x = rt_gemm_share(s->batch, x, s->m, s->k, 1);
        rt_engine_hold(b, rounded_b, (size_t)(s->n * s->k));
    }
    rt_gemm_few(size, x, rt_rows_at(b, s->k), (real)s->beta, rt_result_at(result, stride));
    rt_engine_hold(NULL, NULL, 0);
}

static void multiply(const sizes *s, int way, real *result)
{
    place p[3];
    places_of(s, p);
    if (way >= FEW) {
        multiply_few(s, way, result, p[2].stride);
        return;
    }
    rt_operand x = operand(a, p[0], false), y = operand(b, p[1], false);
    if (way == SHARED_BATCH) {
        x = rt_gemm_share(s->batch, x, s->a_transposed ? s->k : s->m, s->a_transposed ? s->m : s->k,
                          1);
        y = rt_gemm_share(s->batch, y, s->b_transposed ? s->n : s->k, s->b_transposed ? s->k : s->n,
                          2);
    }
    x = s->a_transposed ? rt_transposed(x) : x;
    y = s->b_transposed ? rt_transposed(y) : y;
    rt_gemm((rt_sizes){s->m, s->n, s->k}, (real)s->alpha, x, y, (real)s->beta,
            way == SINGLE ? rt_result_at(result, p[2].stride)
                          : (rt_result){result, p[2].stride, p[2].step, s->batch});
}

static void draw_all(int room)
{
    draw(a, (size_t)room, 1);
    draw(b, (size_t)room, 2);
    draw(c, (size_t)room, 3);
}

static void check_batch(const sizes *s, rt_math math, int way, int room)
{
    const double rounding = sizeof(real) == sizeof(float) ? 1e-6 : 1e-14;
    place p[3];
    places_of(s, p);
    draw_all(room);
    for (int i = 0; i < room; i++) {
        expected[i] = (double)c[i];
        sizes_of_sums[i] = 0;
    }
    for (int i = 0; i < s->batch.outer; i++)
        for (int j = 0; j < s->batch.inner; j++)
            expect_product(s, p, i, j, math);
    for (int i = 0; s->beta == 0 && i < room; i++)
        if (sizes_of_sums[i] > 0)
            c[i] = (real)NAN; /* c is not read */
    multiply(s, way, c);
    const double share = way == SINGLE ? 0.25 : 1, times = way == SINGLE ? 1 : 2;
    int bad = 0; /* an assertion for each element would take most of the time */
    while (bad < room &&
           fabs((double)c[bad] - expected[bad]) <=
               (sizes_of_sums[bad] > 0 ? rounding * (share + times * sizes_of_sums[bad]) : 0))
        bad++;
    ck_assert_msg(bad == room, "%d x %d of %d x %d x %d, way %d, element %d: %.9g instead of %.9g",
                  s->batch.outer, s->batch.inner, s->m, s->n, s->k, way, bad, (double)c[bad],
                  expected[bad]);
}

SUITE(.timeout = 120, .may_leak = true)

TEST_ROWS(products_are_those_of_the_rounded_operands, 0, ENGINES *BATCHES)
{
    const engine *e = engines + _i / BATCHES;
    if (use(e))
        for (int way = 0; way < WAYS; way++)
            if (way != SINGLE ||
                batches[_i % BATCHES].batch.outer * batches[_i % BATCHES].batch.inner == 1)
                check_batch(batches + _i % BATCHES, e->math, way, ROOM);
    back();
}

/* With K = 0, c becomes beta c; without rows or products nothing is written. */
TEST_ROWS(sizes_may_be_zero, 0, ENGINES)
{
    const rt_operand x = {.data = a, .stride = 4, .step = {16, 8}};
    if (use(engines + _i)) {
        draw(c, ROOM, 3);
        const real first = c[0], behind = c[16];
        rt_gemm((rt_sizes){2, 2, 4}, 1, x, rt_transposed(x), 0, (rt_result){c, 2, {8, 4}, {0, 2}});
        rt_gemm((rt_sizes){2, 2, 4}, 1, x, rt_transposed(x), 0, (rt_result){c, 2, {8, 4}, {2, 0}});
        rt_gemm((rt_sizes){0, 2, 4}, 1, x, rt_transposed(x), 0, (rt_result){c, 2, {8, 4}, {2, 2}});
        ck_assert(c[0] == first);
        rt_gemm((rt_sizes){2, 2, 0}, 1, x, rt_transposed(x), 0, (rt_result){c, 2, {8, 4}, {2, 2}});
        for (int i = 0; i < 16; i++)
            ck_assert(c[i] == 0);
        ck_assert(c[16] == behind);
    }
    back();
}

/* With and without beta; without it the old values are not read. Products of a few rows are in bf16
 * on a processor without it, too. */
TEST_ROWS(products_of_a_few_rows_are_those_of_the_operands, 0, ENGINES)
{
    static const int rows[] = {1, 3, 4, 6, 8, 9}, lengths[] = {1, 2, 3, 16, 33, 66, 67};
    static const double betas[] = {0, 1, 0.5};
    const rt_math math = engines[_i].math;
    const bool there = use(engines + _i), shared = IN_FLOAT && math == RT_MATH_BF16;
    enum { MOST_COLUMNS = 13, SIZES = ROWS(rows) * MOST_COLUMNS };
    for (int n = 0; n < SIZES * ROWS(lengths) * ROWS(betas); n++) {
        const sizes s = {.batch = {1, 1},
                         .m = rows[n % ROWS(rows)],
                         .n = 1 + n / ROWS(rows) % MOST_COLUMNS,
                         .k = lengths[n / SIZES % ROWS(lengths)],
                         .b_transposed = true,
                         .alpha = 1,
                         .beta = betas[n / SIZES / ROWS(lengths)],
                         .c = LOOSE};
        if (there)
            check_batch(&s, math, FEW, 1200);
        if (there && shared)
            check_batch(&s, math, FEW_SHARED, 1200);
        if (shared)
            check_batch(&s, math, FEW_ROUNDED, 1200);
    }
    back();
}

/* So that a text gets the same continuation alone and beside others. */
TEST(a_row_of_a_product_does_not_depend_on_the_other_rows)
{
    enum { K = 67, N = 13, MOST_ROWS = 16 };
    real alone[N];
    draw_all(ROOM);
    for (int m = 2; m <= MOST_ROWS; m++) {
        rt_gemm_few((rt_sizes){m, N, K}, rt_rows_at(a, K), rt_rows_at(b, K), 0, rt_result_at(c, N));
        for (int i = 0; i < m; i++) {
            rt_gemm_few((rt_sizes){1, N, K}, rt_rows_at(a + i * K, K), rt_rows_at(b, K), 0,
                        rt_result_at(alone, N));
            ck_assert_msg(!memcmp(alone, c + i * N, sizeof alone), "row %d of %d", i, m);
        }
    }
}

TEST(a_nan_changes_only_its_row_and_column)
{
    enum { K = 10, N = 9, M = 3, BAD = 6 };
    draw_all(ROOM);
    b[BAD * K + 3] = (real)NAN;
    a[K + 4] = (real)NAN;
    rt_gemm_few((rt_sizes){M, N, K}, rt_rows_at(a, K), rt_rows_at(b, K), 1, rt_result_at(c, N));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            ck_assert(isfinite(c[i * N + j]) == (i != 1 && j != BAD));
}

static pthread_t own;
static uintptr_t stack;
static volatile sig_atomic_t signals, strays;

static void count_signal(int number)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0), most = (uintptr_t)1 << 20;
    (void)number;
    if (!pthread_equal(pthread_self(), own)) /* but a thread of the library, with its own stack */
        return;
    signals++;
    strays += here > stack || stack - here > most;
}

/* Kernels may keep something else in the stack pointer. */
TEST_ROWS(a_signal_during_a_product_is_handled_on_the_stack, 0, ENGINES)
{
    enum { M = 96, N = 64, K = 200, MICROSECONDS = 100, ENOUGH = 100 };
    const struct sigaction count = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, MICROSECONDS}, {0, MICROSECONDS}}, never = {{0, 0}, {0, 0}};
    struct sigaction before;
    own = pthread_self();
    stack = (uintptr_t)__builtin_frame_address(0);
    signals = strays = 0;
    if (use(engines + _i)) {
        draw_all(ROOM);
        ck_assert(!sigaction(SIGALRM, &count, &before));
        for (int i = 0; signals < ENOUGH; i++) {
            rt_gemm((rt_sizes){M, N, K}, 1, rt_transposed(rt_rows_at(a, M)), rt_rows_at(b, N), 1,
                    rt_result_at(c, N));
            if (!i) /* the first product creates the kernel */
                ck_assert(!setitimer(ITIMER_REAL, &often, NULL));
        }
        ck_assert(!setitimer(ITIMER_REAL, &never, NULL) && !sigaction(SIGALRM, &before, NULL));
        ck_assert_msg(!strays, "%d of %d signals", (int)strays, (int)signals);
    }
    back();
}

#ifndef RT_DOUBLE

/* 1 + 2^-8 is halfway between two numbers of bf16, and so is 1 + 3 2^-8. */
TEST_ROWS(ties_round_to_even_and_nan_is_kept, 0, IN_FLOAT)
{
    static const double rows[][2] = {{1 + 0x1p-8, 1},
                                     {1 + 0x3p-8, 1 + 0x1p-6},
                                     {1 + 0x1.1p-8, 1 + 0x1p-7},
                                     {-1 - 0x1p-8, -1},
                                     {0, 0},
                                     {0x1p-100, 0x1p-100},
                                     {(double)NAN, (double)NAN},
                                     {(double)INFINITY, (double)INFINITY}};
    if (use(&engines[IN_BF16]))
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const real x = (real)rows[i][0], one = 1;
            real y = 5;
            rt_gemm((rt_sizes){1, 1, 1}, 1, rt_rows_at(&x, 1), rt_rows_at(&one, 1), 0,
                    rt_result_at(&y, 1));
            ck_assert_msg((double)y == rows[i][1] || (isnan(y) && isnan(rows[i][1])),
                          "%.9g becomes %.9g", rows[i][0], (double)y);
        }
    back();
}

enum { MOST = 9000 };

static void *multiply_all(void *results)
{
    for (int i = 0; i < BATCHES; i++)
        multiply(batches + i, BATCH, (real *)results + (size_t)i * MOST);
    return NULL;
}

TEST_ROWS(threads_compute_the_same_bits, 0, IN_FLOAT)
{
    static real one[BATCHES * MOST], other[BATCHES * MOST];
    pthread_t threads[2];
    draw_all(ROOM);
    for (int math = 0; math < 2; math++) {
        if (!use(&engines[1 + math]))
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
    static real products[2][COLUMNS * COLUMNS];
    const rt_operand x = rt_rows_at(a, STRIDE);
    draw_all(ROOM);
    if (use(&engines[IN_BF16])) {
        const rt_operand shared = rt_gemm_share((rt_batch_size){1, 1}, x, ROWS, COLUMNS, 3);
        for (int i = 0; i < 2; i++, a[0] = 100)
            rt_gemm((rt_sizes){COLUMNS, COLUMNS, ROWS}, 1, rt_transposed(i ? shared : x),
                    i ? shared : x, 0, rt_result_at(products[i], COLUMNS));
        ck_assert(!memcmp(products[0], products[1], sizeof *products));
    }
    back();
    ck_assert_ptr_null(rt_gemm_share((rt_batch_size){1, 1}, x, ROWS, COLUMNS, 0).rounded);
}

/* Memory beside the held parameters is read with its current values. */
TEST_ROWS(products_read_the_rounded_copy_of_held_parameters, 0, IN_FLOAT)
{
    enum { N = 8, HELD = 2 * N * N };
    static uint16_t rounded[HELD];
    real whole[N * N], other[N * N];
    draw_all(ROOM);
    if (use(&engines[IN_BF16])) {
        rt_engine_round(rounded, b, HELD);
        rt_gemm((rt_sizes){N, N, N}, 1, rt_rows_at(a, N), rt_rows_at(b + N * N, N), 0,
                rt_result_at(whole, N));
        rt_engine_hold(b, rounded, HELD);
        b[N * N] = 100;
        rt_gemm((rt_sizes){N, N, N}, 1, rt_rows_at(a, N), rt_rows_at(b + N * N, N), 0,
                rt_result_at(other, N));
        ck_assert(!memcmp(whole, other, sizeof whole));
        b[HELD] = 100;
        rt_gemm((rt_sizes){1, N, 1}, 1, rt_rows_at(b + HELD, 1), rt_rows_at(a, N), 0,
                rt_result_at(other, N));
        ck_assert(fabs((double)other[0]) > 50 * fabs((double)a[0]));
        rt_engine_hold(NULL, NULL, 0);
        rt_gemm((rt_sizes){N, N, N}, 1, rt_rows_at(a, N), rt_rows_at(b + N * N, N), 0,
                rt_result_at(other, N));
        ck_assert(memcmp(whole, other, sizeof whole) != 0);
    }
    back();
}

/* Rounding up a NaN whose bits are all set would make it a number. */
TEST_ROWS(rounding_keeps_every_nan, 0, IN_FLOAT)
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
    if (use(&engines[IN_BF16]))
        for (int round = 0; round < 2; round++)
            for (int i = 0; i < 1100; i++) {
                const sizes s = {{1, 1}, 1 + i % 40, 1 + i / 40, 3,      false, true,
                                 1,      0,          BEHIND,     BEHIND, BEHIND};
                check_batch(&s, RT_MATH_BF16, SINGLE, 1200);
            }
    back();
}

#endif

TEST(a_refused_engine_names_the_missing_library_or_precision)
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
