#include "ops/rows.h"

#include <string.h>

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
