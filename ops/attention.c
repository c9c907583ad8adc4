#include "ops/attention_parts.h"
#include "ops/ops.h"
#include "ops/private.h"

#include <math.h>
#include <string.h>

/* Softmax attention in tiles of at most TILE x TILE scores, which stay in the cache. Heads with
 * smaller tiles are computed together (attention_parts.h).
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

/* Scratch memory for one pack at a time. */
typedef struct scratch {
    real *p, *ds;   /* scores, head by head; ds for backward only */
    real *delta;    /* a number for each row of scores */
    real *distance; /* distance terms of a tile */
} scratch;

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

/* Numbers of a room, for the largest pack of the op. */
typedef struct extent {
    size_t rows, tile, distance; /* tile: of all heads */
    size_t tiles;                /* of scores */
} extent;

static extent extent_of(const rt_node *n, rt_pass pass)
{
    const attention_args *args = n->args;
    const rt_tensor *q = n->in[0], *k = n->in[1];
    const rt_batch_size most = rt_pack_most(q, k);
    const size_t heads = (size_t)most.outer * (size_t)most.inner;
    const size_t rows = (size_t)rt_smaller(q->shape[1], TILE);
    const size_t classes = args->o.distances ? (size_t)args->o.distances->classes : 0;
    return (extent){.rows = heads * rows,
                    .tile = heads * rows * (size_t)rt_smaller(k->shape[1], TILE),
                    .distance = rows * classes,
                    .tiles = pass == RT_BACKWARD ? 2 : 1};
}

static size_t size_of(extent e)
{
    return e.tiles * e.tile + e.rows + e.distance;
}

static scratch scratch_of(extent e, void *memory)
{
    real *all = memory;
    return (scratch){.p = all,
                     .ds = all + (e.tiles - 1) * e.tile,
                     .delta = all + e.tiles * e.tile,
                     .distance = all + e.tiles * e.tile + e.rows};
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
        rt_attention_online_softmax(w->p + (size_t)n * scores_of(t), t.rows, t.columns,
                                    args->shift + row, args->inverse + row, factor);
        if (!first)
            rt_attention_scale(out + rt_pack_offset(a, a->out_step, n), a->out_stride, t.rows, a->E,
                               factor);
    }
    drop(w->p, args, a, t);
    rt_gemm((rt_sizes){t.rows, a->E, t.columns}, 1, as_operand(w->p, a, t), rt_rows_from(a->v, t.j),
            first ? 0 : 1, (rt_result){out, a->out_stride, a->out_step, a->size});
}

static void clear_rows(real *x, int stride, int rows, int size)
{
    for (int r = 0; r < rows; r++)
        memset(x + (size_t)r * (size_t)stride, 0, (size_t)size * sizeof *x);
}

static void begin_rows(real *m, real *l, int rows)
{
    for (int r = 0; r < rows; r++) {
        m[r] = -INFINITY;
        l[r] = 0;
    }
}

/* Divides out by l, or clears it if no key was seen. m and l become the saved numbers. */
static void end_rows(real *out, real *m, real *l, const rt_pack *a, int rows, bool seen)
{
    if (!seen)
        clear_rows(out, a->out_stride, rows, a->E);
    for (int r = 0; r < rows; r++) {
        m[r] = rt_finite_or_zero(m[r]);
        l[r] = l[r] > 0 ? 1 / l[r] : 0;
    }
    rt_attention_scale(out, a->out_stride, rows, a->E, l);
}

static void forward_block(real *out, const scratch *w, const attention_args *args, const rt_pack *a,
                          int i)
{
    const int rows = rt_smaller(TILE, a->Tq - i), heads = rt_pack_heads(a);
    const rt_operand q = share(rt_rows_from(a->q, i), a, rows, a->D, QUERIES);
    bool first = true;
    for (int n = 0; n < heads; n++) {
        const size_t row = rt_pack_row(a, n) + (size_t)i;
        begin_rows(args->shift + row, args->inverse + row, rows);
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
        rt_attention_weigh(rows, t.rows, t.columns, args->shift + row + i, args->inverse + row + i);
    }
}

/* ---- backward ---- */

/* Gradients of a pack, in the layout of its q, k, v; NULL if not wanted. */
typedef struct gradients {
    real *dq, *dk, *dv;
    real *dbias, *dkeys; /* of the distance tensors, for all packs */
} gradients;

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
        rt_attention_weigh(w->p + (size_t)n * scores_of(t), t.rows, t.columns, args->shift + row,
                           args->inverse + row);
    }
}

