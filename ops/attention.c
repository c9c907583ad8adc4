#include "ops/distance.h"
#include "ops/dropout.h"
#include "ops/gemm.h"
#include "ops/ops.h"
#include "ops/rows.h"
#include "ops/vector_math.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Softmax attention in tiles of TILE x TILE scores, which stay in the cache.
 *
 * Forward goes over the key tiles of a block of queries with a running maximum m and a
 * running sum l (the online softmax): a new maximum scales down what was summed so far.
 * It keeps m and 1/l of every row. Backward computes every tile's scores again, and with
 *     P = exp(S - m) / l,  delta = rowsum(dO * O),  dP = dO V^T,  dS = P * (dP - delta)
 * adds P^T dO to dV, scale dS K to dQ and scale dS^T Q to dK.
 *
 * With fewer heads of keys than of queries, a run of H / G query heads reads the same keys in
 * place, and adds to their gradients one head after the other. Tiles in which no query can see a
 * key are not visited.
 */
enum { TILE = 256 };

/* The first and the last position of a tile's queries, or of its keys. */
typedef struct span {
    double first, last;
} span;

typedef struct attention_args {
    rt_attention_options o; /* scale and positions filled in */
    const span *query_spans, *key_spans;
    rt_random random; /* of dropout */
    uint64_t first;
    real *shift;   /* (B, H, Tq): m, or 0 of a row that sees no key */
    real *inverse; /* (B, H, Tq): 1/l, or 0 */
} attention_args;

/* One head of one sequence. */
typedef struct head {
    const rt_attention_options *o;
    const real *q, *k, *v;
    int Tq, Tk, D, E;
    int q_stride, k_stride, v_stride, out_stride; /* from one token to the next */
    int b, h;                                     /* h: of the queries */
    size_t row;                                   /* of query 0 among all rows (B, H, Tq) */
    rt_distance_head distance;
} head;

/* A tile: queries i ... i + rows - 1, keys j ... j + columns - 1. */
typedef struct tile {
    int i, rows;
    int j, columns;
    rt_operand q, k; /* (rows, D), (columns, D) */
} tile;

/* Places of what several products read. */
enum { QUERIES, KEYS, GRADIENTS, SCORE_GRADIENTS };

