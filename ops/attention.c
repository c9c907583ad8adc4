#include "core/row_kernels.h"
#include "ops/private.h"
#include "ops/vector_math.h"

#include <math.h>
#include <string.h>

/* Softmax attention in tiles of at most TILE x TILE scores, which stay in the cache. Heads with
 * smaller tiles are computed together (rt_pack).
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
enum { TILE = RT_ATTENTION_TILE };

/* First and last position of the queries, or of the keys, of a tile. */
typedef struct span {
    double first, last;
} span;

typedef struct attention_args {
    rt_attention_options o;                 /* scale and positions filled in */
    double *counted_queries, *counted_keys; /* positions 0, 1, 2, ..., if none are given */
    span *query_spans, *key_spans;          /* of each tile */
    rt_random random;                       /* of dropout */
    uint64_t first;
    real *shift;   /* (B, H, Tq): m, or 0 for a row without visible keys */
    real *inverse; /* (B, H, Tq): 1/l, or 0 */
} attention_args;

/* Packs of an op and the sizes of their scratch memory. In order: groups of sequences, in each the
 * key heads; the packs of the query heads that share a key head are adjacent. */
typedef struct plan {
    const rt_node *node;
    rt_batch_size most;          /* sizes of the largest pack */
    int run, of_sequence, count; /* packs of a key head, of a group of sequences, of the op */
    int blocks;                  /* of queries, each a part of its own in forward */
    size_t tile, rows, distance; /* numbers of the scores, the rows and the distance terms */
    rt_attention_gradients d;    /* of the inputs, in backward */
} plan;

static plan plan_of(const rt_node *n, rt_batch_size most)
{
    const attention_args *args = n->args;
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

static rt_pack pack_at(const plan *p, int number)
{
    const attention_args *args = p->node->args;
    const int in_sequence = number % p->of_sequence;
    return rt_pack_of(&args->o, p->node, p->most, number / p->of_sequence * p->most.outer,
                      in_sequence / p->run * p->most.inner, in_sequence % p->run, &p->d);
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

static rt_scratch_size attention_scratch(const rt_node *n, rt_pass pass)
{
    const rt_tensor *q = n->in[0], *k = n->in[1];
    const plan p = plan_of(n, rt_pack_most(q, k));
    const size_t scores = pass == RT_BACKWARD ? 2 * p.tile : p.tile;
    return (rt_scratch_size){.part = (scores + p.rows + p.distance) * sizeof(real),
                             .library =
                                 rt_gemm_library(rt_smaller(q->shape[1], TILE),
                                                 rt_smaller(k->shape[1], TILE), q->shape[3])};
}

/* Places of operands of several products. */
enum { QUERIES, KEYS, GRADIENTS, SCORE_GRADIENTS };

static size_t scores_of(rt_tile t)
{
    return (size_t)t.rows * (size_t)t.columns;
}

static rt_operand as_operand(const real *s, const rt_pack *a, rt_tile t)
{
    rt_operand x = rt_rows_at(s, t.columns);
    x.step = (rt_steps){scores_of(t) * (size_t)a->size.inner, scores_of(t)};
    return x;
}

/* Returns the rows of a tensor with the layout of the result, from token t on. */
static rt_operand out_rows(const real *x, const rt_pack *a, int t)
{
    const rt_operand first = {.data = x + a->out, .stride = a->out_stride, .step = a->out_step};
    return rt_rows_from(first, t);
}

static rt_operand share(rt_operand x, const rt_pack *a, int rows, int columns, int place)
{
    return rt_gemm_share(a->size, x, rows, columns, place);
}

/* Returns whether every key of the tile comes after every query, or is outside the window of all
 * queries. */
static bool unseen(const attention_args *args, rt_tile t)
{
    const rt_attention_options *o = &args->o;
    const span query = args->query_spans[t.i / TILE], key = args->key_spans[t.j / TILE];
    const double behind = query.first - key.last, ahead = key.first - query.last;
    return (o->causal && ahead > 0) || (o->window && (behind >= o->window || ahead >= o->window));
}

/* Multiplies row r of a head's tile by the dropout factors of its elements. */
static void drop_row(real *x, const attention_args *args, const rt_pack *a, rt_tile t, size_t row)
{
    real factor[TILE];
    const uint64_t words = ((uint64_t)a->Tk + 3) / 4;
    rt_dropout_factors(factor, (size_t)t.columns, args->random,
                       args->first + row * words + (uint64_t)t.j / 4, a->o->dropout);
    for (int j = 0; j < t.columns; j++)
        x[j] *= factor[j];
}

static void drop(real *x, const attention_args *args, const rt_pack *a, rt_tile t)
{
    if (a->o->dropout == 0)
        return;
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++)
        for (int r = 0; r < t.rows; r++, x += t.columns)
            drop_row(x, args, a, t, rt_pack_row(a, n) + (size_t)(t.i + r));
}

/* ---- rows of a tile ---- */

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
            row[j] = rt_exp_of(row[j] - shift);
            sum += row[j];
        }
        factor[r] = rt_exp_of(m[r] - shift);
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
            row[j] = rt_exp_of(row[j] - down) * factor;
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

