#include "ops/engine.h"
#include "ops/gemm.h"
#include "ops/private.h"

#include <stdint.h>
#include <string.h>

/* Arguments of a linear map with an activation. */
typedef struct linear_args {
    rt_activation_values *values;
    real *derivative;         /* of the activation, for backward */
    uint16_t *rounded_result; /* or NULL */
} linear_args;

/* ---- numbers of a tensor in bf16 ---- */

typedef struct rounding {
    uint16_t *to;
    const real *from;
} rounding;

static void round_span(const rt_row_span *span)
{
    const rounding *r = span->context;
    rt_engine_round(r->to + span->first, r->from + span->first, span->count);
}

/* Rounds numbers in parts of the current pass. */
static void round_numbers(const rt_node *n, uint16_t *to, const real *from, size_t size)
{
    rounding r = {to, from};
    rt_node_rows(n, size, 1, round_span, &r);
}

/* Returns memory for the rounded numbers of a result, which backward reads; NULL if products do not
 * round or the graph does not record. */
static uint16_t *rounded_numbers(rt_graph *g, size_t size)
{
    return rt_gemm_rounds() && rt_graph_records(g) ? rt_graph_numbers(g, size, sizeof(uint16_t))
                                                   : NULL;
}

/* Places of the operands of the products of a pass. */
enum { ROWS, GRADIENTS, WEIGHT };

/* Rounds an operand once for all products and panels that read it. */
static rt_operand rounded(const rt_node *n, rt_operand x, size_t size, int place)
{
    uint16_t *to = x.rounded ? NULL : rt_gemm_place(size, place);
    if (!to)
        return x;
    round_numbers(n, to, x.data, size);
    x.rounded = to;
    return x;
}

static rt_operand rounded_rows(const rt_node *n)
{
    const rt_tensor *x = n->in[0];
    return rounded(n, rt_rows_of(x, rt_columns(x)), rt_size(x), ROWS);
}

static rt_operand rounded_weight(const rt_node *n)
{
    const rt_tensor *weight = n->in[1];
    const rt_operand w = rt_rows_at(weight->data, weight->shape[1]);
    return rt_gemm_holds(weight->data) ? w : rounded(n, w, rt_size(weight), WEIGHT);
}

/* ---- forward ---- */

/* Maximum number of rows for which rt_gemm_few is faster than the library, which first copies the
 * weight. In bf16 the library has a faster unit. A large weight is cut into parts of columns. */
enum { FEW_ROWS = 16, FEW_ROUNDED_ROWS = 8, COLUMNS_OF_FEW = 128, LEAST_OF_FEW = 1 << 16 };

/* Returns whether the rows are few and need no backward, as the next tokens of generated texts. */
static bool is_few(const rt_node *n)
{
    const size_t few = rt_gemm_rounds() ? FEW_ROUNDED_ROWS : FEW_ROWS;
    return rt_rows(n->in[0]) <= few && !rt_graph_records(n->graph);
}

/* Returns the number of multiplications from which a product is cut: a third of a millisecond of
 * work, or four milliseconds if a step has small shards, of which there are usually as many as
 * threads. */
static double least_work(const rt_node *n)
{
    enum { MANY_ROWS = 1024 };
    return rt_graph_records(n->graph) && rt_rows(n->out) < MANY_ROWS ? 3 << 26 : 1 << 24;
}

static rt_panels panels_of(const rt_node *n)
{
    const int rows = (int)rt_rows(n->out), out = rt_columns(n->out);
    if (!is_few(n))
        return rt_gemm_panels(rows, out, rt_columns(n->in[0]), least_work(n));
    const bool small = rt_size(n->in[1]) < LEAST_OF_FEW || out <= COLUMNS_OF_FEW;
    const int columns = small ? out : COLUMNS_OF_FEW, across = (out + columns - 1) / columns;
    return (rt_panels){rows, columns, across, across};
}

typedef struct forward_pass forward_pass;

/* Finishes a panel of the product: bias, activation or residual. */
typedef void finish_panel(const forward_pass *pass, rt_panel p);

struct forward_pass {
    const rt_node *node;
    rt_operand x, weight;
    real beta;
    rt_panels cut;
    finish_panel *finish; /* or NULL */
};

static rt_product product_of(int m, int n, int k, real beta, real *c)
{
    return (rt_product){.m = m, .n = n, .k = k, .alpha = 1, .beta = beta, .c = rt_result_at(c, n)};
}

