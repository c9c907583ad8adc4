#ifndef ROTOR_TESTS_IO_MODELS_H
#define ROTOR_TESTS_IO_MODELS_H

/* Models of librotor-io, and expected statuses. */

#include "graphs.h"
#include "io/rotor-io.h"
#include "suite.h"

RELEASER(close_model, rt_model_close)

/* Opens a model, which is closed after the test. */
static inline rt_model *open_model(const char *path)
{
    rt_model *model;
    expect_ok(rt_model_open(&model, path));
    return owned(model, close_model);
}

/* Takes a step of the optimizer on the cross-entropy of a row. */
static inline void train_on(rt_model *model, rt_optimizer *o, const rt_row *row,
                            const int32_t *labels, double count)
{
    rt_graph *g = rt_graph_new();
    rt_parameters_zero_grads(&model->transformer->parameters);
    rt_tensor *logits = rt_model_logits(model, g, row, 1);
    expect_ok(rt_graph_backward(g, rt_cross_entropy(g, logits, labels, 0, count)));
    expect_ok(rt_optimizer_step(o, 0.01, NULL));
    model->step++;
    rt_graph_free(g);
}

/* Expects the parameters of another model: the same bits, or numbers with this difference at most.
 */
static inline void expect_same_numbers(const rt_model *a, const rt_model *b, double tolerance)
{
    const rt_parameters *p = &a->transformer->parameters, *q = &b->transformer->parameters;
    ck_assert_int_eq(p->count, q->count);
    ck_assert_uint_eq(p->block_size, q->block_size);
    for (int i = 0; i < p->count; i++)
        ck_assert_str_eq(p->list[i]->name, q->list[i]->name);
    for (size_t i = 0; i < p->block_size; i++) {
        const double x = (double)p->values[i], y = (double)q->values[i];
        ck_assert_msg(tolerance > 0 ? fabs(x - y) <= tolerance : x == y,
                      "number %zu is %.17g, expected %.17g", i, y, x);
    }
}

#endif
