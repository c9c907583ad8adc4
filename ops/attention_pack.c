#include "ops/attention_pack.h"

#include "ops/distance.h"

#include <math.h>

/* Scores in the tiles of several sequences: more gain nothing and take more of the cache. */
enum { OF_SEQUENCES = RT_ATTENTION_TILE * RT_ATTENTION_TILE / 4 };

/* ---- packs ---- */

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* How many of `count` to take at a time, at most `most`, so that all times take about as many. */
static int share_of(int count, int most)
{
    const int times = (count + most - 1) / most;
    return (count + times - 1) / times;
}

rt_batch_size rt_pack_most(const rt_tensor *q, const rt_tensor *k)
{
    const int rows = smaller(q->shape[1], RT_ATTENTION_TILE);
    const int columns = smaller(k->shape[1], RT_ATTENTION_TILE);
    const int G = k->shape[2], scores = rows * columns, heads = rt_gemm_batch_room() / scores;
    if (heads < 2)
        return (rt_batch_size){1, 1};
    if (OF_SEQUENCES / scores < G)
        return (rt_batch_size){1, share_of(G, heads)};
    return (rt_batch_size){share_of(q->shape[0], OF_SEQUENCES / (scores * G)), G};
}

static rt_operand first_of(const rt_tensor *x, int b, int h, int h_step)
{
    const size_t T = (size_t)x->shape[1], H = (size_t)x->shape[2], D = (size_t)x->shape[3];
    rt_operand all = rt_rows_of(x, (int)(H * D));
    all.rounded = NULL;
    all.step = (rt_steps){T * H * D, (size_t)h_step * D};
    return rt_operand_from(all, ((size_t)b * T * H + (size_t)h) * D);
}

rt_pack rt_pack_of(const rt_attention_options *o, const rt_tensor *q, const rt_tensor *k,
                   const rt_tensor *v, int b, int g, int of_run)
{
    const int H = q->shape[2], run = H / k->shape[2], E = v->shape[3];
    const rt_batch_size most = rt_pack_most(q, k);
    rt_pack a = {.o = o, .b = b, .h = g * run + of_run, .h_step = run};
    a.size =
        (rt_batch_size){smaller(most.outer, q->shape[0] - b), smaller(most.inner, k->shape[2] - g)};
    a.Tq = q->shape[1];
    a.Tk = k->shape[1];
    a.H = H;
    a.D = q->shape[3];
    a.E = E;
    a.q = first_of(q, b, a.h, run);
    a.k = first_of(k, b, g, 1);
    a.v = first_of(v, b, g, 1);
    a.out = ((size_t)b * (size_t)a.Tq * (size_t)H + (size_t)a.h) * (size_t)E;
    a.out_stride = H * E;
    a.out_step = (rt_steps){(size_t)a.Tq * (size_t)a.out_stride, (size_t)run * (size_t)E};
    return a;
}

int rt_pack_heads(const rt_pack *a)
{
    return a->size.outer * a->size.inner;
}

int rt_pack_sequence(const rt_pack *a, int n)
{
    return a->b + n / a->size.inner;
}

int rt_pack_head(const rt_pack *a, int n)
{
    return a->h + n % a->size.inner * a->h_step;
}

size_t rt_pack_row(const rt_pack *a, int n)
{
    return ((size_t)rt_pack_sequence(a, n) * (size_t)a->H + (size_t)rt_pack_head(a, n)) *
           (size_t)a->Tq;
}

size_t rt_pack_offset(const rt_pack *a, rt_steps step, int n)
{
    return (size_t)(n / a->size.inner) * step.outer + (size_t)(n % a->size.inner) * step.inner;
}

rt_pack rt_pack_single(const rt_pack *a, int n)
{
    rt_pack one = *a;
    one.size = (rt_batch_size){1, 1};
    one.b = rt_pack_sequence(a, n);
    one.h = rt_pack_head(a, n);
    one.q = rt_operand_from(a->q, rt_pack_offset(a, a->q.step, n));
    one.k = rt_operand_from(a->k, rt_pack_offset(a, a->k.step, n));
    one.v = rt_operand_from(a->v, rt_pack_offset(a, a->v.step, n));
    one.out += rt_pack_offset(a, a->out_step, n);
    return one;
}

