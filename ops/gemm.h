#ifndef ROTOR_OPS_GEMM_H
#define ROTOR_OPS_GEMM_H

/* The one door to the BLAS, which runs on the calling thread alone: the shards of a
 * step are what runs in parallel, and one thread gives the same bits every time. */

#include "core/real.h"

#include <stdbool.h>

/* A matrix in row-major memory, rows `stride` elements apart, read as it stands or
 * transposed. */
typedef struct rt_operand {
    const real *data;
    int stride;
    bool transposed;
} rt_operand;

/* C = alpha A B + beta C, with A (m, k), B (k, n), C (m, n) after transposition.
 * With beta = 0, C is not read. */
void rt_gemm(int m, int n, int k, real alpha, rt_operand a, rt_operand b, real beta, real *c,
             int c_stride);

#endif
