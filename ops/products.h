#ifndef ROTOR_OPS_PRODUCTS_H
#define ROTOR_OPS_PRODUCTS_H

/* Products of each engine, behind ops/gemm.h, and their operands in bf16. Each engine is a file. */

#include "core/status.h"
#include "ops/engine.h"
#include "ops/gemm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns product (i, j) of a batch. */
rt_product rt_product_of(const rt_product *batch, int i, int j);

/* Computes a single product; sizes may be 0. */
void rt_openblas_multiply(const rt_product *p);
/* Writes name, version and kernels: "OpenBLAS 0.3.21 Haswell". */
void rt_openblas_describe(char *text, size_t size);
size_t rt_openblas_library(int m, int n, int k); /* as rt_gemm_library */

/* Starts oneDNN for a math. RT_CONFIG, with the reason, if it is not available. */
rt_status rt_onednn_begin(rt_math math) RT_MUST_CHECK;

/* Returns false if memory is exhausted. */
bool rt_onednn_multiply(const rt_product *p, rt_math math);
int rt_onednn_batch_room(rt_math math);
size_t rt_onednn_library(int m, int n, int k, rt_math math);
const char *rt_onednn_kernels(void);

/* Operands of products in bfloat16 (8 bits of fraction), rounded to nearest, ties to even; a NaN
 * stays NaN. An operand of several products is rounded once: by a thread into one of its places, or
 * for all threads, as the parameters of a model for a step. */

typedef uint16_t rt_bf16;

/* Places of scratch memory: those of rt_gemm_share, and one for each operand of a product. */
enum { RT_BF16_OF_A = RT_GEMM_PLACES, RT_BF16_OF_B, RT_BF16_PLACES };

/* Returns whether the matrices of a batch lie side by side in longer rows, as heads do, and not one
 * behind the other. */
static inline bool rt_side_by_side(rt_batch_size batch, int stride, rt_steps step)
{
    return batch.inner > 1 && step.inner < (size_t)stride;
}

/* Returns the operand in bf16, without gaps between its rows, its matrices in the same layout: its
 * rounded numbers if it has them, or else memory of the place in the calling thread, valid until
 * the place is used again. NULL if memory is exhausted. */
const rt_bf16 *rt_bf16_of(rt_batch_size batch, rt_operand x, int rows, int columns, int place);

/* Rounds the operand into memory of the calling thread as above, unless it is stored in
 * that form. */
const rt_bf16 *rt_bf16_operand(rt_batch_size batch, rt_operand x, int rows, int columns, int place);

/* Returns the rounded numbers of held parameters (rt_engine_hold). NULL if the operand is not held
 * or its rows have gaps. */
const rt_bf16 *rt_bf16_parameters(rt_operand x, int rows, int columns);

/* Returns the memory of a place of the calling thread, for `size` numbers. NULL if memory is
 * exhausted. */
rt_bf16 *rt_bf16_place(int place, size_t size);

#endif
