#ifndef ROTOR_OPS_ATTENTION_PACK_H
#define ROTOR_OPS_ATTENTION_PACK_H

/* The heads whose products attention computes together, and the scores of their tiles.
 *
 * A pack is some heads of some sequences, which read different heads of keys: those that share
 * them are in packs that follow one another. It has one head where the engine computes no batches
 * (rt_gemm_batch_room), and otherwise all heads of one sequence or more if their tiles are small;
 * this depends on shapes and engine alone.
 */

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

/* The pack that begins with sequence b and, of every run of query heads that read the same keys,
 * head `of_run`; of the heads of keys it begins with g. */
rt_pack rt_pack_of(const rt_attention_options *o, const rt_tensor *q, const rt_tensor *k,
                   const rt_tensor *v, int b, int g, int of_run);

/* Head n of the pack: how many there are, its sequence, its head of queries, its first row among
 * all (B, H, Tq); and the pack of this head alone. */
int rt_pack_heads(const rt_pack *a);
int rt_pack_sequence(const rt_pack *a, int n);
int rt_pack_head(const rt_pack *a, int n);
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

#endif