/* Computes y = x weight^T + beta y in a panel. */
static void multiply_panel(const forward_pass *pass, rt_panel p)
{
    const rt_node *n = pass->node;
    const int in = n->in[1]->shape[1], out = n->in[1]->shape[0];
    rt_product all = product_of((int)rt_rows(n->out), out, in, pass->beta, n->out->data);
    all.a = pass->x;
    all.b = rt_transposed(pass->weight);
    if (is_few(n))
        rt_gemm_few((rt_sizes){p.rows, p.columns, in}, pass->x,
                    rt_rows_from(pass->weight, p.column), pass->beta,
                    rt_result_at(n->out->data + p.column, out));
    else
        rt_gemm_panel(&all, p);
}

/* Initializes a panel with residual and bias, to which the product is added. */
static void begin_panel(const rt_node *n, rt_panel p)
{
    const rt_tensor *bias = n->in[2], *residual = n->in[3];
    const size_t stride = (size_t)rt_columns(n->out), rows = (size_t)p.rows;
    const size_t columns = (size_t)p.columns;
    const size_t first = (size_t)p.row * stride + (size_t)p.column;
    real *y = n->out->data + first;
    if (residual && bias)
        rt_rows_add(y, residual->data + first, bias->data + p.column, rows, columns, stride);
    else if (residual)
        rt_rows_copy(y, residual->data + first, rows, columns, stride);
    else if (bias)
        rt_rows_fill(y, bias->data + p.column, rows, columns, stride);
}

static void forward_part(void *context, int part, void *scratch)
{
    const forward_pass *pass = context;
    const rt_tensor *out = pass->node->out;
    const rt_panel p = rt_panel_at(pass->cut, (int)rt_rows(out), rt_columns(out), part);
    (void)scratch;
    if (pass->beta != 0)
        begin_panel(pass->node, p);
    multiply_panel(pass, p);
    if (pass->finish)
        pass->finish(pass, p);
}

static void forward(const rt_node *n, real beta, finish_panel *finish)
{
    forward_pass pass = {n, rounded_rows(n), rounded_weight(n), beta, panels_of(n), finish};
    rt_node_share(n, forward_part, &pass, pass.cut.count);
}

static void linear_forward(const rt_node *n)
{
    forward(n, n->in[2] || n->in[3] ? 1 : 0, NULL);
}

/* ---- backward ---- */

typedef struct backward_pass {
    const rt_node *node;
    rt_operand x, weight, dy;
    real *dx, *dweight, *dbias; /* NULL if not wanted */
    real beta_of_dx, beta_of_dweight;
    rt_panels of_dx, of_dweight; /* the latter also for dbias, beside its first column */
} backward_pass;

static void dx_panel(const backward_pass *b, int number)
{
    const rt_tensor *x = b->node->in[0], *weight = b->node->in[1];
    const int in = weight->shape[1], out = weight->shape[0];
    rt_product all = product_of((int)rt_rows(x), in, out, b->beta_of_dx, b->dx);
    all.a = b->dy;
    all.b = b->weight;
    rt_gemm_panel(&all, rt_panel_at(b->of_dx, all.m, all.n, number));
}

static void dweight_panel(const backward_pass *b, int number)
{
    const rt_tensor *x = b->node->in[0], *weight = b->node->in[1];
    const int in = weight->shape[1], out = weight->shape[0];
    rt_product all = product_of(out, in, (int)rt_rows(x), b->beta_of_dweight, b->dweight);
    all.a = rt_transposed(b->dy);
    all.b = b->x;
    const rt_panel p = rt_panel_at(b->of_dweight, out, in, number);
    if (b->dweight)
        rt_gemm_panel(&all, p);
    if (b->dbias && !p.column)
        rt_rows_sum(b->dbias + p.row, b->dy.data + p.row, (size_t)all.k, (size_t)p.rows,
                    (size_t)out);
}

static void backward_part(void *context, int part, void *scratch)
{
    const backward_pass *b = context;
    (void)scratch;
    if (part < b->of_dx.count)
        dx_panel(b, part);
    else
        dweight_panel(b, part - b->of_dx.count);
}

/* Requests the gradients of the inputs. Returns false if none is wanted, or the graph is dry. */
static bool begin_backward(const rt_node *n, backward_pass *b)
{
    *b = (backward_pass){.node = n};
    b->dx = rt_grad_or_fresh(n, 0, &b->beta_of_dx);
    b->dweight = rt_grad_or_fresh(n, 1, &b->beta_of_dweight);
    b->dbias = rt_grad(n, 2);
    return b->dx || b->dweight || b->dbias;
}

