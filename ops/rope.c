#include "ops/private.h"

#include "core/row_kernels.h"

#include <math.h>
#include <string.h>

/* One sequence: T tokens of H heads of D features, of which the first 2 * pairs turn. */
typedef struct extent {
    int T, H, D;
    int pairs;
    int heads; /* of the table */
    int group; /* of the H heads that share one of the table */
} extent;

static extent extent_of(const rt_tensor *x, const rt_rotation *r)
{
    return (extent){.T = x->shape[1],
                    .H = x->shape[2],
                    .D = x->shape[3],
                    .pairs = r->pairs,
                    .heads = r->heads,
                    .group = x->shape[2] / r->heads};
}

/* Token 0 of sequence b, among those of the table. */
static size_t first_token(const rt_rotation *r, int b)
{
    return r->sequences > 1 ? (size_t)b * (size_t)r->length : 0;
}

/* y = R x, or y += R x; sign -1 turns the other way; the features that are not rotated pass
 * through. `step` (from one pair to the next), `second` (from the first feature of a pair to
 * its second) and `add` are constants where this is called, so that each case becomes vector
 * code of its own. */
static inline void rotate(real *restrict y, const real *restrict x, const real *restrict cosine,
                          const real *restrict sine, extent e, size_t step, size_t second,
                          real sign, bool add)
{
    for (int row = 0; row < e.T * e.heads; row++, cosine += e.pairs, sine += e.pairs)
        for (int h = 0; h < e.group; h++, x += e.D, y += e.D) {
            for (int i = 0; i < e.pairs; i++) {
                const size_t a = (size_t)i * step, b = a + second;
                const real first = x[a] * cosine[i] - sign * x[b] * sine[i];
                const real other = sign * x[a] * sine[i] + x[b] * cosine[i];
                y[a] = add ? y[a] + first : first;
                y[b] = add ? y[b] + other : other;
            }
            for (int i = 2 * e.pairs; i < e.D; i++)
                y[i] = add ? y[i] + x[i] : x[i];
        }
}

/* Adds m * turn of every token to the sums: one for each pair, or for each head and pair, with
 * turn_i = dy_b y_a - dy_a y_b: how much the row would gain by turning pair i further. */
static inline void add_turns(double *restrict sum, real *restrict turn, const real *restrict y,
                             const real *restrict dy, const double *restrict position, extent e,
                             size_t step, size_t second)
{
    const int columns = e.heads * e.pairs;
    for (int t = 0; t < e.T; t++) {
        memset(turn, 0, (size_t)columns * sizeof *turn);
        for (int row = 0; row < columns; row += e.pairs)
            for (int h = 0; h < e.group; h++, y += e.D, dy += e.D)
                for (int i = 0; i < e.pairs; i++) {
                    const size_t a = (size_t)i * step, b = a + second;
                    turn[row + i] += dy[b] * y[a] - dy[a] * y[b];
                }
        for (int i = 0; i < columns; i++)
            sum[i] += position[t] * (double)turn[i];
    }
}

static RT_ROW_KERNEL(rotate_interleaved,
                     (real * y, const real *x, const real *cosine, const real *sine, extent e,
                      real sign, bool add),
                     (y, x, cosine, sine, e, sign, add))
{
    if (add)
        rotate(y, x, cosine, sine, e, 2, 1, sign, true);
    else
        rotate(y, x, cosine, sine, e, 2, 1, sign, false);
}

static RT_ROW_KERNEL(rotate_half,
                     (real * y, const real *x, const real *cosine, const real *sine, extent e,
                      real sign, bool add),
                     (y, x, cosine, sine, e, sign, add))
{
    if (add)
        rotate(y, x, cosine, sine, e, 1, (size_t)e.pairs, sign, true);
    else
        rotate(y, x, cosine, sine, e, 1, (size_t)e.pairs, sign, false);
}

static RT_ROW_KERNEL(turn_interleaved,
                     (double *sum, real *turn, const real *y, const real *dy,
                      const double *position, extent e),
                     (sum, turn, y, dy, position, e))
{
    add_turns(sum, turn, y, dy, position, e, 2, 1);
}

