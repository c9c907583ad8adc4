#ifndef ROTOR_OPS_PRIVATE_H
#define ROTOR_OPS_PRIVATE_H

/* Private declarations of the ops: passes over rows, activations, dropout, rotations and
 * products of a few rows. */

#include "core/graph.h"
#include "core/random.h"
#include "core/real.h"
#include "ops/gemm.h"
#include "ops/ops.h"

#include <stddef.h>
#include <stdint.h>

/* ---- rows of a matrix; a pass over some of its columns takes the length of its rows, `stride`
 * ---- */

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

/* ---- activations ---- */

/* Functions of one number. Most share work with their derivative, so forward computes both,
 * and backward is one product for all of them. */

/* y = f(x), derivative = f'(x). */
typedef void rt_activation_values(real *restrict y, real *restrict derivative,
                                  const real *restrict x, size_t size);

/* NULL, with the graph failed, if there is none of that kind. */
rt_activation_values *rt_activation_kernel(rt_graph *g, const char *op, rt_activation kind);

/* dx, in place of dy. */
void rt_activation_gradient(real *g, const real *derivative, size_t size);

/* ---- dropout ---- */

/* The mask of dropout as a function of a counter, for the two ops that drop. */

/* For `count` elements, from counter `index` on (four elements to a counter): 0 with
 * probability p, else 1 / (1 - p). */
void rt_dropout_factors(real *factor, size_t count, rt_random random, uint64_t index, double p);

/* ---- rotations ---- */

/* The check of a rotation before its table is read. */

/* Returns whether the sizes of a rotation agree, which one filled by hand may not. Otherwise the
 * graph fails. */
bool rt_rotation_is_sound(rt_graph *g, const rt_rotation *r);

/* ---- products of a few rows ---- */

/* y = x w^T + beta y of a few rows x (m, k), such as a token of each of a few texts, and a weight w
 * (n, k), both without gaps, of which every number is read from memory once. With beta = 0, y is
 * not read. */

void rt_few_rows(rt_sizes size, const real *x, const real *w, real beta, real *y, int stride);

/* Computes the same product of numbers in bfloat16, with sums in `real`. */
void rt_few_rows_bf16(rt_sizes size, const uint16_t *x, const uint16_t *w, real beta, real *y,
                      int stride);

#endif
