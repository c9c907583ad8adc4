/* Models through librotor-io: against what the program says of the same checkpoint, saved and
 * opened again, and refused. */

#include "io/models.h"
#include "program/train_program.h"
#include "training/forged_attribute.h"

#include "io/checkpoint/checkpoint.h"

#include <math.h>

enum { CLASSES = 2, A = 4 + 'a' };

/* ---- trained models: a minute altogether ---- */

static const char config[] =
    "[data]\nlength = 16\n[model]\nlayers = 1\ndim = 16\nheads = 2\n[theta]\nlearn = yes\n"
    "[optimizer]\nlr = 0.02\n[train]\nsteps = 20\nbatch_size = 8\neval_batches = 1\n"
    "checkpoint_every = 20\n";

#define LATEST "/checkpoints/step-00000020.h5"

static void train(const char *name, const char *overrides)
{
    write_file("c.ini", config);
    expect_exit(
        w, 0,
        "awk 'BEGIN { print \"text\\tlabel\"; print \"text\\ttext_b\\tlabel\" >\"pairs.tsv\"; "
        "for (i = 0; i < 60; i++) { s = substr(\"abcdabcdabcd\", 1 + i %% 4, 1 + i %% 7); "
        "l = i %% 2 ? \"with\" : \"none\"; t = i %% 2 ? \"x\" s : s; "
        "print t \"\\t\" l; print s \"\\t\" t \"\\t\" l >\"pairs.tsv\"; "
        "print t \"\\t\" l \"\\n\" s \"\\tnone\\n\" >\"tags.tsv\" } }' >texts.tsv; "
        "yes 'a line of text' | head -c 2000 >plain.txt");
    expect_exit(w, 0, "$TRAIN64 c.ini --quiet run.name=%s %s", name, overrides);
}

#define TRAIN_CLASSES() train("classes", "data.task=classify data.vocab=32 data.file=texts.tsv")
#define CLASSES_FILE    "runs/classes" LATEST

/* ---- what the program says ---- */

static void expect_answer(const rt_model *model, const double *p, const char *answer)
{
    char wanted[LINE_SIZE];
    const int best = p[1] > p[0];
    ck_assert(fabs(p[0] + p[1] - 1) < 1e-12);
    snprintf(wanted, sizeof wanted, "%s\t%.4f\n", model->labels->names[best], p[best]);
    ck_assert_str_eq(answer, wanted);
}

SUITE(PROGRAM_OPTIONS)

TEST(probabilities_are_those_that_the_program_prints)
{
    static const char *const texts[] = {"x", "abcab", "xabcd", "a text longer than its length"};
    double p[CLASSES];
    TRAIN_CLASSES();
    rt_model *model = open_model(CLASSES_FILE);
    ck_assert_int_eq(model->step, 20);
    ck_assert_int_eq(model->length, 16);
    ck_assert_int_eq(model->labels->count, CLASSES);
    for (int i = 0; i < 4; i++) {
        expect_exit(w, 0, "$TRAIN64 --checkpoint " CLASSES_FILE " --predict '%s'", texts[i]);
        expect_ok(rt_model_classify(model, texts[i], NULL, p));
        expect_answer(model, p, w->out);
    }
    rt_model_close(model);
}

/* The text of a pair may hold a tab, which --predict takes for the end of the first. */
TEST(pairs_have_the_probabilities_of_the_program)
{
    double p[CLASSES], alone[CLASSES];
    rt_row row;
    train("pairs", "data.task=classify data.vocab=32 data.file=pairs.tsv");
    rt_model *model = open_model("runs/pairs" LATEST);
    expect_exit(w, 0,
                "$TRAIN64 --checkpoint runs/pairs" LATEST " --predict \"$(printf 'ab\\txc')\"");
    expect_ok(rt_model_classify(model, "ab", "xc", p));
    expect_answer(model, p, w->out);
    expect_ok(rt_model_classify(model, "ab\txc", NULL, alone));
    ck_assert(alone[0] != p[0]);
    expect_ok(rt_model_encode(model, "ab", "xc", &row));
    ck_assert_int_eq(row.length, 7);
    for (int t = 0; t < 7; t++)
        ck_assert_int_eq(row.types[t], t > 3);
    rt_row_free(&row);
    rt_model_close(model);
}

