/* A folder of Hugging Face as a run takes it: with vocabulary, labels and configuration. */

#include "io/huggingface/hf_folder.h"

/* Names that are in another order than the numbers. */
#define NAMES                                                                                      \
    CHANGES("\"0\": \"LABEL_0\"", "\"0\": \"north\"", "\"1\": \"LABEL_1\"", "\"1\": \"west\"",     \
            "\"2\": \"LABEL_2\"", "\"2\": \"\xc3\xa9st\"", "\"3\": \"LABEL_3\"",                   \
            "\"3\": \"east\"")
static const char *const names[] = {"north", "west", "\xc3\xa9st", "east"};
enum { LABELS = 4, TIME = 7 };

static rt_huggingface *opened(void)
{
    rt_huggingface *m;
    expect_ok(rt_huggingface_import(&m, scratch));
    return owned(m, close_folder);
}

/* Expects these lines of [data], those with an effect, without data.objective. */
static void expect_data(const rt_huggingface *m, const char *lines)
{
    char *ini = rt_model_ini(&m->options, &m->data);
    expect_in(ini, "\n[data]\n");
    expect_in(ini, lines);
    rt_free(ini);
}

static void expect_not_opened(const char *message)
{
    rt_huggingface *m;
    is_status(rt_huggingface_import(&m, scratch), RT_CHECKPOINT, message);
    ck_assert_ptr_null(m);
}

