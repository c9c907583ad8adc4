/* Which parameters train.freeze names, and that they stay as they are. */

#include "config_loading.h"
#include "training/scratch.h"

#include "train/config/freeze.h"
#include "train/step/trainer.h"

#include <string.h>

static const struct {
    const char *parts, *parameter;
    bool frozen;
} rows[] = {
    {"", "classifier.weight", false},
    {"embeddings", "roformer.embeddings.word_embeddings.weight", true},
    {"embeddings", "roformer.embeddings_project.weight", true},
    {"embeddings", "roformer.encoder.layer.0.output.dense.bias", false},
    {"head", "classifier.weight", true},
    {"head", "cls.predictions.bias", true},
    {"head", "roformer.embeddings.LayerNorm.weight", false},
    {"layer.1", "roformer.encoder.layer.1.attention.self.query.weight", true},
    {"layer.1", "roformer.encoder.layer.1.attention.self.theta", true},
    {"layer.1", "roformer.encoder.layer.11.attention.self.query.weight", false},
    {"layer.11", "roformer.encoder.layer.1.attention.self.query.weight", false},
    {"theta", "roformer.encoder.theta", true},
    {"theta", "roformer.encoder.layer.0.attention.self.theta", true},
    {"theta", "roformer.encoder.layer.0.attention.self.query.weight", false},
    {"head, layer.0 ,theta", "roformer.encoder.layer.0.output.dense.bias", true},
    {"head, layer.0 ,theta", "roformer.encoder.theta", true},
    {"head, layer.0 ,theta", "roformer.encoder.layer.1.output.dense.bias", false},
};

START_TEST(parts_are_named_as_in_the_model)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(rt_freezes(rows[i].parts, rows[i].parameter) == rows[i].frozen, "'%s' and %s",
                      rows[i].parts, rows[i].parameter);
}
END_TEST

START_TEST(what_is_no_part_is_refused)
{
#define PARTS                                                                                      \
    "train.freeze must be parts of the model with commas between: embeddings, layer.0 to "         \
    "layer.1, "                                                                                    \
    "head, theta; got "
    static const char *const good[] = {"", "embeddings", "layer.0,layer.1", " head , theta"};
    static const struct {
        const char *parts, *message;
    } bad[] = {
        {"heads", PARTS "'heads'"},
        {"head,", PARTS "''"},
        {",head", PARTS "''"},
        {"layer", PARTS "'layer'"},
        {"layer.", PARTS "'layer.'"},
        {"layer.-1", PARTS "'layer.-1'"},
        {"layer.x", PARTS "'layer.x'"},
        {"head, layer.2", "train.freeze: there is no layer.2; model.layers = 2"},
        {"layer.99999999999999999999", PARTS "'layer.99999999999999999999'"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_status(rt_freeze_check(good[i], 2), RT_OK, "");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_status(rt_freeze_check(bad[i].parts, 2), RT_CONFIG, bad[i].message);
}
END_TEST

static const char tiny[] = "[model]\nlayers = 2\ndim = 16\nheads = 2\n[theta]\nlearn = yes\n"
                           "[run]\nthreads = 2\n[data]\nlength = 8\nvocab = 10\n"
                           "[train]\nbatch_size = 4\nshards = 2\n";

static void open_trainer(rt_config *config, rt_data **data, rt_trainer **trainer,
                         const char *freeze)
{
    load_sound(config, tiny, OVERRIDES(freeze));
    assert_status(rt_data_open(data, &config->data, NULL), RT_OK, "");
    assert_status(rt_trainer_new(trainer, config, *data), RT_OK, "");
}

/* Each of the parts, after steps whose decay and moments would move everything. */
START_TEST(what_is_frozen_keeps_its_bits)
{
    static const char *const freezes[] = {"train.freeze=embeddings", "train.freeze=layer.0",
                                          "train.freeze=head", "train.freeze=theta",
                                          "train.freeze=layer.1,embeddings"};
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
        const bool is_frozen = rt_freezes(config.train.freeze, parameter->name);
        frozen += is_frozen;
        ck_assert_msg(same == is_frozen, "%s with %s", parameter->name, freezes[_i]);
    }
    ck_assert_int_gt(frozen, 0);
    free(before);
    rt_trainer_free(trainer);
    rt_data_close(data);
}
END_TEST

/* The gradients of the others are what they were: the norm is theirs alone. */
START_TEST(the_norm_is_that_of_what_is_trained)
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
            if (!rt_freezes("embeddings,layer.0", p->list[i]->name))
                squares += (double)p->list[i]->tensor.grad[k] * (double)p->list[i]->tensor.grad[k];
    rt_trainer_free(trainer);
    rt_data_close(data);
    open_trainer(&config, &data, &trainer, "train.freeze=embeddings,layer.0");
    assert_status(rt_trainer_step(trainer, &result), RT_OK, "");
    ck_assert_double_eq_tol(result.grad_norm * result.grad_norm, squares, 1e-12 * squares);
    rt_trainer_free(trainer);
    rt_data_close(data);
}
END_TEST

START_TEST(something_must_be_left_to_train)
{
    rt_config config;
    rt_data *data;
    rt_trainer *trainer;
    load_sound(&config, tiny, OVERRIDES("train.freeze=embeddings,layer.0,layer.1,head"));
    assert_status(rt_data_open(&data, &config.data, NULL), RT_OK, "");
    assert_status(rt_trainer_new(&trainer, &config, data), RT_CONFIG,
                  "train.freeze = embeddings,layer.0,layer.1,head leaves nothing to train");
    rt_trainer_free(trainer);
    rt_data_close(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("freeze");
    TCase *tests = leak_checked_case(suite, "parts");
    tcase_add_test(tests, parts_are_named_as_in_the_model);
    tcase_add_test(tests, what_is_no_part_is_refused);
    tcase_add_loop_test(tests, what_is_frozen_keeps_its_bits, 0, 5);
    tcase_add_test(tests, the_norm_is_that_of_what_is_trained);
    tcase_add_test(tests, something_must_be_left_to_train);
    return run_suite(suite);
}
