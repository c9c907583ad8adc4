#ifndef ROTOR_OPS_PRIVATE_H
#define ROTOR_OPS_PRIVATE_H

/* Private declarations of the ops: passes over rows, activations, dropout, rotations and products
 * of a few rows. */

#include "core/graph.h"
#include "core/random.h"
#include "core/real.h"
#include "ops/gemm.h"
#include "ops/ops.h"

#include <stddef.h>
#include <stdint.h>

static inline int rt_smaller(int a, int b)
{
    return a < b ? a : b;
}

/* For rt_op.reads: backward reads the first two inputs, and not the result. */
static inline bool rt_reads_inputs(const rt_node *n, const rt_tensor *x)
{
    return x == n->in[0] || x == n->in[1];
}

/* Passes over rows of a matrix. For a pass over some columns, `stride` is the length of a row. */

/* Computes out = x + y in every row. */
void rt_rows_add(real *out, const real *x, const real *y, size_t rows, size_t columns,
                 size_t stride);

/* Copies y to every row of out. */
void rt_rows_fill(real *out, const real *y, size_t rows, size_t columns, size_t stride);

/* Copies the rows of x. */
void rt_rows_copy(real *out, const real *x, size_t rows, size_t columns, size_t stride);

/* Returns the largest of x and `largest`, ignoring NaN. Works in lanes, because a single maximum is
 * a chain of comparisons; inline, so that it is compiled for the instruction set of its caller. */
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

/* Computes log sum e^x over one row. */
real rt_row_log_sum(const real *x, int size);

/* Adds all rows of x to sum. */
void rt_rows_sum(real *sum, const real *x, size_t rows, size_t columns, size_t stride);

/* Functions of one number. Forward computes the derivative as well, because most share work with
 * it; backward is then one product for all of them. */

/* Computes y = f(x), derivative = f'(x). */
typedef void rt_activation_values(real *restrict y, real *restrict derivative,
                                  const real *restrict x, size_t size);

/* Returns the kernel of an activation. Fails the graph and returns NULL if the kind is invalid. */
rt_activation_values *rt_activation_kernel(rt_graph *g, const char *op, rt_activation kind);

/* Computes dx, in place of dy. */
void rt_activation_gradient(real *g, const real *derivative, size_t size);

/* Computes the mask of dropout as a function of a counter, from `index` on (four elements to a
 * counter): 0 with probability p, else 1 / (1 - p). */
void rt_dropout_factors(real *factor, size_t count, rt_random random, uint64_t index, double p);

/* Returns whether the sizes and the table of a rotation are consistent, which a caller may have
 * filled in. Otherwise fails the graph. */
bool rt_rotation_is_sound(rt_graph *g, const rt_rotation *r);

/* Computes y = x w^T + beta y for a few rows x (m, k), such as one token of each of a few texts,
 * and a weight w (n, k), both without gaps. Every number of w is read from memory once. With beta =
 * 0, y is not read. */

void rt_few_rows(rt_sizes size, const real *x, const real *w, real beta, real *y, int stride);

/* Computes the same product of numbers in bfloat16, with sums in `real`. */
void rt_few_rows_bf16(rt_sizes size, const uint16_t *x, const uint16_t *w, real beta, real *y,
                      int stride);

#endif
