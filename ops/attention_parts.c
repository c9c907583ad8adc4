#include "ops/attention_parts.h"

#include "core/row_kernels.h"
#include "ops/gemm.h"
#include "ops/private.h"
#include "ops/vector_math.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Maximum number of scores for packs of several sequences: more gain nothing and take more of the
 * cache. */
enum { OF_SEQUENCES = RT_ATTENTION_TILE * RT_ATTENTION_TILE / 4 };

/* ---- packs ---- */

/* Returns how many of `count` to take at a time, at most `most`, so that all times are
 * about equal. */
static int share_of(int count, int most)
{
    const int times = (count + most - 1) / most;
    return (count + times - 1) / times;
}

rt_batch_size rt_pack_most(const rt_tensor *q, const rt_tensor *k)
{
    const int rows = rt_smaller(q->shape[1], RT_ATTENTION_TILE);
    const int columns = rt_smaller(k->shape[1], RT_ATTENTION_TILE);
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

rt_pack rt_pack_of(const rt_attention_options *o, rt_tensor *const *in, int b, int g, int of_run)
{
    const rt_tensor *q = in[0], *k = in[1], *v = in[2];
    const int H = q->shape[2], run = H / k->shape[2], E = v->shape[3];
    const rt_batch_size most = rt_pack_most(q, k);
    rt_pack a = {.o = o, .b = b, .h = g * run + of_run, .h_step = run};
    a.size = (rt_batch_size){rt_smaller(most.outer, q->shape[0] - b),
                             rt_smaller(most.inner, k->shape[2] - g)};
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

static int sequence_of(const rt_pack *a, int n)
{
    return a->b + n / a->size.inner;
}

static int head_of(const rt_pack *a, int n)
{
    return a->h + n % a->size.inner * a->h_step;
}

size_t rt_pack_row(const rt_pack *a, int n)
{
    return ((size_t)sequence_of(a, n) * (size_t)a->H + (size_t)head_of(a, n)) * (size_t)a->Tq;
}

size_t rt_pack_offset(const rt_pack *a, rt_steps step, int n)
{
    return (size_t)(n / a->size.inner) * step.outer + (size_t)(n % a->size.inner) * step.inner;
}

rt_pack rt_pack_single(const rt_pack *a, int n)
{
    rt_pack one = *a;
    one.size = (rt_batch_size){1, 1};
    one.b = sequence_of(a, n);
    one.h = head_of(a, n);
    one.q = rt_operand_from(a->q, rt_pack_offset(a, a->q.step, n));
    one.k = rt_operand_from(a->k, rt_pack_offset(a, a->k.step, n));
    one.v = rt_operand_from(a->v, rt_pack_offset(a, a->v.step, n));
    one.out += rt_pack_offset(a, a->out_step, n);
    return one;
}

/* ---- distances ---- */

/* Terms that attention adds to a score for the distance between query and key: a learned bias of
 * the distance's class (T5), or the product of the query with a learned key of the class (Shaw).
 * First t_ic = bias_c + scale q_i . key_c is computed for all classes c; the score of query i and
 * key j gets t_i,class(j - i). */

/* Terms of one head in a tile; absent or unwanted ones are NULL. */
typedef struct terms {
    const rt_attention_options *o;
    const real *bias; /* column of this head in (classes, H) */
    const real *keys; /* (classes, D) */
    real *dbias, *dkeys;
    const real *q; /* in the layout of all queries */
    real *dq;      /* in the layout of all queries */
    int H, D, stride;
    rt_tile t;
} terms;

static terms terms_of(const rt_pack *a, rt_tile t, int n, real *dq)
{
    const rt_tensor *bias = a->o->distance_bias, *keys = a->o->distance_keys;
    const size_t offset = rt_pack_offset(a, a->q.step, n);
    const int h = head_of(a, n);
    return (terms){.o = a->o,
                   .bias = bias ? bias->data + h : NULL,
                   .keys = keys ? keys->data : NULL,
                   .dbias = a->dbias ? a->dbias + h : NULL,
                   .dkeys = a->dkeys,
                   .q = rt_operand_from(t.q, offset).data,
                   .dq = dq ? dq + (size_t)t.i * (size_t)a->q.stride + offset : NULL,
                   .H = a->H,
                   .D = a->D,
                   .stride = a->q.stride,
                   .t = t};
}

/* Returns the class of the distance between query i and key j of the tile. */
static int class_of(const terms *d, int i, int j)
{
    const double reach = d->o->distances->reach;
    const double query = d->o->query_positions[d->t.i + i], key = d->o->key_positions[d->t.j + j];
    const double distance = key - query;
    const double clamped = distance < -reach ? -reach : distance > reach ? reach : distance;
    return d->o->distances->class_of[(int)lrint(clamped) + d->o->distances->reach];
}

/* Adds the terms to s (rows, columns); `scratch` has (rows, classes) numbers. */
static void add_terms(real *s, real *scratch, const terms *d)
{
    const int classes = d->o->distances->classes, rows = d->t.rows;
    if (d->keys)
        rt_gemm((rt_sizes){rows, classes, d->D}, (real)d->o->scale, rt_rows_at(d->q, d->stride),
                rt_transposed(rt_rows_at(d->keys, d->D)), 0, rt_result_at(scratch, classes));
    else
        memset(scratch, 0, (size_t)rows * (size_t)classes * sizeof *scratch);
    for (int i = 0; i < rows; i++, s += d->t.columns, scratch += classes) {
        for (int c = 0; d->bias && c < classes; c++)
            scratch[c] += d->bias[(size_t)c * (size_t)d->H];
        for (int j = 0; j < d->t.columns; j++)
            s[j] += scratch[class_of(d, i, j)];
    }
}

/* Adds to dq, dbias and dkeys, given ds (rows, columns). */
static void terms_backward(const real *ds, real *scratch, const terms *d)
{
    const int classes = d->o->distances->classes, rows = d->t.rows;
    const real scale = (real)d->o->scale;
    const rt_operand dterm = rt_rows_at(scratch, classes);
    memset(scratch, 0, (size_t)rows * (size_t)classes * sizeof *scratch);
    for (int i = 0; i < rows; i++, ds += d->t.columns, scratch += classes) {
        for (int j = 0; j < d->t.columns; j++)
            scratch[class_of(d, i, j)] += ds[j];
        for (int c = 0; d->dbias && c < classes; c++)
            d->dbias[(size_t)c * (size_t)d->H] += scratch[c];
    }
    if (d->keys && d->dq)
        rt_gemm((rt_sizes){rows, d->D, classes}, scale, dterm, rt_rows_at(d->keys, d->D), 1,
                rt_result_at(d->dq, d->stride));
    if (d->dkeys)
        rt_gemm((rt_sizes){classes, d->D, rows}, scale, rt_transposed(dterm),
                rt_rows_at(d->q, d->stride), 1, rt_result_at(d->dkeys, d->D));
}

void rt_pack_distance_backward(const real *ds, real *scratch, real *dq, const rt_pack *a, rt_tile t)
{
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++, ds += t.rows * t.columns) {
        const terms d = terms_of(a, t, n, dq);
        terms_backward(ds, scratch, &d);
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
static void finish(real *s, real *scratch, const rt_pack *a, rt_tile t, int n)
{
    const rt_attention_options *o = a->o;
    if (o->distances) {
        const terms d = terms_of(a, t, n, NULL);
        add_terms(s, scratch, &d);
    }
    if (!o->slopes && !o->causal && !o->window && !o->key_mask)
        return;
    const size_t keys = (size_t)sequence_of(a, n) * (size_t)a->Tk + (size_t)t.j;
    for (int r = 0; r < t.rows; r++) {
        real *row = s + (size_t)r * (size_t)t.columns;
        const double query = o->query_positions[t.i + r], *key = o->key_positions + t.j;
        if (o->slopes)
            add_slope(row, key, query, o->slopes[head_of(a, n)], t.columns);
        if (o->causal)
            hide_later(row, key, query, t.columns);
        if (o->window)
            hide_far(row, key, query, o->window, t.columns);
        if (o->key_mask)
            hide_masked(row, o->key_mask + keys, t.columns);
    }
}

void rt_pack_score(real *s, real *scratch, const rt_pack *a, rt_tile t)
{
    const size_t size = (size_t)t.rows * (size_t)t.columns;
    rt_gemm((rt_sizes){t.rows, t.columns, a->D}, (real)a->o->scale, t.q, rt_transposed(t.k), 0,
            (rt_result){s, t.columns, {size * (size_t)a->size.inner, size}, a->size});
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++)
        finish(s + (size_t)n * size, scratch, a, t, n);
}

/* ---- rows of a tile ---- */

RT_ROW_KERNEL(rt_attention_online_softmax,
              (real *restrict s, int rows, int columns, real *restrict m, real *restrict l,
               real *restrict factor),
              (s, rows, columns, m, l, factor))
{
    for (int r = 0; r < rows; r++) {
        real *restrict row = s + (size_t)r * (size_t)columns;
        const real largest = rt_row_largest(row, columns, m[r]), shift = rt_finite_or_zero(largest);
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

RT_ROW_KERNEL(rt_attention_weigh,
              (real *restrict s, int rows, int columns, const real *restrict shift,
               const real *restrict inverse),
              (s, rows, columns, shift, inverse))
{
    for (int r = 0; r < rows; r++) {
        real *restrict row = s + (size_t)r * (size_t)columns;
        const real down = shift[r], factor = inverse[r];
        for (int j = 0; j < columns; j++)
            row[j] = rt_exp_of(row[j] - down) * factor;
    }
}

RT_ROW_KERNEL(rt_attention_scale,
              (real *restrict x, int stride, int rows, int size, const real *restrict factor),
              (x, stride, rows, size, factor))
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < size; i++)
            x[(size_t)r * (size_t)stride + (size_t)i] *= factor[r];
}

RT_ROW_KERNEL(rt_attention_multiply,
              (real *restrict delta, const real *restrict x, const real *restrict y, int stride,
               int rows, int size),
              (delta, x, y, stride, rows, size))
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

RT_ROW_KERNEL(rt_attention_score_gradient,
              (real *restrict dp, const real *restrict p, int rows, int columns,
               const real *restrict delta),
              (dp, p, rows, columns, delta))
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < columns; j++) {
            const size_t at = (size_t)r * (size_t)columns + (size_t)j;
            dp[at] = p[at] * (dp[at] - delta[r]);
        }
}

/* ---- checks ---- */

static bool fit(const rt_tensor *q, const rt_tensor *k, const rt_tensor *v)
{
    return q->ndim == 4 && k->ndim == 4 && v->ndim == 4 && q->shape[0] == k->shape[0] &&
           k->shape[0] == v->shape[0] && k->shape[1] == v->shape[1] &&
           q->shape[2] % k->shape[2] == 0 && k->shape[2] == v->shape[2] &&
           q->shape[3] == k->shape[3];
}

/* Returns whether every distance has a valid class. */
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
    if (!RT_CHECK_INPUTS(g, "attention", {"distance_bias", bias, .optional = true},
                         {"distance_keys", keys, .optional = true}))
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

bool rt_attention_fits(rt_graph *g, const rt_tensor *q, const rt_tensor *k, const rt_tensor *v,
                       const rt_attention_options *o)
{
    if (!RT_CHECK_INPUTS(g, "attention", RT_FACTOR(q), RT_FACTOR(k), RT_FACTOR(v)) ||
        !rt_graph_check_argument(g, "attention", "options", o) ||
        (o->distance_keys && !RT_CHECK_INPUTS(g, "attention", RT_INPUT(q))))
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
