/* Models through librotor-io: compared with the output of the program for the same checkpoint,
 * saved and opened again, and refused. */

#include "io/checkpoint/forged_attribute.h"
#include "io/models.h"
#include "program/train_program.h"

enum { CLASSES = 2, A = 4 + 'a' };

static const char config[] =
    "[data]\nlength = 16\n[model]\nlayers = 1\ndim = 16\nheads = 2\n[theta]\nlearn = yes\n"
    "[optimizer]\nlr = 0.02\n[train]\nsteps = 20\nbatch_size = 8\neval_batches = 1\n"
    "checkpoint_every = 20\n";

#define LATEST "/checkpoints/step-00000020.h5"

/* Trains a model, and opens it. */
static rt_model *train(const char *name, const char *overrides)
{
    write_file("c.ini", config);
    run("awk 'BEGIN { print \"text\\tlabel\"; print \"text\\ttext_b\\tlabel\" >\"pairs.tsv\"; "
        "for (i = 0; i < 60; i++) { s = substr(\"abcdabcdabcd\", 1 + i %% 4, 1 + i %% 7); "
        "l = i %% 2 ? \"with\" : \"none\"; t = i %% 2 ? \"x\" s : s; "
        "print t \"\\t\" l; print s \"\\t\" t \"\\t\" l >\"pairs.tsv\"; "
        "print t \"\\t\" l \"\\n\" s \"\\tnone\\n\" >\"tags.tsv\" } }' >texts.tsv; "
        "yes 'a line of text' | head -c 2000 >plain.txt");
    run("$TRAIN64 c.ini --quiet run.name=%s %s", name, overrides);
    return open_model(lasting("runs/%s" LATEST, name));
}

#define TRAIN_CLASSES() train("classes", "data.task=classify data.vocab=32 data.file=texts.tsv")
#define CLASSES_FILE    "runs/classes" LATEST

/* Expects the program to predict the class of a text, or of a pair of texts, that the model does.
 */
static void expect_predicted(rt_model *model, const char *checkpoint, const char *text,
                             const char *second)
{
    double p[CLASSES];
    expect_ok(rt_model_classify(model, text, second, p));
    ck_assert(fabs(p[0] + p[1] - 1) < 1e-12);
    const int best = p[1] > p[0];
    expect_output(lasting("%s\t%.4f\n", model->labels->names[best], p[best]),
                  "$TRAIN64 --checkpoint %s --predict \"$(printf '%s%s%s')\"", checkpoint, text,
                  second ? "\\t" : "", second ? second : "");
}

SUITE(PROGRAM_OPTIONS)

TEST(probabilities_are_those_that_the_program_prints)
{
    static const char *const texts[] = {"x", "abcab", "xabcd", "a text longer than its length"};
    rt_model *model = TRAIN_CLASSES();
    ck_assert_int_eq(model->step, 20);
    ck_assert_int_eq(model->length, 16);
    ck_assert_int_eq(model->labels->count, CLASSES);
    for (int i = 0; i < ROWS(texts); i++)
        expect_predicted(model, CLASSES_FILE, texts[i], NULL);
}

/* The text of a pair may hold a tab, which --predict takes for the end of the first. */
TEST(pairs_have_the_probabilities_of_the_program)
{
    double p[CLASSES], alone[CLASSES];
    rt_row row;
    rt_model *model = train("pairs", "data.task=classify data.vocab=32 data.file=pairs.tsv");
    expect_predicted(model, "runs/pairs" LATEST, "ab", "xc");
    expect_ok(rt_model_classify(model, "ab", "xc", p));
    expect_ok(rt_model_classify(model, "ab\txc", NULL, alone));
    ck_assert(alone[0] != p[0]);
    expect_ok(rt_model_encode(model, "ab", "xc", &row));
    ck_assert_int_eq(row.length, 7);
    for (int t = 0; t < 7; t++)
        ck_assert_int_eq(row.types[t], t > 3);
    rt_row_free(&row);
}

