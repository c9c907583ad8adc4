#ifndef ROTOR_TESTS_TRAINING_H
#define ROTOR_TESTS_TRAINING_H

/* A configuration with its data and a trainer. */

#include "train/config/config_loading.h"

#include "train/step/trainer.h"

typedef struct training {
    rt_config config;
    rt_data *data;
    rt_trainer *trainer;
    rt_training_state *state; /* of the trainer */
} training;

static inline void free_training(void *object)
{
    training *t = object;
    rt_trainer_free(t->trainer);
    rt_data_close(t->data);
    free(t);
}

/* Returns a training on data with the meaning of a model, which is freed after the test. */
static inline training *new_training_as(const char *text, const char *const *overrides,
                                        rt_data_of_model meaning)
{
    training *t = owned(calloc(1, sizeof *t), free_training);
    ck_assert_ptr_nonnull(t);
    load_sound(&t->config, text, overrides);
    expect_ok(rt_data_open(&t->data, &t->config.data, meaning));
    expect_ok(rt_trainer_new(&t->trainer, &t->config, t->data, NULL));
    t->state = rt_trainer_state(t->trainer);
    return t;
}

/* Returns a training whose model has far from equal preferences, for predictions. */
static inline training *new_choosy_training(const char *text)
{
    training *t = new_training_as(text, NULL, (rt_data_of_model){0});
    for (size_t i = 0; i < t->state->model->parameters.block_size; i++)
        t->state->model->parameters.values[i] *= 5;
    return t;
}

/* Returns a training, which is freed after the test. */
static inline training *new_training(const char *text, const char *const *overrides)
{
    return new_training_as(text, overrides, (rt_data_of_model){0});
}

/* Takes steps; returns the result of the last one. */
static inline rt_step_result take_steps(training *t, int steps)
{
    rt_step_result result = {0};
    for (int i = 0; i < steps; i++)
        expect_ok(rt_trainer_step(t->trainer, &result));
    return result;
}

/* Evaluates some batches of the length of the configuration; 0: all. */
static inline rt_evaluation evaluate_batches(training *t, int batches)
{
    rt_evaluation e;
    expect_ok(rt_trainer_evaluate(t->trainer, t->config.data.length, batches, &e, NULL));
    return e;
}

/* Evaluates as the configuration says. */
static inline rt_evaluation evaluate(training *t)
{
    return evaluate_batches(t, t->config.train.eval_batches);
}

#endif