/* ---- forward ---- */

/* Adds one key tile for a block of queries: out += e^(S - m) V, with the running m and l. */
static void forward_tile(real *out, const scratch *w, const attention_args *args, const rt_pack *a,
                         rt_tile t, bool first)
{
    real factor[TILE];
    rt_pack_score(w->p, w->distance, a, t);
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++) {
        const size_t row = rt_pack_row(a, n) + (size_t)t.i;
        attention_online_softmax(w->p + (size_t)n * scores_of(t), t.rows, t.columns,
                                 args->shift + row, args->inverse + row, factor);
        if (!first)
            attention_scale_rows(out + rt_pack_offset(a, a->out_step, n), a->out_stride, t.rows,
                                 a->E, factor);
    }
    drop(w->p, args, a, t);
    rt_gemm((rt_sizes){t.rows, a->E, t.columns}, 1, as_operand(w->p, a, t), rt_rows_from(a->v, t.j),
            first ? 0 : 1, (rt_result){out, a->out_stride, a->out_step, a->size});
}

/* Divides out by l, or clears it if no key was seen. m and l become the saved numbers. */
static void end_rows(real *out, real *m, real *l, const rt_pack *a, int rows, bool seen)
{
    for (int r = 0; r < rows; r++) {
        if (!seen)
            memset(out + (size_t)r * (size_t)a->out_stride, 0, (size_t)a->E * sizeof *out);
        m[r] = finite_or_zero(m[r]);
        l[r] = l[r] > 0 ? 1 / l[r] : 0;
    }
    attention_scale_rows(out, a->out_stride, rows, a->E, l);
}

static void forward_block(real *out, const scratch *w, const attention_args *args, const rt_pack *a,
                          int i)
{
    const int rows = rt_smaller(TILE, a->Tq - i), heads = rt_pack_heads(a);
    const rt_operand q = share(rt_rows_from(a->q, i), a, rows, a->D, QUERIES);
    bool first = true;
    for (int n = 0; n < heads; n++)
        for (size_t r = 0, row = rt_pack_row(a, n) + (size_t)i; r < (size_t)rows; r++) {
            args->shift[row + r] = -INFINITY;
            args->inverse[row + r] = 0;
        }
    for (int j = 0; j < a->Tk; j += TILE) {
        const rt_tile t = {i, rows, j, rt_smaller(TILE, a->Tk - j), q, rt_rows_from(a->k, j)};
        if (unseen(args, t))
            continue;
        forward_tile(out, w, args, a, t, first);
        first = false;
    }
    for (int n = 0; n < heads; n++) {
        const size_t row = rt_pack_row(a, n) + (size_t)i;
        end_rows(out + rt_pack_offset(a, a->out_step, n), args->shift + row, args->inverse + row, a,
                 rows, !first);
    }
}

/* Computes all probabilities of one head for the caller's array. */
static void show(const rt_pack *a, const scratch *w, const attention_args *args)
{
    const size_t row = rt_pack_row(a, 0);
    real *p = a->o->probabilities + row * (size_t)a->Tk;
    for (int i = 0; i < a->Tq; i += TILE) {
        const rt_tile t = {i, rt_smaller(TILE, a->Tq - i), 0, a->Tk, rt_rows_from(a->q, i), a->k};
        real *rows = p + (size_t)i * (size_t)a->Tk;
        rt_pack_score(rows, w->distance, a, t);
        attention_weigh_rows(rows, t.rows, t.columns, args->shift + row + i,
                             args->inverse + row + i);
    }
}

