#include "ops/private.h"

#include "core/row_kernels.h"

#include <math.h>
#include <string.h>

/* Tokens of one sequence, with heads of D features whose first 2 * pairs are rotated, and their
 * rows of the table. */
typedef struct view {
    size_t start; /* index of the first number in the batch */
    int T, D, pairs;
    int heads; /* of the table */
    int group; /* heads of x per head of the table */
    bool half; /* pairs (i, i + pairs); else (2 i, 2 i + 1) */
    bool mixed;
    const real *cosine, *sine;
    const double *position, *second;
    size_t angle; /* index of the first angle in the table */
} view;

/* Returns the tokens of the first sequence within first ... end - 1. */
static view view_at(const rt_tensor *x, const rt_rotation *r, size_t first, size_t end)
{
    const size_t T = (size_t)x->shape[1], b = first / T, last = (b + 1) * T;
    const size_t row = (r->sequences > 1 ? b * (size_t)r->length : 0) + first % T;
    const size_t at = row * (size_t)r->heads * (size_t)r->pairs;
    return (view){.start = first * (size_t)x->shape[2] * (size_t)x->shape[3],
                  .T = (int)((end < last ? end : last) - first),
                  .D = x->shape[3],
                  .pairs = r->pairs,
                  .heads = r->heads,
                  .group = x->shape[2] / r->heads,
                  .half = r->pairing == RT_HALF,
                  .mixed = r->mixed,
                  .cosine = r->cosine + at,
                  .sine = r->sine + at,
                  .position = r->position ? r->position + row : NULL,
                  .second = r->second ? r->second + row : NULL,
                  .angle = at};
}

/* Inlined with constant `half` and `add`, so that each case is vectorized separately. */
#define INLINE __attribute__((always_inline)) static inline

/* Computes y = R x, or y += R x; sign -1 rotates by the opposite angle. Features that are not
 * rotated pass through. */
INLINE void rotate(real *restrict y, const real *restrict x, view v, real sign, bool half, bool add)
{
    const real *restrict cosine = v.cosine, *restrict sine = v.sine;
    const size_t step = half ? 1 : 2, second = half ? (size_t)v.pairs : 1;
    for (int row = 0; row < v.T * v.heads; row++, cosine += v.pairs, sine += v.pairs)
        for (int h = 0; h < v.group; h++, x += v.D, y += v.D) {
            for (int i = 0; i < v.pairs; i++) {
                const size_t a = (size_t)i * step, b = a + second;
                const real first = x[a] * cosine[i] - sign * x[b] * sine[i];
                const real other = sign * x[a] * sine[i] + x[b] * cosine[i];
                y[a] = add ? y[a] + first : first;
                y[b] = add ? y[b] + other : other;
            }
            for (int i = 2 * v.pairs; i < v.D; i++)
                y[i] = add ? y[i] + x[i] : x[i];
        }
}

/* Adds x * dangle and y * dangle of token t to the sums of the theta that x and y multiply. */
INLINE void add_coordinates(double *restrict sum, const real *restrict dangle, view v, int t)
{
    const double x = v.position[t], y = v.second[t];
    const int half = v.pairs / 2;
    for (int row = 0; row < v.heads; row++, dangle += v.pairs) {
        for (int i = 0; i < v.pairs; i++)
            sum[i] += (v.mixed || i < half ? x : y) * (double)dangle[i];
        sum += v.pairs;
        for (int i = 0; v.mixed && i < v.pairs; i++)
            sum[i] += y * (double)dangle[i];
        sum += v.mixed ? v.pairs : 0;
    }
}

/* Adds m * dangle of every token to the sums, one for each theta. dangle_i = dy_b y_a - dy_a y_b is
 * the gradient of the angle of pair i. If `sum` is NULL, adds dangle of every token to its row. */
INLINE void add_angle_gradients(double *restrict sum, real *restrict dangle, const real *restrict y,
                                const real *restrict dy, view v, bool half)
{
    const int columns = v.heads * v.pairs;
    const size_t step = half ? 1 : 2, second = half ? (size_t)v.pairs : 1;
    for (int t = 0; t < v.T; t++) {
        if (sum)
            memset(dangle, 0, (size_t)columns * sizeof *dangle);
        for (int row = 0; row < columns; row += v.pairs)
            for (int h = 0; h < v.group; h++, y += v.D, dy += v.D)
                for (int i = 0; i < v.pairs; i++) {
                    const size_t a = (size_t)i * step, b = a + second;
                    dangle[row + i] += dy[b] * y[a] - dy[a] * y[b];
                }
        if (!sum)
            dangle += columns;
        else if (v.second)
            add_coordinates(sum, dangle, v, t);
        for (int i = 0; sum && !v.second && i < columns; i++)
            sum[i] += v.position[t] * (double)dangle[i];
    }
}

static RT_ROW_KERNEL(rotate_view, (real * y, const real *x, view v, real sign, bool add),
                     (y, x, v, sign, add))
{
    if (v.half && add)
        rotate(y, x, v, sign, true, true);
    else if (v.half)
        rotate(y, x, v, sign, true, false);
    else if (add)
        rotate(y, x, v, sign, false, true);
    else
        rotate(y, x, v, sign, false, false);
}

