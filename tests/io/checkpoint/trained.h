#ifndef ROTOR_TESTS_TRAINED_H
#define ROTOR_TESTS_TRAINED_H

/* A small model as a training would leave it, for the tests of checkpoints. */

#include "tokenizer_fixtures.h"
#include "util/scratch.h"

#include "io/checkpoint/checkpoint.h"
#include "io/model_options.h"
#include "io/rotor-io.h"

typedef struct trained {
    rt_parameters parameters;
    rt_transformer_options options;
    rt_data_options data;
    rt_checkpoint_model model; /* of these parameters, with moments */
} trained;

static inline void release_trained(void *object)
{
    trained *t = object;
    rt_free(t->model.states[0]);
    rt_free(t->model.states[1]);
    rt_parameters_free(&t->parameters);
    free(t);
}

/* Returns a model that is freed after the test, with three parameters, one to be given another
 * shape: the rows of the words. */
static inline trained new_trained(int words, uint64_t seed)
{
    trained t = {0};
    rt_parameters *p = &t.parameters;
    p->component = RT_COMPONENT_HEAD;
    rt_parameters_add(p, RT_ROLE_WEIGHT, RT_INIT_NORMAL, RT_SHAPE_OF(words, 5),
                      "head.output.weight");
    p->component = RT_COMPONENT_LAYER;
    rt_parameters_add(p, RT_ROLE_BIAS, RT_INIT_ONE, RT_SHAPE_OF(5), "layers.0.ffn_norm.bias");
    rt_parameters_add(p, RT_ROLE_THETA, RT_INIT_NORMAL, RT_SHAPE_OF(2, 3),
                      "layers.0.attention.theta");
    expect_ok(rt_parameters_allocate(p, seed, NULL));
    t.model = (rt_checkpoint_model){
        .rule = rt_update_rule_of(&(rt_optimizer_settings){.rule = RT_OPTIMIZER_ADAMW}),
        .states = {rt_alloc(p->block_size, sizeof(real)), rt_alloc(p->block_size, sizeof(real))},
    };
    t.options = rt_model_defaults(RT_KIND_ROFORMER);
    t.options.vocab = 32;
    t.data = rt_data_options_of(&t.options, NULL, 32, RT_BEGIN_AUTO);
    for (size_t i = 0; i < p->block_size; i++) {
        t.model.states[0][i] = p->values[i] * (real)0.3;
        t.model.states[1][i] = p->values[i] * p->values[i] / 7;
    }
    trained *kept = malloc(sizeof *kept);
    ck_assert_ptr_nonnull(kept);
    *kept = t;
    owned(kept, release_trained);
    return t;
}

/* The model with its parameters and options where they are now. */
static inline const rt_checkpoint_model *model_of(trained *t)
{
    t->model.parameters = &t->parameters;
    t->model.options = &t->options;
    t->model.data = &t->data;
    return &t->model;
}

static inline bool same_numbers(const trained *a, const trained *b)
{
    size_t bytes = a->parameters.block_size * sizeof(real);
    return a->parameters.block_size == b->parameters.block_size &&
           !memcmp(a->parameters.values, b->parameters.values, bytes) &&
           !memcmp(a->model.states[0], b->model.states[0], bytes) &&
           !memcmp(a->model.states[1], b->model.states[1], bytes);
}

static inline void release_checkpoint(void *c)
{
    rt_checkpoint_close(c);
    free(c);
}

/* Opens a checkpoint, which keeps its error and is closed after the test. */
static inline rt_checkpoint *opened_as(const char *path, rt_parse parse)
{
    rt_checkpoint *c = malloc(sizeof *c);
    ck_assert_ptr_nonnull(c);
    const rt_status status = rt_checkpoint_open(c, path, parse);
    ck_assert_int_eq(status.code, rt_image_status(c->image).code);
    return owned(c, release_checkpoint);
}

/* A checkpoint of one's own, parsed here. */
static inline rt_checkpoint *opened(const char *path)
{
    return opened_as(path, RT_PARSE_HERE);
}

/* Moves the info of a checkpoint to the caller, and closes it. */
static inline rt_status look_once(rt_checkpoint *c, rt_checkpoint_info *info)
{
    const rt_status status = rt_image_status(c->image);
    *info = c->info;
    c->info = (rt_checkpoint_info){0};
    rt_checkpoint_close(c);
    return status;
}

static char some_config[] = "[run]\nname = copy\nseed = 7\n";

/* Returns a vocabulary of the characters NUL, a and e with an acute accent, in the order of their
 * code points. */
static inline rt_vocabulary *some_vocabulary(void)
{
    return characters_of("a\0\xc3\xa9", 4);
}

static inline rt_checkpoint_info some_info(int64_t step)
{
    return (rt_checkpoint_info){.step = step,
                                .seed = UINT64_MAX - 6,
                                .position = 32 * step,
                                .schedule_steps = 1000,
                                .evaluations = {0.25, 0.125, step - 1, 0.5, 3},
                                .config = some_config,
                                .vocabulary = some_vocabulary()};
}

#define FILE_NAME "step-00000200.h5"

/* Saves a model as FILE_NAME. */
static inline void save_model(const rt_checkpoint_model *model, const rt_checkpoint_info *info)
{
    expect_ok(rt_checkpoint_save(in_scratch(FILE_NAME), model, info));
}

static inline void save_trained(trained *t)
{
    const rt_checkpoint_info info = some_info(200);
    save_model(model_of(t), &info);
}

/* Saves the model of seed 1. */
static inline void save_example(void)
{
    trained t = new_trained(4, 1);
    save_trained(&t);
}

/* Opens FILE_NAME. */
static inline rt_checkpoint *opened_file(void)
{
    return opened(in_scratch(FILE_NAME));
}

/* Starts a model from FILE_NAME. */
static inline rt_status start_from_file(const rt_checkpoint_model *model,
                                        rt_checkpoint_taken *taken)
{
    return rt_checkpoint_start_from(opened_file(), model, true, taken);
}

#endif
