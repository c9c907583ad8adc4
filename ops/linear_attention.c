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

/* One head of one sequence. `dx` has the layout of x and is NULL if it is not wanted. */
typedef struct head {
    const rt_linear_attention_options *o;
    const real *q, *k, *v, *below_q, *below_k; /* below: of the denominator */
    real *dq, *dk, *dv, *dbelow_q, *dbelow_k;
    const real *y, *dy;
    const real *inverse;
    const uint8_t *mask; /* NULL: all keys are visible */
    const real *level;   /* NULL: none */
    real *known;         /* S and s of the earlier tokens; NULL without a state */
    real *known_below;   /* their sum and number in the denominator */
    real *known_level;   /* NULL also without levels */
    int Tq, Tk, D, E;
    int stride;       /* of q and k, from one token to the next */
    int v_stride;     /* of v and y */
    int level_stride; /* of the levels */
} head;

/* Scratch memory of a head. */
typedef struct scratch {
    real *sum;     /* (D + 1, E): S and s, or R and r */
    real *key;     /* (CHUNK, D): keys of a chunk, zero where masked */
    real *scaled;  /* (CHUNK, D): keys or queries, each multiplied by a factor */
    real *weight;  /* (CHUNK, CHUNK) */
    real *dweight; /* (CHUNK, CHUNK) */
    real *g;       /* (CHUNK, E): G */
    real *row;     /* (D) */
} scratch;

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