/* ---- distances ---- */

static rt_distance_head distance_head(const rt_pack *a, int n)
{
    const int h = rt_pack_head(a, n);
    rt_distance_head head = rt_distance_head_of(a->o, h, a->H, a->D);
    head.dbias = a->dbias ? a->dbias + h : NULL;
    head.dkeys = a->dkeys;
    return head;
}

static rt_distance_tile distance_tile(const rt_pack *a, rt_tile t, int n)
{
    const rt_operand q = rt_operand_from(t.q, rt_pack_offset(a, a->q.step, n));
    return (rt_distance_tile){.q = q.data,
                              .q_stride = a->q.stride,
                              .query = a->o->query_positions + t.i,
                              .key = a->o->key_positions + t.j,
                              .rows = t.rows,
                              .columns = t.columns};
}

void rt_pack_distance_backward(const real *ds, real *room, real *dq, const rt_pack *a, rt_tile t)
{
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++, ds += t.rows * t.columns) {
        const rt_distance_head head = distance_head(a, n);
        rt_distance_tile tile = distance_tile(a, t, n);
        if (dq)
            tile.dq = dq + (size_t)t.i * (size_t)a->q.stride + rt_pack_offset(a, a->q.step, n);
        rt_distance_backward(ds, room, &head, tile);
    }
}

/* ---- scores ---- */

static void add_slope(real *restrict s, const double *restrict key, double query, double slope,
                      int columns)
{
    for (int j = 0; j < columns; j++) {
        double distance = query > key[j] ? query - key[j] : key[j] - query;
        s[j] -= (real)(slope * distance);
    }
}

static void hide_later(real *restrict s, const double *restrict key, double query, int columns)
{
    for (int j = 0; j < columns; j++)
        s[j] = key[j] <= query ? s[j] : -INFINITY;
}

static void hide_far(real *restrict s, const double *restrict key, double query, int window,
                     int columns)
{
    for (int j = 0; j < columns; j++) {
        const double distance = query > key[j] ? query - key[j] : key[j] - query;
        s[j] = distance < window ? s[j] : -INFINITY;
    }
}

static void hide_masked(real *restrict s, const uint8_t *restrict mask, int columns)
{
    for (int j = 0; j < columns; j++)
        s[j] = mask[j] ? s[j] : -INFINITY;
}

/* Adds distances and masks to the scores of head n. */
static void finish(real *s, real *room, const rt_pack *a, rt_tile t, int n)
{
    const rt_attention_options *o = a->o;
    if (o->distances) {
        const rt_distance_head head = distance_head(a, n);
        rt_distance_add(s, room, &head, distance_tile(a, t, n));
    }
    if (!o->slopes && !o->causal && !o->window && !o->key_mask)
        return;
    const size_t keys = (size_t)rt_pack_sequence(a, n) * (size_t)a->Tk + (size_t)t.j;
    for (int r = 0; r < t.rows; r++) {
        real *row = s + (size_t)r * (size_t)t.columns;
        const double query = o->query_positions[t.i + r], *key = o->key_positions + t.j;
        if (o->slopes)
            add_slope(row, key, query, o->slopes[rt_pack_head(a, n)], t.columns);
        if (o->causal)
            hide_later(row, key, query, t.columns);
        if (o->window)
            hide_far(row, key, query, o->window, t.columns);
        if (o->key_mask)
            hide_masked(row, o->key_mask + keys, t.columns);
    }
}

void rt_pack_score(real *s, real *room, const rt_pack *a, rt_tile t)
{
    const size_t size = (size_t)t.rows * (size_t)t.columns;
    const rt_result scores = {s, t.columns, {size * (size_t)a->size.inner, size}};
    rt_gemm_batch(a->size, t.rows, t.columns, a->D, (real)a->o->scale, t.q, rt_transposed(t.k), 0,
                  scores);
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++)
        finish(s + (size_t)n * size, room, a, t, n);
}
