#include "ops/private.h"

#include "core/row_kernels.h"
#include "ops/vector_math.h"

typedef struct activation_args {
    rt_activation_values *values;
    real *derivative; /* NULL: not saved */
} activation_args;

#define KERNEL(name)                                                                               \
    static RT_ROW_KERNEL(name##_values,                                                            \
                         (real *restrict y, real *restrict derivative, const real *restrict x,     \
                          size_t size),                                                            \
                         (y, derivative, x, size))

/* Computes x Phi(x); the derivative is Phi(x) + x phi(x). */
KERNEL(gelu)
{
    for (size_t i = 0; i < size; i++) {
        real cdf, density;
        rt_normal(x[i], &cdf, &density);
        y[i] = x[i] * cdf;
        derivative[i] = cdf + x[i] * density;
    }
}

KERNEL(gelu_tanh)
{
    const real root = (real)0.7978845608028654, cubic = (real)0.044715, half = (real)0.5;
    for (size_t i = 0; i < size; i++) {
        const real square = x[i] * x[i];
        const real t = rt_tanh_of(root * x[i] * (1 + cubic * square));
        y[i] = half * x[i] * (1 + t);
        derivative[i] =
            half * (1 + t) + half * x[i] * (1 - t * t) * root * (1 + 3 * cubic * square);
    }
}

KERNEL(relu)
{
    for (size_t i = 0; i < size; i++) {
        y[i] = x[i] > 0 ? x[i] : 0;
        derivative[i] = x[i] > 0 ? 1 : 0;
    }
}

KERNEL(tanh)
{
    for (size_t i = 0; i < size; i++) {
        y[i] = rt_tanh_of(x[i]);
        derivative[i] = 1 - y[i] * y[i];
    }
}

KERNEL(sigmoid)
{
    for (size_t i = 0; i < size; i++) {
        y[i] = 1 / (1 + rt_exp_of(-x[i]));
        derivative[i] = y[i] * (1 - y[i]);
    }
}

KERNEL(silu)
{
    for (size_t i = 0; i < size; i++) {
        const real s = 1 / (1 + rt_exp_of(-x[i]));
        y[i] = x[i] * s;
        derivative[i] = s + x[i] * s * (1 - s);
    }
}

KERNEL(exp)
{
    for (size_t i = 0; i < size; i++)
        y[i] = derivative[i] = rt_exp_of(x[i]);
}

KERNEL(elu_plus_one)
{
    for (size_t i = 0; i < size; i++) {
        const real e = rt_exp_bounded_of(x[i] < 0 ? x[i] : 0);
        y[i] = x[i] > 0 ? x[i] + 1 : e;
        derivative[i] = e;
    }
}

/* Both kinds take e^-|x|, which cannot overflow. */

KERNEL(softplus)
{
    for (size_t i = 0; i < size; i++) {
        const real e = rt_exp_bounded_of(x[i] < 0 ? x[i] : -x[i]);
        y[i] = (x[i] > 0 ? x[i] : 0) + rt_log1p_of(e);
        derivative[i] = (x[i] > 0 ? 1 : e) / (1 + e);
    }
}

KERNEL(log_sigmoid)
{
    for (size_t i = 0; i < size; i++) {
        const real e = rt_exp_bounded_of(x[i] < 0 ? x[i] : -x[i]);
        y[i] = (x[i] < 0 ? x[i] : 0) - rt_log1p_of(e);
        derivative[i] = (x[i] > 0 ? e : 1) / (1 + e);
    }
}

static void activate_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const activation_args *a = n->args;
    const size_t i = span->first;
    a->values(n->out->data + i, a->derivative + i, n->in[0]->data + i, span->count);
}

static void activation_forward(const rt_node *n)
{
    rt_node_rows(n, rt_size(n->out), 1, activate_span, NULL);
}

static void derive_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const activation_args *a = n->args;
    rt_row_multiply(n->out->grad + span->first, a->derivative + span->first, span->count);
}

static void activation_backward(const rt_node *n)
{
    rt_node_rows(n, rt_size(n->out), 1, derive_span, NULL);
    rt_grad_pass(n, 0);
}

#define OP(X, value, op)                                                                           \
    const rt_op rt_op_##op = {.name = #op,                                                         \
                              .forward = activation_forward,                                       \
                              .backward = activation_backward};
RT_ACTIVATION_ROWS(OP, )

