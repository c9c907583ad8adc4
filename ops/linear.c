#include "ops/activation.h"
#include "ops/engine.h"
#include "ops/gemm.h"
#include "ops/rows.h"

#include <stdint.h>
#include <string.h>

/* ---- rounded rows ---- */

/* Where products are made of rounded numbers, those of x are kept beside it: other maps read x as
 * well, and backward does. NULL: then each product rounds them. */
static void *room_for_rounded(rt_graph *g, const rt_tensor *x)
{
    if (!rt_gemm_rounds() || !rt_graph_records(g) || x->borrowed)
        return NULL;
    return rt_graph_memory(g, rt_size(x), sizeof(uint16_t));
}

static rt_operand rows_of(const rt_tensor *x)
{
    rt_operand rows = rt_rows_at(x->data, rt_columns(x));
    rows.rounded = x->rounded;
    return rows;
}

static rt_operand rounded_rows(const rt_node *n)
{
    rt_tensor *x = n->in[0];
    if (!x->rounded && (x->rounded = room_for_rounded(n->graph, x)))
        rt_engine_round(x->rounded, x->data, rt_size(x));
    return rows_of(x);
}

/* ---- the map ---- */

/* Up to so many rows of a product are few: the library, which copies the weight first, takes longer
 * for them. In bf16 it has a faster unit. */
enum { FEW_ROWS = 16, FEW_ROUNDED_ROWS = 8 };

/* One row that nothing goes back through is a token of a text that grows; a few in a graph with a
 * crew, as sessions have, are tokens of as many texts, or a short piece of one. */
static bool is_few(const rt_node *n)
{
    const size_t few = rt_gemm_rounds() ? FEW_ROUNDED_ROWS : FEW_ROWS;
    return rt_rows(n->in[0]) <= (rt_graph_crew(n->graph) ? few : 1) && !rt_graph_records(n->graph);
}

typedef struct span {
    int first, count;
} span;

/* Rows and columns of the result. */
typedef struct block {
    span rows, columns;
} block;

/* y = x weight^T + beta y in a block. */
static void multiply_block(const rt_node *n, rt_operand x, real beta, real *y, block b)
{
    const rt_tensor *weight = n->in[1];
    const int in = weight->shape[1], out = weight->shape[0];
    const real *w = weight->data + (size_t)b.columns.first * (size_t)in;
    x = rt_rows_from(x, b.rows.first);
    y += (size_t)b.rows.first * (size_t)out + (size_t)b.columns.first;
    if (is_few(n))
        rt_gemm_few(b.rows.count, b.columns.count, in, x, w, beta, y, out);
    else
        rt_gemm(b.rows.count, b.columns.count, in, 1, x, rt_transposed(rt_rows_at(w, in)), beta, y,
                out);
}

/* ---- in parts ---- */

/* A weight is cut into parts of columns, of more if the library copies them. One that is too small
 * for two meets many rows in parts of rows. */
enum {
    MANY_ROWS = 256,
    PART_OF_MANY = 128,
    COLUMNS_OF_FEW = 128,
    COLUMNS_OF_SOME = 256,
    MOST_PARTS = 32,
    SMALLEST_CUT = 1 << 16 /* numbers of a weight */
};

typedef struct cut {
    const rt_node *node;
    rt_operand x;
    real beta;
    real *y;
    int rows, columns; /* of a part; the last may have fewer */
    int across;        /* parts beside each other */
} cut;

static span part_of(int part, int size, int all)
{
    const int first = part * size, left = all - first;
    return (span){first, left < size ? left : size};
}

static void multiply_part(void *context, int part)
{
    const cut *c = context;
    const block b = {part_of(part / c->across, c->rows, (int)rt_rows(c->node->out)),
                     part_of(part % c->across, c->columns, rt_columns(c->node->out))};
    multiply_block(c->node, c->x, c->beta, c->y, b);
}

static int columns_of_part(const rt_node *n)
{
    const int out = rt_columns(n->out), least = is_few(n) ? COLUMNS_OF_FEW : COLUMNS_OF_SOME;
    const int wanted = out / least < MOST_PARTS ? out / least : MOST_PARTS;
    const int each = wanted > 1 ? (out + wanted - 1) / wanted : out;
    return (each + 15) / 16 * 16;
}

/* Parts depend on shapes alone, so that bits do not depend on who runs them. */
static void multiply(const rt_node *n, real beta, real *y)
{
    const rt_crew *crew = rt_graph_crew(n->graph);
    const int rows = (int)rt_rows(n->out), out = rt_columns(n->out);
    rt_operand x = rounded_rows(n);
    if (!crew || rt_size(n->in[1]) < SMALLEST_CUT) {
        multiply_block(n, x, beta, y, (block){{0, rows}, {0, out}});
        return;
    }
    if (!x.rounded)
        x = rt_gemm_share(x, rows, x.stride, 0);
    cut c = {n, x, beta, y, .rows = rows, .columns = columns_of_part(n)};
    if (rows >= MANY_ROWS && c.columns >= out)
        c.rows = PART_OF_MANY;
    c.across = (out + c.columns - 1) / c.columns;
    crew->run(crew->threads, multiply_part, &c, (rows + c.rows - 1) / c.rows * c.across);
}

