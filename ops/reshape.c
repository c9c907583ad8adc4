#include "ops/ops.h"

static void reshape_backward(const rt_node *n)
{
    rt_grad_pass(n);
}

const rt_op rt_op_reshape = {.name = "reshape", .backward = reshape_backward, .passes = 1};

rt_tensor *rt_reshape(rt_graph *g, rt_tensor *x, rt_shape shape)
{
    if (!RT_TAKES(g, "reshape", RT_FACTOR(x)))
        return NULL;
    if (rt_shape_size(shape) != rt_size(x))
        return rt_graph_fail(g, RT_SHAPE, "[reshape] %s does not have the size of %s",
                             rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape),
                             rt_shape_text(x));
    return rt_graph_view(g, &rt_op_reshape, shape, x);
}
