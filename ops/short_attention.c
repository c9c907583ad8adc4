#include "core/row_kernels.h"
#include "ops/attention_private.h"
#include "ops/private.h"
#include "ops/vector_math.h"

#include <math.h>
#include <string.h>

/* Softmax attention of short sequences, one head at a time. All matrices of a head fit into the
 * nearest caches, so that products read them where they are, without packing. Scores and their
 * gradients are kept transposed, S^T (Tk, Tq): the maxima and the sums of as many queries as a
 * vector has numbers are computed together, each in the order of the keys.
 *
 * Forward saves m and 1/l of every row, as attention.c does. Backward takes delta = rowsum(P * dP),
 * which is rowsum(dO * O).
 */

/* Length of the sequences, size of the heads, and the columns of a tile of a product: 64 bytes.
 * Measured with AVX2, longer sequences with larger heads are faster in tiles. */
enum { SHORTEST = 16, LONGEST = 128, WIDEST = 64, COLUMNS = 64 / sizeof(real) };

/* Heads of a part have about so many scores. */
enum { SCORES_OF_PART = 16384 };

bool rt_attention_is_short(const rt_node *n)
{
    const rt_tensor *q = n->in[0], *k = n->in[1], *v = n->in[2];
    const rt_attention_options *o = &((const rt_attention_args *)n->args)->o;
    const int Tq = q->shape[1], Tk = k->shape[1], D = q->shape[3], E = v->shape[3];
    return q->data && k->data && v->data && Tq >= SHORTEST && Tq <= LONGEST && Tk >= SHORTEST &&
           Tk <= LONGEST && D % 16 == 0 && E % 16 == 0 && D <= WIDEST && E <= WIDEST &&
           o->dropout == 0 && !o->distances && !o->key_bias && !rt_gemm_rounds();
}

/* C = factor A B, or C += factor A B, where element (i, p) of A is a[i * a_row + p * a_column], B
 * and C are in rows, and n is a multiple of COLUMNS. The factor is alpha, times that of the row. */
typedef struct product {
    rt_sizes size;
    real alpha;
    const real *factors; /* of rows; NULL: 1 */
    struct {
        const real *data;
        size_t row, column;
    } a;
    struct {
        const real *data;
        size_t row;
    } b;
    struct {
        real *data;
        size_t row;
    } c;
    bool adds;
} product;

#define INLINE __attribute__((always_inline)) static inline

/* Defines a function that computes `ROWS` rows and VECTORS vectors of BYTES of a product. */
#define DEFINE_TILE(name, BYTES, ROWS, VECTORS)                                                    \
    INLINE void name(product p, int row, int column)                                               \
    {                                                                                              \
        typedef real vector __attribute__((vector_size(BYTES)));                                   \
        typedef real stored __attribute__((vector_size(BYTES), aligned(sizeof(real)), may_alias)); \
        enum { EACH = (BYTES) / sizeof(real) };                                                    \
        const real *a = p.a.data + (size_t)row * p.a.row, *b = p.b.data + column;                  \
        real *c = p.c.data + (size_t)row * p.c.row + column;                                       \
        vector sum[ROWS][VECTORS] = {0};                                                           \
        for (int k = 0; k < p.size.k; k++, a += p.a.column, b += p.b.row)                          \
            for (int v = 0; v < (VECTORS); v++) {                                                  \
                const vector x = *(const stored *)(b + v * EACH);                                  \
                for (int i = 0; i < (ROWS); i++)                                                   \
                    sum[i][v] += a[(size_t)i * p.a.row] * x;                                       \
            }                                                                                      \
        for (int i = 0; i < (ROWS); i++, c += p.c.row) {                                           \
            const real factor = p.factors ? p.alpha * p.factors[row + i] : p.alpha;                \
            for (int v = 0; v < (VECTORS); v++) {                                                  \
                stored *to = (stored *)(c + v * EACH);                                             \
                const vector term = factor * sum[i][v];                                            \
                *to = p.adds ? (vector)*to + term : term;                                          \
            }                                                                                      \
        }                                                                                          \
    }
DEFINE_TILE(eight_rows_twice, 64, 8, 2)
DEFINE_TILE(eight_rows, 64, 8, 1)
DEFINE_TILE(row_of_64, 64, 1, 1)
DEFINE_TILE(four_rows, 32, 4, 2)
DEFINE_TILE(row_of_32, 32, 1, 2)
DEFINE_TILE(two_rows, 16, 2, 4)
DEFINE_TILE(row_of_16, 16, 1, 4)

