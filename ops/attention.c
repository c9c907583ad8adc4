#include "core/row_kernels.h"
#include "ops/attention_private.h"
#include "ops/private.h"
#include "ops/vector_math.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* Softmax attention in tiles of at most TILE x TILE scores, which stay in the cache. Heads with
 * smaller tiles are computed together (pack).
 *
 * Forward visits the key tiles of a block of queries with a running maximum m and a running sum l
 * (the online softmax): a new maximum scales down the earlier sums. It saves m and 1/l of every
 * row. Backward recomputes the scores of every tile, and with
 *     P = exp(S - m) / l,  delta = rowsum(dO * O),  dP = dO V^T,  dS = P * (dP - delta)
 * adds P^T dO to dV, scale dS K to dQ and scale dS^T Q to dK.
 *
 * With fewer key heads than query heads, a run of H / G query heads reads the same keys in place
 * and adds to their gradients one head after the other. Tiles without a visible key are skipped.
 */
enum { TILE = 256 };

/* Gradients of the inputs of attention; NULL: not wanted. */
typedef struct gradients {
    real *q, *k, *v;
    real *bias, *keys; /* of the distance tensors */
    real *key_bias;
} gradients;

/* Set of heads whose products are computed together: some heads of some sequences,
 * which read different key heads. Heads that share a key head are in consecutive packs. A pack has
 * one head if the engine computes no batches (rt_gemm_batch_room). Otherwise it has all heads of
 * one sequence, of several if their tiles are small, or a share of the heads if their tiles are
 * large. This depends on shapes and engine alone. */
typedef struct pack {
    const rt_attention_options *o; /* scale and positions filled in */
    rt_batch_size size;            /* sequences, heads of each */
    int b, h;                      /* first sequence, first of the H query heads */
    int h_step;                    /* from one query head to the next */
    int Tq, Tk, H, D, E;
    rt_operand q, k, v; /* at token 0 */
    size_t out;         /* offset of token 0 in the result */
    int out_stride;     /* from token 0 to token 1 */
    rt_steps out_step;
    gradients d; /* of q, k, v at token 0 */
} pack;

/* Queries and keys of a tile, for all heads of a pack. */
typedef struct tile {
    int i, rows;     /* queries i ... i + rows - 1 */
    int j, columns;  /* keys j ... j + columns - 1 */
    rt_operand q, k; /* (rows, D), (columns, D) */
} tile;

/* Packs of an op and the sizes of their scratch memory. In order: groups of sequences, in each the
 * key heads; the packs of the query heads that share a key head are adjacent. */
typedef struct plan {
    const rt_node *node;
    rt_batch_size most;          /* sizes of the largest pack */
    int run, of_sequence, count; /* packs of a key head, of a group of sequences, of the op */
    int blocks;                  /* of queries, each a part of its own in forward */
    size_t tile, rows, distance; /* numbers of the scores, the rows and the distance terms */
    gradients d;                 /* of the inputs, in backward */
} plan;

static plan plan_of(const rt_node *n, rt_batch_size most)
{
    const rt_attention_args *args = n->args;
    const rt_tensor *q = n->in[0], *k = n->in[1];
    const size_t heads = (size_t)most.outer * (size_t)most.inner;
    const size_t rows = (size_t)rt_smaller(q->shape[1], TILE);
    plan p = {.node = n,
              .most = most,
              .run = q->shape[2] / k->shape[2],
              .blocks = (q->shape[1] + TILE - 1) / TILE,
              .tile = heads * rows * (size_t)rt_smaller(k->shape[1], TILE),
              .rows = heads * rows,
              .distance = args->o.distances ? rows * (size_t)args->o.distances->classes : 0};
    p.of_sequence = (k->shape[2] + most.inner - 1) / most.inner * p.run;
    p.count = (q->shape[0] + most.outer - 1) / most.outer * p.of_sequence;
    return p;
}

/* Maximum number of scores for packs of several sequences: more gain nothing and take more of the
 * cache. */
enum { OF_SEQUENCES = TILE * TILE / 4 };

/* Returns how many of `count` to take at a time, at most `most`, so that all times are
 * about equal. */
static int share_of(int count, int most)
{
    const int times = (count + most - 1) / most;
    return (count + times - 1) / times;
}

