#ifndef ROTOR_OPS_GEMM_H
#define ROTOR_OPS_GEMM_H

/* Matrix products of the engine. A product runs on the calling thread alone, so that it always has
 * the same bits; parallelism comes from the shards of a step and the panels of a product. */

#include "core/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of products of a batch, and distances of their matrices in elements: the matrices of
 * product (i, j) begin i * outer + j * inner elements after the first. In attention, i counts
 * sequences and j heads. */
typedef struct rt_batch_size {
    int outer, inner;
} rt_batch_size;

typedef struct rt_steps {
    size_t outer, inner;
} rt_steps;

/* A matrix in row-major memory, rows `stride` elements apart, possibly read transposed; or the
 * first matrix of a batch. */
typedef struct rt_operand {
    const real *data;
    int stride;
    bool transposed;
    rt_steps step;
    const uint16_t *stored; /* its numbers in bf16, in the same layout, if data is NULL */
    const void *rounded;    /* its numbers in bf16 without gaps, from rt_gemm_share; or NULL */
} rt_operand;

/* A matrix to write to, or the first of a batch. The matrices of a batch must not overlap unless
 * beta is 1. */
typedef struct rt_result {
    real *data;
    int stride;
    rt_steps step;
    rt_batch_size batch;
} rt_result;

static inline rt_operand rt_rows_at(const real *data, int stride)
{
    return (rt_operand){.data = data, .stride = stride};
}

static inline rt_result rt_result_at(real *data, int stride)
{
    return (rt_result){.data = data, .stride = stride, .batch = {1, 1}};
}

/* Returns a tensor as a matrix, with its bf16 numbers if it has them. */
static inline rt_operand rt_rows_of(const rt_tensor *x, int stride)
{
    return (rt_operand){.data = x->data,
                        .stride = stride,
                        .stored = x->data ? NULL : x->rounded,
                        .rounded = x->rounded};
}

/* Returns the operand that begins `elements` further on. `rounded` is not moved. */
static inline rt_operand rt_operand_from(rt_operand x, size_t elements)
{
    x.data = x.data ? x.data + elements : NULL;
    x.stored = x.stored ? x.stored + elements : NULL;
    return x;
}

/* Returns the operand from row t on. It must not be transposed, and must have no gaps if it is
 * rounded. */
static inline rt_operand rt_rows_from(rt_operand x, int t)
{
    const size_t before = (size_t)t * (size_t)x.stride;
    x = rt_operand_from(x, before);
    if (x.rounded)
        x.rounded = (const uint16_t *)x.rounded + before;
    return x;
}

static inline rt_operand rt_transposed(rt_operand x)
{
    x.transposed = !x.transposed;
    return x;
}

/* Sizes of a product: A (m, k), B (k, n), C (m, n) after transposition. */
typedef struct rt_sizes {
    int m, n, k;
} rt_sizes;

/* Computes C = alpha A B + beta C for each matrix of the batch of C. With beta = 0, C is
 * not read. */
void rt_gemm(rt_sizes size, real alpha, rt_operand a, rt_operand b, real beta, rt_result c);

/* Computes the product with OpenBLAS, without rounding, whatever the engine. Cannot fail. */
void rt_gemm_unrounded(rt_sizes size, real alpha, rt_operand a, rt_operand b, real beta,
                       rt_result c);

/* A product, or a batch of them, computed one after the other: with beta = 1 several may add to the
 * same matrix. */
typedef struct rt_product {
    int m, n, k;
    real alpha;
    rt_operand a, b;
    real beta;
    rt_result c;
} rt_product;

/* Returns the maximum size, in elements, of the results of a batch for which one call is faster
 * than single products; 0 if the engine computes no batches. */
int rt_gemm_batch_room(void);

/* Returns an estimate of the bytes that the engine touches in its own memory for a product of these
 * sizes. All products of a thread use the same memory. */
size_t rt_gemm_library(int m, int n, int k);

/* Returns whether products round their operands. */
bool rt_gemm_rounds(void);

/* Returns the operand, (rows, columns) after transposition, rounded once for several products of
 * this thread if products round (engine.h). It must not change until the last of them, and is valid
 * until the place is used again. */
enum { RT_GEMM_PLACES = 5 };
rt_operand rt_gemm_share(rt_batch_size batch, rt_operand x, int rows, int columns, int place);

/* Computes C = x w^T + beta C for a few rows x (m, k) and a weight w (n, k), both without gaps. w
 * is read from memory once, whereas rt_gemm copies it first. The order of the sums differs from
 * rt_gemm. */
void rt_gemm_few(rt_sizes size, rt_operand x, rt_operand w, real beta, rt_result c);

#endif
