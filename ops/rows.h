#ifndef ROTOR_OPS_ROWS_H
#define ROTOR_OPS_ROWS_H

/* Passes over the rows of a matrix that more than one op needs. */

#include "core/real.h"

#include <stddef.h>

/* out = x + y in every row. */
void rt_rows_add(real *out, const real *x, const real *y, size_t rows, size_t columns);

/* Every row of out = y. */
void rt_rows_fill(real *out, const real *y, size_t rows, size_t columns);

/* log sum e^x over one row. */
real rt_row_log_sum(const real *x, int size);

/* sum += the sum of all rows. */
void rt_rows_sum(real *sum, const real *x, size_t rows, size_t columns);

#endif