static head head_of(const rt_attention_options *o, const rt_tensor *q, const rt_tensor *k,
                    const rt_tensor *v, int b, int h)
{
    const int H = q->shape[2], G = k->shape[2], kv = h / (H / G);
    head a = {.o = o,
              .Tq = q->shape[1],
              .Tk = k->shape[1],
              .D = q->shape[3],
              .E = v->shape[3],
              .b = b,
              .h = h};
    a.q_stride = H * a.D;
    a.k_stride = G * a.D;
    a.v_stride = G * a.E;
    a.out_stride = H * a.E;
    a.q = q->data + ((size_t)b * (size_t)a.Tq * (size_t)H + (size_t)h) * (size_t)a.D;
    a.k = k->data + ((size_t)b * (size_t)a.Tk * (size_t)G + (size_t)kv) * (size_t)a.D;
    a.v = v->data + ((size_t)b * (size_t)a.Tk * (size_t)G + (size_t)kv) * (size_t)a.E;
    a.row = ((size_t)b * (size_t)H + (size_t)h) * (size_t)a.Tq;
    if (o->distances)
        a.distance = rt_distance_head_of(o, h, H, a.D);
    return a;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static rt_operand queries_at(const head *a, int i)
{
    return rt_rows_at(a->q + (size_t)i * (size_t)a->q_stride, a->q_stride);
}

static rt_operand keys_at(const head *a, int j)
{
    return rt_rows_at(a->k + (size_t)j * (size_t)a->k_stride, a->k_stride);
}

static rt_operand values_at(const head *a, int j)
{
    return rt_rows_at(a->v + (size_t)j * (size_t)a->v_stride, a->v_stride);
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

static rt_distance_tile distances_of(const head *a, tile t)
{
    return (rt_distance_tile){.q = a->q + (size_t)t.i * (size_t)a->q_stride,
                              .q_stride = a->q_stride,
                              .query = a->o->query_positions + t.i,
                              .key = a->o->key_positions + t.j,
                              .rows = t.rows,
                              .columns = t.columns};
}

/* The scores of a tile; -infinity where the key is not visible. `room` is for the terms that
 * depend on the distance. */
static void score(real *s, real *room, const head *a, tile t)
{
    const rt_attention_options *o = a->o;
    rt_gemm(t.rows, t.columns, a->D, (real)o->scale, t.q, rt_transposed(t.k), 0, s, t.columns);
    if (o->distances)
        rt_distance_add(s, room, &a->distance, distances_of(a, t));
    if (!o->slopes && !o->causal && !o->window && !o->key_mask)
        return;
    for (int r = 0; r < t.rows; r++) {
        real *row = s + (size_t)r * (size_t)t.columns;
        const double query = o->query_positions[t.i + r], *key = o->key_positions + t.j;
        if (o->slopes)
            add_slope(row, key, query, o->slopes[a->h], t.columns);
        if (o->causal)
            hide_later(row, key, query, t.columns);
        if (o->window)
            hide_far(row, key, query, o->window, t.columns);
        if (o->key_mask)
            hide_masked(row, o->key_mask + (size_t)a->b * (size_t)a->Tk + (size_t)t.j, t.columns);
    }
}

/* Whether every key of the tile comes after every query, or is outside the window of all. */
static bool unseen(const attention_args *args, tile t)
{
    const rt_attention_options *o = &args->o;
    const span query = args->query_spans[t.i / TILE], key = args->key_spans[t.j / TILE];
    const double behind = query.first - key.last, ahead = key.first - query.last;
    return (o->causal && ahead > 0) || (o->window && (behind >= o->window || ahead >= o->window));
}

/* ---- rows of a tile ---- */

/* A row without a visible key has maximum -infinity: any finite shift makes it zeros. */
static inline real finite_or_zero(real x)
{
    return x > -RT_REAL_MAX ? x : 0;
}

/* s = e^(s - m), with the running maximum m and sum l of every row; `factor` is what the sums
 * so far have shrunk by. */
RT_ROW_KERNEL void soften_rows(real *restrict s, int rows, int columns, real *restrict m,
                               real *restrict l, real *restrict factor)
{
    for (int r = 0; r < rows; r++) {
        real *restrict row = s + (size_t)r * (size_t)columns;
        const real largest = rt_row_largest(row, columns, m[r]), shift = finite_or_zero(largest);
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < columns; j++) {
            row[j] = rt_exp_of(row[j] - shift);
            sum += row[j];
        }
        factor[r] = rt_exp_of(m[r] - shift);
        l[r] = l[r] * factor[r] + sum;
        m[r] = largest;
    }
}

/* s = e^(s - shift) inverse: the weights, from what forward kept. */
RT_ROW_KERNEL void weigh_rows(real *restrict s, int rows, int columns, const real *restrict shift,
                              const real *restrict inverse)
{
    for (int r = 0; r < rows; r++) {
        real *restrict row = s + (size_t)r * (size_t)columns;
        const real down = shift[r], factor = inverse[r];
        for (int j = 0; j < columns; j++)
            row[j] = rt_exp_of(row[j] - down) * factor;
    }
}

RT_ROW_KERNEL void scale_rows(real *restrict x, int stride, int rows, int size,
                              const real *restrict factor)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < size; i++)
            x[(size_t)r * (size_t)stride + (size_t)i] *= factor[r];
}

/* delta_r = sum_i x_ri y_ri. */
RT_ROW_KERNEL void multiply_rows(real *restrict delta, const real *restrict x,
                                 const real *restrict y, int stride, int rows, int size)
{
    for (int r = 0; r < rows; r++) {
        const size_t start = (size_t)r * (size_t)stride;
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < size; i++)
            sum += x[start + (size_t)i] * y[start + (size_t)i];
        delta[r] = sum;
    }
}

