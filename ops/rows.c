#include "ops/private.h"

#include "core/row_kernels.h"
#include "ops/vector_math.h"

#include <string.h>

RT_ROW_KERNEL(rt_rows_add,
              (real *restrict out, const real *restrict x, const real *restrict y, size_t rows,
               size_t columns, size_t stride),
              (out, x, y, rows, columns, stride))
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            out[r * stride + i] = x[r * stride + i] + y[i];
}

RT_ROW_KERNEL(rt_rows_sum,
              (real *restrict sum, const real *restrict x, size_t rows, size_t columns,
               size_t stride),
              (sum, x, rows, columns, stride))
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            sum[i] += x[r * stride + i];
}

RT_ROW_FUNCTION(real, rt_row_log_sum, (const real *restrict x, int size), (x, size))
{
    const real largest = rt_row_largest(x, size, x[0]);
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < size; i++)
        sum += rt_exp_of(x[i] - largest);
    return largest + (real)log((double)sum);
}

void rt_rows_fill(real *out, const real *y, size_t rows, size_t columns, size_t stride)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * stride, y, columns * sizeof(real));
}

void rt_rows_copy(real *out, const real *x, size_t rows, size_t columns, size_t stride)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * stride, x + r * stride, columns * sizeof(real));
}