/* Computes a product in tiles of ROWS rows. */
#define IN_TILES(p, ROWS, tile, row_tile)                                                          \
    for (int column = 0; column < (p).size.n; column += COLUMNS) {                                 \
        int row = 0;                                                                               \
        for (; row + (ROWS) <= (p).size.m; row += (ROWS))                                          \
            tile(p, row, column);                                                                  \
        for (; row < (p).size.m; row++)                                                            \
            row_tile(p, row, column);                                                              \
    }

static RT_ROW_KERNEL(multiply, (const product *whole), (whole))
{
    const product p = *whole;
    if (rt_row_set_in_use == RT_ROWS_AVX512) {
        product rest = p;
        for (; rest.size.n >= 2 * COLUMNS;
             rest.size.n -= 2 * COLUMNS, rest.b.data += 2 * COLUMNS, rest.c.data += 2 * COLUMNS)
            for (int row = 0, rows; row < rest.size.m; row += rows)
                if ((rows = rest.size.m - row >= 8 ? 8 : 1) == 8) {
                    eight_rows_twice(rest, row, 0);
                } else {
                    row_of_64(rest, row, 0);
                    row_of_64(rest, row, COLUMNS);
                }
        IN_TILES(rest, 8, eight_rows, row_of_64)
    } else if (rt_row_set_in_use == RT_ROWS_AVX2) {
        IN_TILES(p, 4, four_rows, row_of_32)
    } else {
        IN_TILES(p, 2, two_rows, row_of_16)
    }
}

/* Copies x (rows, size), transposed, to (size, columns), in blocks of 4 x 4, and fills up with
 * zeros. The size is a multiple of 4. */
static RT_ROW_KERNEL(transpose,
                     (real *restrict to, int columns, const real *restrict x, size_t stride,
                      int rows, int size),
                     (to, columns, x, stride, rows, size))
{
    typedef real four __attribute__((vector_size(4 * sizeof(real))));
    typedef real stored
        __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias));
    const size_t step = (size_t)columns;
    for (int c = 0; c < size; c += 4, to += 4 * step) {
        int r = 0;
        for (; r + 4 <= rows; r += 4) {
            const real *from = x + (size_t)r * stride + (size_t)c;
            const four w = *(const stored *)from, y = *(const stored *)(from + stride);
            const four z = *(const stored *)(from + 2 * stride);
            const four v = *(const stored *)(from + 3 * stride);
            const four low = __builtin_shufflevector(w, y, 0, 4, 1, 5);
            const four high = __builtin_shufflevector(w, y, 2, 6, 3, 7);
            const four next_low = __builtin_shufflevector(z, v, 0, 4, 1, 5);
            const four next_high = __builtin_shufflevector(z, v, 2, 6, 3, 7);
            *(stored *)(to + r) = __builtin_shufflevector(low, next_low, 0, 1, 4, 5);
            *(stored *)(to + r + step) = __builtin_shufflevector(low, next_low, 2, 3, 6, 7);
            *(stored *)(to + r + 2 * step) = __builtin_shufflevector(high, next_high, 0, 1, 4, 5);
            *(stored *)(to + r + 3 * step) = __builtin_shufflevector(high, next_high, 2, 3, 6, 7);
        }
        for (; r < columns; r++)
            for (size_t i = 0; i < 4; i++)
                to[i * step + (size_t)r] = r < rows ? x[(size_t)r * stride + (size_t)c + i] : 0;
    }
}

/* Computes s = e^(s - m) of s (keys, queries), with the maximum m of every column, or 0 if no key
 * is visible, and 1/l of its sum, or 0. */
