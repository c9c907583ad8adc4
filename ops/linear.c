#include "ops/activation.h"
#include "ops/engine.h"
#include "ops/gemm.h"
#include "ops/rows.h"

#include <stdint.h>
#include <string.h>

/* Rows of a weight, columns of the result. */
typedef struct span {
    int first, count;
} span;

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

/* Rows of a product that are made one by one: the library copies a weight for its matrix products,
 * which so few do not pay for, and part of a weight stays in a cache from row to row. */
enum { FEW_ROWS = 8 };

/* One row that nothing goes back through is a token of a text that grows, and a few in a graph with
 * a crew are tokens of as many texts. */
static bool is_few(const rt_node *n)
{
    const size_t most = rt_graph_crew(n->graph) ? FEW_ROWS : 1;
    return rt_rows(n->in[0]) <= most && !rt_graph_records(n->graph);
}

/* y = x weight^T + beta y in some columns. */
static void multiply_columns(const rt_node *n, rt_operand rows, real beta, real *y, span columns)
{
    const rt_tensor *x = n->in[0], *weight = n->in[1];
    const int in = weight->shape[1], out = weight->shape[0];
    const real *w = weight->data + (size_t)columns.first * (size_t)in;
    y += columns.first;
    if (!is_few(n))
        rt_gemm((int)rt_rows(x), columns.count, in, 1, rows, rt_transposed(rt_rows_at(w, in)), beta,
                y, out);
    for (size_t r = 0; is_few(n) && r < rt_rows(x); r++)
        rt_gemv(columns.count, in, w, x->data + r * (size_t)in, beta, y + r * (size_t)out);
}

/* ---- in parts ---- */

/* Columns that a part has at least, of few rows and of many, for which the library copies more;
 * and numbers of a weight that is cut. */
enum { PART_OF_FEW = 128, PART_OF_ROWS = 256, MOST_PARTS = 32, SMALLEST_CUT = 1 << 16 };

typedef struct cut {
    const rt_node *node;
    rt_operand x;
    real beta;
    real *y;
    int columns; /* of a part; the last may have fewer */
} cut;

static void multiply_part(void *context, int part)
{
    const cut *c = context;
    const int first = part * c->columns, left = c->node->in[1]->shape[0] - first;
    const span columns = {first, left < c->columns ? left : c->columns};
    multiply_columns(c->node, c->x, c->beta, c->y, columns);
}

/* Parts depend on shapes alone, so that bits do not depend on who runs them. */
static void multiply(const rt_node *n, real beta, real *y)
{
    const rt_crew *crew = rt_graph_crew(n->graph);
    const int out = n->in[1]->shape[0], in = n->in[1]->shape[1];
    const rt_operand rows = rounded_rows(n);
    if (!crew || rt_size(n->in[1]) < SMALLEST_CUT) {
        multiply_columns(n, rows, beta, y, (span){0, out});
        return;
    }
    const int least = is_few(n) ? PART_OF_FEW : PART_OF_ROWS;
    const int wanted = out / least < MOST_PARTS ? out / least : MOST_PARTS;
    const int each = wanted > 1 ? (out + wanted - 1) / wanted : out;
    const rt_operand x = rows.rounded ? rows : rt_gemm_share(rows, (int)rt_rows(n->in[0]), in, 0);
    cut c = {n, x, beta, y, (each + 15) / 16 * 16};
    crew->run(crew->threads, multiply_part, &c, (out + c.columns - 1) / c.columns);
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
