#ifndef ROTOR_OPS_ATTENTION_PARTS_H
#define ROTOR_OPS_ATTENTION_PARTS_H

/* Parts of attention: packs of heads, scores with their terms by distance, the rows of a tile of
 * scores, and the check of the arguments.
 *
 * A pack is the heads whose products attention computes together: some heads of some sequences,
 * which read different key heads. Heads that share a key head are in consecutive packs. A pack has
 * one head where the engine computes no batches (rt_gemm_batch_room). Otherwise it has all heads of
 * one sequence, or of several if their tiles are small. This depends on shapes and engine alone.
 */

#include "core/real.h"
#include "ops/gemm.h"
#include "ops/ops.h"

enum { RT_ATTENTION_TILE = 256 };

typedef struct rt_pack {
    const rt_attention_options *o; /* scale and positions filled in */
    rt_batch_size size;            /* sequences, heads of each */
    int b, h;                      /* the first sequence, the first of the H heads of queries */
    int h_step;                    /* from one head of queries to the next */
    int Tq, Tk, H, D, E;
    rt_operand q, k, v; /* of token 0 */
    size_t out;         /* where in the result token 0 begins */
    int out_stride;     /* from there to token 1 */
    rt_steps out_step;
    real *dbias, *dkeys; /* gradients of the distances' tensors; NULL: not wanted */
} rt_pack;

/* Some queries and some keys of a pack's heads. */
typedef struct rt_tile {
    int i, rows;     /* queries i ... i + rows - 1 */
    int j, columns;  /* keys j ... j + columns - 1 */
    rt_operand q, k; /* (rows, D), (columns, D) */
} rt_tile;

/* The sizes of the largest pack. */
rt_batch_size rt_pack_most(const rt_tensor *q, const rt_tensor *k);

/* The pack of q, k and v that begins with sequence b and, of every run of query heads that read the
 * same keys, head `of_run`; of the heads of keys it begins with g. */
rt_pack rt_pack_of(const rt_attention_options *o, rt_tensor *const *in, int b, int g, int of_run);

/* Head n of the pack: how many there are, its first row among all (B, H, Tq); and the pack of this
 * head alone. */
int rt_pack_heads(const rt_pack *a);
size_t rt_pack_row(const rt_pack *a, int n);
rt_pack rt_pack_single(const rt_pack *a, int n);

/* Elements from the first matrix to that of head n. */
size_t rt_pack_offset(const rt_pack *a, rt_steps step, int n);

/* The scores of a tile, for one head after the other; -infinity where the key is not visible.
 * `room` is for (rows, classes) numbers of the distances. */
void rt_pack_score(real *s, real *room, const rt_pack *a, rt_tile t);

/* Adds what the distances get from the gradient ds of a tile's scores. dq is that of token 0, or
 * NULL. */
void rt_pack_distance_backward(const real *ds, real *room, real *dq, const rt_pack *a, rt_tile t);

/* ---- rows of a tile ---- */

/* Passes over the rows of a tile of scores, or of what attention multiplies them with: a row for
 * each query. Scores s, weights p and their gradients have `columns` keys in a row and no gaps. */

/* A row without a visible key has maximum -infinity: any finite shift makes it zeros. */
static inline real rt_finite_or_zero(real x)
{
    return x > -RT_REAL_MAX ? x : 0;
}

/* s = e^(s - m), with the running maximum m and sum l of every row; `factor` is what the sums
 * so far have shrunk by. */
void rt_attention_soften(real *s, int rows, int columns, real *m, real *l, real *factor);

/* s = e^(s - shift) inverse: the weights, from what forward kept. */
void rt_attention_weigh(real *s, int rows, int columns, const real *shift, const real *inverse);

/* Row r of x (rows, size) times factor r. */
void rt_attention_scale(real *x, int stride, int rows, int size, const real *factor);

/* delta_r = sum_i x_ri y_ri, both laid out with the stride. */
void rt_attention_multiply(real *delta, const real *x, const real *y, int stride, int rows,
                           int size);

/* ds = p (dp - delta), in place of dp. */
void rt_attention_score_gradient(real *dp, const real *p, int rows, int columns, const real *delta);

/* ---- checks ---- */

/* Returns whether the arguments fit rt_attention. Otherwise the graph fails with the reason. */
bool rt_attention_fits(rt_graph *g, const rt_tensor *q, const rt_tensor *k, const rt_tensor *v,
                       const rt_attention_options *o);

#endif
