#include "ops/private.h"

#include <stdint.h>
#include <string.h>

typedef struct linear_args {
    rt_activation_values *values; /* NULL: no activation */
    real *derivative;             /* of the activation, for backward */
    uint16_t *rounded_result;     /* or NULL */
} linear_args;

/* Cut of a product into panels of its result, each of which is a product of its own. */
typedef struct panels {
    int rows, columns; /* of a panel; the last may have fewer */
    int across;        /* panels beside each other */
    int count;
} panels;

/* Rows and columns of the result in a panel. */
typedef struct panel {
    int row, rows, column, columns;
} panel;

/* Measured with OpenBLAS: panels of 512 x 512 take 1 to 2 % more time than the whole, of 256 x 512
 * 2 to 4 %, of 256 x 256 5 %. */
enum { LARGEST = 512, SMALLEST = 128, MULTIPLE = 16 };

static int divided(int size, int parts)
{
    const int each = (size + parts - 1) / parts;
    return (each + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
}

/* Cuts a product. The cut depends only on the sizes and on whether operands are rounded. Products
 * of fewer than `least` multiplications stay whole, because a library copies operands for each
 * panel. */
static panels cut_product(int m, int n, int k, double least)
{
    const bool worth = (double)m * (double)n * (double)k >= least;
    panels cut = {m, n, 1, 1};
    int down = 1;
    while (worth && (cut.rows > LARGEST || cut.columns > LARGEST || cut.count < 2)) {
        const bool wide = cut.columns >= 2 * SMALLEST;
        /* With bf16 rows are halved first, because oneDNN needs rows without gaps. */
        if (cut.rows >= 2 * SMALLEST && (rt_gemm_rounds() || cut.rows > cut.columns || !wide))
            down *= 2;
        else if (wide)
            cut.across *= 2;
        else
            break;
        cut.rows = down > 1 ? divided(m, down) : m;
        cut.columns = cut.across > 1 ? divided(n, cut.across) : n;
        cut.count = down * cut.across;
    }
    cut.across = (n + cut.columns - 1) / cut.columns;
    cut.count = (m + cut.rows - 1) / cut.rows * cut.across;
    return cut;
}

static panel panel_at(panels cut, int m, int n, int number)
{
    const int row = number / cut.across * cut.rows, column = number % cut.across * cut.columns;
    return (panel){row, rt_smaller(cut.rows, m - row), column, rt_smaller(cut.columns, n - column)};
}

/* Returns the operand from row `first`, or from that column, on. Rounded numbers must have no gaps
 * between rows, so a part of the columns is not rounded. */
static rt_operand slice_of(rt_operand x, bool rows, int first, bool all)
{
    if (rows)
        return rt_rows_from(x, first);
    x = rt_operand_from(x, (size_t)first);
    x.rounded = all ? x.rounded : NULL;
    return x;
}

/* Computes one panel. Rows that several panels read should be rounded before; columns are rounded
 * for each panel. */
static void multiply_panel(const rt_product *p, panel at)
{
    rt_result c = p->c;
    c.data += (size_t)at.row * (size_t)c.stride + (size_t)at.column;
    rt_gemm((rt_sizes){at.rows, at.columns, p->k}, p->alpha,
            slice_of(p->a, !p->a.transposed, at.row, at.rows == p->m),
            slice_of(p->b, p->b.transposed, at.column, at.columns == p->n), p->beta, c);
}

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
    uint16_t *to = x.rounded || !rt_gemm_rounds() ? NULL : rt_bf16_place(place, size);
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
    const bool held = rt_gemm_rounds() && rt_bf16_parameters(w, 1, 1);
    return held ? w : rounded(n, w, rt_size(weight), WEIGHT);
}

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

static panels panels_of(const rt_node *n)
{
    const int rows = (int)rt_rows(n->out), out = rt_columns(n->out);
    if (!is_few(n))
        return cut_product(rows, out, rt_columns(n->in[0]), least_work(n));
    const bool small = rt_size(n->in[1]) < LEAST_OF_FEW || out <= COLUMNS_OF_FEW;
    const int columns = small ? out : COLUMNS_OF_FEW, across = (out + columns - 1) / columns;
    return (panels){rows, columns, across, across};
}

typedef struct forward_pass {
    const rt_node *node;
    rt_product product; /* y = x weight^T + beta y */
    panels cut;
} forward_pass;

/* Initializes a panel with residual and bias, to which the product is added. */
static void begin_panel(const rt_node *n, panel p)
{
    const rt_tensor *bias = n->in[2], *residual = n->in[3];
    const size_t stride = (size_t)rt_columns(n->out), rows = (size_t)p.rows;
    const size_t columns = (size_t)p.columns;
    const size_t first = (size_t)p.row * stride + (size_t)p.column;
    real *y = n->out->data + first;
    if (residual && bias)
        rt_rows_add(y, residual->data + first, bias->data + p.column, rows, columns, stride);
    else
        for (size_t r = 0; r < rows; r++)
            memcpy(y + r * stride,
                   residual ? residual->data + first + r * stride : bias->data + p.column,
                   columns * sizeof *y);
}

