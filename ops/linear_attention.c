#include "ops/gemm.h"
#include "ops/ops.h"
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
 * exceeds 1.
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
    matrix key;    /* (CHUNK, D): keys of a chunk, zero where masked */
    matrix scaled; /* (CHUNK, D): keys or queries, each multiplied by a factor */
    matrix g;      /* (CHUNK, E): G */
    real *weights; /* (CHUNK, CHUNK), of a chunk or their gradients */
    real *row;     /* (D) */
} head;

/* Tokens start ... start + size - 1. */
typedef struct chunk {
    int start, size;
} chunk;

static chunk chunk_at(int start, int T)
{
    return (chunk){start, T - start < CHUNK ? T - start : CHUNK};
}

static int last_of(chunk c)
{
    return c.start + c.size - 1;
}

/* Returns row t of a matrix, and its rows from t on as an operand or as the result of a product. */
static real *row_of(matrix x, int t)
{
    return x.data + (size_t)t * (size_t)x.stride;
}

static rt_operand from(matrix x, int t)
{
    return rt_rows_at(row_of(x, t), x.stride);
}

static rt_result into(matrix x, int t)
{
    return rt_result_at(row_of(x, t), x.stride);
}

static bool visible(const head *a, int j)
{
    return !a->mask || a->mask[j];
}

static real level_at(const head *a, int t)
{
    return t < 0 ? *a->known_level : a->level[(size_t)t * (size_t)a->level_stride];
}

/* Returns e^(level of `from` - level of `to`), `from` not after `to`; -1 is the last token of the
 * state. */
static real fade(const head *a, int from, int to)
{
    if (!a->level || (from < 0 && !a->known_level))
        return 1;
    return rt_exp_of(level_at(a, from) - level_at(a, to));
}

static void add_row(real *restrict y, const real *restrict x, real factor, int size)
{
    for (int i = 0; i < size; i++)
        y[i] += factor * x[i];
}

static real product(const real *restrict x, const real *restrict y, int size)
{
    real sum = 0;
    for (int i = 0; i < size; i++)
        sum += x[i] * y[i];
    return sum;
}

static void multiply_row(real *x, real factor, int size)
{
    for (int i = 0; i < size; i++)
        x[i] *= factor;
}

/* Initializes a sum with the state, or with zeros. */
static void begin_sum(real *sum, const real *known, size_t size)
{
    if (known)
        memcpy(sum, known, size * sizeof *sum);
    else
        memset(sum, 0, size * sizeof *sum);
}

/* Adds token j to the sum z of the keys that its query sees, faded by their levels. Returns their
 * number, faded in the same way. */
static real sum_keys(const head *a, real *z, real count, int j)
{
    const real faded = fade(a, j - 1, j);
    multiply_row(z, faded, a->D);
    count *= faded;
    if (!visible(a, j))
        return count;
    add_row(z, row_of(a->below_k, j), 1, a->D);
    return count + 1;
}

static void divide_by_denominator(const head *a)
{
    real count = a->known ? a->known_below[a->D] : 0;
    begin_sum(a->row, a->known ? a->known_below : NULL, (size_t)a->D);
    for (int j = 0; !a->o->causal && j < a->Tk; j++)
        count = sum_keys(a, a->row, count, j);
    for (int i = 0; i < a->Tq; i++) {
        if (a->o->causal)
            count = sum_keys(a, a->row, count, i);
        const real denominator = product(row_of(a->below_q, i), a->row, a->D) +
                                 (real)a->o->constant * count + (real)a->o->eps;
        a->inverse[i] = denominator != 0 ? 1 / denominator : 0;
        multiply_row(row_of(a->y, i), a->inverse[i], a->E);
    }
    if (!a->known)
        return;
    memcpy(a->known_below, a->row, (size_t)a->D * sizeof *a->row);
    a->known_below[a->D] = count;
}

/* Returns the gradient of the denominator of query i. */
static real below_gradient(const head *a, int i)
{
    return -a->inverse[i] * product(row_of(a->dy, i), row_of(a->y, i), a->E);
}

static void below_queries_backward(const head *a)
{
    memset(a->row, 0, (size_t)a->D * sizeof *a->row);
    for (int j = 0; !a->o->causal && j < a->Tk; j++)
        sum_keys(a, a->row, 0, j);
    for (int i = 0; i < a->Tq; i++) {
        if (a->o->causal)
            sum_keys(a, a->row, 0, i);
        add_row(row_of(a->dbelow_q, i), a->row, below_gradient(a, i), a->D);
    }
}

static void below_keys_backward(const head *a)
{
    memset(a->row, 0, (size_t)a->D * sizeof *a->row);
    for (int i = 0; !a->o->causal && i < a->Tq; i++)
        add_row(a->row, row_of(a->below_q, i), below_gradient(a, i), a->D);
    for (int j = a->Tk - 1; j >= 0; j--) {
        if (a->o->causal) {
            if (j + 1 < a->Tk)
                multiply_row(a->row, fade(a, j, j + 1), a->D);
            add_row(a->row, row_of(a->below_q, j), below_gradient(a, j), a->D);
        }
        if (visible(a, j))
            add_row(row_of(a->dbelow_k, j), a->row, 1, a->D);
    }
}