/* Returns the sizes of the largest pack. */
static rt_batch_size pack_most(const rt_tensor *q, const rt_tensor *k)
{
    const int rows = rt_smaller(q->shape[1], TILE);
    const int columns = rt_smaller(k->shape[1], TILE);
    const int G = k->shape[2], scores = rows * columns, heads = rt_gemm_batch_room() / scores;
    if (heads < 2)
        return (rt_batch_size){1, 1};
    if (OF_SEQUENCES / scores < G)
        return (rt_batch_size){1, share_of(G, heads)};
    return (rt_batch_size){share_of(q->shape[0], OF_SEQUENCES / (scores * G)), G};
}

static rt_operand first_of(const rt_tensor *x, int b, int h, int h_step)
{
    const size_t row = (size_t)x->shape[2] * (size_t)x->shape[3];
    rt_operand all = rt_rows_of(x, (int)row);
    all.rounded = NULL;
    all.step = (rt_steps){(size_t)x->shape[1] * row, (size_t)h_step * (size_t)x->shape[3]};
    return rt_operand_from(all, rt_head_start(x, b, h));
}

static real *gradient_of(real *grad, const rt_tensor *x, int b, int h)
{
    return grad ? grad + rt_head_start(x, b, h) : NULL;
}

/* Returns pack `number`. It begins at sequence b and key head g. */
static pack pack_at(const plan *p, int number)
{
    const rt_attention_args *args = p->node->args;
    const rt_tensor *q = p->node->in[0], *k = p->node->in[1], *v = p->node->in[2];
    const gradients *d = &p->d;
    const int in_sequence = number % p->of_sequence, run = p->run;
    const int b = number / p->of_sequence * p->most.outer, g = in_sequence / run * p->most.inner;
    const int H = q->shape[2], h = g * run + in_sequence % run, E = v->shape[3];
    return (
        pack){.o = &args->o,
              .size = {rt_smaller(p->most.outer, q->shape[0] - b),
                       rt_smaller(p->most.inner, k->shape[2] - g)},
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
              .out = rt_head_start(p->node->out, b, h),
              .out_stride = H * E,
              .out_step = {(size_t)q->shape[1] * (size_t)H * (size_t)E, (size_t)run * (size_t)E},
              .d = {.q = gradient_of(d->q, q, b, h),
                    .k = gradient_of(d->k, k, b, g),
                    .v = gradient_of(d->v, v, b, g),
                    .bias = d->bias,
                    .keys = d->keys,
                    .key_bias = d->key_bias}};
}

/* Returns the number of heads. */
static int head_count(const pack *a)
{
    return a->size.outer * a->size.inner;
}

static int sequence_of(const pack *a, int n)
{
    return a->b + n / a->size.inner;
}

static int head_of(const pack *a, int n)
{
    return a->h + n % a->size.inner * a->h_step;
}

/* Returns the first row of head n in (B, H, T). */
static size_t start_of_head(const pack *a, int n, int T)
{
    return ((size_t)sequence_of(a, n) * (size_t)a->H + (size_t)head_of(a, n)) * (size_t)T;
}

static size_t row_of(const pack *a, int n)
{
    return start_of_head(a, n, a->Tq);
}

/* Returns the offset of the matrix of head n, in elements. */
static size_t offset_of(const pack *a, rt_steps step, int n)
{
    return (size_t)(n / a->size.inner) * step.outer + (size_t)(n % a->size.inner) * step.inner;
}

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
static rt_operand queries_of(const pack *a, tile t, int n)
{
    return rt_rows_at(t.q.data + offset_of(a, a->q.step, n), a->q.stride);
}

/* Adds the terms of head n to s (rows, columns); `scratch` has (rows, classes) numbers. */
static void add_terms(real *s, real *scratch, const pack *a, tile t, int n)
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
static void terms_backward(const real *ds, real *scratch, const pack *a, tile t, int n)
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
                                 offset_of(a, a->q.step, n),
                             a->q.stride));
    if (a->d.keys)
        rt_gemm((rt_sizes){classes, a->D, t.rows}, scale, rt_transposed(dterm), queries_of(a, t, n),
                1, rt_result_at(a->d.keys, a->D));
}