TEST(tokens_have_the_probabilities_of_the_program)
{
    char printed[LINE_SIZE] = "";
    double p[CLASSES];
    rt_row row;
    train("tags", "data.task=tag data.vocab=32 data.file=tags.tsv");
    rt_model *model = open_model("runs/tags" LATEST);
    expect_exit(w, 0, "$TRAIN64 --checkpoint runs/tags" LATEST " --predict 'xab  c d'");
    expect_ok(rt_model_encode(model, "xab  c d", NULL, &row));
    static const int tokens[] = {-1, 0, -1, -1, 1, 2, -1}; /* [CLS] x a b c d [SEP] */
    static const char *const written[] = {"xab", "c", "d"};
    ck_assert_int_eq(row.length, 7);
    rt_graph *g = rt_graph_new();
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
    expect_refusal(rt_model_classify(model, "a", NULL, p), RT_ARGUMENT, "no classes of texts");
    rt_row_free(&row);
    expect_refusal(rt_model_encode(model, "a", "b", &row), RT_ARGUMENT, "without pairs");
    rt_graph_free(g);
    rt_model_close(model);
}

/* The program prints "mask 1: 'x' 0.123, ..." of the tokens alone. */
TEST(a_mask_is_a_token_whose_logits_are_the_program_s)
{
    static const int32_t ids[] = {1, A, 2, A + 1};
    rt_row row;
    train("text", "data.task=text data.vocab=32 data.file=plain.txt");
    rt_model *model = open_model("runs/text" LATEST);
    ck_assert_ptr_null(model->labels);
    expect_exit(w, 0, "$TRAIN64 --checkpoint runs/text" LATEST " --predict 'a[MASK]b'");
    expect_ok(rt_model_encode(model, "a[MASK]b", NULL, &row));
    ck_assert_int_eq(row.length, 4);
    ck_assert(!memcmp(row.ids, ids, sizeof ids) && !row.types && !row.tokens);
    rt_graph *g = rt_graph_new();
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
    rt_graph_free(g);
    rt_model_close(model);
}

/* ---- rows ---- */

/* Padding changes the rounding, and no more. */
TEST(rows_together_have_the_logits_of_each_alone)
{
    static const char *const texts[] = {"xab", "a", "abcdabcd"};
    rt_row rows[3];
    TRAIN_CLASSES();
    rt_model *model = open_model(CLASSES_FILE);
    rt_graph *g = rt_graph_new(), *one = rt_graph_new();
    for (int i = 0; i < 3; i++)
        expect_ok(rt_model_encode(model, texts[i], NULL, rows + i));
    const rt_tensor *all = rt_model_logits(model, g, rows, 3);
    expect_ok(rt_graph_status(g));
    ck_assert_int_eq((int)rt_rows(all), 3);
    for (int i = 0; i < 3; i++) {
        rt_graph_clear(one);
        const rt_tensor *alone = rt_model_logits(model, one, rows + i, 1);
        for (int c = 0; c < CLASSES; c++)
            ck_assert(fabs(alone->data[c] - all->data[i * CLASSES + c]) < 1e-12);
        rt_row_free(rows + i);
    }
    rt_graph_free(g);
    rt_graph_free(one);
    rt_model_close(model);
}

