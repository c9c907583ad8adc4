/* A program outside the tree: a small network made of ops learns to add two of three numbers. In
 * double its gradients are checked as well; differences of floats are too coarse for that. */

#include <rotor/rotor.h>

#include <stdio.h>

enum { ROWS = 64, IN = 3, HIDDEN = 16, SIZE = HIDDEN * (IN + 2) };

static real x[ROWS * IN], wanted[ROWS], values[SIZE], grads[SIZE];
static rt_tensor input, target, first, bias, second;

static rt_tensor *loss(rt_graph *g, rt_tensor *const *inputs, void *context)
{
    (void)inputs, (void)context;
    rt_tensor *hidden = rt_activate(g, rt_linear(g, &input, &first, &bias), RT_TANH);
    rt_tensor *error = rt_add(g, rt_linear(g, hidden, &second, NULL), rt_scale(g, &target, -1));
    return rt_mean(g, rt_multiply(g, error, error));
}

int main(void)
{
    rt_tensor *const parameters[] = {&first, &bias, &second};
    rt_status status = {RT_OK, ""};
    double last = 1;
    input = rt_tensor_of(x, NULL, RT_SHAPE_OF(ROWS, IN));
    target = rt_tensor_of(wanted, NULL, RT_SHAPE_OF(ROWS, 1));
    first = rt_tensor_of(values, grads, RT_SHAPE_OF(HIDDEN, IN));
    bias = rt_tensor_of(values + HIDDEN * IN, grads + HIDDEN * IN, RT_SHAPE_OF(HIDDEN));
    second =
        rt_tensor_of(values + HIDDEN * (IN + 1), grads + HIDDEN * (IN + 1), RT_SHAPE_OF(1, HIDDEN));
    for (int i = 0; i < ROWS * IN; i++)
        x[i] = (real)(rt_random_uniform((rt_random){.seed = 1}, (uint64_t)i) - 0.5);
    for (int r = 0; r < ROWS; r++)
        wanted[r] = x[r * IN] + x[r * IN + 1];
    for (int i = 0; i < SIZE; i++)
        values[i] = (real)(0.3 * rt_random_normal((rt_random){.seed = 2}, (uint64_t)i));

    rt_graph *g = rt_graph_new();
    for (int step = 0; step < 300 && !status.code; step++) {
        rt_graph_clear(g);
        rt_tensor *l = loss(g, parameters, NULL);
        status = rt_graph_backward(g, l);
        last = l ? (double)l->data[0] : 1;
        for (int i = 0; i < SIZE; i++) {
            values[i] -= (real)0.3 * grads[i];
            grads[i] = 0;
        }
    }
    rt_graph_free(g);
    if (!status.code && sizeof(real) == sizeof(double))
        status = rt_gradcheck(loss, NULL, parameters, 3, &(rt_gradcheck_options){0}, NULL);
    printf("%s, loss %s 0.001, %s\n", RT_PRECISION, last < 1e-3 ? "below" : "above",
           status.code ? status.message : "all is well");
    return status.code || last >= 1e-3;
}
