#include "ops/rotation.h"

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
                     (real *y, const real *x, const real *cosine, const real *sine, extent e,
                      real sign, bool add),
                     (y, x, cosine, sine, e, sign, add))
{
    if (add)
        rotate(y, x, cosine, sine, e, 2, 1, sign, true);
    else
        rotate(y, x, cosine, sine, e, 2, 1, sign, false);
}

static RT_ROW_KERNEL(rotate_half,
                     (real *y, const real *x, const real *cosine, const real *sine, extent e,
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

/* Rotates every sequence of `from` into `to`, both (B, T, H, D) like x. */
static void rotate_all(real *to, const real *from, const rt_tensor *x, const rt_rotation *r,
                       real sign, bool add)
{
    const extent e = extent_of(x, r);
    const size_t size = (size_t)e.T * (size_t)e.H * (size_t)e.D;
    for (int b = 0; b < x->shape[0]; b++, to += size, from += size) {
        const size_t row = first_token(r, b) * (size_t)e.heads * (size_t)e.pairs;
        if (r->pairing == RT_HALF)
            rotate_half(to, from, r->cosine + row, r->sine + row, e, sign, add);
        else
            rotate_interleaved(to, from, r->cosine + row, r->sine + row, e, sign, add);
    }
}

static void sum_turns(double *sum, real *turn, const rt_tensor *y, const rt_rotation *r)
{
    const extent e = extent_of(y, r);
    const size_t size = (size_t)e.T * (size_t)e.H * (size_t)e.D;
    for (int b = 0; b < y->shape[0]; b++) {
        const size_t start = (size_t)b * size;
        const double *position = r->position + first_token(r, b);
        if (r->pairing == RT_HALF)
            turn_half(sum, turn, y->data + start, y->grad + start, position, e);
        else
            turn_interleaved(sum, turn, y->data + start, y->grad + start, position, e);
    }
}

static void add_theta_gradient(const rt_node *n, const rt_rotation *r)
{
    const size_t columns = (size_t)r->heads * (size_t)r->pairs;
    real *dtheta = rt_grad(n, 1);
    if (!dtheta)
        return;
    double *sum = rt_room(n);
    memset(sum, 0, columns * sizeof *sum);
    sum_turns(sum, (real *)(sum + columns), n->out, r);
    for (size_t i = 0; i < columns; i++) {
        double held = (double)r->theta->data[i];
        double per_held = r->form == RT_THETA_LOG ? exp(held) : 1; /* dtheta / dlambda = theta */
        dtheta[i] += (real)(sum[i] * per_held);
    }
}

static const rt_rotation *rotation_of(const rt_node *n)
{
    return *(const rt_rotation *const *)n->args;
}

static void rope_forward(const rt_node *n)
{
    const rt_rotation *r = rotation_of(n);
    rotate_all(n->out->data, n->in[0]->data, n->out, r, 1, false);
}

/* The sums of a learned theta. */
static size_t rope_room(const rt_node *n, rt_pass pass)
{
    const rt_rotation *r = rotation_of(n);
    const bool sums = pass == RT_BACKWARD && n->in[1] && n->in[1]->wants_grad;
    return sums ? (size_t)r->heads * (size_t)r->pairs * (sizeof(double) + sizeof(real)) : 0;
}

static void rope_backward(const rt_node *n)
{
    const rt_rotation *r = rotation_of(n);
    real beta;
    real *dx = rt_grad_or_fresh(n, 0, &beta);
    if (dx)
        rotate_all(dx, n->out->grad, n->out, r, -1, beta != 0);
    add_theta_gradient(n, r);
}

const rt_op rt_op_rope = {.name = "rope",
                          .forward = rope_forward,
                          .backward = rope_backward,
                          .room = rope_room};

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