TEST(rows_that_are_none_fail_the_graph)
{
    const int32_t ids[] = {1, 1 << 20};
    const rt_row empty = {.length = 0}, wrong = {.length = 2, .ids = (int32_t *)ids};
    TRAIN_CLASSES();
    rt_model *model = open_model(CLASSES_FILE);
    rt_graph *g = rt_graph_new();
    ck_assert_ptr_null(rt_model_logits(model, g, &empty, 1));
    expect_refusal(rt_graph_status(g), RT_ARGUMENT, "row 0 has no ids");
    ck_assert_ptr_null(rt_model_logits(model, g, &wrong, 1)); /* once failed, it stays so */
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_model_logits(model, g, &empty, 0));
    expect_refusal(rt_graph_status(g), RT_ARGUMENT, "at least one row");
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_model_logits(model, g, &wrong, 1));
    expect_refusal(rt_graph_status(g), RT_ARGUMENT, "1048576");
    rt_graph_free(g);
    rt_model_close(model);
}

static const struct {
    const char *text, *second, *part;
} bad_texts[] = {
    {"", NULL, "the text is empty"},
    {"a\xff", NULL, "byte 0xff at byte 1 is not UTF-8"},
    {"a", "b", "trained without pairs"},
};

TEST(a_text_that_cannot_be_read_is_refused)
{
    double p[CLASSES];
    rt_row row;
    TRAIN_CLASSES();
    rt_model *model = open_model(CLASSES_FILE);
    for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
        expect_refusal(rt_model_encode(model, bad_texts[i].text, bad_texts[i].second, &row),
                       RT_ARGUMENT, bad_texts[i].part);
        ck_assert_ptr_null(row.ids);
        expect_refusal(rt_model_classify(model, bad_texts[i].text, bad_texts[i].second, p),
                       RT_ARGUMENT, bad_texts[i].part);
    }
    rt_model_close(model);
    expect_exit(w, 0, "$TRAIN64 tiny.ini --quiet train.steps=20");
    model = open_model("runs/tiny" LATEST);
    expect_refusal(rt_model_encode(model, "a", NULL, &row), RT_ARGUMENT, "ids, not texts");
    rt_model_close(model);
}

TEST(what_is_cut_or_unknown_is_told)
{
    rt_row row;
    train("chars", "data.task=classify data.vocab=32 data.file=texts.tsv data.level=char");
    rt_model *model = open_model("runs/chars" LATEST);
    expect_ok(rt_model_encode(model, "ab", NULL, &row));
    ck_assert(!row.cut && !row.unknown.count && row.length == 4);
    rt_row_free(&row);
    expect_ok(rt_model_encode(model, "ab!abcdabcdabcdabcd", NULL, &row));
    ck_assert(row.cut && row.length == 16);
    ck_assert_uint_eq(row.unknown.count, 1);
    ck_assert_uint_eq(row.unknown.at, 2);
    rt_row_free(&row);
    rt_model_close(model);
}

/* ---- saving ---- */

static bool same_values(const rt_model *a, const rt_model *b)
{
    const rt_parameters *p = &a->transformer->parameters, *q = &b->transformer->parameters;
    return p->block_size == q->block_size &&
           !memcmp(p->values, q->values, p->block_size * sizeof(real));
}

/* A step of training on one text, in which every parameter of the head has a gradient. */
static void take_step(rt_model *model)
{
    const int32_t label = 1;
    rt_row row;
    rt_optimizer *o;
    const rt_optimizer_settings s = rt_optimizer_defaults(RT_OPTIMIZER_ADAMW);
    rt_graph *g = rt_graph_new();
    expect_ok(rt_optimizer_new(&o, &model->transformer->parameters, &s));
    expect_ok(rt_model_encode(model, "xab", NULL, &row));
    rt_tensor *logits = rt_model_logits(model, g, &row, 1);
    expect_ok(rt_graph_backward(g, rt_cross_entropy(g, logits, &label, 0, 1)));
    expect_ok(rt_optimizer_step(o, 0.01, NULL));
    model->step++;
    rt_row_free(&row);
    rt_optimizer_free(o);
    rt_graph_free(g);
}

