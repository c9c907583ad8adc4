#include "ops/ops.h"

#include <string.h>

typedef struct embedding_args {
    const int32_t *ids;
    int padding;
} embedding_args;

static void look_up(const rt_row_span *span)
{
    const rt_node *n = span->node;
    const embedding_args *a = n->args;
    const size_t width = (size_t)rt_columns(n->out);
    for (size_t r = span->first; r < span->first + span->count; r++)
        memcpy(n->out->data + r * width, n->in[0]->data + (size_t)a->ids[r] * width,
               width * sizeof(real));
}

static void embedding_forward(const rt_node *n)
{
    const embedding_args *a = n->args;
    const int rows = n->in[0]->shape[0];
    const size_t count = rt_rows(n->out);
    for (size_t i = 0; i < count; i++)
        if (a->ids[i] < 0 || a->ids[i] >= rows) {
            rt_graph_fail(n->graph, RT_ARGUMENT, "[embedding] id %zu is %d; the table has %d rows",
                          i, a->ids[i], rows);
            return;
        }
    rt_node_rows(n, count, (size_t)rt_columns(n->out), look_up, NULL);
}

/* Parts have columns, because several rows of the result may be the same row of the table. */
enum { COLUMNS = 64 };

static void add_columns(void *context, int part, void *scratch)
{
    const rt_node *n = context;
    const embedding_args *a = n->args;
    const size_t width = (size_t)rt_columns(n->out), first = (size_t)part * COLUMNS;
    const size_t count = width - first < COLUMNS ? width - first : COLUMNS;
    (void)scratch;
    for (size_t r = 0, rows = rt_rows(n->out); r < rows; r++) {
        real *restrict row = n->in[0]->grad + (size_t)a->ids[r] * width + first;
        const real *restrict g = n->out->grad + r * width + first;
        for (size_t i = 0; a->ids[r] != a->padding && i < count; i++)
            row[i] += g[i];
    }
}

static void embedding_backward(const rt_node *n)
{
    rt_node node = *n;
    if (rt_grad(n, 0))
        rt_node_share(n, add_columns, &node, (rt_columns(n->out) + COLUMNS - 1) / COLUMNS);
}

const rt_op rt_op_embedding = {.name = "embedding",
                               .forward = embedding_forward,
                               .backward = embedding_backward};

rt_tensor *rt_embedding(rt_graph *g, rt_tensor *table, const int32_t *ids, rt_shape shape,
                        int padding)
{
    const size_t count = rt_shape_size(shape);
    if (!RT_CHECK_INPUTS(g, "embedding", RT_INPUT(table)) ||
        !rt_graph_check_argument(g, "embedding", "ids", ids))
        return NULL;
    if (table->ndim != 2)
        return rt_graph_fail(g, RT_SHAPE, "[embedding] table must be (V, C); got %s",
                             rt_shape_text(table));
    if (!count || shape.ndim == RT_MAX_AXES)
        return rt_graph_fail(g, RT_SHAPE,
                             "[embedding] the shape of the ids must have up to %d axes and at "
                             "least one element; got %s",
                             RT_MAX_AXES - 1, rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape));
    embedding_args args = {ids, padding};
    shape.axis[shape.ndim++] = table->shape[1];
    return RT_APPLY(g, &rt_op_embedding, shape, &args, table);
}