static const real *row_of(const real *x, int t, int stride)
{
    return x + (size_t)t * (size_t)stride;
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

static rt_operand rows_at(const real *x, int t, int stride)
{
    return rt_rows_at(row_of(x, t, stride), stride);
}

static rt_operand packed(const real *x, int columns)
{
    return rt_rows_at(x, columns);
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

/* ---- denominator ---- */

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
    add_row(z, row_of(a->below_k, j, a->stride), 1, a->D);
    return count + 1;
}

static void divide_by_denominator(const head *a, scratch w, real *y, real *inverse)
{
    real count = a->known ? a->known_below[a->D] : 0;
    begin_sum(w.row, a->known ? a->known_below : NULL, (size_t)a->D);
    for (int j = 0; !a->o->causal && j < a->Tk; j++)
        count = sum_keys(a, w.row, count, j);
    for (int i = 0; i < a->Tq; i++) {
        if (a->o->causal)
            count = sum_keys(a, w.row, count, i);
        const real denominator = product(row_of(a->below_q, i, a->stride), w.row, a->D) +
                                 (real)a->o->constant * count + (real)a->o->eps;
        inverse[i] = denominator != 0 ? 1 / denominator : 0;
        multiply_row(y + (size_t)i * (size_t)a->v_stride, inverse[i], a->E);
    }
    if (!a->known)
        return;
    memcpy(a->known_below, w.row, (size_t)a->D * sizeof *w.row);
    a->known_below[a->D] = count;
}

/* Returns the gradient of the denominator of query i. */
static real below_gradient(const head *a, int i)
{
    return -a->inverse[i] *
           product(row_of(a->dy, i, a->v_stride), row_of(a->y, i, a->v_stride), a->E);
}

static void below_queries_backward(const head *a, scratch w)
{
    memset(w.row, 0, (size_t)a->D * sizeof *w.row);
    for (int j = 0; !a->o->causal && j < a->Tk; j++)
        sum_keys(a, w.row, 0, j);
    for (int i = 0; i < a->Tq; i++) {
        if (a->o->causal)
            sum_keys(a, w.row, 0, i);
        add_row(a->dbelow_q + (size_t)i * (size_t)a->stride, w.row, below_gradient(a, i), a->D);
    }
}

static void below_keys_backward(const head *a, scratch w)
{
    memset(w.row, 0, (size_t)a->D * sizeof *w.row);
    for (int i = 0; !a->o->causal && i < a->Tq; i++)
        add_row(w.row, row_of(a->below_q, i, a->stride), below_gradient(a, i), a->D);
    for (int j = a->Tk - 1; j >= 0; j--) {
        if (a->o->causal) {
            if (j + 1 < a->Tk)
                multiply_row(w.row, fade(a, j, j + 1), a->D);
            add_row(w.row, row_of(a->below_q, j, a->stride), below_gradient(a, j), a->D);
        }
        if (visible(a, j))
            add_row(a->dbelow_k + (size_t)j * (size_t)a->stride, w.row, 1, a->D);
    }
}

/* ---- numerator ---- */

/* Sets w.key to the keys of a chunk, zero where masked. */
static void take_keys(const head *a, scratch w, chunk c)
{
    for (int j = 0; j < c.size; j++) {
        real *to = w.key + (size_t)j * (size_t)a->D;
        memset(to, 0, (size_t)a->D * sizeof *to);
        if (visible(a, c.start + j))
            memcpy(to, row_of(a->k, c.start + j, a->stride), (size_t)a->D * sizeof *to);
    }
}

/* Adds the keys of a chunk, which are in w.key, to S and s. */
static void sum_chunk(const head *a, scratch w, chunk c)
{
    const real faded = fade(a, c.start - 1, last_of(c));
    real *s = w.sum + (size_t)a->D * (size_t)a->E;
    memcpy(w.scaled, w.key, (size_t)c.size * (size_t)a->D * sizeof *w.key);
    multiply_row(s, faded, a->E);
    for (int j = 0; j < c.size; j++) {
        const real share = fade(a, c.start + j, last_of(c));
        multiply_row(w.scaled + (size_t)j * (size_t)a->D, share, a->D);
        if (visible(a, c.start + j))
            add_row(s, row_of(a->v, c.start + j, a->v_stride), share * (real)a->o->constant, a->E);
    }
    rt_gemm((rt_sizes){a->D, a->E, c.size}, 1, rt_transposed(packed(w.scaled, a->D)),
            rows_at(a->v, c.start, a->v_stride), faded, rt_result_at(w.sum, a->E));
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

/* Computes w.weight, the weights of the keys of a chunk for its queries. */
static void weigh_chunk(const head *a, scratch w, chunk c)
{
    rt_gemm((rt_sizes){c.size, c.size, a->D}, 1, rows_at(a->q, c.start, a->stride),
            rt_transposed(packed(w.key, a->D)), 0, rt_result_at(w.weight, c.size));
    mask_weights(a, w.weight, c, (real)a->o->constant);
}

/* Computes y = q S + s for the queries of a chunk, faded from token `last`. */
static void apply_sum(const head *a, scratch w, real *y, chunk c, int last)
{
    const real *s = w.sum + (size_t)a->D * (size_t)a->E;
    real *first = y + (size_t)c.start * (size_t)a->v_stride;
    rt_gemm((rt_sizes){c.size, a->E, a->D}, 1, rows_at(a->q, c.start, a->stride),
            packed(w.sum, a->E), 0, rt_result_at(first, a->v_stride));
    for (int i = 0; i < c.size; i++) {
        real *row = first + (size_t)i * (size_t)a->v_stride;
        add_row(row, s, 1, a->E);
        multiply_row(row, fade(a, last, c.start + i), a->E);
    }
}

static void forward_head(const head *a, scratch w, real *y, real *inverse)
{
    const size_t size = (size_t)(a->D + 1) * (size_t)a->E;
    begin_sum(w.sum, a->known, size);
    for (int start = 0; start < a->Tk; start += CHUNK) {
        const chunk c = chunk_at(start, a->Tk);
        take_keys(a, w, c);
        if (a->o->causal) {
            apply_sum(a, w, y, c, start - 1);
            weigh_chunk(a, w, c);
            rt_gemm((rt_sizes){c.size, a->E, c.size}, 1, packed(w.weight, c.size),
                    rows_at(a->v, start, a->v_stride), 1,
                    rt_result_at(y + (size_t)start * (size_t)a->v_stride, a->v_stride));
        }
        sum_chunk(a, w, c);
    }
    for (int start = 0; !a->o->causal && start < a->Tq; start += CHUNK)
        apply_sum(a, w, y, chunk_at(start, a->Tq), -1);
    divide_by_denominator(a, w, y, inverse);
    if (a->known)
        memcpy(a->known, w.sum, size * sizeof *w.sum);
    if (a->known_level)
        *a->known_level = level_at(a, a->Tk - 1);
}

/* Sets w.g to G of the queries of a chunk. */
static void take_gradients(const head *a, scratch w, chunk c)
{
    for (int i = 0; i < c.size; i++) {
        real *to = w.g + (size_t)i * (size_t)a->E;
        memcpy(to, row_of(a->dy, c.start + i, a->v_stride), (size_t)a->E * sizeof *to);
        multiply_row(to, a->inverse[c.start + i], a->E);
    }
}

/* Computes w.dweight, the gradients of the weights inside a chunk, given w.g. */
static void weigh_gradients(const head *a, scratch w, chunk c)
{
    rt_gemm((rt_sizes){c.size, c.size, a->E}, 1, packed(w.g, a->E),
            rt_transposed(rows_at(a->v, c.start, a->v_stride)), 0, rt_result_at(w.dweight, c.size));
    mask_weights(a, w.dweight, c, 0);
}

/* Computes dq += G S^T, faded from token `last`. Overwrites w.g. */
static void queries_of_sum(const head *a, scratch w, chunk c, int last)
{
    for (int i = 0; i < c.size; i++)
        multiply_row(w.g + (size_t)i * (size_t)a->E, fade(a, last, c.start + i), a->E);
    rt_gemm((rt_sizes){c.size, a->D, a->E}, 1, packed(w.g, a->E),
            rt_transposed(packed(w.sum, a->E)), 1,
            rt_result_at(a->dq + (size_t)c.start * (size_t)a->stride, a->stride));
}

static void queries_backward(const head *a, scratch w)
{
    memset(w.sum, 0, (size_t)(a->D + 1) * (size_t)a->E * sizeof *w.sum);
    for (int start = 0; start < a->Tk; start += CHUNK) {
        const chunk c = chunk_at(start, a->Tk);
        take_keys(a, w, c);
        if (a->o->causal) {
            take_gradients(a, w, c);
            weigh_gradients(a, w, c);
            rt_gemm((rt_sizes){c.size, a->D, c.size}, 1, packed(w.dweight, c.size),
                    packed(w.key, a->D), 1,
                    rt_result_at(a->dq + (size_t)start * (size_t)a->stride, a->stride));
            queries_of_sum(a, w, c, start - 1);
        }
        sum_chunk(a, w, c);
    }
    for (int start = 0; !a->o->causal && start < a->Tq; start += CHUNK) {
        const chunk c = chunk_at(start, a->Tq);
        take_gradients(a, w, c);
        queries_of_sum(a, w, c, -1);
    }
}

/* Adds the queries of a chunk, with G in w.g, to R and r, faded to token `last`. */
static void sum_queries(const head *a, scratch w, chunk c, int last)
{
    const real faded = fade(a, last, last_of(c));
    real *r = w.sum + (size_t)a->D * (size_t)a->E;
    multiply_row(r, faded, a->E);
    for (int i = 0; i < c.size; i++) {
        const real share = fade(a, last, c.start + i);
        real *scaled = w.scaled + (size_t)i * (size_t)a->D;
        memcpy(scaled, row_of(a->q, c.start + i, a->stride), (size_t)a->D * sizeof *scaled);
        multiply_row(scaled, share, a->D);
        add_row(r, w.g + (size_t)i * (size_t)a->E, share * (real)a->o->constant, a->E);
    }
    rt_gemm((rt_sizes){a->D, a->E, c.size}, 1, rt_transposed(packed(w.scaled, a->D)),
            packed(w.g, a->E), faded, rt_result_at(w.sum, a->E));
}

/* Computes dk += V R^T and dv += k R + r for the keys of a chunk, which are in w.key. */
static void keys_of_sum(const head *a, scratch w, chunk c)
{
    const real *r = w.sum + (size_t)a->D * (size_t)a->E;
    rt_gemm((rt_sizes){c.size, a->D, a->E}, 1, rows_at(a->v, c.start, a->v_stride),
            rt_transposed(packed(w.sum, a->E)), 0, rt_result_at(w.scaled, a->D));
    for (int j = 0; j < c.size; j++) {
        const int t = c.start + j;
        const real share = a->o->causal ? fade(a, t, last_of(c)) : 1;
        multiply_row(w.key + (size_t)j * (size_t)a->D, share, a->D);
        if (a->dk && visible(a, t))
            add_row(a->dk + (size_t)t * (size_t)a->stride, w.scaled + (size_t)j * (size_t)a->D,
                    share, a->D);
        if (a->dv && visible(a, t))
            add_row(a->dv + (size_t)t * (size_t)a->v_stride, r, share, a->E);
    }
    if (a->dv)
        rt_gemm((rt_sizes){c.size, a->E, a->D}, 1, packed(w.key, a->D), packed(w.sum, a->E), 1,
                rt_result_at(a->dv + (size_t)c.start * (size_t)a->v_stride, a->v_stride));
}

/* Adds the gradients of the keys and values of a chunk that come from its own queries. */
static void keys_of_chunk(const head *a, scratch w, chunk c)
{
    if (a->dv) {
        weigh_chunk(a, w, c);
        rt_gemm((rt_sizes){c.size, a->E, c.size}, 1, rt_transposed(packed(w.weight, c.size)),
                packed(w.g, a->E), 1,
                rt_result_at(a->dv + (size_t)c.start * (size_t)a->v_stride, a->v_stride));
    }
    if (a->dk) {
        weigh_gradients(a, w, c);
        rt_gemm((rt_sizes){c.size, a->D, c.size}, 1, rt_transposed(packed(w.dweight, c.size)),
                rows_at(a->q, c.start, a->stride), 1,
                rt_result_at(a->dk + (size_t)c.start * (size_t)a->stride, a->stride));
    }
}

static void keys_backward(const head *a, scratch w)
{
    memset(w.sum, 0, (size_t)(a->D + 1) * (size_t)a->E * sizeof *w.sum);
    for (int start = 0; !a->o->causal && start < a->Tq; start += CHUNK) {
        const chunk c = chunk_at(start, a->Tq);
        take_gradients(a, w, c);
        sum_queries(a, w, c, -1);
    }
    for (int start = (a->Tk - 1) / CHUNK * CHUNK; start >= 0; start -= CHUNK) {
        const chunk c = chunk_at(start, a->Tk);
        take_keys(a, w, c);
        if (a->o->causal) {
            take_gradients(a, w, c);
            keys_of_chunk(a, w, c);
        }
        keys_of_sum(a, w, c);
        if (a->o->causal && start)
            sum_queries(a, w, c, start - 1);
    }
}

static const real *at(const rt_tensor *x, int b, int h)
{
    const size_t row = (size_t)b * (size_t)x->shape[1] * (size_t)x->shape[2] + (size_t)h;
    return x->data + row * (size_t)x->shape[3];
}

static real *gradient_at(real *grad, const rt_tensor *x, int b, int h)
{
    return grad ? grad + (at(x, b, h) - x->data) : NULL;
}

static head head_of(const rt_node *n, int b, int h)
{
    const linear_args *args = n->args;
    const rt_tensor *q = n->in[0], *k = n->in[1], *v = n->in[2];
    const int H = q->shape[2], Tk = k->shape[1];
    const size_t token = (size_t)b * (size_t)Tk, row = (size_t)b * (size_t)H + (size_t)h;
    const size_t D = (size_t)q->shape[3], E = (size_t)v->shape[3];
    const rt_linear_state *state = args->o.state;
    return (head){.o = &args->o,
                  .known = state ? state->sum + row * (D + 1) * E : NULL,
                  .known_below = state ? state->below + row * (D + 1) : NULL,
                  .known_level = state && args->o.level ? state->level + row : NULL,
                  .q = at(q, b, h),
                  .k = at(k, b, h),
                  .v = at(v, b, h),
                  .below_q = at(n->in[3], b, h),
                  .below_k = at(n->in[4], b, h),
                  .mask = args->o.key_mask ? args->o.key_mask + token : NULL,
                  .level = args->o.level ? args->o.level + token * (size_t)H + h : NULL,
                  .Tq = q->shape[1],
                  .Tk = Tk,
                  .D = q->shape[3],
                  .E = v->shape[3],
                  .stride = H * q->shape[3],
                  .v_stride = H * v->shape[3],
                  .level_stride = H};
}

static rt_scratch_size linear_attention_scratch(const rt_node *n, rt_pass pass)
{
    const size_t D = (size_t)n->in[0]->shape[3], E = (size_t)n->in[2]->shape[3];
    const size_t numbers = (D + 1) * E + D + CHUNK * (2 * D + 2 * CHUNK + E);
    (void)pass;
    return (rt_scratch_size){.part = numbers * sizeof(real)};
}

static scratch scratch_of(const rt_node *n, void *memory)
{
    const size_t D = (size_t)n->in[0]->shape[3], E = (size_t)n->in[2]->shape[3];
    scratch w = {.sum = memory};
    w.key = w.sum + (D + 1) * E;
    w.scaled = w.key + CHUNK * D;
    w.weight = w.scaled + CHUNK * D;
    w.dweight = w.weight + CHUNK * CHUNK;
    w.g = w.dweight + CHUNK * CHUNK;
    w.row = w.g + CHUNK * E;
    return w;
}

static size_t inverse_offset(const rt_node *n, int b, int h)
{
    return ((size_t)b * (size_t)n->out->shape[2] + (size_t)h) * (size_t)n->out->shape[1];
}

/* Returns the number of parts: one for each head of each sequence. */
static int head_count(const rt_node *n)
{
    return n->out->shape[0] * n->out->shape[2];
}

static void forward_part(void *context, int part, void *memory)
{
    const rt_node *n = *(const rt_node **)context;
    const linear_args *args = n->args;
    const int b = part / n->out->shape[2], h = part % n->out->shape[2];
    const head a = head_of(n, b, h);
    forward_head(&a, scratch_of(n, memory), gradient_at(n->out->data, n->out, b, h),
                 args->inverse + inverse_offset(n, b, h));
}

static void linear_attention_forward(const rt_node *n)
{
    rt_node_share(n, forward_part, &n, head_count(n));
}

typedef struct backward_pass {
    const rt_node *node;
    real *grad[5]; /* of each input */
} backward_pass;

static void backward_part(void *context, int part, void *memory)
{
    const backward_pass *p = context;
    const rt_node *n = p->node;
    const linear_args *args = n->args;
    const scratch w = scratch_of(n, memory);
    const int b = part / n->out->shape[2], h = part % n->out->shape[2];
    head a = head_of(n, b, h);
    a.dq = gradient_at(p->grad[0], n->in[0], b, h);
    a.dk = gradient_at(p->grad[1], n->in[1], b, h);
    a.dv = gradient_at(p->grad[2], n->in[2], b, h);
    a.dbelow_q = gradient_at(p->grad[3], n->in[3], b, h);
    a.dbelow_k = gradient_at(p->grad[4], n->in[4], b, h);
    a.y = at(n->out, b, h);
    a.dy = n->out->grad + (a.y - n->out->data);
    a.inverse = args->inverse + inverse_offset(n, b, h);
    if (a.dq)
        queries_backward(&a, w);
    if (a.dk || a.dv)
        keys_backward(&a, w);
    if (a.dbelow_q)
        below_queries_backward(&a, w);
    if (a.dbelow_k)
        below_keys_backward(&a, w);
}

static void linear_attention_backward(const rt_node *n)
{
    backward_pass p = {.node = n};
    for (int i = 0; i < 5; i++)
        p.grad[i] = rt_grad(n, i);
    rt_node_share(n, backward_part, &p, head_count(n));
}

const rt_op rt_op_linear_attention = {.name = "linear_attention",
                                      .forward = linear_attention_forward,
                                      .backward = linear_attention_backward,
                                      .scratch = linear_attention_scratch};

static bool fit(const rt_tensor *q, const rt_tensor *k, const rt_tensor *v, bool causal)
{
    return q->ndim == 4 && k->ndim == 4 && v->ndim == 4 && q->shape[0] == k->shape[0] &&
           k->shape[0] == v->shape[0] && k->shape[1] == v->shape[1] && q->shape[2] == k->shape[2] &&
           k->shape[2] == v->shape[2] && q->shape[3] == k->shape[3] &&
           (!causal || q->shape[1] == k->shape[1]);
}

static bool state_fits(rt_graph *g, const rt_linear_attention_options *o)
{
    const rt_linear_state *state = o->state;
    if (!state)
        return true;
    if (!o->causal || rt_graph_records(g))
        rt_graph_fail(
            g, RT_ARGUMENT,
            "[linear_attention] a state needs causal attention and a graph that does not record");
    else if (!state->sum || !state->below || (o->level && !state->level))
        rt_graph_fail(
            g, RT_ARGUMENT,
            "[linear_attention] a state needs sum and below, and level if the keys have levels");
    return !rt_graph_failed(g);
}

rt_tensor *rt_linear_attention(rt_graph *g, rt_tensor *q, rt_tensor *k, rt_tensor *v,
                               rt_tensor *denominator_q, rt_tensor *denominator_k,
                               const rt_linear_attention_options *options)
{
    if (!RT_CHECK_INPUTS(g, "linear_attention", RT_INPUT(q), RT_INPUT(k), RT_INPUT(v),
                         RT_INPUT(denominator_q), RT_INPUT(denominator_k)) ||
        !rt_graph_check_argument(g, "linear_attention", "options", options))
        return NULL;
    if (!fit(q, k, v, options->causal) || !rt_same_shape(q, denominator_q) ||
        !rt_same_shape(k, denominator_k))
        return rt_graph_fail(g, RT_SHAPE,
                             "[linear_attention] q, k, v must be (B, Tq, H, D), (B, Tk, H, D), "
                             "(B, Tk, H, E)%s, and the denominator's q and k as q and k; got %s, "
                             "%s, %s, %s, %s",
                             options->causal ? " with Tq = Tk" : "", rt_shape_text(q),
                             rt_shape_text(k), rt_shape_text(v), rt_shape_text(denominator_q),
                             rt_shape_text(denominator_k));
    if (options->level && !options->causal)
        return rt_graph_fail(g, RT_ARGUMENT, "[linear_attention] levels need causal attention");
    if (!state_fits(g, options))
        return NULL;
    if (!(options->eps >= 0 && options->eps < INFINITY))
        return rt_graph_fail(g, RT_ARGUMENT, "[linear_attention] eps must be >= 0; got %g",
                             options->eps);
    const int B = q->shape[0], Tq = q->shape[1], H = q->shape[2];
    linear_args args = {.o = *options};
    args.inverse = rt_graph_numbers(g, (size_t)B * (size_t)H * (size_t)Tq, sizeof(real));
    return RT_APPLY(g, &rt_op_linear_attention, RT_SHAPE_OF(B, Tq, H, v->shape[3]), &args, q, k, v,
                    denominator_q, denominator_k);
}
