#include "ops/private.h"

#include "core/row_kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Inlined, to be compiled for the instruction set and the number type of the caller. */
#define INLINE __attribute__((always_inline)) static inline

/* Rows without gaps, of `real` or of bfloat16. */
typedef struct matrix {
    const void *data;
    bool rounded;
} matrix;

INLINE matrix from(matrix a, size_t i)
{
    a.data = (const char *)a.data + i * (a.rounded ? sizeof(uint16_t) : sizeof(real));
    return a;
}

INLINE real widened(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return (real)x;
}

INLINE real number(matrix a, size_t i)
{
    return a.rounded ? widened((uint32_t)((const uint16_t *)a.data)[i] << 16)
                     : ((const real *)a.data)[i];
}

/* Pair i of half = k / 2. For `real`, numbers i and i + half; for bfloat16, numbers 2 i and 2 i +
 * 1, which are one word and are widened in place. Both operands of a product have the
 * same pairs. */
typedef struct pair {
    real a, b;
} pair;

INLINE pair pair_of(matrix a, size_t i, size_t half)
{
    if (!a.rounded)
        return (pair){number(a, i), number(a, i + half)};
    uint32_t word;
    memcpy(&word, (const char *)a.data + i * sizeof word, sizeof word);
    return (pair){widened(word << 16), widened(word & 0xffff0000)};
}

INLINE real product(pair x, pair y)
{
    return x.a * y.a + x.b * y.b;
}

/* Rows of w and of x in a tile: independent sums run in parallel. */
enum { ROWS_OF_W = 4, ROWS_OF_X = 2 };

/* Computes y = sum + beta y, after adding the last product if k is odd. */
INLINE void put(real *y, real sum, size_t k, matrix x, matrix w, real beta)
{
    if (k % 2)
        sum += number(x, k - 1) * number(w, k - 1);
    *y = beta == 0 ? sum : sum + beta * *y;
}

INLINE void multiply_one(size_t k, matrix x, matrix w, real beta, real *y)
{
    const size_t half = k / 2;
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < half; i++)
        sum += product(pair_of(w, i, half), pair_of(x, i, half));
    put(y, sum, k, x, w, beta);
}

INLINE void multiply_four(size_t k, matrix x, matrix w, real beta, real *y)
{
    const size_t half = k / 2;
    const matrix w1 = from(w, k), w2 = from(w, 2 * k), w3 = from(w, 3 * k);
    real sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
#pragma omp simd reduction(+ : sum0, sum1, sum2, sum3)
    for (size_t i = 0; i < half; i++) {
        const pair a = pair_of(x, i, half);
        sum0 += product(pair_of(w, i, half), a);
        sum1 += product(pair_of(w1, i, half), a);
        sum2 += product(pair_of(w2, i, half), a);
        sum3 += product(pair_of(w3, i, half), a);
    }
    put(y, sum0, k, x, w, beta);
    put(y + 1, sum1, k, x, w1, beta);
    put(y + 2, sum2, k, x, w2, beta);
    put(y + 3, sum3, k, x, w3, beta);
}

INLINE void multiply_eight(size_t k, matrix x, matrix w, real beta, real *y, size_t stride)
{
    const size_t half = k / 2;
    const matrix x1 = from(x, k), w1 = from(w, k), w2 = from(w, 2 * k), w3 = from(w, 3 * k);
    real sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0, sum4 = 0, sum5 = 0, sum6 = 0, sum7 = 0;
#pragma omp simd reduction(+ : sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7)
    for (size_t i = 0; i < half; i++) {
        const pair a = pair_of(x, i, half), b = pair_of(x1, i, half);
        const pair p0 = pair_of(w, i, half), p1 = pair_of(w1, i, half);
        const pair p2 = pair_of(w2, i, half), p3 = pair_of(w3, i, half);
        sum0 += product(p0, a);
        sum1 += product(p1, a);
        sum2 += product(p2, a);
        sum3 += product(p3, a);
        sum4 += product(p0, b);
        sum5 += product(p1, b);
        sum6 += product(p2, b);
        sum7 += product(p3, b);
    }
    put(y, sum0, k, x, w, beta);
    put(y + 1, sum1, k, x, w1, beta);
    put(y + 2, sum2, k, x, w2, beta);
    put(y + 3, sum3, k, x, w3, beta);
    put(y + stride, sum4, k, x1, w, beta);
    put(y + stride + 1, sum5, k, x1, w1, beta);
    put(y + stride + 2, sum6, k, x1, w2, beta);
    put(y + stride + 3, sum7, k, x1, w3, beta);
}

/* Prefetches the next tile while the current one is computed. */
INLINE void fetch(matrix w, size_t size)
{
    enum { LINE = 64 };
    const size_t bytes = size * (w.rounded ? sizeof(uint16_t) : sizeof(real));
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_prefetch((const char *)w.data + i);
}

/* Multiplies all rows of x by a tile of w while the tile is in the nearest cache. */
INLINE void multiply(rt_sizes s, matrix x, matrix w, real beta, real *y, int y_stride)
{
    const size_t rows = (size_t)s.m, columns = (size_t)s.n, size = (size_t)s.k;
    const size_t stride = (size_t)y_stride;
    size_t j = 0;
    for (; j + ROWS_OF_W <= columns; j += ROWS_OF_W) {
        size_t i = 0;
        if (j + 2 * ROWS_OF_W <= columns)
            fetch(from(w, (j + ROWS_OF_W) * size), ROWS_OF_W * size);
        for (; i + ROWS_OF_X <= rows; i += ROWS_OF_X)
            multiply_eight(size, from(x, i * size), from(w, j * size), beta, y + i * stride + j,
                           stride);
        if (i < rows)
            multiply_four(size, from(x, i * size), from(w, j * size), beta, y + i * stride + j);
    }
    for (; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
            multiply_one(size, from(x, i * size), from(w, j * size), beta, y + i * stride + j);
}

RT_ROW_KERNEL(rt_few_rows,
              (rt_sizes size, const real *x, const real *w, real beta, real *y, int stride),
              (size, x, w, beta, y, stride))
{
    multiply(size, (matrix){x, false}, (matrix){w, false}, beta, y, stride);
}

RT_ROW_KERNEL(rt_few_rows_bf16,
              (rt_sizes size, const uint16_t *x, const uint16_t *w, real beta, real *y, int stride),
              (size, x, w, beta, y, stride))
{
    multiply(size, (matrix){x, true}, (matrix){w, true}, beta, y, stride);
}
