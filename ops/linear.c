#include "ops/activation.h"
#include "ops/engine.h"
#include "ops/gemm.h"
#include "ops/rows.h"

#include <stdint.h>
#include <string.h>

/* ---- rounded rows ---- */

/* What a map saves, or shares with other maps. */
typedef struct linear_args {
    uint16_t *rounded; /* numbers of x, which this map rounds; NULL: no map does, or another */
    rt_activation_values *values;
    real *derivative;         /* of an activation; backward uses it up */
    uint16_t *rounded_result; /* of an activation; or NULL */
} linear_args;

/* Where products are made of rounded numbers, those of a result are kept beside it: other maps read
 * it as well, and backward does. NULL: then each product rounds them. */
static uint16_t *numbers_for_rounded(rt_graph *g, size_t size)
{
    return rt_gemm_rounds() && rt_graph_records(g) ? rt_graph_numbers(g, size, sizeof(uint16_t))
                                                   : NULL;
}

/* The first map that reads x rounds it. */
static uint16_t *numbers_for_rows(rt_graph *g, rt_tensor *x)
{
    if (x->rounded || x->borrowed)
        return NULL;
    uint16_t *rounded = numbers_for_rounded(g, rt_size(x));
    x->rounded = rounded;
    return rounded;
}

static rt_operand rows_of(const rt_tensor *x)
{
    rt_operand rows = rt_rows_at(x->data, rt_columns(x));
    rows.rounded = x->rounded;
    return rows;
}

static rt_operand rounded_rows(const rt_node *n)
{
    const linear_args *a = n->args;
    const rt_tensor *x = n->in[0];
    if (a->rounded)
        rt_engine_round(a->rounded, x->data, rt_size(x));
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
}

static size_t linear_library(const rt_node *n, rt_pass pass)
{
    const int rows = (int)rt_rows(n->out), out = rt_columns(n->out), in = rt_columns(n->in[0]);
    if (pass == RT_FORWARD)
        return rt_gemm_library(rows, out, in);
    const size_t dx = rt_gemm_library(rows, in, out), dweight = rt_gemm_library(out, in, rows);
    return dx > dweight ? dx : dweight;
}

static void linear_backward(const rt_node *n)
{
    const int rows = (int)rt_rows(n->out), out = rt_columns(n->out);
    hand_back(n, rt_gemm_share(rt_rows_at(n->out->grad, out), rows, out, 0));
    rt_grad_pass(n); /* last: it may carry the gradient of the result away */
}

const rt_op rt_op_linear = {.name = "linear",
                            .forward = linear_forward,
                            .backward = linear_backward,
                            .library = linear_library,
                            .passes = 4};

/* ---- with an activation ---- */

enum { BLOCK = 4096 }; /* numbers that stay in the nearest cache, as long as a row does */

static size_t rows_of_block(const rt_tensor *y)
{
    const size_t columns = (size_t)rt_columns(y);
    return columns < BLOCK ? BLOCK / columns : 1;
}

static size_t linear_activation_room(const rt_node *n, rt_pass pass)
{
    const size_t numbers = rows_of_block(n->out) * (size_t)rt_columns(n->out);
    return pass == RT_FORWARD ? numbers * sizeof(real) : 0;
}

/* The product is made in place of the result, which f is then applied to. */

static void linear_activation_forward(const rt_node *n)
{
    const linear_args *a = n->args;
    const rt_tensor *bias = n->in[2];
    const size_t columns = (size_t)rt_columns(n->out), rows = rt_rows(n->out);
    const size_t most = rows_of_block(n->out);
    real *room = rt_room(n);
    multiply(n, 0, n->out->data);
    for (size_t r = 0; r < rows; r += most) {
        const size_t count = rows - r < most ? rows - r : most;
        real *y = n->out->data + r * columns;
        if (bias)
            rt_rows_add(room, y, bias->data, count, columns);
        else
            memcpy(room, y, count * columns * sizeof *room);
        a->values(y, a->derivative + r * columns, room, count * columns);
        if (a->rounded_result)
            rt_engine_round(a->rounded_result + r * columns, y, count * columns);
    }
}

/* What of the derivative has been multiplied by gives its memory to dy, rounded. */
static void linear_activation_backward(const rt_node *n)
{
    const linear_args *a = n->args;
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

const rt_op rt_op_linear_activation = {.name = "linear_activation",
                                       .forward = linear_activation_forward,
                                       .backward = linear_activation_backward,
                                       .room = linear_activation_room,
                                       .library = linear_library};

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
    const linear_args args = {.rounded = numbers_for_rows(g, x)};
    return RT_APPLY(g, &rt_op_linear, result_shape(x, weight), &args, x, weight, bias, NULL);
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
    const linear_args args = {.rounded = numbers_for_rows(g, x)};
    return RT_APPLY(g, &rt_op_linear, shape, &args, x, weight, bias, residual);
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
    const linear_args args = {.rounded = numbers_for_rows(g, x),
                              .values = values,
                              .derivative = rt_graph_numbers(g, size, sizeof(real)),
                              .rounded_result = numbers_for_rounded(g, size)};
    rt_tensor *result = RT_APPLY(g, op, shape, &args, x, weight, bias, NULL);
    if (result)
        result->rounded = args.rounded_result;
    return result;
}