static void backward_values(real *dv, const scratch *w, const attention_args *args,
                            const rt_pack *a, rt_operand dout, rt_tile t)
{
    const real *weights = w->p;
    if (a->o->dropout > 0) {
        const size_t size = (size_t)rt_pack_heads(a) * scores_of(t);
        weights = memcpy(w->ds, w->p, size * sizeof *w->ds);
        drop(w->ds, args, a, t);
    }
    rt_gemm((rt_sizes){t.columns, a->E, t.rows}, 1, rt_transposed(as_operand(weights, a, t)), dout,
            1, result_at(a, dv, a->v, t.j));
}

/* Computes the gradient of the scores in w->ds. */
static void backward_scores(const scratch *w, const attention_args *args, const rt_pack *a,
                            rt_operand dout, rt_tile t)
{
    const rt_operand ds = as_operand(w->ds, a, t);
    rt_gemm((rt_sizes){t.rows, t.columns, a->E}, 1, dout, rt_transposed(rt_rows_from(a->v, t.j)), 0,
            (rt_result){w->ds, ds.stride, ds.step, a->size});
    drop(w->ds, args, a, t);
    rt_attention_score_gradient(w->ds, w->p, rt_pack_heads(a) * t.rows, t.columns, w->delta);
}

static void backward_tile(const scratch *w, const attention_args *args, const rt_pack *a,
                          const gradients *d, rt_operand dout, rt_tile t)
{
    const real scale = (real)a->o->scale;
    weigh(w, args, a, t);
    if (d->dv)
        backward_values(d->dv, w, args, a, dout, t);
    if (!d->dq && !d->dk && !a->dbias && !a->dkeys)
        return;
    backward_scores(w, args, a, dout, t);
    if (a->o->distances)
        rt_pack_distance_backward(w->ds, w->distance, d->dq, a, t);
    const rt_operand ds = share(as_operand(w->ds, a, t), a, t.rows, t.columns, SCORE_GRADIENTS);
    if (d->dq)
        rt_gemm((rt_sizes){t.rows, a->D, t.columns}, scale, ds, t.k, 1,
                result_at(a, d->dq, a->q, t.i));
    if (d->dk)
        rt_gemm((rt_sizes){t.columns, a->D, t.rows}, scale, rt_transposed(ds), t.q, 1,
                result_at(a, d->dk, a->k, t.j));
}

static void backward_block(const rt_node *node, const scratch *w, const rt_pack *a,
                           const gradients *d, int i)
{
    const attention_args *args = node->args;
    const int rows = rt_smaller(TILE, a->Tq - i);
    const rt_operand out = out_rows(node->out->data, a, i);
    rt_operand dout = out_rows(node->out->grad, a, i);
    for (int n = 0, heads = rt_pack_heads(a); n < heads; n++) {
        const size_t head = rt_pack_offset(a, a->out_step, n);
        rt_attention_multiply(w->delta + (size_t)n * (size_t)rows, dout.data + head,
                              out.data + head, a->out_stride, rows, a->E);
    }
    dout = share(dout, a, rows, a->E, GRADIENTS);
    const rt_operand q = share(rt_rows_from(a->q, i), a, rows, a->D, QUERIES);
    for (int j = 0; j < a->Tk; j += TILE) {
        rt_tile t = {i, rows, j, rt_smaller(TILE, a->Tk - j), q, rt_rows_from(a->k, j)};
        if (unseen(args, t))
            continue;
        t.k = share(t.k, a, t.columns, a->D, KEYS);
        backward_tile(w, args, a, d, dout, t);
    }
}

/* Returns the index in the tensor x at which an operand begins. */
static size_t begin_of(rt_operand first, const rt_tensor *x)
{
    return (size_t)(x->data ? first.data - x->data : first.stored - (const uint16_t *)x->rounded);
}

/* Computes the gradients of a pack; `all` are those of the inputs. */
static void backward_pack(const rt_node *node, const scratch *w, const rt_pack *pack,
                          const gradients *all)
{
    const rt_tensor *q = node->in[0], *k = node->in[1], *v = node->in[2];
    const gradients d = {.dq = all->dq ? all->dq + begin_of(pack->q, q) : NULL,
                         .dk = all->dk ? all->dk + begin_of(pack->k, k) : NULL,
                         .dv = all->dv ? all->dv + begin_of(pack->v, v) : NULL};
    rt_pack a = *pack;
    a.dbias = all->dbias;
    a.dkeys = all->dkeys;
    for (int i = 0; i < a.Tq; i += TILE)
        backward_block(node, w, &a, &d, i);
}