/* The product is added to what needs no pass of its own. */
static void linear_forward(const rt_node *n)
{
    const rt_tensor *bias = n->in[2], *residual = n->in[3];
    real *y = n->out->data;
    if (residual && bias)
        rt_rows_add(y, residual->data, bias->data, rt_rows(n->out), rt_size(bias));
    else if (residual)
        memcpy(y, residual->data, rt_size(residual) * sizeof *y);
    else if (bias)
        rt_rows_fill(y, bias->data, rt_rows(n->out), rt_size(bias));
    multiply(n, residual || bias ? 1 : 0, y);
}

/* dy is the gradient of the map, as products read it. */
static void hand_back(const rt_node *n, rt_operand dy)
{
    const rt_tensor *x = n->in[0], *weight = n->in[1];
    int rows = (int)rt_rows(x), in = weight->shape[1], out = weight->shape[0];
    real beta;
    real *dx = rt_grad_or_fresh(n, 0, &beta);
    if (dx)
        rt_gemm(rows, in, out, 1, dy, rt_rows_at(weight->data, in), beta, dx, in);
    real *dweight = rt_grad_or_fresh(n, 1, &beta);
    if (dweight)
        rt_gemm(out, in, rows, 1, rt_transposed(dy), rows_of(x), beta, dweight, in);
    real *dbias = rt_grad(n, 2);
    if (dbias)
        rt_rows_sum(dbias, dy.data, (size_t)rows, (size_t)out);
    if (n->in[3])
        rt_grad_pass(n, 3); /* last: it may carry the gradient of the result away */
}

static void linear_backward(const rt_node *n)
{
    const int rows = (int)rt_rows(n->out), out = rt_columns(n->out);
    hand_back(n, rt_gemm_share(rt_rows_at(n->out->grad, out), rows, out, 0));
}

const rt_op rt_op_linear = {"linear", linear_forward, linear_backward};

/* ---- with an activation ---- */

enum { BLOCK = 4096 }; /* numbers that stay in the nearest cache, as long as a row does */

typedef struct linear_activation_args {
    rt_activation_values *values;
    real *derivative;
} linear_activation_args;

/* The product is made in place of the result, which f is then applied to. */

static void linear_activation_forward(const rt_node *n)
{
    const linear_activation_args *a = n->args;
    const rt_tensor *bias = n->in[2];
    const size_t columns = (size_t)rt_columns(n->out), rows = rt_rows(n->out);
    const size_t most = columns < BLOCK ? BLOCK / columns : 1;
    real *room = rt_graph_scratch(n->graph, most * columns, sizeof *room);
    if (!room)
        return;
    multiply(n, 0, n->out->data);
    uint16_t *rounded = room_for_rounded(n->graph, n->out);
    for (size_t r = 0; r < rows; r += most) {
        const size_t count = rows - r < most ? rows - r : most;
        real *y = n->out->data + r * columns;
        if (bias)
            rt_rows_add(room, y, bias->data, count, columns);
        else
            memcpy(room, y, count * columns * sizeof *room);
        a->values(y, a->derivative + r * columns, room, count * columns);
        if (rounded)
            rt_engine_round(rounded + r * columns, y, count * columns);
    }
    n->out->rounded = rounded;
}

static void linear_activation_backward(const rt_node *n)
{
    const linear_activation_args *a = n->args;
    const size_t size = rt_size(n->out);
    uint16_t *rounded = rt_gemm_rounds() ? (uint16_t *)a->derivative : NULL;
    for (size_t i = 0; i < size; i += BLOCK) {
        const size_t count = size - i < BLOCK ? size - i : BLOCK;
        rt_activation_gradient(n->out->grad + i, a->derivative + i, count);
        if (rounded)
            rt_engine_round(rounded + i, n->out->grad + i, count);
    }
    rt_operand dy = rt_rows_at(n->out->grad, rt_columns(n->out));
    dy.rounded = rounded;
    hand_back(n, dy);
}

const rt_op rt_op_linear_activation = {"linear_activation", linear_activation_forward,
                                       linear_activation_backward};

/* ---- constructors ---- */

static bool fits(rt_graph *g, const rt_op *op, const rt_tensor *x, const rt_tensor *weight,
                 const rt_tensor *bias)
{
    if (!RT_TAKES(g, op->name, RT_INPUT(x), RT_INPUT(weight), RT_OPTIONAL(bias)))
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
    if (!fits(g, &rt_op_linear, x, weight, bias) || !RT_TAKES(g, "linear", RT_INPUT(residual)))
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
    const linear_activation_args args = {values,
                                         rt_graph_memory(g, rt_shape_size(shape), sizeof(real))};
    return RT_APPLY(g, op, shape, &args, x, weight, bias, NULL);
}