/* Adds a number for each of `size` columns to rows of x. */
static RT_ROW_KERNEL(attention_add_columns,
                     (real *restrict x, int stride, int rows, int size, const real *restrict y),
                     (x, stride, rows, size, y))
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < size; i++)
            x[(size_t)r * (size_t)stride + (size_t)i] += y[i];
}

/* Adds the bias of each key to the scores of head n, without that of the key at the last query. */
static void add_key_bias(real *s, const pack *a, tile t, int n)
{
    const rt_tensor *bias = a->o->key_bias;
    const size_t row = start_of_head(a, n, a->Tk);
    const int last = t.i + t.rows - 1 + a->Tk - a->Tq, at = last < 0 ? 0 : last;
    const double origin = rt_exact_at(bias, row + (size_t)rt_smaller(at, a->Tk - 1));
    real shifted[TILE];
    for (int first = 0; first < t.columns; first += TILE) {
        const int count = rt_smaller(TILE, t.columns - first);
        for (int j = 0; j < count; j++)
            shifted[j] = (real)(rt_exact_at(bias, row + (size_t)(t.j + first + j)) - origin);
        attention_add_columns(s + first, t.columns, t.rows, count, shifted);
    }
}

/* Adds biases, distances and masks to the scores of head n. */
static void finish(real *s, real *scratch, const pack *a, tile t, int n)
{
    const rt_attention_options *o = a->o;
    const int columns = t.columns;
    if (o->distances)
        add_terms(s, scratch, a, t, n);
    if (o->key_bias)
        add_key_bias(s, a, t, n);
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

/* Computes the scores of a tile, head by head; -infinity where the key is not visible. `scratch`
 * has (rows, classes) numbers, for distances. */
static void score(real *s, real *scratch, const pack *a, tile t)
{
    const size_t size = (size_t)t.rows * (size_t)t.columns;
    rt_gemm((rt_sizes){t.rows, t.columns, a->D}, (real)a->o->scale, t.q, rt_transposed(t.k), 0,
            (rt_result){s, t.columns, {size * (size_t)a->size.inner, size}, a->size});
    for (int n = 0, heads = head_count(a); n < heads; n++)
        finish(s + (size_t)n * size, scratch, a, t, n);
}

/* Scratch memory for one pack at a time. */
typedef struct scratch {
    real *p, *ds;   /* scores, head by head; ds for backward only */
    real *delta;    /* a number for each row of scores */
    real *distance; /* distance terms of a tile */
} scratch;

static scratch scratch_of(const plan *p, real *memory)
{
    real *delta = memory + p->tile, *distance = delta + p->rows;
    return (scratch){memory, distance + p->distance, delta, distance};
}

/* Returns whether forward also writes the probabilities, in tiles. */
static bool shows(const rt_node *n)
{
    const rt_attention_args *args = n->args;
    return args->o.probabilities != NULL;
}

/* Short attention that shows its probabilities needs the scratch of heads, then that of tiles. */
static rt_scratch_size attention_scratch(const rt_node *n, rt_pass pass)
{
    const rt_tensor *q = n->in[0], *k = n->in[1];
    const plan p = plan_of(n, pack_most(q, k));
    const size_t scores = pass == RT_BACKWARD ? 2 * p.tile : p.tile;
    const size_t of_tiles = (scores + p.rows + p.distance) * sizeof(real);
    const size_t of_head = rt_attention_is_short(n) ? rt_short_attention_scratch(n, pass) : 0;
    if (of_head && !shows(n))
        return (rt_scratch_size){.part = of_head};
    return (rt_scratch_size){.part = of_head > of_tiles ? of_head : of_tiles,
                             .library =
                                 rt_gemm_library(rt_smaller(q->shape[1], TILE),
                                                 rt_smaller(k->shape[1], TILE), q->shape[3])};
}

/* Places of operands of several products. */
enum { QUERIES, KEYS, GRADIENTS, SCORE_GRADIENTS };

static size_t scores_of(tile t)
{
    return (size_t)t.rows * (size_t)t.columns;
}

static rt_operand as_operand(const real *s, const pack *a, tile t)
{
    rt_operand x = rt_rows_at(s, t.columns);
    x.step = (rt_steps){scores_of(t) * (size_t)a->size.inner, scores_of(t)};
    return x;
}

/* Returns the rows of a tensor with the layout of the result, from token t on. */
static rt_operand out_rows(const real *x, const pack *a, int t)
{
    const rt_operand first = {.data = x + a->out, .stride = a->out_stride, .step = a->out_step};
    return rt_rows_from(first, t);
}

/* Returns whether every key of the tile comes after every query, or is outside the window of all
 * queries. */
static bool unseen(const rt_attention_args *args, tile t)
{
    const rt_attention_options *o = &args->o;
    const rt_span query = args->query_spans[t.i / TILE], key = args->key_spans[t.j / TILE];
    const double behind = query.first - key.last, ahead = key.first - query.last;
    return (o->causal && ahead > 0) || (o->window && (behind >= o->window || ahead >= o->window));
}

/* Multiplies the elements of a tile by their dropout factors. */
static void drop(real *x, const rt_attention_args *args, const pack *a, tile t)
{
    const uint64_t words = ((uint64_t)a->Tk + 3) / 4;
    real factor[TILE];
    for (int n = 0, heads = head_count(a); n < heads && a->o->dropout != 0; n++)
        for (int r = 0; r < t.rows; r++, x += t.columns) {
            const uint64_t row = row_of(a, n) + (size_t)(t.i + r);
            rt_dropout_factors(factor, (size_t)t.columns, args->random,
                               args->first + row * words + (uint64_t)t.j / 4, a->o->dropout);
            for (int j = 0; j < t.columns; j++)
                x[j] *= factor[j];
        }
}

/* A row for each query. Scores s, weights p and their gradients have `columns` keys per row and no
 * gaps. */

/* Returns x, or 0 for -infinity, the maximum of a row without a visible key: any finite shift then
 * gives zeros. */
static inline real finite_or_zero(real x)
{
    return x > -RT_REAL_MAX ? x : 0;
}

/* Computes s = e^(s - m), with the running maximum m and sum l of every row. `factor` receives the
 * factor by which earlier sums shrink. */
static RT_ROW_KERNEL(attention_online_softmax,
                     (real *restrict s, int rows, int columns, real *restrict m, real *restrict l,
                      real *restrict factor),
                     (s, rows, columns, m, l, factor))
{
    for (int r = 0; r < rows; r++) {
        real *restrict row = s + (size_t)r * (size_t)columns;
        const real largest = rt_row_largest(row, columns, m[r]), shift = finite_or_zero(largest);
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < columns; j++) {
            row[j] = rt_exp_bounded_of(row[j] - shift);
            sum += row[j];
        }
        factor[r] = rt_exp_bounded_of(m[r] - shift);
        l[r] = l[r] * factor[r] + sum;
        m[r] = largest;
    }
}

