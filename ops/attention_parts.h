#ifndef ROTOR_OPS_ATTENTION_PARTS_H
#define ROTOR_OPS_ATTENTION_PARTS_H

/* Parts of attention: packs of heads, scores with their distance terms, the rows of a tile of
 * scores, and the check of the arguments.
 *
 * A pack is a set of heads whose products are computed together: some heads of some sequences,
 * which read different key heads. Heads that share a key head are in consecutive packs. A pack has
 * one head if the engine computes no batches (rt_gemm_batch_room). Otherwise it has all heads of
 * one sequence, of several if their tiles are small, or a share of the heads if their tiles are
 * large. This depends on shapes and engine alone.
 */

#include "core/real.h"
#include "ops/gemm.h"
#include "ops/ops.h"

enum { RT_ATTENTION_TILE = 256 };

typedef struct rt_pack {
    const rt_attention_options *o; /* scale and positions filled in */
    rt_batch_size size;            /* sequences, heads of each */
    int b, h;                      /* first sequence, first of the H query heads */
    int h_step;                    /* from one query head to the next */
    int Tq, Tk, H, D, E;
    rt_operand q, k, v; /* at token 0 */
    size_t out;         /* offset of token 0 in the result */
    int out_stride;     /* from token 0 to token 1 */
    rt_steps out_step;
    real *dbias, *dkeys; /* gradients of the distance tensors; NULL: not wanted */
} rt_pack;

/* Queries and keys of a tile, for all heads of a pack. */
typedef struct rt_tile {
    int i, rows;     /* queries i ... i + rows - 1 */
    int j, columns;  /* keys j ... j + columns - 1 */
    rt_operand q, k; /* (rows, D), (columns, D) */
} rt_tile;

/* Returns the sizes of the largest pack. */
rt_batch_size rt_pack_most(const rt_tensor *q, const rt_tensor *k);

/* Returns the pack that begins at sequence b and key head g. `of_run` selects one query head of
 * each run of query heads with the same key head. */
rt_pack rt_pack_of(const rt_attention_options *o, rt_tensor *const *in, int b, int g, int of_run);

/* Returns the number of heads; the first row of head n in (B, H, Tq); the pack of head n alone. */
int rt_pack_heads(const rt_pack *a);
size_t rt_pack_row(const rt_pack *a, int n);
rt_pack rt_pack_single(const rt_pack *a, int n);

/* Returns the offset of the matrix of head n, in elements. */
size_t rt_pack_offset(const rt_pack *a, rt_steps step, int n);

/* Computes the scores of a tile, head by head; -infinity where the key is not visible. `scratch`
 * has (rows, classes) numbers, for distances. */
void rt_pack_score(real *s, real *scratch, const rt_pack *a, rt_tile t);

/* Adds the gradients of the distance terms, given the gradient ds of a tile's scores. dq is at
 * token 0, or NULL. */
void rt_pack_distance_backward(const real *ds, real *scratch, real *dq, const rt_pack *a,
                               rt_tile t);

/* Passes over the rows of a tile of scores, or of a factor of their products: a row for each query.
 * Scores s, weights p and their gradients have `columns` keys per row and no gaps. */

/* Returns x, or 0 for -infinity, the maximum of a row without a visible key: any finite shift then
 * gives zeros. */
static inline real rt_finite_or_zero(real x)
{
    return x > -RT_REAL_MAX ? x : 0;
}

/* Computes s = e^(s - m), with the running maximum m and sum l of every row. `factor` receives the
 * factor by which earlier sums shrink. */
void rt_attention_online_softmax(real *s, int rows, int columns, real *m, real *l, real *factor);

/* Computes the weights s = e^(s - shift) inverse, from the numbers that forward saved. */
void rt_attention_weigh(real *s, int rows, int columns, const real *shift, const real *inverse);

/* Multiplies row r of x (rows, size) by factor r. */
void rt_attention_scale(real *x, int stride, int rows, int size, const real *factor);

/* Computes delta_r = sum_i x_ri y_ri; both matrices have the stride. */
void rt_attention_multiply(real *delta, const real *x, const real *y, int stride, int rows,
                           int size);

/* Computes ds = p (dp - delta), in place of dp. */
void rt_attention_score_gradient(real *dp, const real *p, int rows, int columns, const real *delta);

/* Returns whether the arguments fit rt_attention. Otherwise fails the graph with the reason. */
bool rt_attention_fits(rt_graph *g, const rt_tensor *q, const rt_tensor *k, const rt_tensor *v,
                       const rt_attention_options *o);

#endif