/* ds = p (dp - delta), in place of dp. */
RT_ROW_KERNEL void score_gradient_of_rows(real *restrict dp, const real *restrict p, int rows,
                                          int columns, const real *restrict delta)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < columns; j++) {
            const size_t at = (size_t)r * (size_t)columns + (size_t)j;
            dp[at] = p[at] * (dp[at] - delta[r]);
        }
}

/* Multiplies row r of a tile by the dropout factors of its elements. */
static void drop_row(real *x, const attention_args *args, const head *a, tile t, int r)
{
    real factor[TILE];
    const size_t row = a->row + (size_t)(t.i + r);
    const uint64_t words = ((uint64_t)a->Tk + 3) / 4;
    rt_dropout_factors(factor, (size_t)t.columns, args->random,
                       args->first + row * words + (uint64_t)t.j / 4, a->o->dropout);
    for (int j = 0; j < t.columns; j++)
        x[j] *= factor[j];
}

static void drop(real *x, const attention_args *args, const head *a, tile t)
{
    for (int r = 0; a->o->dropout > 0 && r < t.rows; r++)
        drop_row(x + (size_t)r * (size_t)t.columns, args, a, t, r);
}

/* ---- forward ---- */

/* One key tile for a block of queries: out += e^(S - m) V, with the running m and l. */
static void forward_tile(real *out, real *s, real *m, real *l, const attention_args *args,
                         const head *a, tile t, bool first)
{
    real factor[TILE];
    score(s, s + TILE * TILE, a, t);
    soften_rows(s, t.rows, t.columns, m, l, factor);
    if (!first)
        scale_rows(out, a->out_stride, t.rows, a->E, factor);
    drop(s, args, a, t);
    rt_gemm(t.rows, a->E, t.columns, 1, rt_rows_at(s, t.columns), values_at(a, t.j), first ? 0 : 1,
            out, a->out_stride);
}

static void clear_rows(real *x, int stride, int rows, int size)
{
    for (int r = 0; r < rows; r++)
        memset(x + (size_t)r * (size_t)stride, 0, (size_t)size * sizeof *x);
}

static void forward_head(real *out, real *s, const attention_args *args, const head *a)
{
    for (int i = 0; i < a->Tq; i += TILE) {
        const int rows = smaller(TILE, a->Tq - i);
        real *block = out + (size_t)i * (size_t)a->out_stride;
        real *m = args->shift + a->row + i, *l = args->inverse + a->row + i;
        for (int r = 0; r < rows; r++) {
            m[r] = -INFINITY;
            l[r] = 0;
        }
        const rt_operand q = rt_gemm_share(queries_at(a, i), rows, a->D, QUERIES);
        bool first = true;
        for (int j = 0; j < a->Tk; j += TILE) {
            const tile t = {i, rows, j, smaller(TILE, a->Tk - j), q, keys_at(a, j)};
            if (unseen(args, t))
                continue;
            forward_tile(block, s, m, l, args, a, t, first);
            first = false;
        }
        if (first)
            clear_rows(block, a->out_stride, rows, a->E);
        for (int r = 0; r < rows; r++) {
            m[r] = finite_or_zero(m[r]);
            l[r] = l[r] > 0 ? 1 / l[r] : 0;
        }
        scale_rows(block, a->out_stride, rows, a->E, l);
    }
}

/* All probabilities of one head, for those who want to look at them. */
static void show(const head *a, real *room, const attention_args *args)
{
    real *p = a->o->probabilities + a->row * (size_t)a->Tk;
    for (int i = 0; i < a->Tq; i += TILE) {
        const tile t = {i, smaller(TILE, a->Tq - i), 0, a->Tk, queries_at(a, i), keys_at(a, 0)};
        real *rows = p + (size_t)i * (size_t)a->Tk;
        score(rows, room, a, t);
        weigh_rows(rows, t.rows, t.columns, args->shift + a->row + i, args->inverse + a->row + i);
    }
}