#define ROW(X, value, op) [value] = {&rt_op_##op, op##_values},
static const struct {
    const rt_op *op;
    rt_activation_values *values;
} kinds[] = {RT_ACTIVATION_ROWS(ROW, )};

rt_activation_values *rt_activation_kernel(rt_graph *g, const char *op, rt_activation kind)
{
    if ((size_t)kind < sizeof kinds / sizeof *kinds)
        return kinds[kind].values;
    rt_graph_fail(g, RT_ARGUMENT, "[%s] there is no activation %d", op, (int)kind);
    return NULL;
}

rt_tensor *rt_activate(rt_graph *g, rt_tensor *x, rt_activation kind)
{
    if (!rt_activation_kernel(g, "activate", kind) ||
        !RT_CHECK_INPUTS(g, kinds[kind].op->name, RT_INPUT(x)))
        return NULL;
    activation_args args = {kinds[kind].values, rt_graph_numbers(g, rt_size(x), sizeof(real))};
    return RT_APPLY(g, kinds[kind].op, rt_tensor_shape(x), &args, x);
}

/* Both inputs stay until the graph is cleared, so backward recomputes f(gate) and f'(gate) and
 * nothing is saved. This costs little compared with the matrix products around it. Blocks keep both
 * in the nearest cache. */
enum { BLOCK = 2048 };

/* Computes dx = dy f(gate), in place of dy, and dgate = dy x f'(gate), which is added if `adds`. */
static RT_ROW_KERNEL(glu_gradients,
                     (real *restrict dgate, real *restrict dy, const real *restrict x,
                      const real *restrict value, const real *restrict derivative, size_t size,
                      bool adds),
                     (dgate, dy, x, value, derivative, size, adds))
{
    if (dgate)
        for (size_t i = 0; i < size; i++)
            dgate[i] = (adds ? dgate[i] : 0) + dy[i] * x[i] * derivative[i];
    for (size_t i = 0; i < size; i++)
        dy[i] *= value[i];
}

/* Computes f(gate) x. f' is computed as well and discarded. */
static void gate_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const activation_args *a = n->args;
    const size_t end = span->first + span->count;
    real derivative[BLOCK];
    for (size_t i = span->first; i < end; i += BLOCK) {
        const size_t count = end - i < BLOCK ? end - i : BLOCK;
        a->values(n->out->data + i, derivative, n->in[0]->data + i, count);
        rt_row_multiply(n->out->data + i, n->in[1]->data + i, count);
    }
}

static void glu_forward(const rt_node *n)
{
    rt_node_rows(n, rt_size(n->out), 1, gate_span, NULL);
}

typedef struct glu_gradient {
    real *dgate, beta;
} glu_gradient;

static void glu_derive_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const activation_args *a = n->args;
    const glu_gradient *b = span->context;
    const size_t end = span->first + span->count;
    real value[BLOCK], derivative[BLOCK];
    for (size_t i = span->first; i < end; i += BLOCK) {
        const size_t count = end - i < BLOCK ? end - i : BLOCK;
        a->values(value, derivative, n->in[0]->data + i, count);
        glu_gradients(b->dgate ? b->dgate + i : NULL, n->out->grad + i, n->in[1]->data + i, value,
                      derivative, count, b->beta != 0);
    }
}

static void glu_backward(const rt_node *n)
{
    glu_gradient b;
    b.dgate = rt_grad_or_fresh(n, 0, &b.beta);
    rt_node_rows(n, rt_size(n->out), 1, glu_derive_span, &b);
    rt_grad_pass(n, 1); /* last: it may move the gradient of the result away */
}

const rt_op rt_op_glu = {.name = "glu",
                         .forward = glu_forward,
                         .backward = glu_backward,
                         .reads = rt_reads_inputs};

rt_tensor *rt_glu(rt_graph *g, rt_tensor *gate, rt_tensor *x, rt_activation kind)
{
    const activation_args args = {rt_activation_kernel(g, "glu", kind), NULL};
    if (!args.values || !RT_CHECK_INPUTS(g, "glu", RT_INPUT(gate), RT_INPUT(x)))
        return NULL;
    if (!rt_same_shape(gate, x))
        return rt_graph_fail(g, RT_SHAPE, "[glu] gate and x must have one shape; got %s, %s",
                             rt_shape_text(gate), rt_shape_text(x));
    return RT_APPLY(g, &rt_op_glu, rt_tensor_shape(x), &args, gate, x);
}