enum { BLOCK = 4096 }; /* numbers that stay in the nearest cache */

/* Computes y = f(y + bias) in a panel, block by block. Rows without gaps between them are processed
 * together. */
static void activate_panel(const rt_node *n, panel p)
{
    const linear_args *a = n->args;
    const rt_tensor *bias = n->in[2];
    const size_t stride = (size_t)rt_columns(n->out), all_columns = (size_t)p.columns;
    const size_t wide = all_columns < BLOCK ? all_columns : BLOCK;
    const size_t most = all_columns == stride && all_columns < BLOCK ? BLOCK / all_columns : 1;
    real block[BLOCK];
    for (size_t r = 0, end = (size_t)p.rows; r < end; r += most)
        for (size_t c = 0; c < all_columns; c += wide) {
            const size_t rows = end - r < most ? end - r : most;
            const size_t columns = all_columns - c < wide ? all_columns - c : wide;
            const size_t first = ((size_t)p.row + r) * stride + (size_t)p.column + c;
            real *y = n->out->data + first;
            if (bias)
                rt_rows_add(block, y, bias->data + first % stride, rows, columns, columns);
            else
                memcpy(block, y, rows * columns * sizeof *block);
            a->values(y, a->derivative + first, block, rows * columns);
            if (a->rounded_result)
                rt_engine_round(a->rounded_result + first, y, rows * columns);
        }
}

static void forward_part(void *context, int part, void *scratch)
{
    const forward_pass *pass = context;
    const rt_node *n = pass->node;
    const linear_args *a = n->args;
    const rt_product *y = &pass->product;
    const panel p = panel_at(pass->cut, y->m, y->n, part);
    (void)scratch;
    if (y->beta != 0)
        begin_panel(n, p);
    if (is_few(n))
        rt_gemm_few((rt_sizes){p.rows, p.columns, y->k}, y->a,
                    rt_rows_from(rt_transposed(y->b), p.column), y->beta,
                    rt_result_at(y->c.data + p.column, y->n));
    else
        multiply_panel(y, p);
    if (a->values)
        activate_panel(n, p);
}

static rt_product product_of(rt_sizes s, rt_operand a, rt_operand b, real beta, real *c)
{
    return (rt_product){s.m, s.n, s.k, 1, a, b, beta, rt_result_at(c, s.n)};
}

static void linear_forward(const rt_node *n)
{
    const linear_args *a = n->args;
    const int rows = (int)rt_rows(n->out), out = rt_columns(n->out), in = rt_columns(n->in[0]);
    const rt_operand x = rounded_rows(n), weight = rounded_weight(n);
    const real beta = !a->values && (n->in[2] || n->in[3]) ? 1 : 0;
    forward_pass pass = {n,
                         product_of((rt_sizes){rows, out, in}, x, rt_transposed(weight), beta,
                                    n->out->data),
                         panels_of(n)};
    rt_node_share(n, forward_part, &pass, pass.cut.count);
}

typedef struct backward_pass {
    rt_product dx, dweight;   /* without a result if it is not wanted */
    real *dbias;              /* NULL if not wanted */
    panels of_dx, of_dweight; /* the latter also for dbias, beside its first column */
} backward_pass;

static void backward_part(void *context, int part, void *scratch)
{
    const backward_pass *b = context;
    const rt_product *dx = &b->dx, *dweight = &b->dweight;
    (void)scratch;
    if (part < b->of_dx.count) {
        multiply_panel(dx, panel_at(b->of_dx, dx->m, dx->n, part));
        return;
    }
    const panel p = panel_at(b->of_dweight, dweight->m, dweight->n, part - b->of_dx.count);
    if (dweight->c.data)
        multiply_panel(dweight, p);
    if (b->dbias && !p.column)
        rt_rows_sum(b->dbias + p.row, dweight->a.data + p.row, (size_t)dweight->k, (size_t)p.rows,
                    (size_t)dweight->m);
}

/* Computes dy f' in place of dy; the context is memory for it in bf16, or NULL. */
static void derive_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const linear_args *a = n->args;
    uint16_t *to = span->context;
    const size_t end = span->first + span->count;
    for (size_t i = span->first; i < end; i += BLOCK) {
        const size_t count = end - i < BLOCK ? end - i : BLOCK;
        rt_row_multiply(n->out->grad + i, a->derivative + i, count);
        if (to)
            rt_engine_round(to + i, n->out->grad + i, count);
    }
}

/* Returns the gradient of the linear map: that of the result, or of the activation's input, which
 * replaces it. */
static rt_operand gradient_of_map(const rt_node *n)
{
    const linear_args *a = n->args;
    const rt_tensor *y = n->out;
    const size_t size = rt_size(y);
    rt_operand dy = {.data = y->grad,
                     .stride = rt_columns(y),
                     .stored = y->rounded_grad,
                     .rounded = y->rounded_grad};
    if (!a->values)
        return rounded(n, dy, size, GRADIENTS);
    uint16_t *to = rt_gemm_rounds() ? rt_bf16_place(GRADIENTS, size) : NULL;
    rt_node_rows(n, size, 1, derive_span, to);
    dy.rounded = to;
    return dy;
}