/* Room for `tiles` tiles of scores, and behind them for the terms of the distances. */
static real *room_for(const rt_node *n, int tiles)
{
    const attention_args *args = n->args;
    const int classes = args->o.distances ? args->o.distances->classes : 0;
    const size_t columns = (size_t)tiles * TILE + (size_t)classes;
    return rt_graph_scratch(n->graph, TILE * columns, sizeof(real));
}

static void attention_forward(const rt_node *n)
{
    const attention_args *args = n->args;
    const rt_tensor *q = n->in[0];
    real *s = room_for(n, 1);
    for (int b = 0; s && b < q->shape[0]; b++)
        for (int h = 0; h < q->shape[2]; h++) {
            head a = head_of(&args->o, q, n->in[1], n->in[2], b, h);
            real *out = n->out->data +
                        ((size_t)b * (size_t)a.Tq * (size_t)q->shape[2] + (size_t)h) * (size_t)a.E;
            forward_head(out, s, args, &a);
            if (args->o.probabilities)
                show(&a, s + TILE * TILE, args);
        }
}

/* ---- backward ---- */

/* The gradients of one head, laid out as its q, k, v; NULL where none is wanted. */
typedef struct head_gradient {
    real *dq, *dk, *dv;
    const real *out, *dout; /* laid out with out_stride */
} head_gradient;

static void backward_tile(real *p, real *ds, const real *delta, const attention_args *args,
                          const head *a, const head_gradient *d, rt_operand dout, tile t)
{
    const size_t i = (size_t)t.i, j = (size_t)t.j;
    real *room = ds + TILE * TILE;
    score(p, room, a, t);
    weigh_rows(p, t.rows, t.columns, args->shift + a->row + i, args->inverse + a->row + i);

    if (d->dv) {
        const real *weights = p;
        if (a->o->dropout > 0) {
            weights = memcpy(ds, p, (size_t)t.rows * (size_t)t.columns * sizeof *ds);
            drop(ds, args, a, t);
        }
        rt_gemm(t.columns, a->E, t.rows, 1, rt_transposed(rt_rows_at(weights, t.columns)), dout, 1,
                d->dv + j * (size_t)a->v_stride, a->v_stride);
    }
    if (!d->dq && !d->dk && !a->distance.dbias && !a->distance.dkeys)
        return;
    rt_gemm(t.rows, t.columns, a->E, 1, dout, rt_transposed(values_at(a, t.j)), 0, ds, t.columns);
    drop(ds, args, a, t);
    score_gradient_of_rows(ds, p, t.rows, t.columns, delta);
    if (a->o->distances) {
        rt_distance_tile distances = distances_of(a, t);
        distances.dq = d->dq ? d->dq + i * (size_t)a->q_stride : NULL;
        rt_distance_backward(ds, room, &a->distance, distances);
    }
    const rt_operand dscores =
        rt_gemm_share(rt_rows_at(ds, t.columns), t.rows, t.columns, SCORE_GRADIENTS);
    if (d->dq)
        rt_gemm(t.rows, a->D, t.columns, (real)a->o->scale, dscores, t.k, 1,
                d->dq + i * (size_t)a->q_stride, a->q_stride);
    if (d->dk)
        rt_gemm(t.columns, a->D, t.rows, (real)a->o->scale, rt_transposed(dscores), t.q, 1,
                d->dk + j * (size_t)a->k_stride, a->k_stride);
}

