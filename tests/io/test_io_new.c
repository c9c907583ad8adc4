/* Models made by a program: trained on arrays, saved, opened and exported, and invalid ones
 * refused. */

#include "io/models.h"
#include "program/train_program.h"

#include "models/session.h"

enum { LENGTH = 16, SEED = 7, STEPS = 80, ASKED = 8 };

static const char taught[] = "abcabcabcabcabc";

static rt_transformer_options small_decoder(void)
{
    rt_transformer_options o = rt_model_defaults(RT_KIND_DECODER);
    o.layers = 1;
    o.dim = 16;
    o.heads = 2;
    return o;
}

/* A new model without its vocabulary being there any more. */
static rt_model *new_decoder(void)
{
    const rt_transformer_options o = small_decoder();
    rt_vocabulary *vocabulary;
    rt_model *model;
    expect_ok(rt_vocabulary_of_bytes(&vocabulary));
    expect_ok(rt_model_new(&model, &o, vocabulary, NULL, LENGTH, SEED));
    rt_vocabulary_free(vocabulary);
    return owned(model, close_model);
}

static void teach(rt_model *model)
{
    const rt_optimizer_settings settings = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    int32_t labels[LENGTH];
    rt_optimizer *optimizer;
    rt_row row;
    expect_ok(rt_model_encode(model, taught, NULL, &row));
    for (int t = 0; t < row.length; t++)
        labels[t] = t + 1 < row.length ? row.ids[t + 1] : RT_IGNORE;
    expect_ok(rt_optimizer_new(&optimizer, &model->transformer->parameters, &settings));
    for (int step = 0; step < STEPS; step++)
        train_on(model, optimizer, &row, labels, (double)row.length - 1);
    rt_optimizer_free(optimizer);
    rt_row_free(&row);
}

/* Continues "abca" by the likeliest tokens of the model, one by one. */
static void continue_text(const rt_model *model, char text[ASKED + 1])
{
    const size_t V = (size_t)model->transformer->options.vocab;
    real *logits = rt_alloc(V, sizeof *logits);
    rt_session *session;
    rt_row row;
    expect_ok(rt_model_encode(model, "abca", NULL, &row));
    expect_ok(rt_session_new(&session, model->transformer, LENGTH));
    expect_ok(rt_session_feed(session, row.ids, row.length, 1, logits));
    for (int i = 0; i < ASKED; i++) {
        int32_t best = 0;
        for (int32_t id = 1; id < (int32_t)V; id++)
            best = logits[id] > logits[best] ? id : best;
        text[i] = rt_vocabulary_spell(model->vocabulary, best).bytes[0];
        expect_ok(rt_session_feed(session, &best, 1, 1, logits));
    }
    text[ASKED] = '\0';
    rt_row_free(&row);
    rt_session_free(session);
    rt_free(logits);
}

SUITE(PROGRAM_OPTIONS)

TEST(a_new_model_is_trained_saved_exported_opened_and_continues_a_text)
{
    char text[ASKED + 1], again[ASKED + 1];
    rt_model *model = new_decoder();
    ck_assert(model->has_head && model->length == LENGTH && !model->step && !model->labels);
    teach(model);
    continue_text(model, text);
    ck_assert_str_eq(text, "bcabcabc");
    expect_ok(rt_model_save(model, "new.h5"));
    rt_model *opened = open_model("new.h5");
    expect_same_numbers(model, opened, 0);
    ck_assert_int_eq(opened->step, STEPS);
    ck_assert_int_eq(opened->length, LENGTH);
    continue_text(opened, again);
    ck_assert_str_eq(again, text);
    expect_ok(rt_model_export(model, "folder"));
    continue_text(open_model("folder"), again);
    ck_assert_str_eq(again, text);
    expect_output("abcabcabcabc\n",
                  "$TRAIN64 --checkpoint new.h5 --predict abca --tokens 8 --temperature 0");
    write_file("abc.txt", taught);
    run("$TRAIN64 --checkpoint new.h5 --eval data.file=abc.txt data.eval_fraction=0");
}

TEST(a_new_model_has_the_initial_values_of_the_library)
{
    rt_transformer *transformer;
    rt_model *model = new_decoder();
    expect_ok(rt_transformer_new(&transformer, &model->transformer->options, SEED, NULL));
    ck_assert_mem_eq(transformer->parameters.values, model->transformer->parameters.values,
                     transformer->parameters.block_size * sizeof(real));
    rt_transformer_free(transformer);
}

static rt_labels *two_labels(void)
{
    rt_text_span names[] = {{"red", 3}, {"green", 5}};
    rt_labels *labels;
    expect_ok(rt_labels_of(&labels, "names", names, 2));
    return labels;
}

TEST(a_new_classifier_has_the_names_of_its_classes)
{
    double p[2], q[2];
    rt_vocabulary *vocabulary;
    rt_model *model;
    rt_labels *labels = two_labels();
    rt_transformer_options o = rt_model_defaults(RT_KIND_ROFORMER);
    o.head = RT_HEAD_SEQUENCE;
    o.token_types = 2;
    expect_ok(rt_vocabulary_of_text(&vocabulary, "text", (const unsigned char *)"abcd", 4));
    expect_ok(rt_model_new(&model, &o, vocabulary, labels, LENGTH, SEED));
    owned(model, close_model);
    rt_labels_free(labels);
    rt_vocabulary_free(vocabulary);
    expect_ok(rt_model_classify(model, "ab", "cd", p));
    expect_ok(rt_model_save(model, "new.h5"));
    rt_model *opened = open_model("new.h5");
    ck_assert_str_eq(opened->labels->names[0], "green");
    expect_ok(rt_model_classify(opened, "ab", "cd", q));
    ck_assert(p[0] == q[0] && p[1] == q[1]);
}