static void linear_backward(const rt_node *n)
{
    const int rows = (int)rt_rows(n->out), out = rt_columns(n->out), in = rt_columns(n->in[0]);
    real beta_of_dx, beta_of_dweight;
    real *dx = rt_grad_or_fresh(n, 0, &beta_of_dx);
    real *dweight = rt_grad_or_fresh(n, 1, &beta_of_dweight);
    backward_pass b = {.dbias = rt_grad(n, 2)};
    if (dx || dweight || b.dbias) {
        const rt_operand dy = gradient_of_map(n), none = {.data = NULL};
        b.dx = product_of((rt_sizes){rows, in, out}, dy, dx ? rounded_weight(n) : none, beta_of_dx,
                          dx);
        b.dweight = product_of((rt_sizes){out, in, rows}, rt_transposed(dy),
                               dweight ? rounded_rows(n) : none, beta_of_dweight, dweight);
        if (dx)
            b.of_dx = cut_product(rows, in, out, least_work(n));
        if (dweight || b.dbias)
            b.of_dweight = cut_product(out, in, rows, least_work(n));
        if (dx && (dx == dweight || dx == b.dbias)) { /* the same tensor twice */
            backward_pass first = b;
            first.of_dweight.count = b.of_dx.count = 0;
            rt_node_share(n, backward_part, &first, first.of_dx.count);
        }
        rt_node_share(n, backward_part, &b, b.of_dx.count + b.of_dweight.count);
    }
    rt_grad_pass(n, 3); /* last: it may move the gradient of the result away */
}

static size_t panel_library(const rt_node *node, int m, int n, int k)
{
    const panels cut = cut_product(m, n, k, least_work(node));
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

const rt_op rt_op_linear = {.name = "linear",
                            .forward = linear_forward,
                            .backward = linear_backward,
                            .scratch = linear_scratch,
                            .reads = rt_reads_inputs,
                            .takes_rounded = linear_takes_rounded};

const rt_op rt_op_linear_activation = {.name = "linear_activation",
                                       .forward = linear_forward,
                                       .backward = linear_backward,
                                       .scratch = linear_scratch,
                                       .reads = rt_reads_inputs};

/* Inputs: x, weight, bias or NULL, residual or NULL. */
static rt_tensor *apply(rt_graph *g, const rt_op *op, rt_tensor *const in[4],
                        rt_activation_values *values)
{
    linear_args args = {.values = values};
    const rt_tensor *x = in[0], *weight = in[1], *bias = in[2], *residual = in[3];
    if (!RT_CHECK_INPUTS(g, op->name, RT_FACTOR(x), RT_INPUT(weight), RT_OPTIONAL(bias)))
        return NULL;
    if (weight->ndim != 2 || x->ndim < 1 || rt_columns(x) != weight->shape[1])
        return rt_graph_fail(g, RT_SHAPE, "[%s] x must be (..., I), weight (O, I); got %s, %s",
                             op->name, rt_shape_text(x), rt_shape_text(weight));
    if (bias && (bias->ndim != 1 || bias->shape[0] != weight->shape[0]))
        return rt_graph_fail(g, RT_SHAPE, "[%s] bias must be (%d); got %s", op->name,
                             weight->shape[0], rt_shape_text(bias));
    rt_shape shape = rt_tensor_shape(x);
    shape.axis[shape.ndim - 1] = weight->shape[0];
    if (residual && !rt_shapes_equal(rt_tensor_shape(residual), shape))
        return rt_graph_fail(g, RT_SHAPE, "[linear] residual must be %s; got %s",
                             rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape),
                             rt_shape_text(residual));
    if (values) {
        args.derivative = rt_graph_numbers(g, rt_shape_size(shape), sizeof(real));
        args.rounded_result = rounded_numbers(g, rt_shape_size(shape));
    }
    rt_tensor *result = rt_graph_apply(g, op, shape, in, 4, &args, sizeof args);
    if (result)
        result->rounded = args.rounded_result;
    return result;
}

rt_tensor *rt_linear(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias)
{
    return apply(g, &rt_op_linear, (rt_tensor *[]){x, weight, bias, NULL}, NULL);
}

rt_tensor *rt_linear_onto(rt_graph *g, rt_tensor *residual, rt_tensor *x, rt_tensor *weight,
                          rt_tensor *bias)
{
    if (!RT_CHECK_INPUTS(g, "linear", RT_INPUT(residual)))
        return NULL;
    return apply(g, &rt_op_linear, (rt_tensor *[]){x, weight, bias, residual}, NULL);
}

rt_tensor *rt_linear_activate(rt_graph *g, rt_tensor *x, rt_tensor *weight, rt_tensor *bias,
                              rt_activation kind)
{
    const rt_op *op = &rt_op_linear_activation;
    rt_activation_values *values = rt_activation_kernel(g, op->name, kind);
    return values ? apply(g, op, (rt_tensor *[]){x, weight, bias, NULL}, values) : NULL;
}

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

static const rt_op op_round = {.name = "round",
                               .forward = round_forward,
                               .backward = round_backward,
                               .reads = rt_reads_nothing};

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
