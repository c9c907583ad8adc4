/* Folders of Hugging Face through librotor-io: opened, exported and opened again. Their values are
 * compared with transformers in tests/huggingface, tests/llama and tests/families. */

#include "io/models.h"
#include "new_thread.h"
#include "util/scratch.h"

#define FIXTURE TEST_SOURCES "/fixtures/huggingface/%s/hf"

static rt_model *open_fixture(const char *name)
{
    return open_model(lasting(FIXTURE, name));
}

/* The folders of Llama are beside those of the RoFormer. */
static const char *const names[] = {"sequence",
                                    "token",
                                    "masked_lm",
                                    "causal_lm",
                                    "../llama/llama_tied",
                                    "../llama/llama_longrope",
                                    "../llama/mistral_window"};

TEST(a_folder_without_a_head_is_marked)
{
    ck_assert(!open_fixture("model")->has_head);
}

/* Copies the folder of a fixture, with the vocabulary of masked_lm. */
static rt_model *open_copy(const char *fixture)
{
    static const char *const files[] = {"config.json", "model.safetensors", "vocab.txt"};
    for (int i = 0; i < ROWS(files); i++) {
        size_t size;
        const char *path = lasting(FIXTURE "/%s", i < 2 ? fixture : "masked_lm", files[i]);
        const unsigned char *bytes = file_bytes(path, &size);
        write_bytes(in_scratch(files[i]), bytes, size);
    }
    return open_model(scratch);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(warnings_about_a_folder_are_those_of_its_model)
{
    put_text("tokenizer_config.json", "{\"tokenizer_class\": \"RoFormerTokenizer\"}");
    ck_assert_str_eq(open_copy("masked_lm")->warnings,
                     "tokenizer_config.json: RoFormerTokenizer cuts Chinese into words before it "
                     "looks for pieces; here every ideograph is a word, as for BertTokenizer\n");
}

static void expect_same(const rt_model *a, const rt_model *b, double tolerance)
{
    expect_same_numbers(a, b, tolerance);
    ck_assert(rt_labels_equal(a->labels, b->labels));
    ck_assert(rt_vocabularies_equal(a->vocabulary, b->vocabulary));
}

/* Saves a model as a checkpoint and opens it. */
static rt_model *saved_and_opened(const rt_model *model)
{
    expect_ok(rt_model_save(model, in_scratch("saved.h5")));
    return open_model(in_scratch("saved.h5"));
}

/* The theta of the folder have no base, so the model learns them and starts there. */
TEST(theta_starts_at_the_values_of_the_folder)
{
    double theta[64];
    rt_model *model = open_fixture("masked_lm_theta"), *again = saved_and_opened(model);
    const size_t count = rt_transformer_theta_count(&model->transformer->options);
    ck_assert(model->transformer->options.theta.learn && count > 0 && count <= 64);
    rt_transformer_theta(model->transformer, theta);
    for (size_t i = 0; i < count; i++) {
        ck_assert(rt_transformer_theta_start(model->transformer)[i] == theta[i]);
        ck_assert(rt_transformer_theta_start(again->transformer)[i] == theta[i]);
    }
}

TEST_ROWS(a_folder_saved_as_a_checkpoint_opens_to_the_same_bits, 0, ROWS(names))
{
    rt_model *model = open_fixture(names[_i]), *again = saved_and_opened(model);
    const rt_position_options *position = &model->transformer->options.position;
    ck_assert(model->has_head && !model->step && !*model->warnings);
    ck_assert((model->labels != NULL) == (_i < 2));
    expect_same(model, again, 0);
    ck_assert_int_eq(position->max_len, model->length);
    ck_assert_int_gt(position->frequencies.original_len, 0);
    ck_assert_int_eq(model->length, again->length);
}

/* A folder holds floats. */
TEST_ROWS(a_model_exported_as_a_folder_opens_as_it_was, 0, ROWS(names))
{
    const char *folder = lasting("%s", in_scratch("folder"));
    rt_model *model = open_fixture(names[_i]);
    expect_ok(rt_model_export(model, folder));
    expect_same(model, open_model(folder), 1e-7);
    ck_assert_int_eq(rt_model_export(model, folder).code, RT_CONFIG);
}

#ifndef RT_DOUBLE

enum { LABELS = 4 };

typedef struct request {
    rt_model *model;
    double whole[LABELS], probabilities[LABELS];
} request;

static rt_status classify(void *context)
{
    request *r = context;
    memset(r->probabilities, 0, sizeof r->probabilities);
    return rt_model_classify(r->model, "a b", NULL, r->probabilities);
}

static void expect_answer(void *context, size_t failing, bool refused)
{
    request *r = context;
    if (!failing)
        memcpy(r->whole, r->probabilities, sizeof r->whole);
    for (int i = 0; i < LABELS && !refused; i++)
        ck_assert_double_eq(r->probabilities[i], r->whole[i]);
}

TEST_ROWS(a_product_without_memory_is_a_status, 0, IN_FLOAT)
{
    request r = {.model = open_copy("sequence")};
    expect_refused_products(__func__, classify, &r, expect_answer);
}

#endif
