#include "ops/private.h"

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

/* Returns the index of head h of sequence b in a tensor (B, T, H, D). */
static size_t start_of(const rt_tensor *x, int b, int h)
{
    const size_t T = (size_t)x->shape[1], H = (size_t)x->shape[2], D = (size_t)x->shape[3];
    return ((size_t)b * T * H + (size_t)h) * D;
}

static rt_operand first_of(const rt_tensor *x, int b, int h, int h_step)
{
    const size_t row = (size_t)x->shape[2] * (size_t)x->shape[3];
    rt_operand all = rt_rows_of(x, (int)row);
    all.rounded = NULL;
    all.step = (rt_steps){(size_t)x->shape[1] * row, (size_t)h_step * (size_t)x->shape[3]};
    return rt_operand_from(all, start_of(x, b, h));
}

static real *gradient_of(real *grad, const rt_tensor *x, int b, int h)
{
    return grad ? grad + start_of(x, b, h) : NULL;
}

rt_pack rt_pack_of(const rt_attention_options *o, const rt_node *node, rt_batch_size most, int b,
                   int g, int of_run, const rt_attention_gradients *d)
{
    const rt_tensor *q = node->in[0], *k = node->in[1], *v = node->in[2], *out = node->out;
    const int H = q->shape[2], run = H / k->shape[2], h = g * run + of_run, E = v->shape[3];
    return (
        rt_pack){.o = o,
                 .size = {rt_smaller(most.outer, q->shape[0] - b),
                          rt_smaller(most.inner, k->shape[2] - g)},
                 .b = b,
                 .h = h,
                 .h_step = run,
                 .Tq = q->shape[1],
                 .Tk = k->shape[1],
                 .H = H,
                 .D = q->shape[3],
                 .E = E,
                 .q = first_of(q, b, h, run),
                 .k = first_of(k, b, g, 1),
                 .v = first_of(v, b, g, 1),
                 .out = start_of(out, b, h),
                 .out_stride = H * E,
                 .out_step = {(size_t)q->shape[1] * (size_t)H * (size_t)E, (size_t)run * (size_t)E},
                 .d = {.q = gradient_of(d->q, q, b, h),
                       .k = gradient_of(d->k, k, b, g),
                       .v = gradient_of(d->v, v, b, g),
                       .bias = d->bias,
                       .keys = d->keys}};
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

/* ---- distances ---- */

/* Terms that attention adds to a score for the distance between query and key: a learned bias of
 * the distance's class (T5), or the product of the query with a learned key of the class (Shaw).
 * First t_ic = bias_c + scale q_i . key_c is computed for all classes c; the score of query i and
 * key j gets t_i,class(j - i). */

/* Returns the class of the distance between query i and key j. */
static int class_of(const rt_attention_options *o, int i, int j)
{
    const double reach = o->distances->reach;
    const double distance = o->key_positions[j] - o->query_positions[i];
    const double clamped = distance < -reach ? -reach : distance > reach ? reach : distance;
    return o->distances->class_of[(int)lrint(clamped) + o->distances->reach];
}

/* Returns the queries of head n of a tile. */
static rt_operand queries_of(const rt_pack *a, rt_tile t, int n)
{
    return rt_rows_at(t.q.data + rt_pack_offset(a, a->q.step, n), a->q.stride);
}

/* Adds the terms of head n to s (rows, columns); `scratch` has (rows, classes) numbers. */
static void add_terms(real *s, real *scratch, const rt_pack *a, rt_tile t, int n)
{
    const rt_tensor *bias = a->o->distance_bias, *keys = a->o->distance_keys;
    const int classes = a->o->distances->classes, H = a->H, h = head_of(a, n);
    if (keys)
        rt_gemm((rt_sizes){t.rows, classes, a->D}, (real)a->o->scale, queries_of(a, t, n),
                rt_transposed(rt_rows_at(keys->data, a->D)), 0, rt_result_at(scratch, classes));
    else
        memset(scratch, 0, (size_t)t.rows * (size_t)classes * sizeof *scratch);
    for (int i = 0; i < t.rows; i++, s += t.columns, scratch += classes) {
        for (int c = 0; bias && c < classes; c++)
            scratch[c] += bias->data[(size_t)c * (size_t)H + (size_t)h];
        for (int j = 0; j < t.columns; j++)
            s[j] += scratch[class_of(a->o, t.i + i, t.j + j)];
    }
}

/* Adds the gradients of the terms of head n, given ds (rows, columns). */
static void terms_backward(const real *ds, real *scratch, const rt_pack *a, rt_tile t, int n)
{
    const rt_tensor *keys = a->o->distance_keys;
    const int classes = a->o->distances->classes, H = a->H, h = head_of(a, n);
    const real scale = (real)a->o->scale;
    const rt_operand dterm = rt_rows_at(scratch, classes);
    memset(scratch, 0, (size_t)t.rows * (size_t)classes * sizeof *scratch);
    for (int i = 0; i < t.rows; i++, ds += t.columns, scratch += classes) {
        for (int j = 0; j < t.columns; j++)
            scratch[class_of(a->o, t.i + i, t.j + j)] += ds[j];
        for (int c = 0; a->d.bias && c < classes; c++)
            a->d.bias[(size_t)c * (size_t)H + (size_t)h] += scratch[c];
    }
    if (keys && a->d.q)
        rt_gemm((rt_sizes){t.rows, a->D, classes}, scale, dterm, rt_rows_at(keys->data, a->D), 1,
                rt_result_at(a->d.q + (size_t)t.i * (size_t)a->q.stride +
                                 rt_pack_offset(a, a->q.step, n),
                             a->q.stride));
    if (a->d.keys)
        rt_gemm((rt_sizes){classes, a->D, t.rows}, scale, rt_transposed(dterm), queries_of(a, t, n),
                1, rt_result_at(a->d.keys, a->D));
}

void rt_pack_distance_backward(const real *ds, real *scratch, const rt_pack *a, rt_tile t)
{
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++, ds += t.rows * t.columns)
        terms_backward(ds, scratch, a, t, n);
}

/* ---- scores ---- */

/* Adds distances and masks to the scores of head n. */
static void finish(real *s, real *scratch, const rt_pack *a, rt_tile t, int n)
{
    const rt_attention_options *o = a->o;
    const int columns = t.columns;
    if (o->distances)
        add_terms(s, scratch, a, t, n);
    if (!o->slopes && !o->causal && !o->window && !o->key_mask)
        return;
    const double *restrict key = o->key_positions + t.j;
    const size_t first_key = (size_t)sequence_of(a, n) * (size_t)a->Tk + (size_t)t.j;
    const uint8_t *mask = o->key_mask ? o->key_mask + first_key : NULL;
    const double slope = o->slopes ? o->slopes[head_of(a, n)] : 0, window = o->window;
    for (int r = 0; r < t.rows; r++, s += columns) {
        real *restrict row = s;
        const double query = o->query_positions[t.i + r];
        for (int j = 0; o->slopes && j < columns; j++)
            row[j] -= (real)(slope * fabs(query - key[j]));
        for (int j = 0; o->causal && j < columns; j++)
            row[j] = key[j] <= query ? row[j] : -INFINITY;
        for (int j = 0; o->window && j < columns; j++)
            row[j] = fabs(query - key[j]) < window ? row[j] : -INFINITY;
        for (int j = 0; mask && j < columns; j++)
            row[j] = mask[j] ? row[j] : -INFINITY;
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
