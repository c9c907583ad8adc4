/* A pass of an op in parts. */

#include "core/graph_private.h"

void rt_node_do(const rt_node *n, rt_part *part, void *context, int parts)
{
    void *room = n->graph ? n->graph->part_room.own : NULL;
    for (int i = 0; i < parts; i++)
        part(context, i, room);
}

void rt_node_share(const rt_node *n, rt_part *part, void *context, int parts)
{
    const rt_graph *g = n->graph;
    if (parts > 1 && g && g->crew)
        g->crew->run(g->crew->threads, part, context, parts, g->part_room);
    else
        rt_node_do(n, part, context, parts);
}

/* ---- rows ---- */

/* Numbers of a part: enough to be worth a thread's while. */
enum { PART = 1 << 15 };

size_t rt_rows_of_part(size_t columns)
{
    return columns < PART ? PART / (columns ? columns : 1) : 1;
}

int rt_parts_of_rows(size_t rows, size_t columns)
{
    const size_t most = rt_rows_of_part(columns);
    return (int)((rows + most - 1) / most);
}

typedef struct rows_pass {
    const rt_node *node;
    rt_row_part *part;
    void *context;
    size_t rows, most; /* of the pass, of a part */
} rows_pass;

static void run_rows(void *context, int number, void *room)
{
    const rows_pass *p = context;
    const size_t first = (size_t)number * p->most, left = p->rows - first;
    const rt_row_span span = {first, left < p->most ? left : p->most, number};
    p->part(p->node, span, p->context, room);
}

void rt_node_rows(const rt_node *n, size_t rows, size_t columns, rt_row_part *part, void *context)
{
    rows_pass p = {n, part, context, rows, rt_rows_of_part(columns)};
    rt_node_share(n, run_rows, &p, rt_parts_of_rows(rows, columns));
}
