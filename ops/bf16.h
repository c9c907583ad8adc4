#ifndef ROTOR_OPS_BF16_H
#define ROTOR_OPS_BF16_H

/* Operands of products in bfloat16 (8 bits of fraction), rounded to nearest, ties to even; a NaN
 * stays one. What several products read is rounded once: by a thread for itself, into one of its
 * places, or for all threads, as the parameters of a model are for a step. */

#include "ops/gemm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint16_t rt_bf16;

/* Places of scratch memory: those of rt_gemm_share, and one for each operand of a product. */
enum { RT_BF16_OF_A = RT_GEMM_PLACES, RT_BF16_OF_B, RT_BF16_PLACES };

/* Returns whether the matrices of a batch lie side by side in longer rows, as heads do, and not one
 * behind the other. */
static inline bool rt_side_by_side(rt_batch_size batch, int stride, rt_steps step)
{
    return batch.inner > 1 && step.inner < (size_t)stride;
}

/* The operand without gaps between its rows, and between its matrices as they lie: where it is
 * stored so, or else in memory of the calling thread: that of the same place is used again. NULL if
 * memory is short. */
const rt_bf16 *rt_bf16_operand(rt_batch_size batch, rt_operand x, int rows, int columns, int place);

/* Returns the rounded numbers of parameters that are held (rt_engine_hold). NULL if the operand is
 * not held or its rows have gaps. */
const rt_bf16 *rt_bf16_parameters(rt_operand x, int rows, int columns);

/* The memory of a place of the calling thread, for so many numbers. NULL if memory is short. */
rt_bf16 *rt_bf16_place(int place, size_t size);

#endif
