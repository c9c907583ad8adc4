/* Predictions of a model in a report, compared with the model itself. */

#include "config_loading.h"
#include "training/scratch.h"

#include "core/memory.h"
#include "data/tokenizers/vocabulary.h"
#include "train/report/private.h"
#include "train/step/trainer.h"

enum { LENGTH = 16 };

static rt_config config;
static rt_data *data;
static rt_trainer *trainer;
static rt_writer page;

/* A model of characters whose preferences are far from equal, with that many rows or more in its
 * table of words. */
static void make_model(const char *causal, const char *objective, int rows)
{
    char text[1024], all[4096] = "";
    for (int i = 0; i < 40; i++)
        sprintf(all + strlen(all), "sphinx of <black> quartz %c\n", 'a' + i % 26);
    write_bytes(in_scratch("a.txt"), all, strlen(all));
    snprintf(text, sizeof text,
             "[model]\nlayers = 1\ndim = 16\nheads = 2\ncausal = %s\ninit_std = 0.5\n"
             "[data]\ntask = text\nlevel = char\nlength = 16\nfile = %s\nobjective = %s\n%s"
             "[run]\nthreads = 1\n[train]\nbatch_size = 2\n",
             causal, in_scratch("a.txt"), objective,
             strcmp(objective, "mlm") ? "" : "mask_probability = 0.4\n");
    load_sound(&config, text, NULL);
    const rt_data_of_model meaning = {.ids = rows};
    assert_status(rt_data_open_as(&data, &config.data, meaning), RT_OK, "");
    assert_status(rt_trainer_new(&trainer, &config, data, NULL), RT_OK, "");
}

static void end(void)
{
    rt_trainer_free(trainer);
    rt_data_close(data);
    trainer = NULL;
    data = NULL;
    rt_writer_free(&page);
    remove_scratch();
}

/* The most likely token at a place of a sequence. */
static int32_t expected_token(const int32_t *ids, int count, int place)
{
    rt_transformer *model = rt_trainer_state(trainer)->model;
    const rt_transformer_input in = {.B = 1, .T = count, .ids = ids, .padding_id = RT_NO_PADDING};
    const rt_vocabulary *vocabulary = rt_data_vocabulary(data);
    const int first = rt_vocabulary_ordinary_token(vocabulary, 0), V = rt_data_vocab(data);
    rt_graph *g = rt_graph_new();
    rt_graph_record(g, false);
    const rt_tensor *logits = rt_transformer_forward(model, g, &in);
    int32_t best = first;
    ck_assert_ptr_nonnull(logits);
    for (int32_t id = first; id < vocabulary->count; id++)
        if (logits->data[place * V + id] > logits->data[place * V + best])
            best = id;
    rt_graph_free(g);
    return best;
}

static void add_token(rt_writer *w, const char *before, int32_t id, const char *after)
{
    rt_writer_add(w, "%s", before);
    rt_token_text(w, data, &id, 1);
    rt_writer_add(w, "%s", after);
}

SUITE(.setup = make_scratch, .teardown = end)

/* A table of words may have rows that no token has. */
TEST_ROWS(masked_tokens_are_filled_in, 0, 2)
{
    rt_labelled_batch b;
    rt_writer expected = {0};
    make_model("no", "mlm", _i ? 64 : 0);
    ck_assert(!_i || rt_data_vocab(data) > rt_data_vocabulary(data)->count);
    assert_status(rt_report_samples(&page, &config, trainer), RT_OK, "");
    assert_status(rt_labelled_batch_new(&b, 1, LENGTH, NULL), RT_OK, "");
    for (int row = 0; row < 3; row++) {
        rt_data_evaluation(data, (uint32_t)row, &b.batch);
        rt_writer_add(&expected, "<p class=\"sample\">");
        for (int t = 1; t < LENGTH; t++) {
            const int32_t wanted = b.batch.labels[t];
            const int32_t found = expected_token(b.batch.ids, LENGTH, t);
            if (wanted == RT_NO_LABEL) {
                add_token(&expected, "", b.batch.ids[t], "");
            } else if (wanted == found) {
                add_token(&expected, "<ins>", wanted, "</ins>");
            } else {
                add_token(&expected, "<del>", found, "</del>");
                add_token(&expected, "<b>", wanted, "</b>");
            }
        }
        rt_writer_add(&expected, "</p>\n");
    }
    expect_in(page.bytes, expected.bytes);
    expect_in(page.bytes, "<del>");
    rt_writer_free(&expected);
    rt_labelled_batch_free(&b);
}