static RT_ROW_KERNEL(softmax_columns,
                     (real *restrict s, int keys, int queries, real *restrict m,
                      real *restrict inverse),
                     (s, keys, queries, m, inverse))
{
    for (int first = 0; first < queries; first += COLUMNS, s += COLUMNS) {
        real most[COLUMNS], sum[COLUMNS];
        for (int i = 0; i < COLUMNS; i++) {
            most[i] = -INFINITY;
            sum[i] = 0;
        }
        for (int j = 0; j < keys; j++) {
            const real *restrict row = s + (size_t)j * (size_t)queries;
            for (int i = 0; i < COLUMNS; i++)
                most[i] = row[i] > most[i] ? row[i] : most[i];
        }
        for (int i = 0; i < COLUMNS; i++)
            most[i] = most[i] > -RT_REAL_MAX ? most[i] : 0;
        for (int j = 0; j < keys; j++) {
            real *restrict row = s + (size_t)j * (size_t)queries;
            for (int i = 0; i < COLUMNS; i++) {
                row[i] = rt_exp_bounded_of(row[i] - most[i]);
                sum[i] += row[i];
            }
        }
        for (int i = 0; i < COLUMNS; i++) {
            m[first + i] = most[i];
            inverse[first + i] = sum[i] > 0 ? 1 / sum[i] : 0;
        }
    }
}

/* Computes the weights p = e^(s - m) / l, in place of s, and ds = p (dp - delta), in place of dp,
 * all (keys, queries), with delta = sum p dp of every column. */
static RT_ROW_KERNEL(softmax_columns_backward,
                     (real *restrict s, real *restrict dp, int keys, int queries,
                      const real *restrict m, const real *restrict inverse),
                     (s, dp, keys, queries, m, inverse))
{
    for (int first = 0; first < queries; first += COLUMNS, s += COLUMNS, dp += COLUMNS) {
        real most[COLUMNS], factor[COLUMNS], delta[COLUMNS];
        for (int i = 0; i < COLUMNS; i++) {
            most[i] = m[first + i];
            factor[i] = inverse[first + i];
            delta[i] = 0;
        }
        for (int j = 0; j < keys; j++) {
            real *restrict row = s + (size_t)j * (size_t)queries;
            const real *restrict d = dp + (size_t)j * (size_t)queries;
            for (int i = 0; i < COLUMNS; i++) {
                row[i] = rt_exp_bounded_of(row[i] - most[i]) * factor[i];
                delta[i] += row[i] * d[i];
            }
        }
        for (int j = 0; j < keys; j++) {
            const real *restrict row = s + (size_t)j * (size_t)queries;
            real *restrict d = dp + (size_t)j * (size_t)queries;
            for (int i = 0; i < COLUMNS; i++)
                d[i] = row[i] * (d[i] - delta[i]);
        }
    }
}

/* One head of one sequence. Tensors are (B, T, H, D): rows of a head are `_row` elements apart. */
typedef struct head {
    const rt_attention_args *args;
    int b, h;                  /* sequence, query head */
    int Tq, Tk, D, E, queries; /* queries: Tq, filled up to a multiple of COLUMNS */
    size_t q_row, k_row, v_row, out_row;
    const real *q, *k, *v;
    real *out;
    const real *dout;
    real *dq, *dk, *dv;          /* NULL: not wanted */
    bool adds_q, adds_k, adds_v; /* to gradients that are there; otherwise they are written */
    real *shift, *inverse;
} head;

/* The op, its parts, and the gradients that backward adds to. */
typedef struct plan {
    const rt_node *node;
    int run, each, parts; /* query heads of a key head; key heads of a part, of all sequences */
    real *dq, *dk, *dv;
    real beta_of_q, beta_of_k, beta_of_v; /* 0: the gradient is not yet written */
} plan;

static plan plan_of(const rt_node *n)
{
    const rt_tensor *q = n->in[0], *k = n->in[1];
    const int run = q->shape[2] / k->shape[2], heads = k->shape[0] * k->shape[2];
    const int each = 1 + SCORES_OF_PART / (q->shape[1] * k->shape[1] * run);
    return (plan){.node = n, .run = run, .each = each, .parts = (heads + each - 1) / each};
}

static int filled_up(int queries)
{
    return (queries + COLUMNS - 1) / COLUMNS * COLUMNS;
}

static size_t row_of(const rt_tensor *x)
{
    return (size_t)x->shape[2] * (size_t)x->shape[3];
}

