/* xor.c: two linear layers learn exclusive or. Parameters, a graph of ops, an optimizer: all that a
 * training needs.
 *
 *     cc -std=c11 xor.c -o xor $(pkg-config --cflags --libs rotor) && ./xor */

#include <rotor/rotor.h>

#include <stdio.h>

enum { ROWS = 4, HIDDEN = 8, CLASSES = 2, STEPS = 200 };

static real inputs[ROWS * 2] = {0, 0, 0, 1, 1, 0, 1, 1};
static const int32_t labels[ROWS] = {0, 1, 1, 0};

int main(void)
{
    rt_parameters p = {.seed = 1, .init_std = 1};
    rt_tensor x = rt_tensor_of(inputs, NULL, RT_SHAPE_OF(ROWS, 2)); /* NULL: wants no gradient */
    rt_tensor *w1 =
        rt_parameters_add(&p, RT_ROLE_MATRIX, RT_INIT_NORMAL, RT_SHAPE_OF(HIDDEN, 2), "w1");
    rt_tensor *b1 = rt_parameters_add(&p, RT_ROLE_BIAS, RT_INIT_ZERO, RT_SHAPE_OF(HIDDEN), "b1");
    rt_tensor *w2 =
        rt_parameters_add(&p, RT_ROLE_MATRIX, RT_INIT_NORMAL, RT_SHAPE_OF(CLASSES, HIDDEN), "w2");
    const rt_optimizer_settings adamw = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    rt_optimizer *o = NULL;
    rt_graph *g = rt_graph_new();
    rt_status status = g ? rt_parameters_allocate(&p, p.seed, NULL) : rt_out_of_memory("a graph");
    if (!status.code)
        status = rt_optimizer_new(&o, &p, &adamw);

    for (int step = 1; step <= STEPS && !status.code; step++) {
        rt_graph_clear(g); /* frees the results of the step before */
        rt_parameters_zero_grads(&p);
        rt_tensor *hidden = rt_activate(g, rt_linear(g, &x, w1, b1), RT_TANH);
        rt_tensor *logits = rt_linear(g, hidden, w2, NULL);
        rt_tensor *loss = rt_cross_entropy(g, logits, labels, 0, ROWS);
        status = rt_graph_backward(g, loss); /* has the first error of the ops above, too */
        if (!status.code)
            status = rt_optimizer_step(o, 0.1, NULL);
        if (status.code || step < STEPS)
            continue;
        for (int row = 0; row < ROWS; row++)
            printf("%g xor %g = %d\n", (double)inputs[row * 2], (double)inputs[row * 2 + 1],
                   rt_largest(logits, (size_t)row));
        printf("loss %s 0.01 after %d steps\n", loss->data[0] < 0.01 ? "below" : "above", STEPS);
    }
    if (status.code)
        fprintf(stderr, "%s\n", status.message);
    rt_optimizer_free(o);
    rt_graph_free(g);
    rt_parameters_free(&p);
    return status.code != RT_OK;
}

/* It prints:
 *
 *     0 xor 0 = 0
 *     0 xor 1 = 1
 *     1 xor 0 = 1
 *     1 xor 1 = 0
 *     loss below 0.01 after 200 steps
 */
