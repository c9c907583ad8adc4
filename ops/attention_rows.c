#include "ops/attention_rows.h"

#include "core/row_kernels.h"
#include "ops/rows.h"
#include "ops/vector_math.h"

RT_ROW_KERNEL(rt_attention_soften,
              (real *restrict s, int rows, int columns, real *restrict m, real *restrict l,
               real *restrict factor),
              (s, rows, columns, m, l, factor))
{
    for (int r = 0; r < rows; r++) {
        real *restrict row = s + (size_t)r * (size_t)columns;
        const real largest = rt_row_largest(row, columns, m[r]), shift = rt_finite_or_zero(largest);
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < columns; j++) {
            row[j] = rt_exp_of(row[j] - shift);
            sum += row[j];
        }
        factor[r] = rt_exp_of(m[r] - shift);
        l[r] = l[r] * factor[r] + sum;
        m[r] = largest;
    }
}

RT_ROW_KERNEL(rt_attention_weigh,
              (real *restrict s, int rows, int columns, const real *restrict shift,
               const real *restrict inverse),
              (s, rows, columns, shift, inverse))
{
    for (int r = 0; r < rows; r++) {
        real *restrict row = s + (size_t)r * (size_t)columns;
        const real down = shift[r], factor = inverse[r];
        for (int j = 0; j < columns; j++)
            row[j] = rt_exp_of(row[j] - down) * factor;
    }
}

RT_ROW_KERNEL(rt_attention_scale,
              (real *restrict x, int stride, int rows, int size, const real *restrict factor),
              (x, stride, rows, size, factor))
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < size; i++)
            x[(size_t)r * (size_t)stride + (size_t)i] *= factor[r];
}

RT_ROW_KERNEL(rt_attention_multiply,
              (real *restrict delta, const real *restrict x, const real *restrict y, int stride,
               int rows, int size),
              (delta, x, y, stride, rows, size))
{
    for (int r = 0; r < rows; r++) {
        const size_t start = (size_t)r * (size_t)stride;
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < size; i++)
            sum += x[start + (size_t)i] * y[start + (size_t)i];
        delta[r] = sum;
    }
}

RT_ROW_KERNEL(rt_attention_score_gradient,
              (real *restrict dp, const real *restrict p, int rows, int columns,
               const real *restrict delta),
              (dp, p, rows, columns, delta))
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < columns; j++) {
            const size_t at = (size_t)r * (size_t)columns + (size_t)j;
            dp[at] = p[at] * (dp[at] - delta[r]);
        }
}