/* ---- backward ---- */

static rt_result result_at(const rt_pack *a, real *first, rt_operand as, int t)
{
    return (rt_result){first + (size_t)t * (size_t)as.stride, as.stride, as.step, a->size};
}

/* Recomputes the weights of a tile from the numbers that forward saved. */
static void weigh(const scratch *w, const attention_args *args, const rt_pack *a, rt_tile t)
{
    rt_pack_score(w->p, w->distance, a, t);
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++) {
        const size_t row = rt_pack_row(a, n) + (size_t)t.i;
        attention_weigh_rows(w->p + (size_t)n * scores_of(t), t.rows, t.columns, args->shift + row,
                             args->inverse + row);
    }
}

static void backward_values(const scratch *w, const attention_args *args, const rt_pack *a,
                            rt_operand dout, rt_tile t)
{
    const real *weights = w->p;
    if (a->o->dropout > 0) {
        const size_t size = (size_t)rt_pack_heads(a) * scores_of(t);
        weights = memcpy(w->ds, w->p, size * sizeof *w->ds);
        drop(w->ds, args, a, t);
    }
    rt_gemm((rt_sizes){t.columns, a->E, t.rows}, 1, rt_transposed(as_operand(weights, a, t)), dout,
            1, result_at(a, a->d.v, a->v, t.j));
}

static void backward_tile(const scratch *w, const attention_args *args, const rt_pack *a,
                          rt_operand dout, rt_tile t)
{
    const rt_attention_gradients *d = &a->d;
    const real scale = (real)a->o->scale;
    rt_operand ds = as_operand(w->ds, a, t);
    weigh(w, args, a, t);
    if (d->v)
        backward_values(w, args, a, dout, t);
    if (!d->q && !d->k && !d->bias && !d->keys)
        return;
    rt_gemm((rt_sizes){t.rows, t.columns, a->E}, 1, dout, rt_transposed(rt_rows_from(a->v, t.j)), 0,
            (rt_result){w->ds, ds.stride, ds.step, a->size});
    drop(w->ds, args, a, t);
    attention_score_gradient(w->ds, w->p, rt_pack_heads(a) * t.rows, t.columns, w->delta);
    if (a->o->distances)
        rt_pack_distance_backward(w->ds, w->distance, a, t);
    ds = share(ds, a, t.rows, t.columns, SCORE_GRADIENTS);
    if (d->q)
        rt_gemm((rt_sizes){t.rows, a->D, t.columns}, scale, ds, t.k, 1,
                result_at(a, d->q, a->q, t.i));
    if (d->k)
        rt_gemm((rt_sizes){t.columns, a->D, t.rows}, scale, rt_transposed(ds), t.q, 1,
                result_at(a, d->k, a->k, t.j));
}

static void backward_block(const rt_node *node, const scratch *w, const rt_pack *a, int i)
{
    const attention_args *args = node->args;
    const int rows = rt_smaller(TILE, a->Tq - i);
    const rt_operand out = out_rows(node->out->data, a, i);
    rt_operand dout = out_rows(node->out->grad, a, i);
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++) {
        const size_t head = rt_pack_offset(a, a->out_step, n);
        attention_multiply_rows(w->delta + (size_t)n * (size_t)rows, dout.data + head,
                                out.data + head, a->out_stride, rows, a->E);
    }
    dout = share(dout, a, rows, a->E, GRADIENTS);
    const rt_operand q = share(rt_rows_from(a->q, i), a, rows, a->D, QUERIES);
    for (int j = 0; j < a->Tk; j += TILE) {
        rt_tile t = {i, rows, j, rt_smaller(TILE, a->Tk - j), q, rt_rows_from(a->k, j)};
        if (unseen(args, t))
            continue;
        t.k = share(t.k, a, t.columns, a->D, KEYS);
        backward_tile(w, args, a, dout, t);
    }
}

/* ---- parts ---- */