/* Returns query head `member` of those that read key head `number`, counted over all sequences. */
static head head_at(const plan *p, int number, int member)
{
    const rt_node *n = p->node;
    const rt_tensor *q = n->in[0], *k = n->in[1], *v = n->in[2];
    const rt_attention_args *args = n->args;
    const int b = number / k->shape[2], g = number % k->shape[2], h = g * p->run + member;
    const size_t of_q = rt_head_start(q, b, h), of_k = rt_head_start(k, b, g),
                 of_v = rt_head_start(v, b, g);
    const size_t row = ((size_t)b * (size_t)q->shape[2] + (size_t)h) * (size_t)q->shape[1];
    head a = {.args = args,
              .b = b,
              .h = h,
              .Tq = q->shape[1],
              .Tk = k->shape[1],
              .D = q->shape[3],
              .E = v->shape[3],
              .queries = filled_up(q->shape[1]),
              .q_row = row_of(q),
              .k_row = row_of(k),
              .v_row = row_of(v),
              .out_row = row_of(n->out),
              .q = q->data + of_q,
              .k = k->data + of_k,
              .v = v->data + of_v,
              .out = n->out->data + rt_head_start(n->out, b, h),
              .dq = p->dq ? p->dq + of_q : NULL,
              .dk = p->dk ? p->dk + of_k : NULL,
              .dv = p->dv ? p->dv + of_v : NULL,
              .adds_q = p->beta_of_q != 0,
              .adds_k = p->beta_of_k != 0 || member > 0,
              .adds_v = p->beta_of_v != 0 || member > 0,
              .shift = args->shift + row,
              .inverse = args->inverse + row};
    a.dout = n->out->grad ? n->out->grad + rt_head_start(n->out, b, h) : NULL;
    return a;
}

/* Adds the slope of the head to the scores, and hides keys. */
static void finish(real *s, const head *a)
{
    const rt_attention_args *args = a->args;
    const rt_attention_options *o = &args->o;
    const double slope = o->slopes ? o->slopes[a->h] : 0, window = o->window;
    const double *query = o->query_positions;
    const bool counted = args->counted_queries && args->counted_keys && window == 0;
    for (int j = 0; j < a->Tk; j++, s += a->queries) {
        const double key = o->key_positions[j];
        const bool hidden = o->key_mask && !o->key_mask[(size_t)a->b * (size_t)a->Tk + (size_t)j];
        const int before = hidden ? a->Tq : counted && o->causal ? rt_smaller(j, a->Tq) : 0;
        for (int i = 0; o->slopes && i < a->Tq; i++)
            s[i] -= (real)(slope * fabs(query[i] - key));
        for (int i = 0; i < before; i++)
            s[i] = -INFINITY;
        for (int i = before; o->causal && !counted && i < a->Tq; i++)
            s[i] = key <= query[i] ? s[i] : -INFINITY;
        for (int i = before; window > 0 && i < a->Tq; i++)
            s[i] = fabs(query[i] - key) < window ? s[i] : -INFINITY;
    }
}

/* Computes the scores (keys, queries) with the transposed queries. */
static void score(real *s, const real *queries, const head *a)
{
    const product p = {.size = {a->Tk, a->queries, a->D},
                       .alpha = (real)a->args->o.scale,
                       .a = {a->k, a->k_row, 1},
                       .b = {queries, (size_t)a->queries},
                       .c = {s, (size_t)a->queries}};
    multiply(&p);
    finish(s, a);
}

/* Scratch memory of a part. */
typedef struct scratch {
    real *queries, *dout;  /* transposed: (D, queries), (E, queries) */
    real *s, *ds;          /* (Tk, queries) */
    real *shift, *inverse; /* (queries) */
} scratch;

static scratch scratch_of(const head *a, real *memory)
{
    const size_t queries = (size_t)a->queries, s = (size_t)a->Tk * queries;
    scratch w = {.queries = memory};
    w.s = w.queries + (size_t)a->D * queries;
    w.shift = w.s + s;
    w.inverse = w.shift + queries;
    w.dout = w.inverse + queries;
    w.ds = w.dout + (size_t)a->E * queries;
    return w;
}

size_t rt_short_attention_scratch(const rt_node *n, rt_pass pass)
{
    const rt_tensor *q = n->in[0], *k = n->in[1], *v = n->in[2];
    const size_t queries = (size_t)filled_up(q->shape[1]);
    const size_t forward = (size_t)q->shape[3] + (size_t)k->shape[1] + 2;
    const size_t backward = (size_t)v->shape[3] + (size_t)k->shape[1];
    return (pass == RT_BACKWARD ? forward + backward : forward) * queries * sizeof(real);
}