/* Computes the gradients of the inputs; dy is the gradient of the linear map. */
static void compute_input_gradients(backward_pass *b, rt_operand dy)
{
    const rt_node *n = b->node;
    const rt_tensor *x = n->in[0], *weight = n->in[1];
    const int rows = (int)rt_rows(x), in = weight->shape[1], out = weight->shape[0];
    b->dy = dy;
    if (b->dx) {
        b->weight = rounded_weight(n);
        b->of_dx = rt_gemm_panels(rows, in, out, least_work(n));
    }
    if (b->dweight)
        b->x = rounded_rows(n);
    if (b->dweight || b->dbias)
        b->of_dweight = rt_gemm_panels(out, in, rows, least_work(n));
    if (b->dx && (b->dx == b->dweight || b->dx == b->dbias)) { /* the same tensor twice */
        backward_pass first = *b;
        first.of_dweight.count = b->of_dx.count = 0;
        rt_node_share(n, backward_part, &first, first.of_dx.count);
    }
    rt_node_share(n, backward_part, b, b->of_dx.count + b->of_dweight.count);
}

static size_t panel_library(const rt_node *node, int m, int n, int k)
{
    const rt_panels cut = rt_gemm_panels(m, n, k, least_work(node));
    return rt_gemm_library(cut.rows, cut.columns, k);
}

static rt_scratch_size linear_scratch(const rt_node *n, rt_pass pass)
{
    const int rows = (int)rt_rows(n->out), out = rt_columns(n->out), in = rt_columns(n->in[0]);
    if (pass == RT_FORWARD)
        return (rt_scratch_size){.library = panel_library(n, rows, out, in)};
    const size_t dx = panel_library(n, rows, in, out), dweight = panel_library(n, out, in, rows);
    return (rt_scratch_size){.library = dx > dweight ? dx : dweight};
}

/* Returns false with a bias or a residual, because only products accept a gradient in bf16. */
static bool linear_takes_rounded(const rt_node *n)
{
    return !n->in[2] && !n->in[3];
}

static void linear_backward(const rt_node *n)
{
    const rt_tensor *y = n->out;
    backward_pass b;
    if (begin_backward(n, &b)) {
        rt_operand dy = {.data = y->grad,
                         .stride = rt_columns(y),
                         .stored = y->rounded_grad,
                         .rounded = y->rounded_grad};
        compute_input_gradients(&b, rounded(n, dy, rt_size(y), GRADIENTS));
    }
    rt_grad_pass(n, 3); /* last: it may move the gradient of the result away */
}

const rt_op rt_op_linear = {.name = "linear",
                            .forward = linear_forward,
                            .backward = linear_backward,
                            .scratch = linear_scratch,
                            .reads = rt_reads_inputs,
                            .takes_rounded = linear_takes_rounded};

/* ---- with an activation ---- */

enum { BLOCK = 4096 }; /* numbers that stay in the nearest cache */

/* Computes y = f(y + bias) for `rows` adjacent pieces of rows, from number `first` on. */
static void activate(const rt_node *n, size_t first, size_t rows, size_t columns)
{
    const linear_args *a = n->args;
    const rt_tensor *bias = n->in[2];
    real scratch[BLOCK], *y = n->out->data + first;
    if (bias)
        rt_rows_add(scratch, y, bias->data + first % (size_t)rt_columns(n->out), rows, columns,
                    columns);
    else
        memcpy(scratch, y, rows * columns * sizeof *scratch);
    a->values(y, a->derivative + first, scratch, rows * columns);
    if (a->rounded_result)
        rt_engine_round(a->rounded_result + first, y, rows * columns);
}

/* Activates a panel block by block; rows without gaps between them are processed together. */
static void activate_panel(const forward_pass *pass, rt_panel p)
{
    const rt_node *n = pass->node;
    const size_t stride = (size_t)rt_columns(n->out), rows = (size_t)p.rows;
    const size_t columns = (size_t)p.columns, wide = columns < BLOCK ? columns : BLOCK;
    const size_t most = columns == stride && columns < BLOCK ? BLOCK / columns : 1;
    for (size_t r = 0; r < rows; r += most)
        for (size_t c = 0; c < columns; c += wide)
            activate(n, ((size_t)p.row + r) * stride + (size_t)p.column + c,
                     rows - r < most ? rows - r : most, columns - c < wide ? columns - c : wide);
}

static void linear_activation_forward(const rt_node *n)
{
    forward(n, 0, activate_panel);
}

typedef struct activation_pass {
    const linear_args *args;
    uint16_t *rounded;
} activation_pass;

static void derive_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const activation_pass *pass = span->context;
    const size_t end = span->first + span->count;
    for (size_t i = span->first; i < end; i += BLOCK) {
        const size_t count = end - i < BLOCK ? end - i : BLOCK;
        rt_activation_gradient(n->out->grad + i, pass->args->derivative + i, count);
        if (pass->rounded)
            rt_engine_round(pass->rounded + i, n->out->grad + i, count);
    }
}

