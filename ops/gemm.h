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
    const void *rounded; /* by rt_gemm_share; or NULL */
} rt_operand;

static inline rt_operand rt_rows_at(const real *data, int stride)
{
    return (rt_operand){.data = data, .stride = stride};
}

static inline rt_operand rt_transposed(rt_operand x)
{
    x.transposed = !x.transposed;
    return x;
}

/* C = alpha A B + beta C, with A (m, k), B (k, n), C (m, n) after transposition.
 * With beta = 0, C is not read. */
void rt_gemm(int m, int n, int k, real alpha, rt_operand a, rt_operand b, real beta, real *c,
             int c_stride);

/* Whether products are made of rounded numbers. */
bool rt_gemm_rounds(void);

/* The operand (rows, columns), neither yet transposed, for several products of this thread: where
 * they are made of rounded numbers (see engine.h), it is rounded here and not in each of them. It
 * must not change before the last of them, and holds until the place is used again. */
enum { RT_GEMM_PLACES = 5 };
rt_operand rt_gemm_share(rt_operand x, int rows, int columns, int place);

/* y = W x + beta y, W (n, k): a product with one row, which reads W as fast as the memory gives it.
 * Rounded in another order than rt_gemm with m = 1. */
void rt_gemv(int n, int k, const real *w, const real *x, real beta, real *y);

#endif
