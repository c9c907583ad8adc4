#ifndef ROTOR_OPS_FEW_ROWS_H
#define ROTOR_OPS_FEW_ROWS_H

/* y = x w^T + beta y of a few rows x (m, k), such as a token of each of a few texts, and a weight w
 * (n, k), both without gaps, of which every number is read from memory once. With beta = 0, y is
 * not read. */

#include "core/real.h"

#include <stdint.h>

void rt_few_rows(int m, int n, int k, const real *x, const real *w, real beta, real *y,
                 int y_stride);

/* Computes the same product of numbers in bfloat16, with sums in `real`. */
void rt_few_rows_bf16(int m, int n, int k, const uint16_t *x, const uint16_t *w, real beta, real *y,
                      int y_stride);

#endif