TEST(a_trained_model_saved_and_opened_is_the_same_to_the_bit)
{
    double before[CLASSES], p[CLASSES], q[CLASSES];
    TRAIN_CLASSES();
    rt_model *model = open_model(CLASSES_FILE);
    expect_ok(rt_model_classify(model, "xab", NULL, before));
    take_step(model);
    expect_ok(rt_model_classify(model, "xab", NULL, p));
    ck_assert_msg(p[1] > before[1], "%g, before it %g", p[1], before[1]);
    expect_ok(rt_model_save(model, "saved.h5"));
    rt_model *again = open_model("saved.h5");
    ck_assert(same_values(model, again));
    ck_assert_int_eq(again->step, 21);
    expect_ok(rt_model_classify(again, "xab", NULL, q));
    ck_assert(p[0] == q[0] && p[1] == q[1]);
    expect_exit(w, 0, "$TRAIN64 --checkpoint saved.h5 --predict xab");
    expect_answer(model, p, w->out);
    expect_exit(w, 0, "$TRAIN64 --checkpoint saved.h5 --eval");
    rt_model_close(model);
    rt_model_close(again);
}

/* In a checkpoint and in a folder, from which it is saved again. */
TEST(a_theta_that_began_below_0_is_saved_and_opened)
{
    train("raw", "theta.form=raw train.steps=2 train.checkpoint_every=2");
    rt_model *model = open_model("runs/raw/checkpoints/step-00000002.h5");
    double theta[] = {-0.5, 0, 0.25, -1e-3}, again[4];
    rt_transformer_set_theta(model->transformer, theta);
    memcpy(rt_transformer_theta_start(model->transformer), theta, sizeof theta);
    expect_ok(rt_model_save(model, "saved.h5"));
    expect_ok(rt_model_export(model, "folder"));
    rt_model_close(model);
    model = open_model("saved.h5");
    ck_assert_mem_eq(rt_transformer_theta_start(model->transformer), theta, sizeof theta);
    rt_model_close(model);
    model = open_model("folder");
    expect_ok(rt_model_save(model, "saved.h5"));
    rt_model_close(model);
    model = open_model("saved.h5");
    rt_transformer_theta(model->transformer, again);
    ck_assert_mem_eq(again, theta, sizeof theta);
    ck_assert_mem_eq(rt_transformer_theta_start(model->transformer), theta, sizeof theta);
    rt_model_close(model);
}

/* A folder tells nothing of data: neither does its checkpoint, which is read all the same. */
TEST(the_program_takes_a_folder_that_was_saved_as_a_checkpoint)
{
    double p[CLASSES];
    TRAIN_CLASSES();
    rt_model *model = open_model(CLASSES_FILE);
    expect_ok(rt_model_export(model, "folder"));
    rt_model_close(model);
    model = open_model("folder");
    expect_ok(rt_model_save(model, "saved.h5"));
    expect_ok(rt_model_classify(model, "xab", NULL, p));
    expect_exit(w, 0, "$TRAIN64 --checkpoint saved.h5 --predict xab");
    expect_answer(model, p, w->out);
    expect_exit(w, 0, "$TRAIN64 --checkpoint saved.h5 --eval data.file=texts.tsv");
    expect_exit(w, 2, "$TRAIN64 --checkpoint saved.h5 --eval");
    expect_text(w->err, "data.file");
    rt_model_close(model);
}

TEST(what_cannot_be_saved_is_refused)
{
    TRAIN_CLASSES();
    rt_model *model = open_model(CLASSES_FILE);
    expect_refusal(rt_model_save(model, "no/such/folder.h5"), RT_IO, "folder.h5");
    model->step = 19;
    expect_refusal(rt_model_save(model, "a.h5"), RT_ARGUMENT, "from 20 to 99999999; got 19");
    model->step = 20;
    expect_ok(rt_model_export(model, "full"));
    expect_refusal(rt_model_export(model, "full"), RT_CONFIG, "full");
    model->transformer->parameters.list[3]->tensor.data[0] = (real)NAN;
    expect_refusal(rt_model_save(model, "a.h5"), RT_NONFINITE,
                   model->transformer->parameters.list[3]->name);
    ck_assert(!exists("a.h5"));
    rt_model_close(model);
}

