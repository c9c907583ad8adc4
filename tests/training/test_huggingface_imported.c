/* A folder of Hugging Face as a run takes it: with vocabulary, labels and configuration. */

#include "option_words.h"
#include "suite.h"
#include "training/hf_folder.h"

#include "core/memory.h"
#include "io/huggingface/huggingface.h"
#include "train/config/config.h"

#include <math.h>

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
    assert_status(rt_huggingface_import(&m, scratch), RT_OK, "");
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
    assert_status(rt_huggingface_import(&m, scratch), RT_CHECKPOINT, message);
    ck_assert_ptr_null(m);
}

/* A model of these options, drawn from another seed than the import's own. */
static rt_transformer *drawn(const rt_transformer_options *options)
{
    rt_transformer *model;
    assert_status(rt_transformer_new(&model, options, 77, NULL), RT_OK, "");
    return owned(model, free_model);
}

/* The last logits of a few ids. */
static void find_logits(rt_transformer *model, double logits[LABELS])
{
    static const int32_t ids[TIME] = {2, 9, 17, 31, 8, 40, 3};
    const rt_transformer_input in = {.B = 1, .T = TIME, .ids = ids, .padding_id = RT_NO_PADDING};
    rt_graph *g = rt_graph_new();
    rt_tensor *t = rt_transformer_forward(model, g, &in);
    assert_status(rt_graph_status(g), RT_OK, "");
    for (int i = 0; i < LABELS; i++)
        logits[i] = (double)t->data[rt_size(t) - LABELS + (size_t)i];
    rt_graph_free(g);
}

/* ---- labels ---- */

static const char *const fixtures[] = {"sequence", "token"};

SUITE(.setup = make_scratch, .teardown = remove_all)

TEST_ROWS(a_class_keeps_its_name_and_its_logit, 0, 2)
{
    double expected[LABELS], got[LABELS];
    rt_huggingface_taken taken;
    copy_fixture(fixtures[_i], NAMES, NULL);
    rt_huggingface *there = opened_folder(scratch);
    rt_transformer *as_it_is = model_of_folder(there);
    rt_huggingface *m = opened();
    rt_transformer *model = drawn(&m->options);
    assert_status(rt_huggingface_load(m, model, true, &taken), RT_OK, "");
    ck_assert(taken.head);
    find_logits(as_it_is, expected);
    find_logits(model, got);
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

static const struct {
    const char *from, *to, *message;
} bad_labels[] = {
    {"\"1\": \"LABEL_1\"", "\"1\": \"LABEL_2\"",
     "config.json: id2label has 4 classes, but 3 different names"},
    {"\"1\": \"LABEL_1\"", "\"1\": \"\"", "config.json: id2label of 1 is empty"},
    {"\"3\": \"LABEL_3\"", "\"3\": \"a\\nb\"",
     "config.json: id2label of 3 holds a control character"},
};

TEST_ROWS(labels_that_cannot_be_told_apart_are_refused, 0, ROWS(bad_labels))
{
    copy_fixture("token", CHANGES(bad_labels[_i].from, bad_labels[_i].to), NULL);
    expect_not_opened(bad_labels[_i].message);
}

TEST_ROWS(a_head_that_is_not_wanted_stays_as_it_is, 0, 2)
{
    rt_huggingface_taken taken;
    copy_fixture(fixtures[_i], NULL, NULL);
    rt_huggingface *m = opened();
    rt_transformer *model = drawn(&m->options), *start = drawn(&m->options);
    rt_transformer *whole = drawn(&m->options);
    assert_status(rt_huggingface_load(m, model, false, &taken), RT_OK, "");
    ck_assert(!taken.head);
    assert_status(rt_huggingface_load(m, whole, true, &taken), RT_OK, "");
    for (int i = 0; i < model->parameters.count; i++) {
        const rt_parameter *p = model->parameters.list[i];
        const rt_transformer *expected = p->part == RT_PART_HEAD ? start : whole;
        ck_assert_msg(!memcmp(p->tensor.data, expected->parameters.values + p->offset,
                              rt_size(&p->tensor) * sizeof(real)),
                      "%s", p->name);
    }
}

TEST(a_head_that_is_not_wanted_must_be_sound)
{
    const float nan = NAN;
    rt_huggingface_taken taken;
    copy_fixture("sequence", NULL, NULL);
    set_numbers("classifier.out_proj.weight", 5, 1, &nan);
    rt_huggingface *m = opened();
    rt_transformer *model = drawn(&m->options);
    assert_status(rt_huggingface_load(m, model, false, &taken), RT_CHECKPOINT,
                  "model.safetensors: classifier.out_proj.weight is not finite in " RT_PRECISION
                  " precision");
}

/* ---- vocabulary ---- */

TEST(a_folder_without_a_vocabulary_is_of_ids)
{
    copy_fixture("masked_lm", NULL, NULL);
    rt_huggingface *m = opened();
    ck_assert_ptr_null(m->vocabulary);
    expect_data(m, "task = tokens\nlength = 16\nvocab = 53\n");
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

TEST_ROWS(the_task_is_that_of_the_head, 0, 3)
{
    static const char *const lines[][2] = {{"sequence", "task = classify\n"},
                                           {"token", "task = tag\n"},
                                           {"causal_lm", "task = tokens\n"}};
    copy_fixture(lines[_i][0], NULL, NULL);
    rt_huggingface *m = opened();
    expect_data(m, lines[_i][1]);
    ck_assert_int_eq(m->data.objective, _i == 2 ? RT_OBJECTIVE_LM : RT_OBJECTIVE_MLM);
}

TEST(a_word_of_the_tokenizer_is_kept)
{
    static const char settings[] = "{\"tokenizer_class\": \"RoFormerTokenizerFast\"}";
    copy_fixture("masked_lm", NULL, NULL);
    copy_changed("masked_lm", "vocab.txt", NULL);
    write_bytes(in_scratch("tokenizer_config.json"), settings, sizeof settings - 1);
    rt_huggingface *m = opened();
    expect_in(m->warnings, "tokenizer_config.json: RoFormerTokenizer cuts Chinese into words");
}

/* ---- another model ---- */

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
    copy_fixture(_i ? LLAMA("mistral_window") : "masked_lm", NULL, NULL);
    rt_huggingface *m = opened();
    rt_transformer_options o = m->options;
    for (size_t n = 0; n < 10 && changes[_i][n].words; n++) {
        set_options(&o, changes[_i][n].words);
        const char *key = rt_huggingface_difference(m, &o, changes[_i][n].theta);
        ck_assert_pstr_eq(key, changes[_i][n].key);
    }
}

TEST(a_decoder_without_a_vocabulary_reads_ids)
{
    copy_fixture(LLAMA("mistral_window"), NULL, NULL);
    rt_huggingface *m = opened();
    ck_assert_int_eq(m->data.objective, RT_OBJECTIVE_LM);
    ck_assert_str_eq(rt_data_task_name(m->data.task), "tokens");
    ck_assert_int_eq(m->data.vocab, 41);
    ck_assert_int_eq(m->data.length, 64);
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
    expect_faults(load_imported, drawn(&opened()->options), 50);
}
