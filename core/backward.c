#include "core/graph_private.h"

#include <stdint.h>
#include <string.h>

real *rt_grad_or_fresh(const rt_node *n, int i, real *beta)
{
    rt_tensor *x = i < n->inputs ? n->in[i] : NULL;
    *beta = 1;
    if (!x || !x->wants_grad || x->rounded_grad)
        return NULL;
    x->reached = true;
    if (!x->grad) {
        *beta = 0;
        x->grad = rt_block_borrow(n->graph, rt_size(x));
    }
    return n->graph->arena.dry ? NULL : x->grad;
}

real *rt_grad(const rt_node *n, int i)
{
    real beta;
    real *grad = rt_grad_or_fresh(n, i, &beta);
    if (grad && beta == 0)
        memset(grad, 0, rt_size(n->in[i]) * sizeof(real));
    return grad;
}

void *rt_grad_rounded(const rt_node *n, int i)
{
    rt_tensor *x = i < n->inputs ? n->in[i] : NULL;
    if (!x || !x->wants_grad || x->grad || x->reached)
        return NULL;
    const rt_node *maker = n->older;
    for (; maker && maker->out != x; maker = maker->older)
        for (int k = 0; k < maker->inputs; k++)
            if (maker->in[k] && rt_memory_of(maker->in[k]) == rt_memory_of(x))
                return NULL; /* another op reads x as well */
    if (!maker || !maker->op->takes_rounded || !maker->op->takes_rounded(maker))
        return NULL;
    x->reached = true;
    x->rounded_grad = rt_graph_numbers(n->graph, rt_size(x), sizeof(uint16_t));
    return n->graph->arena.dry ? NULL : x->rounded_grad;
}

static void add_span(const rt_row_span *span)
{
    const rt_node *n = span->node;
    real *restrict dx = (real *)span->context + span->first;
    const real *restrict dy = n->out->grad + span->first;
    for (size_t k = 0; k < span->count; k++)
        dx[k] += dy[k];
}

void rt_grad_pass(const rt_node *n, int i)
{
    rt_tensor *x = i < n->inputs ? n->in[i] : NULL;
    if (!x || !x->wants_grad)
        return;
    if (x->grad) {
        x->reached = true;
        rt_node_rows(n, rt_size(n->out), 1, add_span, x->grad);
        return;
    }
    x->grad = n->out->grad;
    n->out->grad = NULL;
}

static void recompute_backward(const rt_node *n);

/* Runs backward for all nodes of the tape, from the newest on. */
static void run_backward(rt_graph *g)
{
    for (const rt_node *n = g->newest; n && !rt_graph_failed(g); n = n->older) {
        if (!n->out->grad && !n->out->rounded_grad)
            continue; /* the output does not depend on it */
        if (n->op->backward == recompute_backward)
            recompute_backward(n); /* runs other ops, which are counted and observed instead */
        else
            rt_node_run(n, RT_BACKWARD);
        if (n->out->grad)
            rt_block_return(g, n->out->grad, rt_size(n->out));
        n->out->grad = n->out->rounded_grad = NULL;
    }
}

rt_status rt_graph_backward_from(rt_graph *g, rt_tensor *output, const real *upstream)
{
    if (rt_graph_failed(g))
        return rt_graph_status(g);
    if (!output || !upstream)
        return rt_error(RT_ARGUMENT, "[backward] %s is NULL", output ? "upstream" : "the output");
    if (output->borrowed || !output->wants_grad)
        return rt_error(RT_ARGUMENT, "[backward] the output depends on no recorded op");
    if (g->used_up)
        return rt_error(RT_ARGUMENT, "[backward] an earlier backward has consumed the tape: clear "
                                     "the graph and compute the output again");
    g->used_up = true;
    output->grad = rt_block_borrow(g, rt_size(output));
    if (!output->grad)
        return rt_graph_status(g);
    rt_memory_copy(output->grad, upstream, rt_size(output) * sizeof(real));
    run_backward(g);
    return rt_graph_status(g);
}

rt_status rt_graph_backward(rt_graph *g, rt_tensor *loss)
{
    const real one = 1;
    if (loss && rt_size(loss) != 1)
        return rt_error(RT_SHAPE, "[backward] the loss must have one element; got %s",
                        rt_shape_text(loss));
    return rt_graph_backward_from(g, loss, &one);
}

typedef struct segment_args {
    rt_segment *segment;
    void *context;
    rt_random random; /* state before its first dropout */
} segment_args;

/* Recomputes a segment and runs its backward. All memory borrowed for this lies behind the mark and
 * is released with it, also the gradient of the segment's own copy of x. So that gradient is added
 * to the one of x, or copied to `fresh`, which lies before the mark. */
static void recompute_backward(const rt_node *n)
{
    rt_graph *g = n->graph;
    const segment_args *a = n->args;
    const rt_random random = g->random;
    rt_tensor *x = n->in[0], own = *x;
    rt_node *const newest = g->newest;
    real *fresh = x->wants_grad && !x->grad ? rt_block_borrow(g, rt_size(x)) : NULL;
    const spare_blocks spares = g->spares; /* without that of `fresh` */
    const rt_arena_mark mark = rt_graph_here(g);
    if (x->wants_grad && !x->grad && !fresh)
        return;
    own.grad = NULL;
    own.rounded = NULL;
    own.viewed = NULL;
    own.borrowed = false;
    g->newest = NULL;
    g->spares = (spare_blocks){NULL, NULL};
    g->random = a->random;
    rt_tensor *y = a->segment(g, &own, a->context);
    g->random = random;
    if (y && !rt_graph_failed(g)) {
        y->grad = n->out->grad;
        run_backward(g);
        y->grad = NULL;
    }
    if (own.grad && !rt_graph_failed(g)) {
        const size_t size = rt_size(x), added = rt_memory_is_present(x->grad) ? size : 0;
        x->reached = true;
        for (size_t i = 0; i < added; i++)
            x->grad[i] += own.grad[i];
        if (!x->grad) {
            x->grad = fresh;
            rt_memory_copy(fresh, own.grad, size * sizeof *fresh);
        }
    }
    g->newest = newest;
    g->spares = spares;
    g->scratch = NULL;
    rt_arena_keep(&g->arena, mark, NULL, 0);
}

static const rt_op recompute = {.name = "recompute", .backward = recompute_backward};

rt_tensor *rt_graph_recompute(rt_graph *g, rt_tensor *x, rt_segment *segment, const void *context,
                              size_t size)
{
    if (!RT_CHECK_INPUTS(g, "recompute", RT_INPUT(x)) ||
        !rt_graph_check_argument(g, "recompute", "segment", segment ? g : NULL))
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
    const spare_blocks spares = g->spares;
    g->spares = (spare_blocks){NULL, NULL}; /* the memory of the segment is released afterwards */
    rt_tensor *y = segment(g, x, own);
    g->spares = spares;
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
    rt_node_put(node);
    return node->out;
}