/* ---- files that are no model ---- */

static void expect_no_model(const char *path, const char *part)
{
    rt_model *model;
    expect_refusal(rt_model_open(&model, path), RT_CHECKPOINT, part);
    ck_assert_ptr_null(model);
}

TEST(what_is_no_model_is_refused)
{
    TRAIN_CLASSES();
    expect_exit(w, 0,
                "mkdir empty; head -c 3000 " CLASSES_FILE " >short.h5; "
                "tr 'w' 'v' <" CLASSES_FILE " >damaged.h5");
    expect_no_model("none.h5", "none.h5");
    expect_no_model("", "");
    expect_no_model("empty", "empty");
    expect_no_model("c.ini", "c.ini");
    expect_no_model("short.h5", "short.h5");
    expect_no_model("damaged.h5", "damaged.h5");
}

/* Whoever can seal a file can write any options into it. */
static const struct {
    const char *group, *key;
    int64_t value;
    const char *word, *part;
} forgeries[] = {
    {"/model", "model.ffn_dim", 1000000, NULL, "forged.h5: the model of its options has"},
    {"/model", "model.dim", 1000000, NULL, "forged.h5"},
    {"/model", "model.layers", 1000, NULL, "forged.h5: the model of its options has"},
    {"/model", "model.dim", 17, NULL, "forged.h5"},
    {"/data", "data.task", 0, "tag", "forged.h5"},
    {"/data", "data.task", 0, "copy", "forged.h5"},
    {"/data", "data.length", 1, NULL, "data.length must be a whole number from 2"},
    {"/model", "theta.learn", 0, "no", "forged.h5"},
};

static void forge(const char *group, const char *key, int64_t value, const char *word)
{
    ck_assert(!system("cp " CLASSES_FILE " forged.h5"));
    if (word)
        forge_word("forged.h5", group, key, word);
    else
        forge_integer("forged.h5", group, key, value);
}

TEST(forged_options_are_refused)
{
    TRAIN_CLASSES();
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        forge(forgeries[i].group, forgeries[i].key, forgeries[i].value, forgeries[i].word);
        expect_no_model("forged.h5", forgeries[i].part);
    }
}

/* ---- the heap ---- */

typedef rt_status act_of(void *context);

/* Fails every request of an act in turn, until none is left. */
static void exhaust(act_of *act, void *context)
{
    int n = 0;
    for (;;) {
        rt_memory_fail_at((size_t)++n);
        rt_status status = act(context);
        rt_memory_fail_at(0);
        if (!status.code)
            break;
        ck_assert_msg(status.code == RT_MEMORY, "request %d: code %d: %s", n, status.code,
                      status.message);
    }
    ck_assert_int_gt(n, 3);
}

static rt_status open_and_close(void *path)
{
    rt_model *model;
    rt_status status = rt_model_open(&model, path);
    ck_assert((status.code == RT_OK) == (model != NULL));
    rt_model_close(model);
    return status;
}

static rt_status classify(void *model)
{
    double p[CLASSES];
    return rt_model_classify(model, "xab", NULL, p);
}

static rt_status save(void *model)
{
    return rt_model_save(model, "a.h5");
}

static rt_status make_new(void *context)
{
    const rt_model *like = context;
    rt_model *made;
    rt_status status = rt_model_new(&made, &like->transformer->options, like->vocabulary,
                                    like->labels, like->length, 1);
    ck_assert((status.code == RT_OK) == (made != NULL));
    rt_model_close(made);
    return status;
}

TEST(an_exhausted_heap_is_a_status)
{
    char file[] = CLASSES_FILE, folder[] = "folder";
    TRAIN_CLASSES();
    rt_model *model = open_model(file);
    expect_ok(rt_model_export(model, folder));
    exhaust(open_and_close, file);
    exhaust(open_and_close, folder);
    exhaust(classify, model);
    exhaust(save, model);
    exhaust(make_new, model);
    rt_model_close(model);
    rt_model_close(NULL);
}
