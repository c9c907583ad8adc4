#ifndef ROTOR_TESTS_TRAINING_ASKING_H
#define ROTOR_TESTS_TRAINING_ASKING_H

/* A small model to be asked for predictions, without a training. */

#include "models/new_model.h"
#include "training/config_loading.h"
#include "training/scratch.h"

#include "io/model_options.h"
#include "train/run/predict.h"

typedef struct asking {
    rt_config config;
    rt_data *data;
    rt_transformer *model;
} asking;

static inline void free_asking(void *object)
{
    asking *a = object;
    rt_transformer_free(a->model);
    rt_data_close(a->data);
    free(a);
}

/* Returns a model of a configuration, whose preferences are far from equal. It is freed after the
 * test. */
static inline asking *asking_of(const char *text)
{
    asking *a = owned(calloc(1, sizeof *a), free_asking);
    load_sound(&a->config, text, NULL);
    expect_ok(rt_data_open(&a->data, &a->config.data, (rt_data_of_model){.vocabulary = NULL}));
    const rt_transformer_options o = rt_model_options(&a->config.model, a->data);
    expect_ok(rt_transformer_new(&a->model, &o, 1, NULL));
    for (size_t i = 0; i < a->model->parameters.block_size; i++)
        a->model->parameters.values[i] *= 5;
    return a;
}

#endif
