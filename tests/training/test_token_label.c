/* Pieces of byte-level BPE, which may be parts of characters, as people see them. */

#include "suite.h"
#include "training/scratch.h"

#include "core/memory.h"
#include "data/tokenizers/vocabulary.h"
#include "train/report/private.h"

static const char file[] =
    "{\"added_tokens\": [{\"id\": 5, \"content\": \"<s>\", \"special\": true}], \"pre_tokenizer\": "
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false}, \"decoder\": {\"type\": "
    "\"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {\"\xc4\xa0the\": "
    "0, \"\xc3\xa2\xc2\xb8\": 1, \"\xc4\x8a\xc4\x89\": 2, \"\xc3\x83\xc2\xa9x\xc3\x83\": 3, "
    "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\": 4}}}";

static const char *const labels[] = {
    "␣the", "\\xe2\\xb8", "↵⇥", "éx\\xc3", "abcdefghijklmnopqrstuvwxyzab…", "<s>"};

static rt_vocabulary *v;
static rt_data *data;

static void open_vocabulary(void)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    const rt_data_options o = {.level = RT_LEVEL_BPE, .objective = RT_OBJECTIVE_LM, .length = 8};
    assert_status(rt_vocabulary_read(&v, kind, "v", (const unsigned char *)file, strlen(file)),
                  RT_OK, "");
    assert_status(rt_data_open_without(&data, &o, (rt_data_meaning){.vocabulary = v}), RT_OK, "");
}

static void close_vocabulary(void)
{
    rt_data_close(data);
    rt_vocabulary_free(v);
}

SUITE(.setup = open_vocabulary, .teardown = close_vocabulary)

TEST(a_label_shows_blanks_and_bytes_of_a_piece)
{
    char label[RT_TOKEN_LABEL_SIZE];
    for (int32_t id = 0; id < 6; id++)
        ck_assert_str_eq(rt_token_label(label, data, id), labels[id]);
}

/* Two pieces that are one character. */
TEST(pieces_side_by_side_are_text)
{
    const int32_t ids[] = {0, 3, 5};
    rt_writer page = {0};
    rt_token_text(&page, data, ids, 3);
    ck_assert_str_eq(page.bytes, " theéx·");
    rt_writer_free(&page);
}