static void backward_head(real *work, const attention_args *args, const head *a,
                          const head_gradient *d)
{
    real delta[TILE];
    for (int i = 0; i < a->Tq; i += TILE) {
        const int rows = smaller(TILE, a->Tq - i);
        const size_t start = (size_t)i * (size_t)a->out_stride;
        const rt_operand dout =
            rt_gemm_share(rt_rows_at(d->dout + start, a->out_stride), rows, a->E, GRADIENTS);
        const rt_operand q = rt_gemm_share(queries_at(a, i), rows, a->D, QUERIES);
        multiply_rows(delta, d->dout + start, d->out + start, a->out_stride, rows, a->E);
        for (int j = 0; j < a->Tk; j += TILE) {
            tile t = {i, rows, j, smaller(TILE, a->Tk - j), q, keys_at(a, j)};
            if (unseen(args, t))
                continue;
            t.k = rt_gemm_share(t.k, t.columns, a->D, KEYS);
            backward_tile(work, work + TILE * TILE, delta, args, a, d, dout, t);
        }
    }
}

static void attention_backward(const rt_node *n)
{
    const attention_args *args = n->args;
    const rt_tensor *q = n->in[0], *k = n->in[1], *v = n->in[2];
    real *dq = rt_grad(n, 0), *dk = rt_grad(n, 1), *dv = rt_grad(n, 2);
    real *dbias = rt_grad(n, 3), *dkeys = rt_grad(n, 4);
    real *work = room_for(n, 2);
    for (int b = 0; work && b < q->shape[0]; b++)
        for (int h = 0; h < q->shape[2]; h++) {
            head a = head_of(&args->o, q, k, v, b, h);
            a.distance.dbias = dbias ? dbias + h : NULL;
            a.distance.dkeys = dkeys;
            size_t rows =
                ((size_t)b * (size_t)a.Tq * (size_t)q->shape[2] + (size_t)h) * (size_t)a.E;
            head_gradient d = {dq ? dq + (a.q - q->data) : NULL, dk ? dk + (a.k - k->data) : NULL,
                               dv ? dv + (a.v - v->data) : NULL, n->out->data + rows,
                               n->out->grad + rows};
            backward_head(work, args, &a, &d);
        }
}

const rt_op rt_op_attention = {"attention", attention_forward, attention_backward};

/* ---- constructor ---- */

static const double *counting(rt_graph *g, int T)
{
    double *at = rt_graph_memory(g, (size_t)T, sizeof *at);
    for (int t = 0; at && t < T; t++)
        at[t] = t;
    return at;
}

static const span *spans_of(rt_graph *g, const double *position, int T)
{
    const int tiles = (T + TILE - 1) / TILE;
    span *spans = rt_graph_memory(g, (size_t)tiles, sizeof *spans);
    for (int n = 0; spans && position && n < tiles; n++) {
        spans[n] = (span){position[n * TILE], position[n * TILE]};
        for (int t = n * TILE; t < T && t < (n + 1) * TILE; t++) {
            spans[n].first = fmin(spans[n].first, position[t]);
            spans[n].last = fmax(spans[n].last, position[t]);
        }
    }
    return spans;
}

static bool fit(const rt_tensor *q, const rt_tensor *k, const rt_tensor *v)
{
    return q->ndim == 4 && k->ndim == 4 && v->ndim == 4 && q->shape[0] == k->shape[0] &&
           k->shape[0] == v->shape[0] && k->shape[1] == v->shape[1] &&
           q->shape[2] % k->shape[2] == 0 && k->shape[2] == v->shape[2] &&
           q->shape[3] == k->shape[3];
}

/* Every class is one that there is, whatever the distance. */
static bool are_classes(const rt_distances *d)
{
    bool good = d->classes > 0 && d->reach >= 0 && d->reach < INT_MAX / 2 && d->class_of;
    for (int i = 0; good && i <= 2 * d->reach; i++)
        good = d->class_of[i] >= 0 && d->class_of[i] < d->classes;
    return good;
}