TEST(a_text_is_continued_from_its_first_half)
{
    rt_labelled_batch b;
    rt_writer expected = {0};
    make_model("yes", "lm", 0);
    assert_status(rt_report_samples(&page, &config, trainer), RT_OK, "");
    assert_status(rt_labelled_batch_new(&b, 1, LENGTH, NULL), RT_OK, "");
    rt_data_evaluation(data, 1, &b.batch);
    rt_writer_add(&expected, "<p class=\"sample\">");
    rt_token_text(&expected, data, b.batch.ids, LENGTH / 2);
    for (int t = LENGTH / 2; t < LENGTH; t++)
        b.batch.ids[t] = expected_token(b.batch.ids, t, t - 1);
    rt_writer_add(&expected, "<ins>");
    rt_token_text(&expected, data, b.batch.ids + LENGTH / 2, LENGTH / 2);
    rt_writer_add(&expected, "</ins></p>\n");
    expect_in(page.bytes, expected.bytes);
    rt_writer_free(&expected);
    rt_labelled_batch_free(&b);
}

TEST(a_toy_task_has_no_samples)
{
    load_sound(&config, "[model]\nlayers = 1\ndim = 16\nheads = 2\n[data]\nlength = 8\n", NULL);
    assert_status(rt_data_open(&data, &config.data, NULL), RT_OK, "");
    assert_status(rt_trainer_new(&trainer, &config, data, NULL), RT_OK, "");
    assert_status(rt_report_samples(&page, &config, trainer), RT_OK, "");
    ck_assert_ptr_null(page.bytes);
}

/* ---- labels ---- */

/* At level byte, an id is 4 more than its byte. */
TEST(a_token_is_shown_as_what_can_be_seen)
{
    static const struct {
        int32_t id;
        const char *label;
    } rows[] = {{0, "[PAD]"},   {1, "[CLS]"},    {2, "[MASK]"},   {3, "[SEP]"},
                {4 + 'x', "x"}, {4 + ' ', "␣"},  {4 + '\n', "↵"}, {4 + '\t', "⇥"},
                {4 + 7, "·"},   {4 + 0xc3, "·"}, {4 + 0, "·"},    {4 + '<', "<"}};
    char label[RT_TOKEN_LABEL_SIZE];
    write_bytes(in_scratch("a.txt"), "some text that is long enough", 29);
    char text[512];
    snprintf(text, sizeof text, "[data]\ntask = text\nlength = 4\neval_fraction = 0\nfile = %s\n",
             in_scratch("a.txt"));
    load_sound(&config, text, NULL);
    assert_status(rt_data_open(&data, &config.data, NULL), RT_OK, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(rt_token_label(label, data, rows[i].id), rows[i].label);
    const int32_t ids[] = {1,        4 + 'a', 4 + 0xc3, 4 + 0xa9, 4 + 0xc3, 4 + '<',
                           4 + '\n', 2,       4 + 0,    4 + 'z',  4 + 0xe2};
    rt_token_text(&page, data, ids, sizeof ids / sizeof *ids);
    ck_assert_str_eq(page.bytes, "aé·&lt;\n·z·");
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
TEST(pieces_are_shown_as_what_can_be_seen)
{
    static const char *const labels[] = {
        "␣the", "\\xe2\\xb8", "↵⇥", "éx\\xc3", "abcdefghijklmnopqrstuvwxyzab…", "<s>"};
    static const int32_t ids[] = {0, 3, 5};
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    const rt_data_options o = {.level = RT_LEVEL_BPE, .objective = RT_OBJECTIVE_LM, .length = 8};
    char label[RT_TOKEN_LABEL_SIZE];
    rt_vocabulary *v;
    assert_status(rt_vocabulary_read(&v, kind, "v", (const unsigned char *)pieces, strlen(pieces)),
                  RT_OK, "");
    assert_status(rt_data_open_encoder(&data, &o, (rt_data_of_model){.vocabulary = v}), RT_OK, "");
    for (int32_t id = 0; id < 6; id++)
        ck_assert_str_eq(rt_token_label(label, data, id), labels[id]);
    rt_token_text(&page, data, ids, 3);
    ck_assert_str_eq(page.bytes, " theéx·");
    rt_data_close(data);
    data = NULL;
    rt_vocabulary_free(v);
}
