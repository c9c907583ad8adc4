#ifndef ROTOR_OPS_ROWS_H
#define ROTOR_OPS_ROWS_H

/* Passes over the rows of a matrix that more than one op needs. */

#include "core/real.h"

#include <stddef.h>

/* Passes over some columns of a matrix take the length of its rows, `stride`. */

/* out = x + y in every row. */
void rt_rows_add(real *out, const real *x, const real *y, size_t rows, size_t columns,
                 size_t stride);

/* Every row of out = y. */
void rt_rows_fill(real *out, const real *y, size_t rows, size_t columns, size_t stride);

/* out = x. */
void rt_rows_copy(real *out, const real *x, size_t rows, size_t columns, size_t stride);

/* The largest of x and `largest`; a NaN in x does not count. In lanes, since a single maximum
 * is a chain of comparisons; inline, so that it takes the instruction set of its caller. */
static inline real rt_row_largest(const real *restrict x, int size, real largest)
{
    enum { LANES = 32 };
    real lane[LANES];
    int j = 0;
    for (int k = 0; k < LANES; k++)
        lane[k] = largest;
    for (; j + LANES <= size; j += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] = x[j + k] > lane[k] ? x[j + k] : lane[k];
    for (; j < size; j++)
        lane[0] = x[j] > lane[0] ? x[j] : lane[0];
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++)
            lane[k] = lane[k + half] > lane[k] ? lane[k + half] : lane[k];
    return lane[0];
}

/* log sum e^x over one row. */
real rt_row_log_sum(const real *x, int size);

/* sum += the sum of all rows. */
void rt_rows_sum(real *sum, const real *x, size_t rows, size_t columns, size_t stride);

#endif