/* Order of the packs of an op: groups of sequences, in each the key heads; the packs of the query
 * heads that share a key head are adjacent. */
typedef struct order {
    rt_batch_size most;
    int run, of_sequence, count;
} order;

static order order_of(const rt_node *n)
{
    const rt_tensor *q = n->in[0], *k = n->in[1];
    order o = {.most = rt_pack_most(q, k), .run = q->shape[2] / k->shape[2]};
    o.of_sequence = (k->shape[2] + o.most.inner - 1) / o.most.inner * o.run;
    o.count = (q->shape[0] + o.most.outer - 1) / o.most.outer * o.of_sequence;
    return o;
}

static rt_pack pack_at(const rt_node *n, const order *o, int number)
{
    const attention_args *args = n->args;
    const int in_sequence = number % o->of_sequence;
    return rt_pack_of(&args->o, n->in, number / o->of_sequence * o->most.outer,
                      in_sequence / o->run * o->most.inner, in_sequence % o->run);
}

typedef struct packs_pass {
    const rt_node *node;
    order order;
    extent extent;
    int blocks;    /* of queries, each a part of its own in forward */
    gradients all; /* in backward */
} packs_pass;

static packs_pass pass_of(const rt_node *n, rt_pass way)
{
    return (packs_pass){.node = n,
                        .order = order_of(n),
                        .extent = extent_of(n, way),
                        .blocks = (n->in[0]->shape[1] + TILE - 1) / TILE};
}

static rt_scratch_size attention_scratch(const rt_node *n, rt_pass pass)
{
    const rt_tensor *q = n->in[0], *k = n->in[1];
    return (rt_scratch_size){.part = size_of(extent_of(n, pass)) * sizeof(real),
                             .library =
                                 rt_gemm_library(rt_smaller(q->shape[1], TILE),
                                                 rt_smaller(k->shape[1], TILE), q->shape[3])};
}

static void forward_part(void *context, int part, void *memory)
{
    const packs_pass *p = context;
    const rt_pack a = pack_at(p->node, &p->order, part / p->blocks);
    const scratch w = scratch_of(p->extent, memory);
    const int i = part % p->blocks * TILE;
    forward_block(p->node->out->data + a.out + (size_t)i * (size_t)a.out_stride, &w, p->node->args,
                  &a, i);
}

/* Computes the probabilities of a pack, for all keys at once. */
static void show_part(void *context, int part, void *memory)
{
    const packs_pass *p = context;
    const rt_pack a = pack_at(p->node, &p->order, part);
    const scratch w = scratch_of(p->extent, memory);
    for (int n = 0, heads = rt_pack_heads(&a); n < heads; n++) {
        const rt_pack one = rt_pack_single(&a, n);
        show(&one, &w, p->node->args);
    }
}

/* Minimum number of queries for which threads are worth their overhead. */
enum { QUERIES_OF_CREW = 16 };

static void share_packs(const rt_node *n, rt_part *part, packs_pass *p, int parts)
{
    if (n->in[0]->shape[1] >= QUERIES_OF_CREW)
        rt_node_share(n, part, p, parts);
    else
        rt_node_do(n, part, p, parts);
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
    packs_pass p = pass_of(n, RT_FORWARD);
    find_spans(args->query_spans, args->counted_queries, args->o.query_positions,
               n->in[0]->shape[1]);
    find_spans(args->key_spans, args->counted_keys, args->o.key_positions, n->in[1]->shape[1]);
    share_packs(n, forward_part, &p, p.order.count * p.blocks);
    if (args->o.probabilities)
        share_packs(n, show_part, &p, p.order.count);
}

/* Processes all query heads that read the same keys, one after the other. */
static void backward_part(void *context, int part, void *memory)
{
    const packs_pass *p = context;
    const scratch w = scratch_of(p->extent, memory);
    for (int i = part * p->order.run; i < (part + 1) * p->order.run; i++) {
        const rt_pack a = pack_at(p->node, &p->order, i);
        backward_pack(p->node, &w, &a, &p->all);
    }
}

/* Runs the packs in order if the gradients of distance tensors are wanted, which are sums over
 * packs. */
static void attention_backward(const rt_node *n)
{
    packs_pass p = pass_of(n, RT_BACKWARD);
    const int parts = p.order.count / p.order.run;
    p.all = (gradients){rt_grad(n, 0), rt_grad(n, 1), rt_grad(n, 2), rt_grad(n, 3), rt_grad(n, 4)};
    if (p.all.dbias || p.all.dkeys)
        rt_node_do(n, backward_part, &p, parts);
    else
        share_packs(n, backward_part, &p, parts);
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