static RT_ROW_KERNEL(sum_angle_gradients,
                     (double *sum, real *dangle, const real *y, const real *dy, view v),
                     (sum, dangle, y, dy, v))
{
    if (v.half)
        add_angle_gradients(sum, dangle, y, dy, v, true);
    else
        add_angle_gradients(sum, dangle, y, dy, v, false);
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

static void rotate_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const rt_rotation *r = rotation_of(n);
    const size_t end = span->first + span->count;
    for (size_t t = span->first; t < end;) {
        const view v = view_at(n->out, r, t, end);
        rotate_view(n->out->data + v.start, n->in[0]->data + v.start, v, 1, false);
        t += (size_t)v.T;
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

/* Returns whether backward must rotate x again for the gradient of theta, because the numbers of
 * the result were released. */
static bool rotates_again(const rt_node *n)
{
    return learns(n) && !n->out->data;
}

static bool rope_reads(const rt_node *n, const rt_tensor *x)
{
    if (x == n->in[0])
        return rotates_again(n);
    return x == n->out ? learns(n) && !n->in[0]->data : x == rotation_of(n)->theta;
}

/* Returns the memory for the sums and the angle gradients of all parts, for a learned theta only;
 * those of angles are the gradient itself.
 * Each part also has its own rotated tokens, if they are recomputed. */
static rt_scratch_size rope_scratch(const rt_node *n, rt_pass pass)
{
    const size_t width = width_of(n->out);
    const size_t parts = (size_t)rt_parts_of_rows(tokens_of(n->out), width);
    const rt_rotation *r = rotation_of(n);
    const size_t numbers = r->angles ? 0 : parts * rt_rotation_thetas(r);
    const size_t again = rotates_again(n) ? rt_rows_of_part(width) * width : 0;
    if (pass == RT_FORWARD || !learns(n))
        return (rt_scratch_size){0};
    return (rt_scratch_size){.whole = numbers * (sizeof(double) + sizeof(real)),
                             .part = again * sizeof(real)};
}

typedef struct rope_pass {
    real *dx, beta;
    double *sums;  /* NULL: theta wants no gradient */
    real *dangles; /* of each part; without sums, of all angles; NULL: neither wants a gradient */
} rope_pass;

static void rotate_back_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const rt_rotation *r = rotation_of(n);
    const rope_pass *p = span->context;
    const size_t end = span->first + span->count, columns = rt_rotation_thetas(r);
    const size_t at = (size_t)span->number * columns;
    if (p->sums)
        memset(p->sums + at, 0, columns * sizeof *p->sums);
    for (size_t t = span->first; t < end;) {
        const view v = view_at(n->out, r, t, end);
        const real *dy = n->out->grad + v.start;
        real *y = n->out->data ? n->out->data + v.start : span->scratch;
        if (p->dx)
            rotate_view(p->dx + v.start, dy, v, -1, p->beta != 0);
        if (p->dangles && !n->out->data)
            rotate_view(y, n->in[0]->data + v.start, v, 1, false);
        if (p->sums)
            sum_angle_gradients(p->sums + at, p->dangles + at, y, dy, v);
        else if (p->dangles)
            sum_angle_gradients(NULL, p->dangles + v.angle, y, dy, v);
        t += (size_t)v.T;
    }
}

static void rope_backward(const rt_node *n)
{
    const rt_rotation *r = rotation_of(n);
    const size_t tokens = tokens_of(n->out), width = width_of(n->out);
    const size_t parts = (size_t)rt_parts_of_rows(tokens, width), thetas = rt_rotation_thetas(r);
    rope_pass p = {.beta = 0};
    p.dx = rt_grad_or_fresh(n, 0, &p.beta);
    real *dtheta = rt_grad(n, 1);
    if (r->angles) {
        p.dangles = dtheta;
        dtheta = NULL;
    }
    if (dtheta) {
        p.sums = rt_scratch(n);
        p.dangles = (real *)(p.sums + parts * thetas);
    }
    rt_node_rows(n, tokens, width, rotate_back_span, &p);
    for (size_t i = 0; dtheta && i < thetas; i++) {
        const double held = (double)r->theta->data[i];
        double sum = 0;
        for (size_t k = 0; k < parts; k++)
            sum += p.sums[k * thetas + i];
        /* dtheta / dlambda = theta */
        dtheta[i] += (real)(r->form == RT_THETA_LOG ? sum * exp(held) : sum);
    }
}

const rt_op rt_op_rope = {.name = "rope",
                          .forward = rope_forward,
                          .backward = rope_backward,
                          .scratch = rope_scratch,
                          .reads = rope_reads};

rt_tensor *rt_rope(rt_graph *g, rt_tensor *x, const rt_rotation *r)
{
    if (!rt_graph_check_argument(g, "rope", "rotation", r) || !rt_rotation_is_sound(g, r) ||
        !RT_CHECK_INPUTS(g, "rope", RT_INPUT(x)))
        return NULL;
    if (x->ndim != 4 || r->pairs > x->shape[3] / 2)
        return rt_graph_fail(g, RT_SHAPE, "[rope] x must be (B, T, H, D) with D >= %lld; got %s",
                             2LL * r->pairs, rt_shape_text(x));
    if (x->shape[2] % r->heads ||
        ((r->sequences != 1 || r->angles) && r->sequences != x->shape[0]) ||
        r->length < x->shape[1])
        return rt_graph_fail(g, RT_SHAPE,
                             "[rope] the rotation is for %d heads, %d sequences and %d positions; "
                             "got x %s",
                             r->heads, r->sequences, r->length, rt_shape_text(x));
    return RT_APPLY(g, &rt_op_rope, rt_tensor_shape(x), &r, x, r->angles ? r->angles : r->theta);
}