TEST(tokens_have_the_probabilities_of_the_program)
{
    char printed[LINE_SIZE] = "";
    double p[CLASSES];
    rt_row row;
    rt_model *model = train("tags", "data.task=tag data.vocab=32 data.file=tags.tsv");
    run("$TRAIN64 --checkpoint runs/tags" LATEST " --predict 'xab  c d'");
    expect_ok(rt_model_encode(model, "xab  c d", NULL, &row));
    static const int tokens[] = {-1, 0, -1, -1, 1, 2, -1}; /* [CLS] x a b c d [SEP] */
    static const char *const written[] = {"xab", "c", "d"};
    ck_assert_int_eq(row.length, 7);
    rt_graph *g = new_graph();
    const rt_tensor *logits = rt_model_logits(model, g, &row, 1);
    expect_ok(rt_graph_status(g));
    for (int t = 0; t < row.length; t++) {
        ck_assert_int_eq(row.tokens[t], tokens[t]);
        if (row.tokens[t] == RT_NO_TOKEN)
            continue;
        expect_ok(rt_logits_probabilities(logits, (size_t)t, p));
        const int best = p[1] > p[0];
        const size_t at = strlen(printed);
        snprintf(printed + at, sizeof printed - at, "%s\t%s\t%.4f\n", written[row.tokens[t]],
                 model->labels->names[best], p[best]);
    }
    strcat(printed, "\n");
    ck_assert_str_eq(w->out, printed);
    is_status_with(rt_model_classify(model, "a", NULL, p), RT_ARGUMENT, "no classes of texts");
    rt_row_free(&row);
    is_status_with(rt_model_encode(model, "a", "b", &row), RT_ARGUMENT, "without pairs");
}

/* The program prints "mask 1: 'x' 0.123, ..." of the tokens alone. */
TEST(a_mask_is_a_token_whose_logits_are_the_program_s)
{
    static const int32_t ids[] = {1, A, 2, A + 1};
    rt_row row;
    rt_model *model = train("text", "data.task=text data.vocab=32 data.file=plain.txt");
    ck_assert_ptr_null(model->labels);
    run("$TRAIN64 --checkpoint runs/text" LATEST " --predict 'a[MASK]b'");
    expect_ok(rt_model_encode(model, "a[MASK]b", NULL, &row));
    ck_assert_int_eq(row.length, 4);
    ck_assert(!memcmp(row.ids, ids, sizeof ids) && !row.types && !row.tokens);
    rt_graph *g = new_graph();
    const rt_tensor *logits = rt_model_logits(model, g, &row, 1);
    expect_ok(rt_graph_status(g));
    const int count = rt_columns(logits);
    ck_assert_int_eq(count, model->vocabulary->count);
    double *p = rt_alloc((size_t)count, sizeof *p);
    expect_ok(rt_logits_probabilities(logits, 2, p));
    int best = 4;
    for (int id = 4; id < count; id++)
        best = p[id] > p[best] ? id : best;
    size_t size;
    line_of(w->out, lasting("mask 1: '%s' %.3f,",
                            rt_vocabulary_decode(model->vocabulary, best, &size), p[best]));
    rt_free(p);
    rt_row_free(&row);
}

/* Padding changes the rounding, and no more: of pairs with token types, and of labels of tokens. */
TEST_ROWS(rows_together_have_the_logits_of_each_alone, 0, 2)
{
    static const char *const texts[] = {"x ab", "a", "abc d abc"};
    static const char *const seconds[] = {"xc", NULL, "b"};
    rt_row rows[3];
    rt_model *model = _i ? train("tags", "data.task=tag data.vocab=32 data.file=tags.tsv")
                         : train("pairs", "data.task=classify data.vocab=32 data.file=pairs.tsv");
    rt_graph *g = new_graph(), *one = new_graph();
    for (int i = 0; i < 3; i++)
        expect_ok(rt_model_encode(model, texts[i], _i ? NULL : seconds[i], rows + i));
    const rt_tensor *all = rt_model_logits(model, g, rows, 3);
    expect_ok(rt_graph_status(g));
    const size_t length = rt_rows(all) / 3, classes = (size_t)rt_columns(all);
    for (int i = 0; i < 3; i++) {
        rt_graph_clear(one);
        const rt_tensor *alone = rt_model_logits(model, one, rows + i, 1);
        ck_assert_uint_eq(rt_rows(alone), _i ? (size_t)rows[i].length : 1);
        for (size_t k = 0; k < rt_size(alone); k++)
            ck_assert(fabs(alone->data[k] - all->data[(size_t)i * length * classes + k]) < 1e-12);
        rt_row_free(rows + i);
    }
}