static void forward_head(const head *a, const scratch *w)
{
    const size_t row = (size_t)a->Tq * sizeof(real);
    transpose(w->queries, a->queries, a->q, a->q_row, a->Tq, a->D);
    score(w->s, w->queries, a);
    softmax_columns(w->s, a->Tk, a->queries, w->shift, w->inverse);
    const product p = {.size = {a->Tq, a->E, a->Tk},
                       .alpha = 1,
                       .factors = w->inverse,
                       .a = {w->s, 1, (size_t)a->queries},
                       .b = {a->v, a->v_row},
                       .c = {a->out, a->out_row}};
    multiply(&p);
    memcpy(a->shift, w->shift, row);
    memcpy(a->inverse, w->inverse, row);
}

/* Adds factor X^T Y to the gradient of the keys or values, or writes it; X is (Tk, queries), Y in
 * rows of queries. */
static void add_to_keys(real *to, size_t to_row, int size, bool adds, const real *x, const real *y,
                        size_t y_row, real factor, const head *a)
{
    const product p = {.size = {a->Tk, size, a->Tq},
                       .alpha = factor,
                       .a = {x, (size_t)a->queries, 1},
                       .b = {y, y_row},
                       .c = {to, to_row},
                       .adds = adds};
    multiply(&p);
}

static void backward_head(const head *a, const scratch *w)
{
    const real scale = (real)a->args->o.scale;
    const size_t row = (size_t)a->Tq * sizeof(real), queries = (size_t)a->queries;
    const product dp = {.size = {a->Tk, a->queries, a->E},
                        .alpha = 1,
                        .a = {a->v, a->v_row, 1},
                        .b = {w->dout, queries},
                        .c = {w->ds, queries}};
    const product dq = {.size = {a->Tq, a->D, a->Tk},
                        .alpha = scale,
                        .a = {w->ds, 1, queries},
                        .b = {a->k, a->k_row},
                        .c = {a->dq, a->q_row},
                        .adds = a->adds_q};
    transpose(w->queries, a->queries, a->q, a->q_row, a->Tq, a->D);
    transpose(w->dout, a->queries, a->dout, a->out_row, a->Tq, a->E);
    memset(w->shift, 0, 2 * queries * sizeof(real)); /* shift and inverse */
    memcpy(w->shift, a->shift, row);
    memcpy(w->inverse, a->inverse, row);
    score(w->s, w->queries, a);
    multiply(&dp);
    softmax_columns_backward(w->s, w->ds, a->Tk, a->queries, w->shift, w->inverse);
    if (a->dv)
        add_to_keys(a->dv, a->v_row, a->E, a->adds_v, w->s, a->dout, a->out_row, 1, a);
    if (a->dk)
        add_to_keys(a->dk, a->k_row, a->D, a->adds_k, w->ds, a->q, a->q_row, scale, a);
    if (a->dq)
        multiply(&dq);
}

/* Computes the heads of a part in either pass; those that add to the same keys are consecutive. */
static void compute_part(const plan *p, int part, void *memory,
                         void (*compute)(const head *, const scratch *))
{
    const rt_tensor *k = p->node->in[1];
    const int heads = k->shape[0] * k->shape[2], first = part * p->each;
    for (int number = first; number < heads && number < first + p->each; number++)
        for (int member = 0; member < p->run; member++) {
            const head a = head_at(p, number, member);
            const scratch w = scratch_of(&a, memory);
            compute(&a, &w);
        }
}

static void forward_part(void *context, int part, void *memory)
{
    compute_part(context, part, memory, forward_head);
}

static void backward_part(void *context, int part, void *memory)
{
    compute_part(context, part, memory, backward_head);
}

void rt_short_attention_forward(const rt_node *n)
{
    plan p = plan_of(n);
    rt_node_share(n, forward_part, &p, p.parts);
}

void rt_short_attention_backward(const rt_node *n)
{
    plan p = plan_of(n);
    /* in the order in which a head writes them, since they may be the same tensor */
    p.dv = rt_grad_or_fresh(n, 2, &p.beta_of_v);
    p.dk = rt_grad_or_fresh(n, 1, &p.beta_of_k);
    p.dq = rt_grad_or_fresh(n, 0, &p.beta_of_q);
    rt_node_share(n, backward_part, &p, p.parts);
}
