/* own_op.c: an op of this program, a soft cap c tanh(x / c), which keeps scores between -c and c;
 * its gradient is checked against central differences, which need double.
 *
 *     cc -std=c11 own_op.c -o own_op $(pkg-config --cflags --libs rotor-f64) -lm && ./own_op */

#include <rotor/rotor.h>

#include <math.h>
#include <stdio.h>

typedef struct cap_args {
    double cap;
} cap_args;

static void cap_forward(const rt_node *n)
{
    const cap_args *a = n->args;
    const real *x = n->in[0]->data;
    real *y = n->out->data;
    for (size_t i = 0, size = rt_size(n->out); i < size; i++)
        y[i] = (real)(a->cap * tanh((double)x[i] / a->cap));
}

/* dx = dy (1 - (y / c)^2) is added to what other ops have added. */
static void cap_backward(const rt_node *n)
{
    const cap_args *a = n->args;
    const real *y = n->out->data, *dy = n->out->grad;
    real *dx = rt_grad(n, 0); /* NULL: not wanted */
    for (size_t i = 0, size = rt_size(n->out); dx && i < size; i++) {
        const double share = (double)y[i] / a->cap;
        dx[i] += (real)(1 - share * share) * dy[i];
    }
}

static const rt_op op_cap = {.name = "cap", .forward = cap_forward, .backward = cap_backward};

static rt_tensor *cap(rt_graph *g, rt_tensor *x, double limit)
{
    if (!RT_CHECK_INPUTS(g, "cap", RT_INPUT(x)))
        return NULL;
    if (!(limit > 0))
        return rt_graph_fail(g, RT_ARGUMENT, "[cap] the limit must be above 0; got %g", limit);
    return RT_APPLY(g, &op_cap, rt_tensor_shape(x), (&(cap_args){limit}), x); /* copies the args */
}

/* The function to check: the softmax of capped scores. */
static rt_tensor *probabilities(rt_graph *g, rt_tensor *const *inputs, void *context)
{
    const double *limit = context;
    return rt_softmax(g, cap(g, inputs[0], *limit));
}

int main(void)
{
    real values[6] = {0.5, -1, 0.25, 40, 1.5, -0.75}, gradient[6] = {0};
    rt_tensor x = rt_tensor_of(values, gradient, RT_SHAPE_OF(2, 3)), *const inputs[] = {&x};
    double limit = 3;
    rt_graph *g = rt_graph_new();
    rt_tensor *y = g ? cap(g, &x, limit) : NULL;
    if (y)
        printf("%g becomes %.2f, %g becomes %.2f\n", (double)values[0], (double)y->data[0],
               (double)values[3], (double)y->data[3]);
    if (g && !cap(g, &x, -1))
        printf("%s\n", rt_graph_status(g).message);
    rt_graph_free(g);
    const rt_status status = rt_gradcheck(probabilities, &limit, inputs, 1, NULL, NULL);
    printf("%s\n",
           status.code ? status.message : "the gradient agrees with central differences to 1e-7");
    return !y || status.code;
}

/* It prints:
 *
 *     0.5 becomes 0.50, 40 becomes 3.00
 *     [cap] the limit must be above 0; got -1
 *     the gradient agrees with central differences to 1e-7
 */