TEST(a_new_model_of_ids_needs_no_vocabulary)
{
    rt_transformer_options o = small_decoder();
    rt_model *model;
    rt_row row;
    o.vocab = 11;
    o.init_std = 0; /* which is no standard deviation, but the default */
    expect_ok(rt_model_new(&model, &o, NULL, NULL, LENGTH, SEED));
    owned(model, close_model);
    is_status_with(rt_model_encode(model, "a", NULL, &row), RT_ARGUMENT, "ids, not texts");
    expect_ok(rt_model_save(model, "new.h5"));
    rt_model *opened = open_model("new.h5");
    ck_assert_int_eq(opened->transformer->options.vocab, 11);
}

/* The same holds for a checkpoint of the program and for a folder. */
TEST(a_model_that_puts_nothing_before_a_text_encodes_it_so)
{
    static const char *const paths[] = {"runs/tiny/checkpoints/step-00000002.h5", "folder"};
    rt_row row;
    write_file("abc.txt", taught);
    run("yes \"$(cat abc.txt)\" | head -c 2000 >t; "
        "$TRAIN64 tiny.ini --quiet data.task=text data.vocab=32 data.file=t data.objective=lm "
        "model.causal=yes data.begin=none train.steps=2 train.checkpoint_every=2; "
        "$TRAIN64 --checkpoint runs/tiny --export folder");
    for (int i = 0; i < 2; i++) {
        rt_model *model = open_model(paths[i]);
        expect_ok(rt_model_encode(model, "ab", NULL, &row));
        ck_assert_int_eq(row.length, 2);
        ck_assert_int_eq(row.ids[0], 4 + 'a');
        expect_ok(rt_model_export(model, i ? "again" : "other"));
        rt_row_free(&row);
    }
    run("grep -c '\"rotor_begin\": \"none\"' again/config.json other/config.json");
}

static void expect_none(const rt_transformer_options *o, const rt_vocabulary *vocabulary,
                        const rt_labels *labels, int length, rt_code code, const char *part)
{
    rt_model *model;
    is_status_with(rt_model_new(&model, o, vocabulary, labels, length, SEED), code, part);
    ck_assert_ptr_null(model);
}

TEST(options_that_make_no_model_are_refused)
{
    const rt_transformer_options nothing = {.layers = 0};
    const rt_vocabulary empty = {.count = 0};
    rt_transformer_options o = small_decoder();
    rt_vocabulary *vocabulary;
    rt_labels *labels = two_labels();
    expect_ok(rt_vocabulary_of_bytes(&vocabulary));
    expect_none(&nothing, NULL, NULL, LENGTH, RT_ARGUMENT, "model.vocab must be positive");
    expect_none(&nothing, vocabulary, NULL, LENGTH, RT_ARGUMENT, "model.layers must be positive");
    expect_none(&o, NULL, NULL, LENGTH, RT_ARGUMENT, "model.vocab must be positive");
    expect_none(&o, &empty, NULL, LENGTH, RT_ARGUMENT, "the vocabulary has no ids");
    expect_none(&o, vocabulary, labels, LENGTH, RT_ARGUMENT, "an lm head none");
    expect_none(&o, vocabulary, NULL, 1, RT_CONFIG, "data.length");
    o.vocab = 259;
    expect_none(&o, vocabulary, NULL, LENGTH, RT_ARGUMENT, "259; the vocabulary has 260");
    o.vocab = 5;
    expect_none(&o, NULL, NULL, LENGTH, RT_CONFIG, "data.vocab");
    o = small_decoder();
    o.kind = (rt_model_kind)9;
    expect_none(&o, vocabulary, NULL, LENGTH, RT_ARGUMENT, "model.kind");
    o = small_decoder();
    o.head = RT_HEAD_SEQUENCE;
    expect_none(&o, vocabulary, NULL, LENGTH, RT_ARGUMENT, "labels");
    expect_none(&o, NULL, labels, LENGTH, RT_ARGUMENT, "needs a vocabulary");
    o = small_decoder();
    o.dropout = 2;
    expect_none(&o, vocabulary, NULL, LENGTH, RT_CONFIG, "model.dropout");
    rt_labels_free(labels);
    rt_vocabulary_free(vocabulary);
}

TEST(a_model_struct_made_by_hand_is_refused_and_not_freed)
{
    const rt_transformer_options o = {.vocab = 6, .layers = 1, .dim = 4, .heads = 1};
    rt_model model = {.length = LENGTH};
    rt_row row = {.length = 1};
    is_status_with(rt_model_save(&model, "a.h5"), RT_ARGUMENT, "rt_model_new");
    expect_ok(rt_transformer_new(&model.transformer, &o, SEED, NULL));
    is_status_with(rt_model_save(&model, "a.h5"), RT_ARGUMENT, "rt_model_new");
    is_status_with(rt_model_export(&model, "folder"), RT_ARGUMENT, "rt_model_new");
    is_status_with(rt_model_encode(&model, "a", NULL, &row), RT_ARGUMENT, "ids, not texts");
    ck_assert(!exists("a.h5") && !exists("folder"));
    rt_model_close(&model);
    rt_transformer_free(model.transformer);
}
