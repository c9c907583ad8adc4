#include "core/graph_private.h"

#include <string.h>

static real *lend(rt_graph *g, size_t size)
{
    for (spare **link = &g->spares; *link; link = &(*link)->next) {
        spare *found = *link;
        if (found->size != size)
            continue;
        *link = found->next;
        found->next = g->empty;
        g->empty = found;
        if (!g->arena.dry)
            rt_unpoison(found->data, size * sizeof(real));
        return found->data;
    }
    return rt_graph_numbers(g, size, sizeof(real));
}

static void take_back(rt_graph *g, rt_tensor *x)
{
    spare *record = g->empty;
    if (record)
        g->empty = record->next;
    else if (!(record = rt_graph_memory(g, 1, sizeof *record)))
        return;
    *record = (spare){g->spares, rt_size(x), x->grad};
    g->spares = record;
    if (!g->arena.dry)
        rt_poison(record->data, record->size * sizeof(real));
    x->grad = NULL;
}

real *rt_grad_or_fresh(const rt_node *n, int i, real *beta)
{
    rt_tensor *x = i < n->inputs ? n->in[i] : NULL;
    *beta = 1;
    if (!x || !x->wants_grad)
        return NULL;
    x->reached = true;
    if (!x->grad) {
        *beta = 0;
        x->grad = lend(n->graph, rt_size(x));
    }
    return x->grad;
}

real *rt_grad(const rt_node *n, int i)
{
    real beta;
    real *grad = rt_grad_or_fresh(n, i, &beta);
    if (grad && beta == 0)
        memset(grad, 0, rt_size(n->in[i]) * sizeof(real));
    return grad;
}

void rt_grad_pass(const rt_node *n)
{
    const int i = n->op ? n->op->passes - 1 : -1;
    if (i < 0 || i >= n->inputs)
        return;
    rt_tensor *x = n->in[i];
    if (!x || !x->wants_grad)
        return;
    if (!x->grad) {
        x->grad = n->out->grad;
        n->out->grad = NULL;
        return;
    }
    real *restrict dx = rt_grad(n, i);
    const real *restrict dy = n->out->grad;
    for (size_t k = 0, size = rt_size(x); !n->graph->arena.dry && k < size; k++)
        dx[k] += dy[k];
}

void rt_node_lend_gradients(const rt_node *n)
{
    real beta;
    for (int i = 0; i < n->inputs; i++)
        if (i + 1 != n->op->passes)
            rt_grad_or_fresh(n, i, &beta);
    if (n->op->passes)
        rt_grad_pass(n);
}

/* Why there is no way back from an output; RT_OK if there is one. */
static rt_status check_backward(const rt_graph *g, const rt_tensor *output, const real *upstream)
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
    return rt_ok();
}

rt_status rt_graph_backward_from(rt_graph *g, rt_tensor *output, const real *upstream)
{
    rt_status status = check_backward(g, output, upstream);
    if (status.code)
        return status;
    g->used_up = true;
    output->grad = lend(g, rt_size(output));
    if (!output->grad)
        return rt_graph_status(g);
    if (!g->arena.dry)
        memcpy(output->grad, upstream, rt_size(output) * sizeof(real));

    for (const rt_node *n = g->newest; n && !rt_graph_failed(g); n = n->older) {
        if (!n->out->grad)
            continue; /* the output does not depend on it */
        rt_node_run(n, RT_BACKWARD);
        if (n->out->grad)
            take_back(g, n->out);
    }
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
