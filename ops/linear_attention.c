#include "ops/private.h"
#include "ops/vector_math.h"

#include <math.h>
#include <string.h>

/* Linear attention, chunk by chunk. With the sums over the keys of a head
 *
 *     S = sum_j k_j v_j^T  (D, E),   s = constant sum_j v_j  (E)
 *
 * a query needs q_i S + s, whatever the number of keys. Causal attention keeps S and s of all
 * earlier chunks and computes the CHUNK x CHUNK weights inside the current one. Backward runs
 * forward once more for the gradient of q, and then backward with the sums
 *
 *     R = sum_i q_i G_i^T  (D, E),   r = constant sum_i G_i  (E),   G_i = dy_i / denominator_i
 *
 * over all later chunks for the gradients of k and v. With levels, S weights a key by e^(its level
 * - level of the chunk's last token) and R a query by e^(that level - its own), so that no factor
 * exceeds 1. With K, Q, V, G of a chunk, its weights W = Q K^T + constant and dW = G V^T up to the
 * diagonal, and f the factors by which levels fade:
 *
 *     forward    y = (f (Q S + s) + W V) / denominator,   then S = f S + K^T V
 *     backward   dQ += dW K + f G S^T,                    with the same S
 *                dK += dW^T Q + f V R^T,
 *                dV += W^T G + f (K R + r),               then R = f R + Q^T G
 *
 * Without causal attention W and dW are 0, and S and R are the sums over all chunks.
 */
enum { CHUNK = 64 };

typedef struct linear_args {
    rt_linear_attention_options o;
    real *inverse; /* 1 / denominator, (B, H, Tq); 0 where the denominator is 0 */
} linear_args;

/* A matrix in row-major memory. */
typedef struct matrix {
    real *data; /* NULL: not wanted */
    int stride;
    bool transposed;
} matrix;

/* One head of one sequence, and its scratch memory. dx is the gradient of x. */
typedef struct head {
    const rt_linear_attention_options *o;
    matrix q, k, v, below_q, below_k; /* below: of the denominator */
    matrix dq, dk, dv, dbelow_q, dbelow_k;
    matrix y, dy;
    real *inverse;       /* 1 / denominator of each query */
    const uint8_t *mask; /* NULL: all keys are visible */
    const real *level;   /* NULL: none */
    int level_stride;    /* from one token to the next */
    real *known;         /* S and s of the earlier tokens; NULL without a state */
    real *known_below;   /* their sum and number in the denominator */
    real *known_level;   /* NULL also without levels */
    int Tq, Tk, D, E;

    matrix sum;    /* (D + 1, E): S and s, or R and r */
    real *last;    /* row D of the sum: s or r */
    matrix key;    /* (CHUNK, D): K, the keys of a chunk, zero where masked */
    matrix scaled; /* (CHUNK, D): keys or queries, each multiplied by a factor */
    matrix g;      /* (CHUNK, E): G */
    real *weights; /* (CHUNK, CHUNK), of a chunk or their gradients */
    real *row;     /* (D) */
} head;

/* Tokens start ... last. */
typedef struct chunk {
    int start, size, last;
} chunk;

static chunk chunk_at(int start, int T)
{
    const int size = T - start < CHUNK ? T - start : CHUNK;
    return (chunk){start, size, start + size - 1};
}

static real *row_of(matrix x, int t)
{
    return x.data + (size_t)t * (size_t)x.stride;
}

static matrix rows_from(matrix x, int t)
{
    return (matrix){row_of(x, t), x.stride, false};
}

static matrix transpose(matrix x)
{
    return (matrix){x.data, x.stride, true};
}

/* Computes z = x y + beta z. */
static void multiply(rt_sizes size, matrix x, matrix y, real beta, matrix z)
{
    rt_gemm(size, 1, (rt_operand){.data = x.data, .stride = x.stride, .transposed = x.transposed},
            (rt_operand){.data = y.data, .stride = y.stride, .transposed = y.transposed}, beta,
            rt_result_at(z.data, z.stride));
}

static void add_row(real *restrict y, const real *restrict x, real factor, int size)
{
    for (int i = 0; i < size; i++)
        y[i] += factor * x[i];
}

static void scale_row(real *x, real factor, int size)
{
    for (int i = 0; i < size; i++)
        x[i] *= factor;
}