TEST(invalid_rows_fail_the_graph)
{
    const int32_t ids[] = {1, 1 << 20};
    const rt_row empty = {.length = 0}, wrong = {.length = 2, .ids = (int32_t *)ids};
    rt_model *model = TRAIN_CLASSES();
    rt_graph *g = new_graph();
    ck_assert_ptr_null(rt_model_logits(model, g, &empty, 1));
    is_status_with(rt_graph_status(g), RT_ARGUMENT, "row 0 has no ids");
    ck_assert_ptr_null(rt_model_logits(model, g, &wrong, 1)); /* once failed, it stays so */
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_model_logits(model, g, &empty, 0));
    is_status_with(rt_graph_status(g), RT_ARGUMENT, "at least one row");
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_model_logits(model, g, &wrong, 1));
    is_status_with(rt_graph_status(g), RT_ARGUMENT, "1048576");
}

TEST(a_text_that_cannot_be_read_is_refused)
{
    static const char *const texts[][3] = {{"", NULL, "the text is empty"},
                                           {"a\xff", NULL, "byte 0xff at byte 1 is not UTF-8"},
                                           {"a", "b", "trained without pairs"}};
    double p[CLASSES];
    rt_row row;
    rt_model *model = TRAIN_CLASSES();
    for (int i = 0; i < ROWS(texts); i++) {
        const char *text = texts[i][0], *second = texts[i][1], *part = texts[i][2];
        is_status_with(rt_model_encode(model, text, second, &row), RT_ARGUMENT, part);
        ck_assert_ptr_null(row.ids);
        is_status_with(rt_model_classify(model, text, second, p), RT_ARGUMENT, part);
    }
    run("$TRAIN64 tiny.ini --quiet train.steps=20");
    model = open_model("runs/tiny" LATEST);
    is_status_with(rt_model_encode(model, "a", NULL, &row), RT_ARGUMENT, "ids, not texts");
}

TEST(truncation_and_unknown_characters_are_reported)
{
    rt_row row;
    rt_model *model =
        train("chars", "data.task=classify data.vocab=32 data.file=texts.tsv data.level=char");
    expect_ok(rt_model_encode(model, "ab", NULL, &row));
    ck_assert(!row.cut && !row.unknown.count && row.length == 4);
    rt_row_free(&row);
    expect_ok(rt_model_encode(model, "ab!abcdabcdabcdabcd", NULL, &row));
    ck_assert(row.cut && row.length == 16);
    ck_assert_uint_eq(row.unknown.count, 1);
    ck_assert_uint_eq(row.unknown.at, 2);
    rt_row_free(&row);
}

/* The checkpoint records the step at which theta joined. */
TEST(a_branch_is_opened)
{
    rt_model *trunk = train("trunk", "theta.learn=no data.task=copy data.vocab=16");
    run("$TRAIN64 c.ini --quiet run.name=branch data.task=copy data.vocab=16 train.steps=25 "
        "train.trunk=runs/trunk" LATEST);
    rt_model *branch = open_model("runs/branch/checkpoints/step-00000025.h5");
    ck_assert_int_eq(trunk->step, 20);
    ck_assert_int_eq(branch->step, 25);
    ck_assert(branch->transformer->options.theta.learn);
}

/* In a checkpoint and in a folder, from which it is saved again. */
TEST(a_theta_that_began_below_0_is_saved_and_opened)
{
    rt_model *model = train("raw", "theta.form=raw");
    double theta[] = {-0.5, 0, 0.25, -1e-3}, again[4];
    rt_transformer_set_theta(model->transformer, theta);
    memcpy(rt_transformer_theta_start(model->transformer), theta, sizeof theta);
    expect_ok(rt_model_save(model, "saved.h5"));
    expect_ok(rt_model_export(model, "folder"));
    model = open_model("saved.h5");
    ck_assert_mem_eq(rt_transformer_theta_start(model->transformer), theta, sizeof theta);
    model = open_model("folder");
    expect_ok(rt_model_save(model, "saved.h5"));
    model = open_model("saved.h5");
    rt_transformer_theta(model->transformer, again);
    ck_assert_mem_eq(again, theta, sizeof theta);
    ck_assert_mem_eq(rt_transformer_theta_start(model->transformer), theta, sizeof theta);
}