/* Sets a->key to the keys of a chunk, zero where masked. */
static void take_keys(const head *a, chunk c)
{
    for (int j = 0; j < c.size; j++) {
        real *to = row_of(a->key, j);
        memset(to, 0, (size_t)a->D * sizeof *to);
        if (visible(a, c.start + j))
            memcpy(to, row_of(a->k, c.start + j), (size_t)a->D * sizeof *to);
    }
}

/* Adds rows x_t and y_t of a chunk to the sums, each with its share:
 * S = faded S + sum share_t x_t y_t^T and s = faded s + constant sum share_t y_t. */
static void add_to_sums(const head *a, int size, matrix x, matrix y, const real *share, real faded)
{
    multiply_row(a->last, faded, a->E);
    for (int t = 0; t < size; t++) {
        real *scaled = row_of(a->scaled, t);
        memcpy(scaled, row_of(x, t), (size_t)a->D * sizeof *scaled);
        multiply_row(scaled, share[t], a->D);
        if (share[t] != 0)
            add_row(a->last, row_of(y, t), share[t] * (real)a->o->constant, a->E);
    }
    rt_gemm((rt_sizes){a->D, a->E, size}, 1, rt_transposed(from(a->scaled, 0)), from(y, 0), faded,
            into(a->sum, 0));
}

/* Adds the queries of a chunk, with G in a->g, to R and r, faded to token `last`. */
static void sum_queries_of_chunk(const head *a, chunk c, int last)
{
    real share[CHUNK];
    for (int i = 0; i < c.size; i++)
        share[i] = fade(a, last, c.start + i);
    add_to_sums(a, c.size, (matrix){row_of(a->q, c.start), a->q.stride}, a->g, share,
                fade(a, last, last_of(c)));
}

/* Computes x_ij = (x_ij + constant) e^(level_j - level_i) for the keys that i sees in its chunk,
 * and 0 for others. */
static void mask_weights(const head *a, real *x, chunk c, real constant)
{
    for (int i = 0; i < c.size; i++) {
        real *row = x + i * c.size;
        for (int j = 0; j <= i; j++)
            row[j] += constant;
        for (int j = 0; a->mask && j <= i; j++)
            row[j] = a->mask[c.start + j] ? row[j] : 0;
        for (int j = 0; a->level && j <= i; j++)
            row[j] *= fade(a, c.start + j, c.start + i);
        memset(row + i + 1, 0, (size_t)(c.size - i - 1) * sizeof *row);
    }
}

/* Computes the weights of the keys of a chunk for its queries. */
static rt_operand weigh_chunk(const head *a, chunk c)
{
    rt_gemm((rt_sizes){c.size, c.size, a->D}, 1, from(a->q, c.start),
            rt_transposed(from(a->key, 0)), 0, rt_result_at(a->weights, c.size));
    mask_weights(a, a->weights, c, (real)a->o->constant);
    return rt_rows_at(a->weights, c.size);
}

/* Calls `use` with the queries of each chunk and the sums over the keys up to token `last`: of the
 * earlier chunks if causal, else of all. a->key has the keys of a causal chunk. */
static void for_queries(const head *a, void (*use)(const head *a, chunk c, int last))
{
    for (int start = 0; start < a->Tk; start += CHUNK) {
        const chunk c = chunk_at(start, a->Tk);
        real share[CHUNK];
        take_keys(a, c);
        if (a->o->causal)
            use(a, c, start - 1);
        for (int j = 0; j < c.size; j++)
            share[j] = visible(a, c.start + j) ? fade(a, c.start + j, last_of(c)) : 0;
        add_to_sums(a, c.size, a->key, (matrix){row_of(a->v, c.start), a->v.stride}, share,
                    fade(a, c.start - 1, last_of(c)));
    }
    for (int start = 0; !a->o->causal && start < a->Tq; start += CHUNK)
        use(a, chunk_at(start, a->Tq), -1);
}

/* Computes y = q S + s, faded from token `last`, and adds the keys of the chunk if causal. */
static void forward_queries(const head *a, chunk c, int last)
{
    rt_gemm((rt_sizes){c.size, a->E, a->D}, 1, from(a->q, c.start), from(a->sum, 0), 0,
            into(a->y, c.start));
    for (int i = 0; i < c.size; i++) {
        real *row = row_of(a->y, c.start + i);
        add_row(row, a->last, 1, a->E);
        multiply_row(row, fade(a, last, c.start + i), a->E);
    }
    if (!a->o->causal)
        return;
    rt_gemm((rt_sizes){c.size, a->E, c.size}, 1, weigh_chunk(a, c), from(a->v, c.start), 1,
            into(a->y, c.start));
}

/* Sets a->g to G of the queries of a chunk. */
static void take_gradients(const head *a, chunk c)
{
    for (int i = 0; i < c.size; i++) {
        real *to = row_of(a->g, i);
        memcpy(to, row_of(a->dy, c.start + i), (size_t)a->E * sizeof *to);
        multiply_row(to, a->inverse[c.start + i], a->E);
    }
}