static real dot(const real *restrict x, const real *restrict y, int size)
{
    real sum = 0;
    for (int i = 0; i < size; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Returns e^(level of `from` - level of `to`), `from` not after `to`; -1 is the last token of the
 * state. */
static real fade(const head *a, int from, int to)
{
    if (!a->level || (from < 0 && !a->known_level))
        return 1;
    const real before = from < 0 ? *a->known_level : a->level[from * (ptrdiff_t)a->level_stride];
    return rt_exp_of(before - a->level[to * (ptrdiff_t)a->level_stride]);
}

/* ---- the denominators ---- */

/* Adds token j to the sum z of the keys that its query sees, faded by their levels. Returns their
 * number, faded in the same way. */
static real sum_keys(const head *a, real *z, real count, int j)
{
    const real faded = fade(a, j - 1, j);
    scale_row(z, faded, a->D);
    count *= faded;
    if (!rt_mask_has(a->mask, (size_t)j))
        return count;
    add_row(z, row_of(a->below_k, j), 1, a->D);
    return count + 1;
}

static void divide_by_denominators(const head *a)
{
    real count = a->known ? a->known_below[a->D] : 0;
    for (int j = 0; !a->o->causal && j < a->Tk; j++)
        count = sum_keys(a, a->row, count, j);
    for (int i = 0; i < a->Tq; i++) {
        if (a->o->causal)
            count = sum_keys(a, a->row, count, i);
        const real denominator = dot(row_of(a->below_q, i), a->row, a->D) +
                                 (real)a->o->constant * count + (real)a->o->eps;
        a->inverse[i] = denominator != 0 ? 1 / denominator : 0;
        scale_row(row_of(a->y, i), a->inverse[i], a->E);
    }
    if (!a->known)
        return;
    memcpy(a->known_below, a->row, (size_t)a->D * sizeof *a->row);
    a->known_below[a->D] = count;
}

/* Returns the gradient of the denominator of query i. */
static real denominator_gradient(const head *a, int i)
{
    return -a->inverse[i] * dot(row_of(a->dy, i), row_of(a->y, i), a->E);
}

/* Computes the gradients of the queries of the denominators from the sums of keys, and those of the
 * keys, last key first, from the sums of queries. */
static void denominators_backward(const head *a)
{
    const bool causal = a->o->causal;
    for (int j = 0; a->dbelow_q.data && !causal && j < a->Tk; j++)
        sum_keys(a, a->row, 0, j);
    for (int i = 0; a->dbelow_q.data && i < a->Tq; i++) {
        if (causal)
            sum_keys(a, a->row, 0, i);
        add_row(row_of(a->dbelow_q, i), a->row, denominator_gradient(a, i), a->D);
    }
    memset(a->row, 0, (size_t)a->D * sizeof *a->row);
    for (int i = 0; a->dbelow_k.data && !causal && i < a->Tq; i++)
        add_row(a->row, row_of(a->below_q, i), denominator_gradient(a, i), a->D);
    for (int j = a->Tk - 1; a->dbelow_k.data && j >= 0; j--) {
        if (causal && j + 1 < a->Tk)
            scale_row(a->row, fade(a, j, j + 1), a->D);
        if (causal)
            add_row(a->row, row_of(a->below_q, j), denominator_gradient(a, j), a->D);
        if (rt_mask_has(a->mask, (size_t)j))
            add_row(row_of(a->dbelow_k, j), a->row, 1, a->D);
    }
}

/* ---- the sums and the chunks ---- */

/* Copies rows, each multiplied by its factor (NULL: 1); rows that the mask excludes become 0. */
static void copy_rows(matrix to, matrix from, int rows, int columns, const uint8_t *mask,
                      const real *factors)
{
    const size_t size = (size_t)columns * sizeof(real);
    for (int t = 0; t < rows; t++) {
        if (mask && !mask[t])
            memset(row_of(to, t), 0, size);
        else
            memcpy(row_of(to, t), row_of(from, t), size);
        if (factors)
            scale_row(row_of(to, t), factors[t], columns);
    }
}

static void take_keys(const head *a, chunk c)
{
    const uint8_t *mask = a->mask ? a->mask + c.start : NULL;
    copy_rows(a->key, rows_from(a->k, c.start), c.size, a->D, mask, NULL);
}

static void take_gradients(const head *a, chunk c)
{
    copy_rows(a->g, rows_from(a->dy, c.start), c.size, a->E, NULL, a->inverse + c.start);
}

/* Adds rows x_t and y_t of a chunk to the sums, each with its share:
 * S = faded S + sum share_t x_t y_t^T and s = faded s + constant sum share_t y_t. */
static void add_to_sums(const head *a, int size, matrix x, matrix y, const real *share, real faded)
{
    scale_row(a->last, faded, a->E);
    for (int t = 0; t < size; t++)
        if (share[t] != 0)
            add_row(a->last, row_of(y, t), share[t] * (real)a->o->constant, a->E);
    copy_rows(a->scaled, x, size, a->D, NULL, share);
    multiply((rt_sizes){a->D, a->E, size}, transpose(a->scaled), y, faded, a->sum);
}

/* Moves S and s from the token before the chunk to its last one. */
static void add_keys(const head *a, chunk c)
{
    real share[CHUNK];
    for (int j = 0; j < c.size; j++)
        share[j] = rt_mask_has(a->mask, (size_t)(c.start + j)) ? fade(a, c.start + j, c.last) : 0;
    add_to_sums(a, c.size, a->key, rows_from(a->v, c.start), share, fade(a, c.start - 1, c.last));
}

/* Moves R and r from the last token of the chunk to the one before it. */
static void add_queries(const head *a, chunk c)
{
    real share[CHUNK];
    for (int i = 0; i < c.size; i++)
        share[i] = fade(a, c.start - 1, c.start + i);
    add_to_sums(a, c.size, rows_from(a->q, c.start), a->g, share, fade(a, c.start - 1, c.last));
}

/* Computes w_ij = (x_i y_j^T + constant) e^(level_j - level_i) for the keys j that query i sees in
 * its chunk, and 0 for others. */
static matrix weigh(const head *a, chunk c, matrix x, matrix y, int columns, real constant)
{
    const matrix w = {a->weights, c.size, false};
    multiply((rt_sizes){c.size, c.size, columns}, x, transpose(y), 0, w);
    for (int i = 0; i < c.size; i++) {
        real *row = row_of(w, i);
        for (int j = 0; j <= i; j++)
            row[j] += constant;
        for (int j = 0; a->mask && j <= i; j++)
            row[j] = a->mask[c.start + j] ? row[j] : 0;
        for (int j = 0; a->level && j <= i; j++)
            row[j] *= fade(a, c.start + j, c.start + i);
        memset(row + i + 1, 0, (size_t)(c.size - i - 1) * sizeof *row);
    }
    return w;
}

/* Computes the results of a chunk, before they are divided. */
static void forward_queries(const head *a, chunk c)
{
    const matrix q = rows_from(a->q, c.start), y = rows_from(a->y, c.start);
    multiply((rt_sizes){c.size, a->E, a->D}, q, a->sum, 0, y);
    for (int i = 0; i < c.size; i++) {
        add_row(row_of(y, i), a->last, 1, a->E);
        scale_row(row_of(y, i), fade(a, c.start - 1, c.start + i), a->E);
    }
    if (a->o->causal)
        multiply((rt_sizes){c.size, a->E, c.size},
                 weigh(a, c, q, a->key, a->D, (real)a->o->constant), rows_from(a->v, c.start), 1,
                 y);
}

/* Adds the gradient of the queries of a chunk. */
static void backward_queries(const head *a, chunk c)
{
    const matrix dq = rows_from(a->dq, c.start);
    take_gradients(a, c);
    if (a->o->causal)
        multiply((rt_sizes){c.size, a->D, c.size},
                 weigh(a, c, a->g, rows_from(a->v, c.start), a->E, 0), a->key, 1, dq);
    for (int i = 0; i < c.size; i++)
        scale_row(row_of(a->g, i), fade(a, c.start - 1, c.start + i), a->E);
    multiply((rt_sizes){c.size, a->D, a->E}, a->g, transpose(a->sum), 1, dq);
}

/* Calls `use` with the queries of each chunk and the sums over the keys that all of them see: those
 * of the earlier chunks if causal, else all. */
static void walk_queries(const head *a, void (*use)(const head *a, chunk c))
{
    for (int start = 0; start < a->Tk; start += CHUNK) {
        const chunk c = chunk_at(start, a->Tk);
        take_keys(a, c);
        if (a->o->causal)
            use(a, c);
        add_keys(a, c);
    }
    for (int start = 0; !a->o->causal && start < a->Tq; start += CHUNK)
        use(a, chunk_at(start, a->Tq));
}

/* Adds the gradients of keys and values, last chunk first. */
static void keys_backward(const head *a)
{
    memset(a->sum.data, 0, (size_t)(a->D + 1) * (size_t)a->E * sizeof(real));
    for (int start = 0; !a->o->causal && start < a->Tq; start += CHUNK) {
        const chunk c = chunk_at(start, a->Tq);
        take_gradients(a, c);
        add_queries(a, c);
    }
    for (int start = (a->Tk - 1) / CHUNK * CHUNK; start >= 0; start -= CHUNK) {
        const chunk c = chunk_at(start, a->Tk);
        const matrix q = rows_from(a->q, a->o->causal ? start : 0), v = rows_from(a->v, start);
        take_keys(a, c);
        if (a->o->causal)
            take_gradients(a, c);
        if (a->o->causal && a->dv.data)
            multiply((rt_sizes){c.size, a->E, c.size},
                     transpose(weigh(a, c, q, a->key, a->D, (real)a->o->constant)), a->g, 1,
                     rows_from(a->dv, start));
        if (a->o->causal && a->dk.data)
            multiply((rt_sizes){c.size, a->D, c.size}, transpose(weigh(a, c, a->g, v, a->E, 0)), q,
                     1, rows_from(a->dk, start));
        multiply((rt_sizes){c.size, a->D, a->E}, v, transpose(a->sum), 0, a->scaled);
        for (int j = 0; j < c.size; j++) {
            const int t = start + j;
            const real share = a->o->causal ? fade(a, t, c.last) : 1;
            scale_row(row_of(a->key, j), share, a->D);
            if (a->dk.data && rt_mask_has(a->mask, (size_t)t))
                add_row(row_of(a->dk, t), row_of(a->scaled, j), share, a->D);
            if (a->dv.data && rt_mask_has(a->mask, (size_t)t))
                add_row(row_of(a->dv, t), a->last, share, a->E);
        }
        if (a->dv.data)
            multiply((rt_sizes){c.size, a->E, a->D}, a->key, a->sum, 1, rows_from(a->dv, start));
        if (a->o->causal && start)
            add_queries(a, c);
    }
}

typedef struct head_pass {
    const rt_node *node;
    real *grad[5]; /* of each input; NULL: not wanted */
} head_pass;

/* Returns head h of sequence b of a tensor (B, T, H, D) with the numbers `data`. */
static matrix head_at(const rt_tensor *x, real *data, int b, int h)
{
    return (matrix){data ? data + rt_head_start(x, b, h) : NULL, x->shape[2] * x->shape[3], false};
}

static head head_of(const head_pass *p, int part, real *memory)
{
    const rt_node *n = p->node;
    const linear_args *args = n->args;
    const rt_linear_state *state = args->o.state;
    const rt_tensor *q = n->in[0], *k = n->in[1], *v = n->in[2];
    const int H = q->shape[2], Tk = k->shape[1], b = part / H, h = part % H;
    const size_t token = (size_t)b * (size_t)Tk, row = (size_t)part;
    const size_t D = (size_t)q->shape[3], E = (size_t)v->shape[3];
    head a = {.o = &args->o,
              .q = head_at(q, q->data, b, h),
              .k = head_at(k, k->data, b, h),
              .v = head_at(v, v->data, b, h),
              .below_q = head_at(q, n->in[3]->data, b, h),
              .below_k = head_at(k, n->in[4]->data, b, h),
              .dq = head_at(q, p->grad[0], b, h),
              .dk = head_at(k, p->grad[1], b, h),
              .dv = head_at(v, p->grad[2], b, h),
              .dbelow_q = head_at(q, p->grad[3], b, h),
              .dbelow_k = head_at(k, p->grad[4], b, h),
              .y = head_at(n->out, n->out->data, b, h),
              .dy = head_at(n->out, n->out->grad, b, h),
              .inverse = args->inverse + row * (size_t)q->shape[1],
              .mask = args->o.key_mask ? args->o.key_mask + token : NULL,
              .level = args->o.level ? args->o.level + token * (size_t)H + h : NULL,
              .level_stride = H,
              .known = state ? state->sum + row * (D + 1) * E : NULL,
              .known_below = state ? state->below + row * (D + 1) : NULL,
              .known_level = state && args->o.level ? state->level + row : NULL,
              .Tq = q->shape[1],
              .Tk = Tk,
              .D = q->shape[3],
              .E = v->shape[3]};
    a.sum = (matrix){memory, a.E, false};
    a.last = memory + D * E;
    a.key = (matrix){a.last + E, a.D, false};
    a.scaled = (matrix){a.key.data + CHUNK * D, a.D, false};
    a.g = (matrix){a.scaled.data + CHUNK * D, a.E, false};
    a.weights = a.g.data + CHUNK * E;
    a.row = a.weights + CHUNK * CHUNK;
    memset(a.sum.data, 0, (D + 1) * E * sizeof(real));
    memset(a.row, 0, D * sizeof(real));
    return a;
}

static rt_scratch_size linear_attention_scratch(const rt_node *n, rt_pass pass)
{
    const size_t D = (size_t)n->in[0]->shape[3], E = (size_t)n->in[2]->shape[3];
    const size_t numbers = (D + 1) * E + D + CHUNK * (2 * D + CHUNK + E);
    (void)pass;
    return (rt_scratch_size){.part = numbers * sizeof(real)};
}

static void forward_part(void *context, int part, void *memory)
{
    const head a = head_of(context, part, memory);
    const size_t size = (size_t)(a.D + 1) * (size_t)a.E * sizeof(real);
    if (a.known) {
        memcpy(a.sum.data, a.known, size);
        memcpy(a.row, a.known_below, (size_t)a.D * sizeof(real));
    }
    walk_queries(&a, forward_queries);
    divide_by_denominators(&a);
    if (a.known)
        memcpy(a.known, a.sum.data, size);
    if (a.known_level)
        *a.known_level = a.level[(a.Tk - 1) * (ptrdiff_t)a.level_stride];
}

static void backward_part(void *context, int part, void *memory)
{
    const head a = head_of(context, part, memory);
    if (a.dq.data)
        walk_queries(&a, backward_queries);
    if (a.dk.data || a.dv.data)
        keys_backward(&a);
    denominators_backward(&a);
}

static void linear_attention_forward(const rt_node *n)
{
    head_pass p = {.node = n};
    rt_node_share(n, forward_part, &p, n->out->shape[0] * n->out->shape[2]);
}

static void linear_attention_backward(const rt_node *n)
{
    head_pass p = {.node = n};
    for (int i = 0; i < 5; i++)
        p.grad[i] = rt_grad(n, i);
    rt_node_share(n, backward_part, &p, n->out->shape[0] * n->out->shape[2]);
}

const rt_op rt_op_linear_attention = {.name = "linear_attention",
                                      .forward = linear_attention_forward,
                                      .backward = linear_attention_backward,
                                      .scratch = linear_attention_scratch};

rt_tensor *rt_linear_attention(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                               rt_tensor *denominator_q, rt_tensor *denominator_k,
                               const rt_linear_attention_options *options)
{
    if (!RT_CHECK_INPUTS(g, "linear_attention", RT_INPUT(q), RT_INPUT(k), RT_INPUT(v),
                         RT_INPUT(denominator_q), RT_INPUT(denominator_k)) ||
        !rt_graph_check_argument(g, "linear_attention", "options", options))
        return NULL;
    if (q->ndim != 4 || k->ndim != 4 || v->ndim != 4 || q->shape[0] != k->shape[0] ||
        k->shape[0] != v->shape[0] || k->shape[1] != v->shape[1] || q->shape[2] != k->shape[2] ||
        k->shape[2] != v->shape[2] || q->shape[3] != k->shape[3] ||
        (options->causal && q->shape[1] != k->shape[1]) || !rt_same_shape(q, denominator_q) ||
        !rt_same_shape(k, denominator_k))
        return rt_graph_fail(g, RT_SHAPE,
                             "[linear_attention] q, k, v must be (B, Tq, H, D), (B, Tk, H, D), "
                             "(B, Tk, H, E)%s, and the denominator's q and k as q and k; got %s, "
                             "%s, %s, %s, %s",
                             options->causal ? " with Tq = Tk" : "", rt_shape_text(q),
                             rt_shape_text(k), rt_shape_text(v), rt_shape_text(denominator_q),
                             rt_shape_text(denominator_k));
    const rt_linear_state *state = options->state;
    if (options->level && !options->causal)
        return rt_graph_fail(g, RT_ARGUMENT, "[linear_attention] levels need causal attention");
    if (state && (!options->causal || rt_graph_records(g)))
        return rt_graph_fail(
            g, RT_ARGUMENT,
            "[linear_attention] a state needs causal attention and a graph that does not record");
    if (state && (!state->sum || !state->below || (options->level && !state->level)))
        return rt_graph_fail(
            g, RT_ARGUMENT,
            "[linear_attention] a state needs sum and below, and level if the keys have levels");
    if (!(options->eps >= 0 && options->eps < INFINITY))
        return rt_graph_fail(g, RT_ARGUMENT, "[linear_attention] eps must be >= 0; got %g",
                             options->eps);
    const int B = q->shape[0], Tq = q->shape[1], H = q->shape[2];
    linear_args args = {.o = *options};
    args.inverse = rt_graph_numbers(g, (size_t)B * (size_t)H * (size_t)Tq, sizeof(real));
    return RT_APPLY(g, &rt_op_linear_attention, RT_SHAPE_OF(B, Tq, H, v->shape[3]), &args, q, k, v,
                    denominator_q, denominator_k);
}