/* A model of the program keeps its options of data. A folder has none, and neither has a checkpoint
 * saved from it, which is read all the same. */
TEST(the_program_takes_models_that_were_saved_as_checkpoints)
{
    rt_model *model = TRAIN_CLASSES();
    expect_ok(rt_model_save(model, "saved.h5"));
    expect_same_numbers(model, open_model("saved.h5"), 0);
    run("$TRAIN64 --checkpoint saved.h5 --eval");
    expect_ok(rt_model_export(model, "folder"));
    model = open_model("folder");
    expect_ok(rt_model_save(model, "saved.h5"));
    expect_predicted(model, "saved.h5", "xab", NULL);
    run("$TRAIN64 --checkpoint saved.h5 --eval data.file=texts.tsv");
    expect_stderr(2, "data.file", "$TRAIN64 --checkpoint saved.h5 --eval");
}

TEST(a_model_that_cannot_be_saved_is_refused)
{
    rt_model *model = TRAIN_CLASSES();
    is_status_with(rt_model_save(model, "no/such/folder.h5"), RT_IO, "folder.h5");
    model->step = 19;
    is_status_with(rt_model_save(model, "a.h5"), RT_ARGUMENT, "from 20 to 99999999; got 19");
    model->step = 20;
    expect_ok(rt_model_export(model, "full"));
    is_status_with(rt_model_export(model, "full"), RT_CONFIG, "full");
    model->transformer->parameters.list[3]->tensor.data[0] = (real)NAN;
    is_status_with(rt_model_save(model, "a.h5"), RT_NONFINITE,
                   model->transformer->parameters.list[3]->name);
    ck_assert(!exists("a.h5"));
}

static void expect_no_model(const char *path, const char *part)
{
    rt_model *model;
    is_status_with(rt_model_open(&model, path), RT_CHECKPOINT, part);
    ck_assert_ptr_null(model);
}

TEST(a_path_without_a_model_is_refused)
{
    static const char *const names[] = {"none.h5", "", "empty", "c.ini", "short.h5", "damaged.h5"};
    TRAIN_CLASSES();
    run("mkdir empty; head -c 3000 " CLASSES_FILE " >short.h5; "
        "tr 'w' 'v' <" CLASSES_FILE " >damaged.h5");
    for (int i = 0; i < ROWS(names); i++)
        expect_no_model(names[i], names[i]);
    run("mkdir hf; echo '{}' >hf/config.json; : >hf/model.safetensors");
    expect_no_model("hf", "config.json");
}

/* A forged file with a valid checksum can hold any options. Those that a checkpoint refuses by
 * itself are in tests/io/checkpoint/test_checkpoint_forged.c. */
TEST(forged_options_are_refused)
{
    TRAIN_CLASSES();
    run("for i in a b c d; do cp " CLASSES_FILE " $i.h5; done");
    forge_integer("a.h5", "/model", "model.ffn_dim", 1000000);
    forge_integer("b.h5", "/data", "data.length", 1);
    forge_word("c.h5", "/data", "data.task", "tag");
    forge_word("d.h5", "/model", "theta.learn", "no");
    expect_no_model("a.h5", "a.h5: the model of its options has");
    expect_no_model("b.h5", "data.length must be a whole number from 2");
    expect_no_model("c.h5", "c.h5");
    expect_no_model("d.h5", "d.h5");
}

static rt_status open_or_make(const char *path, const rt_model *like)
{
    rt_model *made;
    const rt_status status = path ? rt_model_open(&made, path)
                                  : rt_model_new(&made, &like->transformer->options,
                                                 like->vocabulary, like->labels, like->length, 1);
    ck_assert((status.code == RT_OK) == (made != NULL));
    rt_model_close(made);
    return status;
}

TEST(an_exhausted_heap_is_a_status)
{
    double p[CLASSES];
    rt_model *model = TRAIN_CLASSES();
    expect_ok(rt_model_export(model, "folder"));
    expect_ok_after_refusals(2, open_or_make(CLASSES_FILE, NULL));
    expect_ok_after_refusals(2, open_or_make("folder", NULL));
    expect_ok_after_refusals(2, open_or_make(NULL, model));
    expect_ok_after_refusals(2, rt_model_classify(model, "xab", NULL, p));
    expect_ok_after_refusals(2, rt_model_save(model, "a.h5"));
    rt_model_close(NULL);
}