static void forward_part(void *context, int part, void *memory)
{
    const plan *p = context;
    const rt_pack a = pack_at(p, part / p->blocks);
    const scratch w = scratch_of(p, memory);
    const int i = part % p->blocks * TILE;
    forward_block(p->node->out->data + a.out + (size_t)i * (size_t)a.out_stride, &w, p->node->args,
                  &a, i);
}

/* Computes the probabilities of one head, for all keys at once. */
static void show_part(void *context, int part, void *memory)
{
    const plan *p = context;
    const rt_pack a = pack_at(p, part);
    const scratch w = scratch_of(p, memory);
    show(&a, &w, p->node->args);
}

/* Runs parts in threads if there are enough queries to be worth their overhead. */
static void share_packs(rt_part *part, plan *p, int parts)
{
    enum { LEAST_QUERIES = 16 };
    if (p->node->in[0]->shape[1] >= LEAST_QUERIES)
        rt_node_share(p->node, part, p, parts);
    else
        rt_node_do(p->node, part, p, parts);
}

/* Fills in the positions of T tokens, if they are counted, and the span of each tile. */
static void find_spans(span *spans, double *counted, const double *position, int T)
{
    for (int t = 0; counted && t < T; t++)
        counted[t] = t;
    for (int first = 0; first < T; first += TILE, spans++) {
        *spans = (span){position[first], position[first]};
        for (int t = first; t < T && t < first + TILE; t++) {
            spans->first = fmin(spans->first, position[t]);
            spans->last = fmax(spans->last, position[t]);
        }
    }
}

static void attention_forward(const rt_node *n)
{
    const attention_args *args = n->args;
    const rt_tensor *q = n->in[0], *k = n->in[1];
    plan p = plan_of(n, rt_pack_most(q, k));
    find_spans(args->query_spans, args->counted_queries, args->o.query_positions, q->shape[1]);
    find_spans(args->key_spans, args->counted_keys, args->o.key_positions, k->shape[1]);
    share_packs(forward_part, &p, p.count * p.blocks);
    if (args->o.probabilities) {
        plan heads = plan_of(n, (rt_batch_size){1, 1});
        share_packs(show_part, &heads, heads.count);
    }
}

/* Processes all query heads that read the same keys, one after the other. */
static void backward_part(void *context, int part, void *memory)
{
    const plan *p = context;
    const scratch w = scratch_of(p, memory);
    for (int number = part * p->run; number < (part + 1) * p->run; number++) {
        const rt_pack a = pack_at(p, number);
        for (int i = 0; i < a.Tq; i += TILE)
            backward_block(p->node, &w, &a, i);
    }
}

/* Runs the packs in order if the gradients of distance tensors are wanted, which are sums over
 * packs. */
static void attention_backward(const rt_node *n)
{
    plan p = plan_of(n, rt_pack_most(n->in[0], n->in[1]));
    const int parts = p.count / p.run;
    p.d = (rt_attention_gradients){rt_grad(n, 0), rt_grad(n, 1), rt_grad(n, 2), rt_grad(n, 3),
                                   rt_grad(n, 4)};
    if (p.d.bias || p.d.keys)
        rt_node_do(n, backward_part, &p, parts);
    else
        share_packs(backward_part, &p, parts);
}

const rt_op rt_op_attention = {.name = "attention",
                               .forward = attention_forward,
                               .backward = attention_backward,
                               .scratch = attention_scratch};

rt_tensor *rt_attention(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                        const rt_attention_options *options)
{
    if (!rt_attention_fits(g, q, k, v, options))
        return NULL;
    const int B = q->shape[0], Tq = q->shape[1], Tk = k->shape[1], H = q->shape[2];
    attention_args args = {.o = *options};
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
    args.query_spans = rt_graph_numbers(g, ((size_t)Tq + TILE - 1) / TILE, sizeof(span));
    args.key_spans = rt_graph_numbers(g, ((size_t)Tk + TILE - 1) / TILE, sizeof(span));
    args.shift = rt_graph_numbers(g, (size_t)B * (size_t)H * (size_t)Tq, sizeof(real));
    args.inverse = rt_graph_numbers(g, (size_t)B * (size_t)H * (size_t)Tq, sizeof(real));
    return RT_APPLY(g, &rt_op_attention, RT_SHAPE_OF(B, Tq, H, v->shape[3]), &args, q, k, v,
                    args.o.distance_bias, args.o.distance_keys);
}