static void linear_activation_backward(const rt_node *n)
{
    const size_t size = rt_size(n->out);
    backward_pass b;
    if (!begin_backward(n, &b))
        return;
    activation_pass pass = {n->args, rt_gemm_place(size, GRADIENTS)};
    rt_node_rows(n, size, 1, derive_span, &pass);
    rt_operand dy = rt_rows_at(n->out->grad, rt_columns(n->out));
    dy.rounded = pass.rounded;
    compute_input_gradients(&b, dy);
}

const rt_op rt_op_linear_activation = {.name = "linear_activation",
                                       .forward = linear_activation_forward,
                                       .backward = linear_activation_backward,
                                       .scratch = linear_scratch,
                                       .reads = rt_reads_inputs};

/* ---- constructors ---- */

static bool fits(rt_graph *g, const rt_op *op, const rt_tensor *x, const rt_tensor *weight,
                 const rt_tensor *bias)
{
    if (!RT_CHECK_INPUTS(g, op->name, RT_FACTOR(x), RT_INPUT(weight), RT_OPTIONAL(bias)))
        return false;
    if (weight->ndim != 2 || x->ndim < 1 || rt_columns(x) != weight->shape[1])
        rt_graph_fail(g, RT_SHAPE, "[%s] x must be (..., I), weight (O, I); got %s, %s", op->name,
                      rt_shape_text(x), rt_shape_text(weight));
    else if (bias && (bias->ndim != 1 || bias->shape[0] != weight->shape[0]))
        rt_graph_fail(g, RT_SHAPE, "[%s] bias must be (%d); got %s", op->name, weight->shape[0],
                      rt_shape_text(bias));
    return !rt_graph_failed(g);
}

static rt_shape result_shape(const rt_tensor *x, const rt_tensor *weight)
{
    rt_shape shape = rt_tensor_shape(x);
    shape.axis[shape.ndim - 1] = weight->shape[0];
    return shape;
}

rt_tensor *rt_linear(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias)
{
    if (!fits(g, &rt_op_linear, x, weight, bias))
        return NULL;
    return RT_APPLY(g, &rt_op_linear, result_shape(x, weight), RT_NO_ARGS, x, weight, bias, NULL);
}

rt_tensor *rt_linear_onto(rt_graph *g, rt_tensor *residual, rt_tensor *x, rt_tensor *weight,
                          rt_tensor *bias)
{
    if (!fits(g, &rt_op_linear, x, weight, bias) ||
        !RT_CHECK_INPUTS(g, "linear", RT_INPUT(residual)))
        return NULL;
    const rt_shape shape = result_shape(x, weight);
    if (!rt_shapes_equal(rt_tensor_shape(residual), shape))
        return rt_graph_fail(g, RT_SHAPE, "[linear] residual must be %s; got %s",
                             rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape),
                             rt_shape_text(residual));
    return RT_APPLY(g, &rt_op_linear, shape, RT_NO_ARGS, x, weight, bias, residual);
}

rt_tensor *rt_linear_activate(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias,
                              rt_activation kind)
{
    const rt_op *op = &rt_op_linear_activation;
    rt_activation_values *values = rt_activation_kernel(g, op->name, kind);
    if (!values || !fits(g, op, x, weight, bias))
        return NULL;
    const rt_shape shape = result_shape(x, weight);
    const size_t size = rt_shape_size(shape);
    const linear_args args = {.values = values,
                              .derivative = rt_graph_numbers(g, size, sizeof(real)),
                              .rounded_result = rounded_numbers(g, size)};
    rt_tensor *result = RT_APPLY(g, op, shape, &args, x, weight, bias, NULL);
    if (result)
        result->rounded = args.rounded_result;
    return result;
}

/* ---- bf16-only results ---- */

/* Rounds the numbers of x, unless the op of x has already done so. */
static void round_forward(const rt_node *n)
{
    const rt_tensor *x = n->in[0];
    if (x->rounded != n->out->rounded)
        round_numbers(n, n->out->rounded, x->data, rt_size(x));
}

static void round_backward(const rt_node *n)
{
    rt_grad_pass(n, 0);
}

static bool round_reads(const rt_node *n, const rt_tensor *x)
{
    (void)n;
    (void)x;
    return false;
}

static const rt_op op_round = {.name = "round",
                               .forward = round_forward,
                               .backward = round_backward,
                               .reads = round_reads};

rt_tensor *rt_for_products(rt_graph *g, rt_tensor *x)
{
    if (!RT_CHECK_INPUTS(g, op_round.name, RT_FACTOR(x)))
        return NULL;
    if (!x->data || !rt_gemm_rounds() || !rt_graph_records(g) || rt_graph_needs_numbers(g, x))
        return x;
    void *rounded = x->rounded ? x->rounded : rounded_numbers(g, rt_size(x));
    rt_tensor *y = rounded ? rt_graph_apply_rounded(g, &op_round, x, rounded) : NULL;
    if (y)
        rt_graph_release(g, x);
    return y;
}
