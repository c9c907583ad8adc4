#include "ops/ops.h"

#include <math.h>
#include <string.h>

/* How the rows of x meet the rows of the table. A row is one head of one token. */
typedef struct extent {
    int B, T, H, D;
    int pairs;
    size_t step;   /* from one pair to the next */
    size_t second; /* from the first feature of a pair to its second */
} extent;

static extent extent_of(const rt_tensor *x, const rt_rotation *r)
{
    extent e = {x->shape[0], x->shape[1], x->shape[2], x->shape[3], r->pairs, 2, 1};
    if (r->pairing == RT_HALF) {
        e.step = 1;
        e.second = (size_t)r->pairs;
    }
    return e;
}

/* The row of the table for token t of sequence b, head 0. */
static size_t table_row(const rt_rotation *r, int b, int t)
{
    int sequence = r->sequences > 1 ? b : 0;
    return ((size_t)sequence * (size_t)r->length + (size_t)t) * (size_t)r->heads;
}

/* y = R x, or y += R x; sign -1 turns the other way. `step` and `second` are constants
 * where this is called, so that each pairing becomes vector code of its own. */
static inline void rotate(real *restrict y, const real *restrict x, const real *restrict cosine,
                          const real *restrict sine, int pairs, size_t step, size_t second,
                          real sign, bool add)
{
    for (int i = 0; i < pairs; i++) {
        size_t a = (size_t)i * step, b = a + second;
        real first = x[a] * cosine[i] - sign * x[b] * sine[i];
        real other = sign * x[a] * sine[i] + x[b] * cosine[i];
        y[a] = add ? y[a] + first : first;
        y[b] = add ? y[b] + other : other;
    }
}

/* turn_i += dy_b y_a - dy_a y_b: how much the row would gain by turning pair i further. */
static inline void add_turn(real *restrict turn, const real *restrict y, const real *restrict dy,
                            int pairs, size_t step, size_t second)
{
    for (int i = 0; i < pairs; i++) {
        size_t a = (size_t)i * step, b = a + second;
        turn[i] += dy[b] * y[a] - dy[a] * y[b];
    }
}

RT_ROW_KERNEL void rotate_interleaved(real *y, const real *x, const real *cosine, const real *sine,
                                      int pairs, real sign, bool add)
{
    if (add)
        rotate(y, x, cosine, sine, pairs, 2, 1, sign, true);
    else
        rotate(y, x, cosine, sine, pairs, 2, 1, sign, false);
}

RT_ROW_KERNEL void rotate_half(real *y, const real *x, const real *cosine, const real *sine,
                               int pairs, real sign, bool add)
{
    if (add)
        rotate(y, x, cosine, sine, pairs, 1, (size_t)pairs, sign, true);
    else
        rotate(y, x, cosine, sine, pairs, 1, (size_t)pairs, sign, false);
}

RT_ROW_KERNEL void turn_interleaved(real *turn, const real *y, const real *dy, int pairs)
{
    add_turn(turn, y, dy, pairs, 2, 1);
}

RT_ROW_KERNEL void turn_half(real *turn, const real *y, const real *dy, int pairs)
{
    add_turn(turn, y, dy, pairs, 1, (size_t)pairs);
}

/* Rotates every row of `from` into `to`; the features that are not rotated pass through. */
static void rotate_all(real *to, const real *from, extent e, const rt_rotation *r, real sign,
                       bool add)
{
    for (int b = 0; b < e.B; b++)
        for (int t = 0; t < e.T; t++)
            for (int h = 0; h < e.H; h++) {
                size_t row = table_row(r, b, t) + (r->heads > 1 ? (size_t)h : 0);
                const real *cosine = r->cosine + row * (size_t)e.pairs;
                const real *sine = r->sine + row * (size_t)e.pairs;
                if (r->pairing == RT_HALF)
                    rotate_half(to, from, cosine, sine, e.pairs, sign, add);
                else
                    rotate_interleaved(to, from, cosine, sine, e.pairs, sign, add);
                for (int i = 2 * e.pairs; i < e.D; i++)
                    to[i] = add ? to[i] + from[i] : from[i];
                to += e.D;
                from += e.D;
            }
}

/* Adds m * turn of every token to the sums: one for each pair, or for each head and pair. */
static void sum_turns(double *sum, real *turn, const real *y, const real *dy, extent e,
                      const rt_rotation *r)
{
    const size_t columns = (size_t)r->heads * (size_t)e.pairs;
    for (int b = 0; b < e.B; b++)
        for (int t = 0; t < e.T; t++) {
            memset(turn, 0, columns * sizeof *turn);
            for (int h = 0; h < e.H; h++) {
                real *of_head = turn + (r->heads > 1 ? (size_t)h * (size_t)e.pairs : 0);
                if (r->pairing == RT_HALF)
                    turn_half(of_head, y, dy, e.pairs);
                else
                    turn_interleaved(of_head, y, dy, e.pairs);
                y += e.D;
                dy += e.D;
            }
            const double position = r->position[table_row(r, b, t) / (size_t)r->heads];
            for (size_t i = 0; i < columns; i++)
                sum[i] += position * (double)turn[i];
        }
}

static void add_theta_gradient(const rt_node *n, const rt_rotation *r)
{
    const size_t columns = (size_t)r->heads * (size_t)r->pairs;
    real *dtheta = rt_grad(n, 1);
    if (!dtheta)
        return;
    double *sum = rt_graph_scratch(n->graph, columns, sizeof(double) + sizeof(real));
    if (!sum)
        return;
    real *turn = (real *)(sum + columns);
    memset(sum, 0, columns * sizeof *sum);
    sum_turns(sum, turn, n->out->data, n->out->grad, extent_of(n->out, r), r);
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
    rotate_all(n->out->data, n->in[0]->data, extent_of(n->out, r), r, 1, false);
}

static void rope_backward(const rt_node *n)
{
    const rt_rotation *r = rotation_of(n);
    real beta;
    real *dx = rt_grad_or_fresh(n, 0, &beta);
    if (dx)
        rotate_all(dx, n->out->grad, extent_of(n->out, r), r, -1, beta != 0);
    add_theta_gradient(n, r);
}

const rt_op rt_op_rope = {"rope", rope_forward, rope_backward};

rt_tensor *rt_rope(rt_graph *g, rt_tensor *x, const rt_rotation *r)
{
    if (!x || !r)
        return NULL;
    if (x->ndim != 4 || 2 * r->pairs > x->shape[3])
        return rt_graph_fail(g, RT_SHAPE, "[rope] x must be (B, T, H, D) with D >= %d; got %s",
                             2 * r->pairs, rt_shape_text(x));
    if ((r->heads != 1 && r->heads != x->shape[2]) ||
        (r->sequences != 1 && r->sequences != x->shape[0]) || r->length < x->shape[1])
        return rt_graph_fail(g, RT_SHAPE,
                             "[rope] the rotation is for %d heads, %d sequences and %d positions; "
                             "got x %s",
                             r->heads, r->sequences, r->length, rt_shape_text(x));
    return RT_APPLY(g, &rt_op_rope, rt_tensor_shape(x), &r, x, r->theta);
}