/* Computes the gradients of the weights inside a chunk, given a->g. */
static rt_operand weigh_gradients(const head *a, chunk c)
{
    rt_gemm((rt_sizes){c.size, c.size, a->E}, 1, from(a->g, 0), rt_transposed(from(a->v, c.start)),
            0, rt_result_at(a->weights, c.size));
    mask_weights(a, a->weights, c, 0);
    return rt_rows_at(a->weights, c.size);
}

/* Computes dq += G S^T, faded from token `last`, and adds the keys of the chunk if causal. */
static void backward_queries(const head *a, chunk c, int last)
{
    take_gradients(a, c);
    if (a->o->causal)
        rt_gemm((rt_sizes){c.size, a->D, c.size}, 1, weigh_gradients(a, c), from(a->key, 0), 1,
                into(a->dq, c.start));
    for (int i = 0; i < c.size; i++)
        multiply_row(row_of(a->g, i), fade(a, last, c.start + i), a->E);
    rt_gemm((rt_sizes){c.size, a->D, a->E}, 1, from(a->g, 0), rt_transposed(from(a->sum, 0)), 1,
            into(a->dq, c.start));
}

static void keys_backward(const head *a)
{
    begin_sum(a->sum.data, NULL, (size_t)(a->D + 1) * (size_t)a->E);
    for (int start = 0; !a->o->causal && start < a->Tq; start += CHUNK) {
        const chunk c = chunk_at(start, a->Tq);
        take_gradients(a, c);
        sum_queries_of_chunk(a, c, -1);
    }
    for (int start = (a->Tk - 1) / CHUNK * CHUNK; start >= 0; start -= CHUNK) {
        const chunk c = chunk_at(start, a->Tk);
        take_keys(a, c);
        if (a->o->causal)
            take_gradients(a, c);
        if (a->o->causal && a->dv.data) /* from the queries of the chunk itself */
            rt_gemm((rt_sizes){c.size, a->E, c.size}, 1, rt_transposed(weigh_chunk(a, c)),
                    from(a->g, 0), 1, into(a->dv, c.start));
        if (a->o->causal && a->dk.data)
            rt_gemm((rt_sizes){c.size, a->D, c.size}, 1, rt_transposed(weigh_gradients(a, c)),
                    from(a->q, c.start), 1, into(a->dk, c.start));
        rt_gemm((rt_sizes){c.size, a->D, a->E}, 1, from(a->v, start),
                rt_transposed(from(a->sum, 0)), 0, into(a->scaled, 0));
        for (int j = 0; j < c.size; j++) { /* dk += V R^T and dv += k R + r */
            const int t = start + j;
            const real share = a->o->causal ? fade(a, t, last_of(c)) : 1;
            multiply_row(row_of(a->key, j), share, a->D);
            if (a->dk.data && visible(a, t))
                add_row(row_of(a->dk, t), row_of(a->scaled, j), share, a->D);
            if (a->dv.data && visible(a, t))
                add_row(row_of(a->dv, t), a->last, share, a->E);
        }
        if (a->dv.data)
            rt_gemm((rt_sizes){c.size, a->E, a->D}, 1, from(a->key, 0), from(a->sum, 0), 1,
                    into(a->dv, start));
        if (a->o->causal && start)
            sum_queries_of_chunk(a, c, start - 1);
    }
}

typedef struct head_pass {
    const rt_node *node;
    real *grad[5]; /* of each input; NULL: not wanted */
} head_pass;

/* Returns head h of sequence b of a tensor (B, T, H, D) with the numbers `data`. */
static matrix head_at(const rt_tensor *x, real *data, int b, int h)
{
    const size_t T = (size_t)x->shape[1], H = (size_t)x->shape[2], D = (size_t)x->shape[3];
    return (matrix){data ? data + ((size_t)b * T * H + (size_t)h) * D : NULL, (int)(H * D)};
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
    a.sum = (matrix){memory, a.E};
    a.last = memory + D * E;
    a.key = (matrix){a.last + E, a.D};
    a.scaled = (matrix){a.key.data + CHUNK * D, a.D};
    a.g = (matrix){a.scaled.data + CHUNK * D, a.E};
    a.weights = a.g.data + CHUNK * E;
    a.row = a.weights + CHUNK * CHUNK;
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
    const size_t size = (size_t)(a.D + 1) * (size_t)a.E;
    begin_sum(a.sum.data, a.known, size);
    for_queries(&a, forward_queries);
    divide_by_denominator(&a);
    if (a.known)
        memcpy(a.known, a.sum.data, size * sizeof *a.known);
    if (a.known_level)
        *a.known_level = level_at(&a, a.Tk - 1);
}

static void backward_part(void *context, int part, void *memory)
{
    const head a = head_of(context, part, memory);
    if (a.dq.data) {
        begin_sum(a.sum.data, NULL, (size_t)(a.D + 1) * (size_t)a.E);
        for_queries(&a, backward_queries);
    }
    if (a.dk.data || a.dv.data)
        keys_backward(&a);
    if (a.dbelow_q.data)
        below_queries_backward(&a);
    if (a.dbelow_k.data)
        below_keys_backward(&a);
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
