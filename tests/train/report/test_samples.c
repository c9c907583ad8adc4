/* Predictions of a model in a report, compared with the model itself. */

#include "markup.h"
#include "models/new_model.h"
#include "tokenizer_fixtures.h"
#include "train/step/training.h"
#include "util/scratch.h"

#include "train/report/sections.h"

enum { LENGTH = 16 };

static training *t;
static rt_run_page page;

/* Makes a model of characters whose preferences are far from equal, with that many rows or more in
 * its table of words, and the report on it. */
static void report_on(const char *causal, const char *objective, int rows)
{
    char all[4096] = "";
    for (int i = 0; i < 40; i++)
        sprintf(all + strlen(all), "sphinx of <black> quartz %c\n", 'a' + i % 26);
    put_text("a.txt", all);
    t = new_training_as(
        lasting("[model]\nlayers = 1\ndim = 16\nheads = 2\ncausal = %s\ninit_std = 0.5\n"
                "[data]\ntask = text\nlevel = char\nlength = 16\nfile = %s\nobjective = %s\n"
                "%s[run]\nthreads = 1\n[train]\nbatch_size = 2\n",
                causal, in_scratch("a.txt"), objective,
                strcmp(objective, "mlm") ? "" : "mask_probability = 0.4\n"),
        NULL, (rt_data_of_model){.ids = rows});
    page.config = &t->config;
    page.trainer = t->trainer;
    expect_ok(rt_report_samples(&page));
}

static void end(void)
{
    rt_writer_free(&page.w);
    remove_scratch();
}

/* The most likely token at a place of a sequence. */
static int32_t expected_token(const int32_t *ids, int count, int place)
{
    const rt_vocabulary *vocabulary = t->data->vocabulary;
    const real *logits = logits_of(t->state->model, ids, NULL, count) + place * t->data->vocab;
    int32_t best = vocabulary->ordinary[0];
    for (int32_t id = best; id < vocabulary->count; id++)
        best = logits[id] > logits[best] ? id : best;
    return best;
}

static void add_token(rt_writer *w, const char *before, int32_t id, const char *after)
{
    rt_writer_add(w, "%s", before);
    rt_token_text(w, t->data, &id, 1);
    rt_writer_add(w, "%s", after);
}

SUITE(.setup = make_scratch, .teardown = end)

/* A table of words may have rows that no token has. */
TEST_ROWS(masked_tokens_are_filled_in, 0, 2)
{
    rt_labelled_batch b;
    rt_writer expected = {0};
    report_on("no", "mlm", _i ? 64 : 0);
    ck_assert(!_i || t->data->vocab > t->data->vocabulary->count);
    expect_ok(rt_labelled_batch_new(&b, 1, LENGTH, 0, NULL));
    for (int row = 0; row < 3; row++) {
        rt_data_evaluation(t->data, (uint32_t)row, &b.batch);
        rt_writer_add(&expected, "<p>");
        for (int i = 1; i < LENGTH; i++) {
            const int32_t wanted = b.batch.labels[i];
            const int32_t found = expected_token(b.batch.ids, LENGTH, i);
            if (wanted == RT_NO_LABEL) {
                add_token(&expected, "", b.batch.ids[i], "");
            } else if (wanted == found) {
                add_token(&expected, "<ins>", wanted, "</ins>");
            } else {
                add_token(&expected, "<del>", found, "</del>");
                add_token(&expected, "<b>", wanted, "</b>");
            }
        }
        rt_writer_add(&expected, "</p>\n");
    }
    expect_in(text_of(page.w.bytes), text_of(expected.bytes));
    expect_in(text_of(page.w.bytes), "<del>");
    rt_writer_free(&expected);
    rt_labelled_batch_free(&b);
}