/* Computes the weights s = e^(s - shift) inverse, from the numbers that forward saved. */
static RT_ROW_KERNEL(attention_weigh_rows,
                     (real *restrict s, int rows, int columns, const real *restrict shift,
                      const real *restrict inverse),
                     (s, rows, columns, shift, inverse))
{
    for (int r = 0; r < rows; r++) {
        real *restrict row = s + (size_t)r * (size_t)columns;
        const real down = shift[r], factor = inverse[r];
        for (int j = 0; j < columns; j++)
            row[j] = rt_exp_bounded_of(row[j] - down) * factor;
    }
}

/* Multiplies row r of x (rows, size) by factor r. */
static RT_ROW_KERNEL(attention_scale_rows,
                     (real *restrict x, int stride, int rows, int size,
                      const real *restrict factor),
                     (x, stride, rows, size, factor))
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < size; i++)
            x[(size_t)r * (size_t)stride + (size_t)i] *= factor[r];
}

/* Computes delta_r = sum_i x_ri y_ri; both matrices have the stride. */
static RT_ROW_KERNEL(attention_multiply_rows,
                     (real *restrict delta, const real *restrict x, const real *restrict y,
                      int stride, int rows, int size),
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

/* Computes ds = p (dp - delta), in place of dp. */
static RT_ROW_KERNEL(attention_score_gradient,
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

/* Adds one key tile for a block of queries: out += e^(S - m) V, with the running m and l. */
static void forward_tile(real *out, const scratch *w, const rt_attention_args *args, const pack *a,
                         tile t, bool first)
{
    real factor[TILE];
    score(w->p, w->distance, a, t);
    for (int n = 0, heads = head_count(a); n < heads; n++) {
        const size_t row = row_of(a, n) + (size_t)t.i;
        attention_online_softmax(w->p + (size_t)n * scores_of(t), t.rows, t.columns,
                                 args->shift + row, args->inverse + row, factor);
        if (!first)
            attention_scale_rows(out + offset_of(a, a->out_step, n), a->out_stride, t.rows, a->E,
                                 factor);
    }
    drop(w->p, args, a, t);
    rt_gemm((rt_sizes){t.rows, a->E, t.columns}, 1, as_operand(w->p, a, t), rt_rows_from(a->v, t.j),
            first ? 0 : 1, (rt_result){out, a->out_stride, a->out_step, a->size});
}

/* Sets how this thread treats denormal numbers: as 0 if `flush`. Returns the former mode. The
 * weights of keys that a bias has nearly hidden are denormal, and products of such numbers take
 * many times as long. */
static unsigned flush_denormals(bool flush)
{
#if defined(__x86_64__)
    const unsigned mode = _mm_getcsr();
    if (flush)
        _mm_setcsr(mode | 0x8040);
    return mode;
#else
    return flush;
#endif
}

static void restore_denormals(unsigned mode)
{
#if defined(__x86_64__)
    _mm_setcsr(mode);
#else
    (void)mode;
#endif
}

/* Computes a block of queries of a pack. */
static void forward_part(void *context, int part, void *memory)
{
    const plan *p = context;
    const rt_attention_args *args = p->node->args;
    const pack at = pack_at(p, part / p->blocks), *a = &at;
    const scratch w = scratch_of(p, memory);
    const int i = part % p->blocks * TILE;
    const int rows = rt_smaller(TILE, a->Tq - i), heads = head_count(a);
    const rt_operand q = rt_gemm_share(a->size, rt_rows_from(a->q, i), rows, a->D, QUERIES);
    real *out = p->node->out->data + a->out + (size_t)i * (size_t)a->out_stride;
    const unsigned mode = flush_denormals(a->o->key_bias);
    bool first = true;
    for (int n = 0; n < heads; n++)
        for (size_t r = 0, row = row_of(a, n) + (size_t)i; r < (size_t)rows; r++) {
            args->shift[row + r] = -INFINITY;
            args->inverse[row + r] = 0;
        }
    for (int j = 0; j < a->Tk; j += TILE) {
        const tile t = {i, rows, j, rt_smaller(TILE, a->Tk - j), q, rt_rows_from(a->k, j)};
        if (unseen(args, t))
            continue;
        forward_tile(out, &w, args, a, t, first);
        first = false;
    }
    for (int n = 0; n < heads; n++) { /* m and 1/l are saved */
        const size_t row = row_of(a, n) + (size_t)i;
        real *m = args->shift + row, *l = args->inverse + row;
        real *result = out + offset_of(a, a->out_step, n);
        for (int r = 0; r < rows; r++) {
            if (first) /* no key was seen */
                memset(result + (size_t)r * (size_t)a->out_stride, 0, (size_t)a->E * sizeof *out);
            m[r] = finite_or_zero(m[r]);
            l[r] = l[r] > 0 ? 1 / l[r] : 0;
        }
        attention_scale_rows(result, a->out_stride, rows, a->E, l);
    }
    restore_denormals(mode);
}

static rt_result result_at(const pack *a, real *first, rt_operand as, int t)
{
    return (rt_result){first + (size_t)t * (size_t)as.stride, as.stride, as.step, a->size};
}

/* Recomputes the weights of a tile and adds its gradients. */
static void backward_tile(const scratch *w, const rt_attention_args *args, const pack *a,
                          rt_operand dout, tile t)
{
    const gradients *d = &a->d;
    const real scale = (real)a->o->scale;
    rt_operand ds = as_operand(w->ds, a, t);
    score(w->p, w->distance, a, t);
    for (int n = 0, heads = head_count(a); n < heads; n++) {
        const size_t row = row_of(a, n) + (size_t)t.i;
        attention_weigh_rows(w->p + (size_t)n * scores_of(t), t.rows, t.columns, args->shift + row,
                             args->inverse + row);
    }
    if (d->v) {
        const real *weights = w->p;
        if (a->o->dropout > 0) {
            const size_t size = (size_t)head_count(a) * scores_of(t);
            weights = memcpy(w->ds, w->p, size * sizeof *w->ds);
            drop(w->ds, args, a, t);
        }
        rt_gemm((rt_sizes){t.columns, a->E, t.rows}, 1, rt_transposed(as_operand(weights, a, t)),
                dout, 1, result_at(a, d->v, a->v, t.j));
    }
    if (!d->q && !d->k && !d->bias && !d->keys && !d->key_bias)
        return;
    rt_gemm((rt_sizes){t.rows, t.columns, a->E}, 1, dout, rt_transposed(rt_rows_from(a->v, t.j)), 0,
            (rt_result){w->ds, ds.stride, ds.step, a->size});
    drop(w->ds, args, a, t);
    attention_score_gradient(w->ds, w->p, head_count(a) * t.rows, t.columns, w->delta);
    for (int n = 0, heads = head_count(a); n < heads && a->o->distances; n++)
        terms_backward(w->ds + (size_t)n * scores_of(t), w->distance, a, t, n);
    for (int n = 0, heads = head_count(a); n < heads && d->key_bias; n++)
        rt_rows_sum(d->key_bias + start_of_head(a, n, a->Tk) + t.j,
                    w->ds + (size_t)n * scores_of(t), (size_t)t.rows, (size_t)t.columns,
                    (size_t)t.columns);
    ds = rt_gemm_share(a->size, ds, t.rows, t.columns, SCORE_GRADIENTS);
    if (d->q)
        rt_gemm((rt_sizes){t.rows, a->D, t.columns}, scale, ds, t.k, 1,
                result_at(a, d->q, a->q, t.i));
    if (d->k)
        rt_gemm((rt_sizes){t.columns, a->D, t.rows}, scale, rt_transposed(ds), t.q, 1,
                result_at(a, d->k, a->k, t.j));
}

static void backward_block(const rt_node *node, const scratch *w, const pack *a, int i)
{
    const rt_attention_args *args = node->args;
    const int rows = rt_smaller(TILE, a->Tq - i);
    const rt_operand out = out_rows(node->out->data, a, i);
    rt_operand dout = out_rows(node->out->grad, a, i);
    for (int n = 0, heads = head_count(a); n < heads; n++) {
        const size_t head = offset_of(a, a->out_step, n);
        attention_multiply_rows(w->delta + (size_t)n * (size_t)rows, dout.data + head,
                                out.data + head, a->out_stride, rows, a->E);
    }
    dout = rt_gemm_share(a->size, dout, rows, a->E, GRADIENTS);
    const rt_operand q = rt_gemm_share(a->size, rt_rows_from(a->q, i), rows, a->D, QUERIES);
    for (int j = 0; j < a->Tk; j += TILE) {
        tile t = {i, rows, j, rt_smaller(TILE, a->Tk - j), q, rt_rows_from(a->k, j)};
        if (unseen(args, t))
            continue;
        t.k = rt_gemm_share(a->size, t.k, t.columns, a->D, KEYS);
        backward_tile(w, args, a, dout, t);
    }
}

/* Computes the probabilities of one head for the caller's array, for all keys at once. */
static void show_part(void *context, int part, void *memory)
{
    const plan *p = context;
    const rt_attention_args *args = p->node->args;
    const pack a = pack_at(p, part);
    const scratch w = scratch_of(p, memory);
    const size_t row = row_of(&a, 0);
    for (int i = 0; i < a.Tq; i += TILE) {
        const tile t = {i, rt_smaller(TILE, a.Tq - i), 0, a.Tk, rt_rows_from(a.q, i), a.k};
        real *rows = a.o->probabilities + (row + (size_t)i) * (size_t)a.Tk;
        score(rows, w.distance, &a, t);
        attention_weigh_rows(rows, t.rows, t.columns, args->shift + row + i,
                             args->inverse + row + i);
    }
}

/* Runs parts in threads if there are enough queries, or keys of the next token of a text, to be
 * worth their overhead. */
static void share_packs(rt_part *part, plan *p, int parts)
{
    enum { LEAST_QUERIES = 16, LEAST_KEYS = 256 };
    if (p->node->in[0]->shape[1] >= LEAST_QUERIES || p->node->in[1]->shape[1] >= LEAST_KEYS)
        rt_node_share(p->node, part, p, parts);
    else
        rt_node_do(p->node, part, p, parts);
}

/* Fills in the positions of T tokens, if they are counted, and the span of each tile. */
static void find_spans(rt_span *spans, double *counted, const double *position, int T)
{
    for (int t = 0; counted && t < T; t++)
        counted[t] = t;
    for (int first = 0; first < T; first += TILE, spans++) {
        *spans = (rt_span){position[first], position[first]};
        for (int t = first; t < T && t < first + TILE; t++) {
            spans->first = fmin(spans->first, position[t]);
            spans->last = fmax(spans->last, position[t]);
        }
    }
}

static void attention_forward(const rt_node *n)
{
    const rt_attention_args *args = n->args;
    const rt_tensor *q = n->in[0], *k = n->in[1];
    find_spans(args->query_spans, args->counted_queries, args->o.query_positions, q->shape[1]);
    find_spans(args->key_spans, args->counted_keys, args->o.key_positions, k->shape[1]);
    if (rt_attention_is_short(n)) {
        rt_short_attention_forward(n);
    } else {
        plan p = plan_of(n, pack_most(q, k));
        share_packs(forward_part, &p, p.count * p.blocks);
    }
    if (shows(n)) {
        plan heads = plan_of(n, (rt_batch_size){1, 1});
        share_packs(show_part, &heads, heads.count);
    }
}

/* Processes all query heads that read the same keys, one after the other. */
static void backward_part(void *context, int part, void *memory)
{
    const plan *p = context;
    const scratch w = scratch_of(p, memory);
    const unsigned mode = flush_denormals(p->node->in[5]);
    for (int number = part * p->run; number < (part + 1) * p->run; number++) {
        const pack a = pack_at(p, number);
        for (int i = 0; i < a.Tq; i += TILE)
            backward_block(p->node, &w, &a, i);
    }
    restore_denormals(mode);
}

/* Runs the packs in order if the gradients of distance tensors are wanted, which are sums over
 * packs. */
static void attention_backward(const rt_node *n)
{
    if (rt_attention_is_short(n)) {
        rt_short_attention_backward(n);
        return;
    }
    plan p = plan_of(n, pack_most(n->in[0], n->in[1]));
    const int parts = p.count / p.run;
    p.d = (gradients){rt_grad(n, 0), rt_grad(n, 1), rt_grad(n, 2),
                      rt_grad(n, 3), rt_grad(n, 4), rt_grad(n, 5)};
    if (p.d.bias || p.d.keys)
        rt_node_do(n, backward_part, &p, parts);
    else
        share_packs(backward_part, &p, parts);
}

const rt_op rt_op_attention = {.name = "attention",
                               .forward = attention_forward,
                               .backward = attention_backward,
                               .scratch = attention_scratch};

static bool key_bias_fits(rt_graph *g, const rt_tensor *bias, int B, int H, int Tk)
{
    if (!RT_CHECK_INPUTS(g, "attention", {"key_bias", bias, .optional = true}))
        return false;
    if (bias && !rt_shapes_equal(rt_tensor_shape(bias), RT_SHAPE_OF(B, H, Tk)))
        rt_graph_fail(g, RT_SHAPE, "[attention] key_bias must be (B, H, Tk); got %s for %d, %d, %d",
                      rt_shape_text(bias), B, H, Tk);
    return !rt_graph_failed(g);
}

static bool distances_fit(rt_graph *g, const rt_attention_options *o, int H, int D)
{
    const rt_tensor *bias = o->distance_bias, *keys = o->distance_keys;
    const rt_distances *d = o->distances;
    const int classes = d ? d->classes : 0;
    bool good = !d || (classes > 0 && d->reach >= 0 && d->reach < INT_MAX / 2 && d->class_of);
    for (int i = 0; d && good && i <= 2 * d->reach; i++)
        good = d->class_of[i] >= 0 && d->class_of[i] < classes;
    if (!RT_CHECK_INPUTS(g, "attention", {"distance_bias", bias, .optional = true},
                         {"distance_keys", keys, .optional = true}))
        return false;
    if (!good)
        rt_graph_fail(g, RT_ARGUMENT,
                      "[attention] the distances must have a reach of at least 0, and for each of "
                      "2 reach + 1 distances one of their classes; got reach %d, %d classes",
                      d->reach, classes);
    else if ((bias && (bias->ndim != 2 || bias->shape[0] != classes || bias->shape[1] != H)) ||
             (keys && (keys->ndim != 2 || keys->shape[0] != classes || keys->shape[1] != D)))
        rt_graph_fail(g, RT_SHAPE,
                      "[attention] with %d heads of size %d, distance_bias must be (classes, H) "
                      "and distance_keys (classes, D) of the distances",
                      H, D);
    return !rt_graph_failed(g);
}

rt_tensor *rt_attention(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                        const rt_attention_options *options)
{
    if (!RT_CHECK_INPUTS(g, "attention", RT_FACTOR(q), RT_FACTOR(k), RT_FACTOR(v)) ||
        !rt_graph_check_argument(g, "attention", "options", options) ||
        (options->distance_keys && !RT_CHECK_INPUTS(g, "attention", RT_INPUT(q))))
        return NULL;
    if (q->ndim != 4 || k->ndim != 4 || v->ndim != 4 || q->shape[0] != k->shape[0] ||
        k->shape[0] != v->shape[0] || k->shape[1] != v->shape[1] || q->shape[2] % k->shape[2] ||
        k->shape[2] != v->shape[2] || q->shape[3] != k->shape[3])
        return rt_graph_fail(
            g, RT_SHAPE,
            "[attention] q, k, v must be (B, Tq, H, D), (B, Tk, G, D), (B, Tk, G, E), G a "
            "divisor of H; got %s, %s, %s",
            rt_shape_text(q), rt_shape_text(k), rt_shape_text(v));
    if (!(options->dropout >= 0 && options->dropout < 1))
        return rt_graph_fail(g, RT_ARGUMENT, "[attention] dropout must be in [0, 1); got %g",
                             options->dropout);
    if (options->window < 0)
        return rt_graph_fail(g, RT_ARGUMENT, "[attention] window must be >= 0; got %d",
                             options->window);
    if (!distances_fit(g, options, q->shape[2], q->shape[3]) ||
        !key_bias_fits(g, options->key_bias, q->shape[0], q->shape[2], k->shape[1]) ||
        !rt_positions_are_finite(g, "[attention] query_positions: position",
                                 options->query_positions, (size_t)q->shape[1]) ||
        !rt_positions_are_finite(g, "[attention] key_positions: position", options->key_positions,
                                 (size_t)k->shape[1]))
        return NULL;
    const int B = q->shape[0], Tq = q->shape[1], Tk = k->shape[1], H = q->shape[2];
    rt_attention_args args = {.o = *options};
    if (!rt_graph_drops(g))
        args.o.dropout = 0;
    if (args.o.dropout > 0)
        args.random = rt_graph_next_random(g, &args.first);
    if (args.o.scale == 0)
        args.o.scale = 1 / sqrt((double)q->shape[3]);
    if (!args.o.query_positions)
        args.o.query_positions = args.counted_queries =
            rt_graph_numbers(g, (size_t)Tq, sizeof *args.counted_queries);
    if (!args.o.key_positions)
        args.o.key_positions = args.counted_keys =
            rt_graph_numbers(g, (size_t)Tk, sizeof *args.counted_keys);
    args.query_spans = rt_graph_numbers(g, ((size_t)Tq + TILE - 1) / TILE, sizeof(rt_span));
    args.key_spans = rt_graph_numbers(g, ((size_t)Tk + TILE - 1) / TILE, sizeof(rt_span));
    args.shift = rt_graph_numbers(g, (size_t)B * (size_t)H * (size_t)Tq, sizeof(real));
    args.inverse = rt_graph_numbers(g, (size_t)B * (size_t)H * (size_t)Tq, sizeof(real));
    return RT_APPLY(g, &rt_op_attention, RT_SHAPE_OF(B, Tq, H, v->shape[3]), &args, q, k, v,
                    args.o.distance_bias, args.o.distance_keys, args.o.key_bias);
}