/* The last logits of a few ids. */
static const real *find_logits(rt_transformer *model)
{
    static const int32_t ids[TIME] = {2, 9, 17, 31, 8, 40, 3};
    const int rows = model->options.head == RT_HEAD_TOKEN ? TIME : 1;
    return logits_of(model, ids, NULL, TIME) + (rows - 1) * LABELS;
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(a_class_keeps_its_name_and_its_logit, 0, 2)
{
    copy_fixture(_i ? "token" : "sequence", NAMES, NULL);
    rt_transformer *as_it_is = model_of_folder(opened_folder(scratch));
    rt_huggingface *m = opened();
    rt_transformer *model = new_model(&m->options, 77);
    ck_assert(take_values(m, model).head);
    const real *expected = find_logits(as_it_is), *got = find_logits(model);
    ck_assert_int_eq(m->sorted_labels->count, LABELS);
    for (int i = 0; i < LABELS; i++) {
        const int place =
            rt_labels_find(m->sorted_labels, (rt_text_span){names[i], strlen(names[i])});
        ck_assert_int_ge(place, 0);
        ck_assert_msg(fabs(got[place] - expected[i]) < 1e-13, "%s: %.17g instead of %.17g",
                      names[i], got[place], expected[i]);
        for (int k = 0; k < i; k++)
            ck_assert(fabs(expected[i] - expected[k]) > 1e-6);
    }
    ck_assert_str_eq(m->sorted_labels->names[0], "east");
    ck_assert_str_eq(m->sorted_labels->names[3], "\xc3\xa9st");
}

static const char *const bad_labels[][3] = {
    {"LABEL_1", "LABEL_2", "has 4 classes, but 3 different names"},
    {"LABEL_1", "", "of 1 is empty"},
    {"LABEL_3", "a\\nb", "of 3 holds a control character"},
};

TEST_ROWS(ambiguous_labels_are_refused, 0, ROWS(bad_labels))
{
    copy_fixture("token", CHANGES(bad_labels[_i][0], bad_labels[_i][1]), NULL);
    expect_not_opened(lasting("config.json: id2label %s", bad_labels[_i][2]));
}

/* The head is not wanted, or the model has another head. */
TEST_ROWS(a_head_that_is_not_loaded_keeps_its_values, 0, 3)
{
    static const char *const fixtures[] = {"sequence", "token", "masked_lm"};
    rt_huggingface_taken taken;
    copy_fixture(fixtures[_i], NULL, NULL);
    rt_huggingface *m = opened();
    rt_transformer_options o = m->options;
    set_options(&o, _i == 2 ? "head=token labels=3" : "");
    rt_transformer *model = new_model(&o, 77), *start = new_model(&o, 77);
    rt_transformer *whole = new_model(&m->options, 77);
    expect_ok(rt_huggingface_load(m, model, _i == 2, &taken));
    ck_assert(!taken.head && taken.theta);
    take_values(m, whole);
    for (int i = 0; i < model->parameters.count; i++) {
        const rt_parameter *p = model->parameters.list[i];
        expect_same_parameter(p, p->component == RT_COMPONENT_HEAD ? start : whole);
    }
}

TEST(a_head_that_is_not_wanted_must_be_sound)
{
    rt_huggingface_taken taken;
    copy_fixture("sequence", NULL, NULL);
    set_numbers("model.safetensors", "classifier.out_proj.weight", 5, 1, (float[]){NAN});
    rt_huggingface *m = opened();
    is_status(rt_huggingface_load(m, new_model(&m->options, 77), false, &taken), RT_CHECKPOINT,
              "model.safetensors: classifier.out_proj.weight is not finite in " RT_PRECISION
              " precision");
}

TEST(a_vocabulary_has_no_more_tokens_than_the_model_has_rows)
{
    copy_fixture("masked_lm", NULL, NULL);
    copy_changed("masked_lm", "vocab.txt", CHANGES("?\n", "?\nzz\n"));
    expect_not_opened("config.json: vocab_size is 53; the vocabulary has 54 tokens");
    copy_changed("masked_lm", "vocab.txt", NULL);
    opened();
    copy_changed("masked_lm", "vocab.txt", CHANGES("?\n", ""));
    rt_huggingface *m = opened();
    ck_assert_int_eq(m->vocabulary->count, 52);
    expect_data(m, "task = text\nlength = 16\nlevel = wordpiece\nlowercase = yes\n");
}

/* A folder without a vocabulary is of ids, unless its labels are of texts. */
TEST_ROWS(the_task_is_that_of_the_head, 0, 5)
{
    static const struct {
        const char *fixture, *lines;
        rt_objective objective;
    } rows[] = {
        {"sequence", "task = classify\n", RT_OBJECTIVE_MLM},
        {"token", "task = tag\n", RT_OBJECTIVE_MLM},
        {"masked_lm", "task = tokens\nlength = 16\nvocab = 53\n", RT_OBJECTIVE_MLM},
        {"causal_lm", "task = tokens\n", RT_OBJECTIVE_LM},
        {"mistral_window", "task = tokens\nlength = 64\nvocab = 41\n", RT_OBJECTIVE_LM},
    };
    copy_fixture(rows[_i].fixture, NULL, NULL);
    rt_huggingface *m = opened();
    ck_assert_ptr_null(m->vocabulary);
    expect_data(m, rows[_i].lines);
    ck_assert_int_eq(m->data.objective, rows[_i].objective);
}

/* Changes of one model after the other; `theta` is as taken. */
static const struct {
    const char *words;
    bool theta;
    const char *key; /* NULL: none */
} changes[][10] = {{{"", true, NULL},
                    {"model.dropout=0.3 position.base=500 theta.learn=yes", false, NULL},
                    {"theta.learn=no", false, "the fixed theta"},
                    {"position.rotate_value=yes", true, "position.rotate_value"},
                    {"model.causal=yes", true, "model.causal"},
                    {"model.attention=linear_elu", true, "model.attention"},
                    {"model.activation=relu", true, "model.activation"},
                    {"model.norm_eps=1e-5", true, "model.norm_eps"},
                    {"model.norm=pre", true, "model.norm"}},
                   {{"", true, NULL},
                    {"position.xpos=512", true, "position.xpos"},
                    {"position.every=2", true, "position.every"},
                    {"model.window=4", true, "model.window"},
                    {"model.ffn=geglu", true, "model.ffn"}}};

TEST_ROWS(a_key_that_changes_what_is_computed_is_named, 0, 2)
{
    copy_fixture(_i ? "mistral_window" : "masked_lm", NULL, NULL);
    rt_huggingface *m = opened();
    rt_transformer_options o = m->options;
    for (size_t n = 0; n < 10 && changes[_i][n].words; n++) {
        set_options(&o, changes[_i][n].words);
        const char *key = rt_huggingface_difference(m, &o, changes[_i][n].theta);
        ck_assert_pstr_eq(key, changes[_i][n].key);
    }
}

static rt_status load_imported(void *model)
{
    static bool head;
    rt_huggingface_taken taken;
    rt_huggingface *m;
    rt_status status = rt_huggingface_import(&m, scratch);
    if (!status.code)
        status = rt_huggingface_load(m, model, head = !head, &taken);
    rt_huggingface_close(m);
    return status;
}

TEST(every_allocation_can_fail)
{
    copy_fixture("sequence", NAMES, NULL);
    copy_changed("masked_lm", "vocab.txt", NULL);
    expect_faults(load_imported, new_model(&opened()->options, 77), 50);
}
