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

/* Element i of a row: a number of type `real`, or two of bfloat16, which are one word and are
 * widened in place. */
typedef struct element {
    bool is_pair;
    real a, b;
} element;

INLINE element element_of(matrix x, size_t i)
{
    if (!x.rounded)
        return (element){false, number(x, i), 0};
    uint32_t word;
    memcpy(&word, (const char *)x.data + i * sizeof word, sizeof word);
    return (element){true, widened(word << 16), widened(word & 0xffff0000)};
}

/* Returns the number of whole elements of k numbers. */
INLINE size_t elements(matrix x, size_t k)
{
    return x.rounded ? k / 2 : k;
}

INLINE real product(element x, element y)
{
    return x.is_pair ? x.a * y.a + x.b * y.b : x.a * y.a;
}

/* Computes y = sum + beta y, after adding the product of a last number that is no whole element. */
INLINE void put(real *y, real sum, size_t k, matrix x, matrix w, real beta)
{
    if (x.rounded && k % 2)
        sum += number(x, k - 1) * number(w, k - 1);
    *y = beta == 0 ? sum : sum + beta * *y;
}

INLINE void multiply_one(size_t k, matrix x, matrix w, real beta, real *y)
{
    const size_t count = elements(x, k);
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += product(element_of(w, i), element_of(x, i));
    put(y, sum, k, x, w, beta);
}

INLINE void multiply_four(size_t k, matrix x, matrix w, real beta, real *y, size_t stride)
{
    const size_t count = elements(x, k);
    const matrix x1 = from(x, k), x2 = from(x, 2 * k), x3 = from(x, 3 * k);
    real sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
#pragma omp simd reduction(+ : sum0, sum1, sum2, sum3)
    for (size_t i = 0; i < count; i++) {
        const element a = element_of(w, i);
        sum0 += product(element_of(x, i), a);
        sum1 += product(element_of(x1, i), a);
        sum2 += product(element_of(x2, i), a);
        sum3 += product(element_of(x3, i), a);
    }
    put(y, sum0, k, x, w, beta);
    put(y + stride, sum1, k, x1, w, beta);
    put(y + 2 * stride, sum2, k, x2, w, beta);
    put(y + 3 * stride, sum3, k, x3, w, beta);
}

INLINE void multiply_eight(size_t k, matrix x, matrix w, real beta, real *y, size_t stride)
{
    const size_t count = elements(x, k);
    const matrix x1 = from(x, k), w1 = from(w, k), w2 = from(w, 2 * k), w3 = from(w, 3 * k);
    real sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0, sum4 = 0, sum5 = 0, sum6 = 0, sum7 = 0;
#pragma omp simd reduction(+ : sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7)
    for (size_t i = 0; i < count; i++) {
        const element a = element_of(x, i), b = element_of(x1, i);
        const element p0 = element_of(w, i), p1 = element_of(w1, i);
        const element p2 = element_of(w2, i), p3 = element_of(w3, i);
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

/* Rows of w and of x in a tile of multiply_eight. */
enum { ROWS_OF_W = 4, ROWS_OF_X = 2 };

/* Prefetches the next tile while the current one is computed. */
INLINE void fetch(matrix w, size_t size)
{
    enum { LINE = 64 };
    const size_t bytes = size * (w.rounded ? sizeof(uint16_t) : sizeof(real));
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_prefetch((const char *)w.data + i);
}

/* Multiplies rows of x by a row of w. */
INLINE void multiply_row(size_t rows, size_t k, matrix x, matrix w, real beta, real *y,
                         size_t stride)
{
    size_t i = 0;
    for (; i + 4 <= rows; i += 4)
        multiply_four(k, from(x, i * k), w, beta, y + i * stride, stride);
    for (; i < rows; i++)
        multiply_one(k, from(x, i * k), w, beta, y + i * stride);
}

/* Takes tiles of w if x has many rows. With few the time is that of reading w, which is shortest
 * row by row. */
INLINE void multiply(rt_sizes s, matrix x, matrix w, real beta, real *y, int y_stride)
{
    enum { MANY = 8 };
    const size_t rows = (size_t)s.m, columns = (size_t)s.n, size = (size_t)s.k;
    const size_t stride = (size_t)y_stride, paired = rows - rows % ROWS_OF_X;
    size_t j = 0;
    for (; rows >= MANY && j + ROWS_OF_W <= columns; j += ROWS_OF_W) {
        if (j + 2 * ROWS_OF_W <= columns)
            fetch(from(w, (j + ROWS_OF_W) * size), ROWS_OF_W * size);
        for (size_t i = 0; i < paired; i += ROWS_OF_X)
            multiply_eight(size, from(x, i * size), from(w, j * size), beta, y + i * stride + j,
                           stride);
        for (size_t n = j; n < j + ROWS_OF_W; n++)
            multiply_row(rows - paired, size, from(x, paired * size), from(w, n * size), beta,
                         y + paired * stride + n, stride);
    }
    for (; j < columns; j++)
        multiply_row(rows, size, x, from(w, j * size), beta, y + j, stride);
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