static RT_ROW_KERNEL(turn_half,
                     (double *sum, real *turn, const real *y, const real *dy,
                      const double *position, extent e),
                     (sum, turn, y, dy, position, e))
{
    add_turns(sum, turn, y, dy, position, e, 1, (size_t)e.pairs);
}

/* Tokens of one sequence. */
typedef struct stretch {
    size_t first;    /* number in the batch */
    size_t of_table; /* and in the table */
    extent e;        /* with as many tokens */
} stretch;

/* The tokens of a part that belong to one sequence, from number `first` on. */
static stretch stretch_at(const rt_tensor *x, const rt_rotation *r, size_t first, size_t end)
{
    const size_t T = (size_t)x->shape[1], b = first / T, last = (b + 1) * T;
    stretch s = {first, first_token(r, (int)b) + first % T, extent_of(x, r)};
    s.e.T = (int)((end < last ? end : last) - first);
    return s;
}

/* Returns the index in a tensor of the first number of a span. */
static size_t start_of(stretch s)
{
    return s.first * (size_t)s.e.H * (size_t)s.e.D;
}

static void rotate_stretch(real *to, const real *from, const rt_rotation *r, stretch s, real sign,
                           bool add)
{
    const size_t row = s.of_table * (size_t)s.e.heads * (size_t)s.e.pairs;
    if (r->pairing == RT_HALF)
        rotate_half(to, from, r->cosine + row, r->sine + row, s.e, sign, add);
    else
        rotate_interleaved(to, from, r->cosine + row, r->sine + row, s.e, sign, add);
}

static void sum_turns(double *sum, real *turn, const real *y, const real *dy, const rt_rotation *r,
                      stretch s)
{
    const double *position = r->position + s.of_table;
    if (r->pairing == RT_HALF)
        turn_half(sum, turn, y, dy, position, s.e);
    else
        turn_interleaved(sum, turn, y, dy, position, s.e);
}

static const rt_rotation *rotation_of(const rt_node *n)
{
    return *(const rt_rotation *const *)n->args;
}

static size_t tokens_of(const rt_tensor *x)
{
    return (size_t)x->shape[0] * (size_t)x->shape[1];
}

static size_t width_of(const rt_tensor *x)
{
    return (size_t)x->shape[2] * (size_t)x->shape[3];
}

static size_t numbers_of_theta(const rt_rotation *r)
{
    return (size_t)r->heads * (size_t)r->pairs;
}

static void rotate_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const rt_rotation *r = rotation_of(n);
    const size_t end = span->first + span->count;
    for (size_t t = span->first; t < end;) {
        const stretch s = stretch_at(n->out, r, t, end);
        rotate_stretch(n->out->data + start_of(s), n->in[0]->data + start_of(s), r, s, 1, false);
        t += (size_t)s.e.T;
    }
}

static void rope_forward(const rt_node *n)
{
    rt_node_rows(n, tokens_of(n->out), width_of(n->out), rotate_span, NULL);
}

static bool learns(const rt_node *n)
{
    return n->in[1] && n->in[1]->wants_grad;
}

/* The gradient of theta is read off the result, or off what is rotated again where the result has
 * given its numbers back. */
static bool rotates_again(const rt_node *n)
{
    return learns(n) && !n->out->data;
}

static bool rope_reads(const rt_node *n, const rt_tensor *x)
{
    if (x == n->in[0])
        return rotates_again(n);
    return x == n->out ? learns(n) && !n->in[0]->data : true;
}

/* For a learned theta: the sums of a part of the tokens, of each part behind those of the one
 * before, and the turns of a token, of each part as well. Each part has its tokens that are rotated
 * again. */
static rt_scratch_size rope_scratch(const rt_node *n, rt_pass pass)
{
    const size_t width = width_of(n->out);
    const size_t parts = (size_t)rt_parts_of_rows(tokens_of(n->out), width);
    const size_t numbers = parts * numbers_of_theta(rotation_of(n));
    const size_t again = rotates_again(n) ? rt_rows_of_part(width) * width : 0;
    if (pass == RT_FORWARD || !learns(n))
        return (rt_scratch_size){0};
    return (rt_scratch_size){.whole = numbers * (sizeof(double) + sizeof(real)),
                             .part = again * sizeof(real)};
}

