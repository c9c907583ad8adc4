#include "core/graph_private.h"

#include <stdint.h>
#include <string.h>

real *rt_grad_or_fresh(const rt_node *n, int i, real *beta)
{
    rt_tensor *x = i < n->inputs ? n->in[i] : NULL;
    *beta = 1;
    if (!x || !x->wants_grad)
        return NULL;
    x->reached = true;
    if (!x->grad) {
        *beta = 0;
        x->grad = rt_block_lend(n->graph, rt_size(x));
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

static bool has_input_in(const rt_node *n, const rt_tensor *memory)
{
    for (int i = 0; i < n->inputs; i++)
        if (n->in[i] && rt_memory_of(n->in[i]) == memory)
            return true;
    return false;
}

/* The op that made x, if among the older ones none reads it. */
static const rt_node *maker_for(const rt_node *reader, const rt_tensor *x)
{
    const rt_node *n = reader->older;
    while (n && n->out != x && !has_input_in(n, rt_memory_of(x)))
        n = n->older;
    return n && n->out == x ? n : NULL;
}

void *rt_grad_rounded(const rt_node *n, int i)
{
    rt_tensor *x = i < n->inputs ? n->in[i] : NULL;
    if (!x || !x->wants_grad || x->grad || x->reached)
        return NULL;
    const rt_node *maker = maker_for(n, x);
    if (!maker || !maker->op->takes_rounded || !maker->op->takes_rounded(maker))
        return NULL;
    x->reached = true;
    x->rounded_grad = rt_graph_numbers(n->graph, rt_size(x), sizeof(uint16_t));
    return x->rounded_grad;
}

static void add_span(const rt_node *n, rt_row_span span, void *context, void *room)
{
    real *restrict dx = (real *)context + span.first;
    const real *restrict dy = n->out->grad + span.first;
    (void)room;
    for (size_t k = 0; k < span.count; k++)
        dx[k] += dy[k];
}

/* Hands the gradient of the result on by pointer. Returns false if the input has a gradient, to
 * which that of the result is to be added. */
static bool pass_pointer(const rt_node *n)
{
    const int i = n->op ? n->op->passes - 1 : -1;
    rt_tensor *x = i >= 0 && i < n->inputs ? n->in[i] : NULL;
    if (!x || !x->wants_grad)
        return true;
    if (x->grad) {
        x->reached = true;
        return false;
    }
    x->grad = n->out->grad;
    n->out->grad = NULL;
    return true;
}

void rt_grad_pass(const rt_node *n)
{
    if (pass_pointer(n))
        return;
    rt_node_rows(n, rt_size(n->out), 1, add_span, n->in[n->op->passes - 1]->grad);
}

/* Borrows the gradients of the inputs as backward does, in a dry graph. */
static void lend_gradients(const rt_node *n)
{
    real beta;
    if (n->op->lend) {
        n->op->lend(n);
        return;
    }
    for (int i = 0; i < n->inputs; i++)
        if (i + 1 != n->op->passes)
            rt_grad_or_fresh(n, i, &beta);
    pass_pointer(n);
}

void rt_graph_walk(rt_graph *g)
{
    for (const rt_node *n = g->newest; n && !rt_graph_failed(g); n = n->older) {
        if (!n->out->grad && !n->out->rounded_grad)
            continue; /* the output does not depend on it */
        if (!rt_node_run(n, RT_BACKWARD))
            lend_gradients(n);
        if (n->out->grad)
            rt_block_return(g, n->out->grad, rt_size(n->out));
        n->out->grad = n->out->rounded_grad = NULL;
    }
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
    output->grad = rt_block_lend(g, rt_size(output));
    if (!output->grad)
        return rt_graph_status(g);
    rt_memory_copy(output->grad, upstream, rt_size(output) * sizeof(real));
    rt_graph_walk(g);
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
