#include "ops/rows.h"

#include "ops/vector_math.h"

#include <string.h>

/* As the resolvers that RT_ROW_KERNEL brings choose. */
const char *rt_row_kernels(void)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(RT_ONE_TARGET)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return "x86-64-v4";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return "x86-64-v3";
#endif
    return "default";
}

RT_ROW_KERNEL void add_to_rows(real *restrict out, const real *restrict x, const real *restrict y,
                               size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            out[r * columns + i] = x[r * columns + i] + y[i];
}

RT_ROW_KERNEL void sum_of_rows(real *restrict sum, const real *restrict x, size_t rows,
                               size_t columns)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            sum[i] += x[r * columns + i];
}

RT_ROW_KERNEL real log_sum_of_row(const real *restrict x, int size)
{
    const real largest = rt_row_largest(x, size, x[0]);
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < size; i++)
        sum += rt_exp_of(x[i] - largest);
    return largest + (real)log((double)sum);
}

real rt_row_log_sum(const real *x, int size)
{
    return log_sum_of_row(x, size);
}

void rt_rows_add(real *out, const real *x, const real *y, size_t rows, size_t columns)
{
    add_to_rows(out, x, y, rows, columns);
}

void rt_rows_fill(real *out, const real *y, size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * columns, y, columns * sizeof(real));
}

void rt_rows_sum(real *sum, const real *x, size_t rows, size_t columns)
{
    sum_of_rows(sum, x, rows, columns);
}
