#ifndef ROTOR_OPS_GEMM_H
#define ROTOR_OPS_GEMM_H

/* The one door to the engine, which runs on the calling thread alone: what runs in parallel are the
 * shards of a step and the panels of a product, and one thread gives the same bits every time. */

#include "core/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of products of a batch, and distances of their matrices in elements: product (i, j) takes
 * the matrices that begin i * outer + j * inner elements after the first. In the products of
 * attention i counts sequences, and j the heads of each. */
typedef struct rt_batch_size {
    int outer, inner;
} rt_batch_size;

typedef struct rt_steps {
    size_t outer, inner;
} rt_steps;

/* A matrix in row-major memory, rows `stride` elements apart, read as it stands or
 * transposed; or the first one of a batch. */
typedef struct rt_operand {
    const real *data;
    int stride;
    bool transposed;
    rt_steps step;
    const uint16_t *stored; /* where there is no data: its numbers in bf16, which lie in that way */
    const void *rounded;    /* the same without gaps, by rt_gemm_share; or NULL */
} rt_operand;

/* A matrix to write to; or the first of a batch, which must not overlap unless beta is 1. */
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

/* A tensor as a matrix, with its rounded numbers if it has some. */
static inline rt_operand rt_rows_of(const rt_tensor *x, int stride)
{
    return (rt_operand){.data = x->data,
                        .stride = stride,
                        .stored = x->data ? NULL : x->rounded,
                        .rounded = x->rounded};
}

/* Returns the operand that begins so many elements further on; numbers rounded without gaps stay
 * where they are. */
static inline rt_operand rt_operand_from(rt_operand x, size_t elements)
{
    x.data = x.data ? x.data + elements : NULL;
    x.stored = x.stored ? x.stored + elements : NULL;
    return x;
}

/* From row t on, of an operand that is not transposed and, if it is rounded, has no gaps. */
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

/* Computes C = alpha A B + beta C, for each matrix that C has. With beta = 0, C is not read. */
void rt_gemm(rt_sizes size, real alpha, rt_operand a, rt_operand b, real beta, rt_result c);

/* Computes the product by OpenBLAS without rounding, whatever the engine. It cannot fail. */
void rt_gemm_unrounded(rt_sizes size, real alpha, rt_operand a, rt_operand b, real beta,
                       rt_result c);

/* A product, or as many as C has matrices, one after the other: with beta = 1 several may add to
 * the same matrix. */
typedef struct rt_product {
    int m, n, k;
    real alpha;
    rt_operand a, b;
    real beta;
    rt_result c;
} rt_product;

/* A product in panels of its result, each of which is a product of its own for whoever computes it.
 * The cut depends on the sizes alone (and on whether numbers are rounded), and leaves products of
 * less than `least` multiplications whole: a library copies operands once for each panel. */
typedef struct rt_panels {
    int rows, columns; /* of a panel; the last may have fewer */
    int across;        /* panels beside each other */
    int count;
} rt_panels;

rt_panels rt_gemm_panels(int m, int n, int k, double least);

/* Rows and columns of the result that a panel has. */
typedef struct rt_panel {
    int row, rows, column, columns;
} rt_panel;
rt_panel rt_panel_at(rt_panels cut, int m, int n, int number);

/* Computes that panel of a product that is no batch. Rows of an operand that several panels read
 * should have been rounded before (rt_gemm_share); columns are rounded by each. */
void rt_gemm_panel(const rt_product *p, rt_panel panel);

/* Returns the most elements that the results of a batch may have for one call to take less time
 * than single products; 0 if the engine computes no batches. */
int rt_gemm_batch_room(void);

/* Bytes that the engine touches in memory of its own for a product of these sizes, an estimate. All
 * products of a thread use the same memory. */
size_t rt_gemm_library(int m, int n, int k);

/* Returns whether products round their operands. */
bool rt_gemm_rounds(void);

/* The operand (rows, columns), neither yet transposed, for several products of this thread: where
 * they are made of rounded numbers (see engine.h), it is rounded here and not in each of them. It
 * must not change before the last of them, and holds until the place is used again. */
enum { RT_GEMM_PLACES = 5 };
rt_operand rt_gemm_share(rt_batch_size batch, rt_operand x, int rows, int columns, int place);

/* Memory of that place, for who rounds into it himself (rt_engine_round); NULL where products are
 * not made of rounded numbers, or without memory. */
uint16_t *rt_gemm_place(size_t size, int place);

/* Returns whether these are parameters that are held in bf16 (rt_engine_hold). A caller that
 * multiplies with others rounds them first, once for all panels. */
bool rt_gemm_holds(const real *values);

/* C = x w^T + beta C of a few rows x (m, k) and a weight w (n, k), neither with gaps: w is read
 * from memory once, where rt_gemm copies it first. The sums are rounded in another order than
 * there. */
void rt_gemm_few(rt_sizes size, rt_operand x, rt_operand w, real beta, rt_result c);

#endif
