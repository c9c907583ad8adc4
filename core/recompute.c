/* A segment that is computed again on the way back. */

#include "core/graph_private.h"

#include <string.h>

typedef struct segment_args {
    rt_segment *segment;
    void *context;
    rt_random random; /* of its first dropout */
} segment_args;

typedef struct sum {
    real *to;
    const real *from;
    size_t size;
} sum;

static void add(void *context)
{
    const sum *s = context;
    for (size_t i = 0; i < s->size; i++)
        s->to[i] += s->from[i];
}

/* Hands the gradient of the segment's own x on to x. Both are alive, the former alone behind what
 * is to be taken back. */
static void hand_on(rt_tensor *x, const rt_tensor *own, real *fresh)
{
    if (!own->grad)
        return;
    x->reached = true;
    if (x->grad) {
        rt_memory_fill(x->grad, add, &(sum){x->grad, own->grad, rt_size(x)});
        return;
    }
    x->grad = fresh;
    rt_memory_copy(fresh, own->grad, rt_size(x) * sizeof *fresh);
}

/* Lends nothing that is there, and notes nothing new, as what is new will be forgotten. */
static rt_tensor *compute(rt_graph *g, rt_tensor *x, const segment_args *a)
{
    spare *const spares = g->spares, *const empty = g->empty;
    g->spares = g->empty = NULL;
    rt_tensor *y = a->segment(g, x, a->context);
    g->spares = spares;
    g->empty = empty;
    return y;
}

/* Memory lent since the mark lies behind it and is forgotten with it. */
static void go_back(rt_graph *g, const rt_node *n, rt_tensor *own)
{
    const segment_args *a = n->args;
    const rt_random random = g->random;
    g->random = a->random;
    rt_tensor *y = a->segment(g, own, a->context);
    g->random = random;
    if (!y || rt_graph_failed(g))
        return;
    y->grad = n->out->grad;
    rt_graph_walk(g);
    y->grad = NULL;
}

static void recompute_backward(const rt_node *n)
{
    rt_graph *g = n->graph;
    rt_tensor *x = n->in[0], own = *x;
    rt_node *const newest = g->newest;
    spare *const spares = g->spares, *const empty = g->empty;
    real *fresh = x->wants_grad && !x->grad ? rt_block_lend(g, rt_size(x)) : NULL;
    const rt_arena_mark mark = rt_graph_here(g);
    if (x->wants_grad && !x->grad && !fresh)
        return;
    own.grad = NULL;
    own.rounded = NULL;
    own.viewed = NULL;
    own.borrowed = false;
    g->newest = NULL;
    g->spares = g->empty = NULL;
    go_back(g, n, &own);
    if (!rt_graph_failed(g))
        hand_on(x, &own, fresh);
    g->newest = newest;
    g->spares = spares;
    g->empty = empty;
    g->scratch = NULL;
    g->scratch_size = 0;
    rt_arena_keep(&g->arena, mark, NULL, 0);
}

static void recompute_forward(const rt_node *n)
{
    (void)n;
}

static const rt_op recompute = {.name = "recompute",
                                .forward = recompute_forward,
                                .backward = recompute_backward,
                                .composite = true};

rt_tensor *rt_graph_recompute(rt_graph *g, rt_tensor *x, rt_segment *segment, const void *context,
                              size_t size)
{
    if (!RT_TAKES(g, "recompute", RT_INPUT(x)) ||
        !rt_graph_given(g, "recompute", "segment", segment ? g : NULL))
        return NULL;
    segment_args *args = rt_graph_memory(g, 1, sizeof *args);
    void *own = rt_graph_memory(g, size, 1);
    if (!args || !own)
        return NULL;
    *args = (segment_args){segment, size ? memcpy(own, context, size) : own, g->random};
    if (!g->record)
        return segment(g, x, own);
    rt_node *const newest = g->newest;
    const rt_arena_mark mark = rt_graph_here(g);
    rt_tensor *y = compute(g, x, args);
    if (!y || rt_graph_failed(g))
        return NULL;
    const bool wants_grad = y->wants_grad;
    const rt_shape shape = rt_tensor_shape(y);
    g->newest = newest;
    y = rt_graph_forget(g, mark, y);
    rt_node *node = y ? rt_node_new(g, &recompute, shape, &x, 1, y->data) : NULL;
    if (!node)
        return NULL;
    node->args = args;
    node->out->wants_grad = wants_grad;
    if (wants_grad) {
        node->older = g->newest;
        g->newest = node;
    }
    return node->out;
}
