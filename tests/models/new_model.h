#ifndef ROTOR_TESTS_MODELS_NEW_MODEL_H
#define ROTOR_TESTS_MODELS_NEW_MODEL_H

#include "graphs.h"
#include "models/transformer.h"

/* An input of a model; no id is padding. */
#define INPUT(...) ((rt_transformer_input){.padding_id = RT_NO_PADDING, __VA_ARGS__})

RELEASER(free_new_model, rt_transformer_free)

/* Returns a model, which is freed after the test. */
static inline rt_transformer *new_model(const rt_transformer_options *o, uint64_t seed)
{
    rt_transformer *m;
    expect_ok(rt_transformer_new(&m, o, seed, NULL));
    return owned(m, free_new_model);
}

/* Multiplies the weights, so that attention is far from uniform. */
static inline void grow(rt_transformer *m, real factor)
{
    for (int i = 0; i < m->parameters.count; i++) {
        rt_parameter *p = m->parameters.list[i];
        for (size_t k = 0; p->init == RT_INIT_NORMAL && k < rt_size(&p->tensor); k++)
            p->tensor.data[k] *= factor;
        for (size_t k = 0; p->role == RT_ROLE_PHASE && k < rt_size(&p->tensor); k++)
            p->tensor.data[k] = (real)(-0.3 * (double)(k % 20));
    }
}

/* Returns the logits of a text, (count, V), which last to the end of the test. */
static inline const real *logits_of(rt_transformer *m, const int32_t *ids, const int32_t *types,
                                    int count)
{
    rt_graph *g = new_graph();
    rt_graph_record(g, false);
    const rt_transformer_input in = INPUT(.B = 1, .T = count, .ids = ids, .token_types = types);
    return made(g, rt_transformer_forward(m, g, &in))->data;
}

#endif
