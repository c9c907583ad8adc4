#ifndef ROTOR_TESTS_MODELS_NEW_MODEL_H
#define ROTOR_TESTS_MODELS_NEW_MODEL_H

#include "models/transformer.h"
#include "suite.h"

static inline void free_new_model(void *model)
{
    rt_transformer_free(model);
}

/* Returns a model, which is freed after the test. */
static inline rt_transformer *new_model(const rt_transformer_options *o, uint64_t seed)
{
    rt_transformer *m;
    expect_ok(rt_transformer_new(&m, o, seed, NULL));
    return owned(m, free_new_model);
}

#endif