TEST(a_text_is_continued_from_its_first_half)
{
    rt_labelled_batch b;
    rt_writer expected = {0};
    report_on("yes", "lm", 0);
    expect_ok(rt_labelled_batch_new(&b, 1, LENGTH, 0, NULL));
    rt_data_evaluation(t->data, 1, &b.batch);
    rt_writer_add(&expected, "<p>");
    rt_token_text(&expected, t->data, b.batch.ids, LENGTH / 2);
    for (int i = LENGTH / 2; i < LENGTH; i++)
        b.batch.ids[i] = expected_token(b.batch.ids, i, i - 1);
    rt_writer_add(&expected, "<ins>");
    rt_token_text(&expected, t->data, b.batch.ids + LENGTH / 2, LENGTH / 2);
    rt_writer_add(&expected, "</ins></p>\n");
    expect_in(text_of(page.w.bytes), text_of(expected.bytes));
    rt_writer_free(&expected);
    rt_labelled_batch_free(&b);
}

TEST(a_toy_task_has_no_samples)
{
    t = new_training("[model]\nlayers = 1\ndim = 16\nheads = 2\n[data]\nlength = 8\n", NULL);
    page.config = &t->config;
    page.trainer = t->trainer;
    expect_ok(rt_report_samples(&page));
    ck_assert_ptr_null(page.w.bytes);
}

/* At level byte, an id is 4 more than its byte. */
TEST(a_token_is_shown_in_printable_characters)
{
    static const struct {
        int32_t id;
        const char *label;
    } rows[] = {{0, "[PAD]"},   {1, "[CLS]"},    {2, "[MASK]"},   {3, "[SEP]"},
                {4 + 'x', "x"}, {4 + ' ', "␣"},  {4 + '\n', "↵"}, {4 + '\t', "⇥"},
                {4 + 7, "·"},   {4 + 0xc3, "·"}, {4 + 0, "·"},    {4 + '<', "<"}};
    char label[RT_TOKEN_LABEL_SIZE];
    put_text("a.txt", "some text that is long enough");
    const rt_data *data =
        new_choosy_training(
            lasting("[data]\ntask = text\nlength = 4\neval_fraction = 0\nfile = %s\n",
                    in_scratch("a.txt")))
            ->data;
    for (int i = 0; i < ROWS(rows); i++)
        ck_assert_str_eq(rt_token_label(label, data, rows[i].id), rows[i].label);
    const int32_t ids[] = {1,        4 + 'a', 4 + 0xc3, 4 + 0xa9, 4 + 0xc3, 4 + '<',
                           4 + '\n', 2,       4 + 0,    4 + 'z',  4 + 0xe2};
    rt_token_text(&page.w, data, ids, sizeof ids / sizeof *ids);
    ck_assert_str_eq(page.w.bytes, "aé·&lt;\n·z·");
}

/* Pieces of byte-level BPE, which may be parts of characters. */
static const char pieces[] =
    "{\"added_tokens\": [{\"id\": 5, \"content\": \"<s>\", \"special\": true}],"
    " \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false},"
    " \"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"merges\": [],"
    " \"vocab\": {\"\xc4\xa0the\": 0, \"\xc3\xa2\xc2\xb8\": 1, \"\xc4\x8a\xc4\x89\": 2, "
    "\"\xc3\x83\xc2\xa9x\xc3\x83\": 3, "
    "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\": 4}}}";

/* A label shows blanks and bytes of a piece; pieces side by side may be one character. */
TEST(pieces_are_shown_in_printable_characters)
{
    static const char *const labels[] = {
        "␣the", "\\xe2\\xb8", "↵⇥", "éx\\xc3", "abcdefghijklmnopqrstuvwxyzab…", "<s>"};
    static const int32_t ids[] = {0, 3, 5};
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    const rt_data_options o = {.level = RT_LEVEL_BPE, .objective = RT_OBJECTIVE_LM, .length = 8};
    char label[RT_TOKEN_LABEL_SIZE];
    rt_vocabulary *v = vocabulary_of(kind, pieces);
    rt_data *data;
    expect_ok(rt_data_open_encoder(&data, &o, (rt_data_of_model){.vocabulary = v}));
    for (int32_t id = 0; id < 6; id++)
        ck_assert_str_eq(rt_token_label(label, data, id), labels[id]);
    rt_token_text(&page.w, data, ids, 3);
    ck_assert_str_eq(page.w.bytes, " theéx·");
    rt_data_close(data);
}