static bool distances_fit(rt_graph *g, const rt_attention_options *o, int H, int D)
{
    const rt_tensor *bias = o->distance_bias, *keys = o->distance_keys;
    const int classes = o->distances ? o->distances->classes : 0;
    if (!RT_TAKES(g, "attention", {"distance_bias", bias, true}, {"distance_keys", keys, true}))
        return false;
    if (o->distances && !are_classes(o->distances))
        rt_graph_fail(g, RT_ARGUMENT,
                      "[attention] the distances must have a reach of at least 0, and for each of "
                      "2 reach + 1 distances one of their classes; got reach %d, %d classes",
                      o->distances->reach, classes);
    else if ((bias && (bias->ndim != 2 || bias->shape[0] != classes || bias->shape[1] != H)) ||
             (keys && (keys->ndim != 2 || keys->shape[0] != classes || keys->shape[1] != D)))
        rt_graph_fail(g, RT_SHAPE,
                      "[attention] with %d heads of size %d, distance_bias must be (classes, H) "
                      "and distance_keys (classes, D) of the distances",
                      H, D);
    return !rt_graph_failed(g);
}

static bool are_finite(rt_graph *g, const char *name, const double *position, int T)
{
    for (int t = 0; position && t < T && !rt_graph_failed(g); t++)
        if (!isfinite(position[t]))
            rt_graph_fail(g, RT_ARGUMENT, "[attention] %s: position %d is %g", name, t,
                          position[t]);
    return !rt_graph_failed(g);
}

static bool all_fit(rt_graph *g, const rt_tensor *q, const rt_tensor *k, const rt_tensor *v,
                    const rt_attention_options *o)
{
    if (!RT_TAKES(g, "attention", RT_INPUT(q), RT_INPUT(k), RT_INPUT(v)) ||
        !rt_graph_given(g, "attention", "options", o))
        return false;
    if (!fit(q, k, v))
        rt_graph_fail(
            g, RT_SHAPE,
            "[attention] q, k, v must be (B, Tq, H, D), (B, Tk, G, D), (B, Tk, G, E), G a "
            "divisor of H; got %s, %s, %s",
            rt_shape_text(q), rt_shape_text(k), rt_shape_text(v));
    else if (!(o->dropout >= 0 && o->dropout < 1))
        rt_graph_fail(g, RT_ARGUMENT, "[attention] dropout must be in [0, 1); got %g", o->dropout);
    else if (o->window < 0)
        rt_graph_fail(g, RT_ARGUMENT, "[attention] window must be >= 0; got %d", o->window);
    return !rt_graph_failed(g) && distances_fit(g, o, q->shape[2], q->shape[3]) &&
           are_finite(g, "query_positions", o->query_positions, q->shape[1]) &&
           are_finite(g, "key_positions", o->key_positions, k->shape[1]);
}

rt_tensor *rt_attention(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                        const rt_attention_options *options)
{
    if (!all_fit(g, q, k, v, options))
        return NULL;
    const int B = q->shape[0], Tq = q->shape[1], H = q->shape[2];
    attention_args args = {.o = *options};
    if (!rt_graph_drops(g))
        args.o.dropout = 0;
    if (args.o.dropout > 0)
        args.random = rt_graph_next_random(g, &args.first);
    if (args.o.scale == 0)
        args.o.scale = 1 / sqrt((double)q->shape[3]);
    if (!args.o.query_positions)
        args.o.query_positions = counting(g, Tq);
    if (!args.o.key_positions)
        args.o.key_positions = counting(g, k->shape[1]);
    args.query_spans = spans_of(g, args.o.query_positions, Tq);
    args.key_spans = spans_of(g, args.o.key_positions, k->shape[1]);
    args.shift = rt_graph_memory(g, (size_t)B * (size_t)H * (size_t)Tq, sizeof(real));
    args.inverse = rt_graph_memory(g, (size_t)B * (size_t)H * (size_t)Tq, sizeof(real));
    return RT_APPLY(g, &rt_op_attention, RT_SHAPE_OF(B, Tq, H, v->shape[3]), &args, q, k, v,
                    args.o.distance_bias, args.o.distance_keys);
}
