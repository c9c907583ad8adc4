/* Which parameters train.freeze names, and that they stay as they are. */

#include "config_loading.h"
#include "training/scratch.h"

#include "train/config/config.h"
#include "train/step/trainer.h"

#include <string.h>

#define OF(of_part, of_layer) ((rt_parameter){.part = RT_PART_##of_part, .layer = of_layer})
#define THETA(of_layer)                                                                            \
    ((rt_parameter){.part = of_layer < 0 ? RT_PART_POSITIONS : RT_PART_LAYER,                      \
                    .layer = of_layer,                                                             \
                    .role = RT_ROLE_THETA})

TEST(parts_are_those_of_the_model)
{
    const struct {
        const char *parts;
        rt_parameter parameter;
        bool frozen;
    } rows[] = {
        {"", OF(HEAD, -1), false},
        {"embeddings", OF(EMBEDDINGS, -1), true},
        {"embeddings", OF(POSITIONS, -1), false},
        {"embeddings", OF(LAYER, 0), false},
        {"head", OF(HEAD, -1), true},
        {"head", OF(EMBEDDINGS, -1), false},
        {"head", OF(NORM, -1), false},
        {"layers.1", OF(LAYER, 1), true},
        {"layers.1", THETA(1), true},
        {"layers.1", OF(LAYER, 11), false},
        {"layers.11", OF(LAYER, 1), false},
        {"layers.11", OF(LAYER, 11), true},
        {"theta", THETA(-1), true},
        {"theta", THETA(0), true},
        {"theta", OF(LAYER, 0), false},
        {"head, layers.0 ,theta", OF(LAYER, 0), true},
        {"head, layers.0 ,theta", THETA(-1), true},
        {"head, layers.0 ,theta", OF(LAYER, 1), false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(rt_freezes(rows[i].parts, &rows[i].parameter) == rows[i].frozen,
                      "row %zu: '%s'", i, rows[i].parts);
}

TEST(what_is_no_part_is_refused)
{
#define PARTS                                                                                      \
    "train.freeze must be a comma-separated list of embeddings, layers.0 to layers.1, head, "      \
    "theta; got "
    static const char *const good[] = {NULL, "embeddings", "layers.0,layers.1", " head , theta"};
    static const struct {
        const char *parts, *message;
    } bad[] = {
        {"heads", PARTS "'heads'"},
        {"head,", PARTS "''"},
        {",head", PARTS "''"},
        {"layers", PARTS "'layers'"},
        {"layers.", PARTS "'layers.'"},
        {"layers.-1", PARTS "'layers.-1'"},
        {"layers.x", PARTS "'layers.x'"},
        {"layer.x", PARTS "'layer.x'"},
        {"head,layer.1", "train.freeze = layer.1 is now called layers.1"},
        {"head, layers.2", "train.freeze: there is no layers.2; model.layers = 2"},
        {"layers.99999999999999999999", PARTS "'layers.99999999999999999999'"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_status(rt_freeze_check(good[i], 2), RT_OK, "");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_status(rt_freeze_check(bad[i].parts, 2), RT_CONFIG, bad[i].message);
}

static const char tiny[] = "[model]\nlayers = 2\ndim = 16\nheads = 2\n[theta]\nlearn = yes\n"
                           "[run]\nthreads = 2\n[data]\nlength = 8\nvocab = 10\n"
                           "[train]\nbatch_size = 4\nshards = 2\n";

static void open_trainer(rt_config *config, rt_data **data, rt_trainer **trainer,
                         const char *freeze)
{
    load_sound(config, tiny, OVERRIDES(freeze));
    assert_status(rt_data_open(data, &config->data, NULL), RT_OK, "");
    assert_status(rt_trainer_new(trainer, config, *data, NULL), RT_OK, "");
}

/* Each of the parts, after steps whose decay and moments would move everything. */
TEST_ROWS(what_is_frozen_keeps_its_bits, 0, 5)
{
    static const char *const freezes[] = {"train.freeze=embeddings", "train.freeze=layers.0",
                                          "train.freeze=head", "train.freeze=theta",
                                          "train.freeze=layers.1,embeddings"};
    rt_config config;
    rt_data *data;
    rt_trainer *trainer;
    open_trainer(&config, &data, &trainer, freezes[_i]);
    const rt_parameters *p = &rt_trainer_state(trainer)->model->parameters;
    real *before = malloc(p->block_size * sizeof *before);
    memcpy(before, p->values, p->block_size * sizeof *before);
    rt_step_result result;
    for (int step = 0; step < 3; step++)
        assert_status(rt_trainer_step(trainer, &result), RT_OK, "");
    int frozen = 0;
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *parameter = p->list[i];
        const bool same = !memcmp(before + parameter->offset, parameter->tensor.data,
                                  rt_size(&parameter->tensor) * sizeof *before);
        const bool is_frozen = rt_freezes(config.train.freeze, parameter);
        frozen += is_frozen;
        ck_assert_msg(same == is_frozen, "%s with %s", parameter->name, freezes[_i]);
    }
    ck_assert_int_gt(frozen, 0);
    free(before);
    rt_trainer_free(trainer);
    rt_data_close(data);
}

/* The gradients of the others are what they were: the norm is theirs alone. */
TEST(the_norm_is_that_of_what_is_trained)
{
    rt_config config;
    rt_data *data;
    rt_trainer *trainer;
    rt_step_result result;
    double squares = 0;
    open_trainer(&config, &data, &trainer, "train.freeze=");
    assert_status(rt_trainer_step(trainer, &result), RT_OK, "");
    const rt_parameters *p = &rt_trainer_state(trainer)->model->parameters;
    for (int i = 0; i < p->count; i++)
        for (size_t k = 0; k < rt_size(&p->list[i]->tensor); k++)
            if (!rt_freezes("embeddings,layers.0", p->list[i]))
                squares += (double)p->list[i]->tensor.grad[k] * (double)p->list[i]->tensor.grad[k];
    rt_trainer_free(trainer);
    rt_data_close(data);
    open_trainer(&config, &data, &trainer, "train.freeze=embeddings,layers.0");
    assert_status(rt_trainer_step(trainer, &result), RT_OK, "");
    ck_assert_double_eq_tol(result.grad_norm * result.grad_norm, squares, 1e-12 * squares);
    rt_trainer_free(trainer);
    rt_data_close(data);
}

TEST(something_must_be_left_to_train)
{
    rt_config config;
    rt_data *data;
    rt_trainer *trainer;
    load_sound(&config, tiny, OVERRIDES("train.freeze=embeddings,layers.0,layers.1,head"));
    assert_status(rt_data_open(&data, &config.data, NULL), RT_OK, "");
    assert_status(rt_trainer_new(&trainer, &config, data, NULL), RT_CONFIG,
                  "train.freeze = embeddings,layers.0,layers.1,head leaves nothing to train");
    rt_trainer_free(trainer);
    rt_data_close(data);
}
