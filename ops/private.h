#ifndef ROTOR_OPS_PRIVATE_H
#define ROTOR_OPS_PRIVATE_H

/* Private declarations of the ops: passes over rows, activations, dropout, rotations, and the
 * products of each engine. */

#include "ops/engine.h"
#include "ops/gemm.h"
#include "ops/ops.h"

static inline int rt_smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Returns element i of a tensor, before its rounding to `real` if the tensor has exact numbers. */
static inline double rt_exact_at(const rt_tensor *x, size_t i)
{
    return x->exact ? x->exact[i] : (double)x->data[i];
}

/* Returns whether a mask, NULL for none, has token i. */
static inline bool rt_mask_has(const uint8_t *mask, size_t i)
{
    return !mask || mask[i];
}

/* For rt_op.reads: backward reads no value. */
static inline bool rt_reads_nothing(const rt_node *n, const rt_tensor *x)
{
    (void)n, (void)x;
    return false;
}

/* For rt_op.reads: backward reads the first two inputs, and not the result. */
static inline bool rt_reads_inputs(const rt_node *n, const rt_tensor *x)
{
    return x == n->in[0] || x == n->in[1];
}

/* Lines of numbers that are neighbours in memory and are summed together, in double. Returns how
 * many of `left` to take, of which `near` are neighbours. */
enum { RT_LINES = 64 };
static inline size_t rt_lines_of(size_t left, size_t near)
{
    const size_t most = left < near ? left : near;
    return most < RT_LINES ? most : RT_LINES;
}

/* Passes over rows of a matrix. For a pass over some columns, `stride` is the length of a row. */

/* Computes out = x + y in every row. */
void rt_rows_add(real *out, const real *x, const real *y, size_t rows, size_t columns,
                 size_t stride);

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

/* Computes x = x * y, such as dx in place of dy. */
void rt_row_multiply(real *x, const real *y, size_t size);

/* Computes the mask of dropout as a function of a counter, from `index` on (four elements to a
 * counter): 0 with probability p, else 1 / (1 - p). */
void rt_dropout_factors(real *factor, size_t count, rt_random random, uint64_t index, double p);

/* Returns whether positions are finite; also if they are absent, as in a dry run. Otherwise fails
 * the graph with a message that begins with `what`. */
bool rt_positions_are_finite(rt_graph *g, const char *what, const double *position, size_t count);

/* Returns whether the sizes and the table of a rotation are consistent, which a caller may have
 * filled in. Otherwise fails the graph. */
bool rt_rotation_is_sound(rt_graph *g, const rt_rotation *r);

/* Returns the number of theta of a rotation: one for each head and pair, or two if it is mixed. */
size_t rt_rotation_thetas(const rt_rotation *r);

/* Computes y = x w^T + beta y for a few rows x (m, k), such as one token of each of a few texts,
 * and a weight w (n, k), both without gaps. Every number of w is read from memory once. With beta =
 * 0, y is not read. */

void rt_few_rows(rt_sizes size, const real *x, const real *w, real beta, real *y, int stride);

/* Computes the same product of numbers in bfloat16, with sums in `real`. */
void rt_few_rows_bf16(rt_sizes size, const uint16_t *x, const uint16_t *w, real beta, real *y,
                      int stride);

/* ---- products of each engine, behind ops/gemm.h; each engine is a file ---- */

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

/* Places of scratch memory: those of rt_gemm_share, one for each operand of a product, and one for
 * its result, in `real`, before it is added. */
enum { RT_BF16_OF_A = RT_GEMM_PLACES, RT_BF16_OF_B, RT_BF16_RESULT, RT_BF16_PLACES };

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

/* Returns the index of head h of sequence b in a tensor (B, T, H, D). */
static inline size_t rt_head_start(const rt_tensor *x, int b, int h)
{
    const size_t T = (size_t)x->shape[1], H = (size_t)x->shape[2], D = (size_t)x->shape[3];
    return ((size_t)b * T * H + (size_t)h) * D;
}

#endif