typedef struct rope_pass {
    real *dx, beta;
    double *sums; /* NULL: theta wants no gradient */
    real *turns;
} rope_pass;

/* The result of some tokens. */
static const real *rotated(const rt_node *n, stretch s, real *room)
{
    if (n->out->data)
        return n->out->data + start_of(s);
    rotate_stretch(room, n->in[0]->data + start_of(s), rotation_of(n), s, 1, false);
    return room;
}

static void rotate_back_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const rt_rotation *r = rotation_of(n);
    const rope_pass *p = span->context;
    const size_t end = span->first + span->count, columns = numbers_of_theta(r);
    const size_t at = (size_t)span->number * columns;
    if (p->sums)
        memset(p->sums + at, 0, columns * sizeof *p->sums);
    for (size_t t = span->first; t < end;) {
        const stretch s = stretch_at(n->out, r, t, end);
        const real *dy = n->out->grad + start_of(s);
        if (p->dx)
            rotate_stretch(p->dx + start_of(s), dy, r, s, -1, p->beta != 0);
        if (p->sums)
            sum_turns(p->sums + at, p->turns + at, rotated(n, s, span->scratch), dy, r, s);
        t += (size_t)s.e.T;
    }
}

static void add_theta_gradient(real *dtheta, const double *sums, int parts, const rt_rotation *r)
{
    const size_t columns = numbers_of_theta(r);
    for (size_t i = 0; i < columns; i++) {
        double sum = 0, held = (double)r->theta->data[i];
        double per_held = r->form == RT_THETA_LOG ? exp(held) : 1; /* dtheta / dlambda = theta */
        for (int k = 0; k < parts; k++)
            sum += sums[(size_t)k * columns + i];
        dtheta[i] += (real)(sum * per_held);
    }
}

static void rope_backward(const rt_node *n)
{
    const rt_rotation *r = rotation_of(n);
    const size_t tokens = tokens_of(n->out), width = width_of(n->out);
    const int parts = rt_parts_of_rows(tokens, width);
    rope_pass p = {.beta = 0};
    p.dx = rt_grad_or_fresh(n, 0, &p.beta);
    real *dtheta = rt_grad(n, 1);
    if (dtheta) {
        p.sums = rt_scratch(n);
        p.turns = (real *)(p.sums + (size_t)parts * numbers_of_theta(r));
    }
    rt_node_rows(n, tokens, width, rotate_back_span, &p);
    if (dtheta)
        add_theta_gradient(dtheta, p.sums, parts, r);
}

const rt_op rt_op_rope = {.name = "rope",
                          .forward = rope_forward,
                          .backward = rope_backward,
                          .scratch = rope_scratch,
                          .reads = rope_reads};

rt_tensor *rt_rope(rt_graph *g, rt_tensor *x, const rt_rotation *r)
{
    if (!rt_graph_given(g, "rope", "rotation", r) || !rt_rotation_is_sound(g, r) ||
        !RT_TAKES(g, "rope", RT_INPUT(x)))
        return NULL;
    if (x->ndim != 4 || r->pairs > x->shape[3] / 2)
        return rt_graph_fail(g, RT_SHAPE, "[rope] x must be (B, T, H, D) with D >= %lld; got %s",
                             2LL * r->pairs, rt_shape_text(x));
    if (x->shape[2] % r->heads || (r->sequences != 1 && r->sequences != x->shape[0]) ||
        r->length < x->shape[1])
        return rt_graph_fail(g, RT_SHAPE,
                             "[rope] the rotation is for %d heads, %d sequences and %d positions; "
                             "got x %s",
                             r->heads, r->sequences, r->length, rt_shape_text(x));
    return RT_APPLY(g, &rt_op_rope, rt_tensor_shape(x), &r, x, r->theta);
}
