/* The characters of a text and their ids. */

#include "data/samples.h"
#include "data/tokenizers/tokens.h"

/* Opens a text with a vocabulary; NULL: that of its characters. */
static rt_data *open_with(const rt_vocabulary *vocabulary, const char *text, int length)
{
    rt_data_options o = options_with("text", "level=char eval_fraction=0");
    o.length = length;
    o.file = write_text("a", text);
    return source_as(&o, (rt_data_of_model){.vocabulary = vocabulary});
}

static rt_data *open_characters(const char *text)
{
    return open_with(NULL, text, 2);
}

static void has_ids(const rt_data *data, const int32_t *expected, int count)
{
    rt_batch batch = evaluation_of(data, 1, count + 1);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(original(&batch, 1 + i), expected[i]);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(the_characters_of_a_text_follow_in_the_order_of_code_points)
{
    rt_data *data = open_with(NULL, "z\xe2\x82\xac\xc3\xa9z\xf0\x9f\x98\x80\xc3\xa9y", 8);
    ck_assert_int_eq(data->vocab, 10);
    has_ids(data, (int32_t[]){6, 8, 7, 6, 9, 7, 5}, 7);
    ck_assert_uint_eq(data->unknown[RT_PART_TRAINING].count, 0);
}

static void expect_unknown(rt_unknown unknown, size_t count, size_t at, const char *name)
{
    ck_assert_uint_eq(unknown.count, count);
    ck_assert_uint_eq(unknown.at, at);
    ck_assert_str_eq(unknown.name, name);
}

TEST(a_text_is_read_with_the_vocabulary_that_is_given)
{
    rt_data *first = open_characters("hello");
    rt_data *second = open_with(first->vocabulary, "mellow, mellow", 15);
    const int32_t u = RT_FIRST_SYMBOL, e = 5, l = 7, o = 8;
    ck_assert_int_eq(second->vocab, 9);
    has_ids(second, (int32_t[]){u, e, l, l, o, u, u, u, u, e, l, l, o, u}, 14);
    expect_unknown(second->unknown[RT_PART_TRAINING], 6, 0, "'m'");
}

/* Over both files: the first character that is not known is the 'x' of the second. */
TEST(unknown_characters_are_counted_over_all_files)
{
    const rt_data_of_model meaning = meaning_of(open_characters("ab\xc3\xa9"));
    rt_data_options o = options_with("text", "length=3 level=char eval_fraction=0");
    o.file = lasting("%s,%s", write_text("b", "\xc3\xa9\x62\x61"), write_text("c", "bxay"));
    expect_unknown(source_as(&o, meaning)->unknown[RT_PART_TRAINING], 2, 5, "'x'");
}

static rt_status open_with_file(rt_data **data, const rt_vocabulary *given, const char *vocabulary,
                                const char *text)
{
    rt_data_options o = options_with("text", "length=3 level=char eval_fraction=0");
    o.file = write_text("a", text);
    o.vocab_file = vocabulary ? write_text("b", vocabulary) : in_folder("c");
    const rt_status status = rt_data_open(data, &o, (rt_data_of_model){.vocabulary = given});
    if (*data)
        owned(*data, close_source);
    return status;
}

#define TOKENS "[PAD]\n[CLS]\n[MASK]\n[SEP]\n[UNK]\n"

TEST(a_vocabulary_comes_from_a_file)
{
    rt_data *data;
    expect_ok(open_with_file(&data, NULL, TOKENS "o\n\\n\nl\n", "lo\nx"));
    ck_assert_int_eq(data->vocab, 8);
    has_ids(data, (int32_t[]){7, 5, 6, 4}, 4);
}

TEST(a_missing_or_malformed_vocabulary_file_is_refused)
{
    rt_data *data;
    is_data_error(open_with_file(&data, NULL, NULL, "lo"), in_folder("c"),
                  ": No such file or directory (data.vocab_file)");
    is_data_error(open_with_file(&data, NULL, "", "lo"), in_folder("b"),
                  ": data.vocab_file must hold text; the file is empty");
    is_data_error(open_with_file(&data, NULL, TOKENS "ab\n", "lo"), in_folder("b"),
                  ":6: holds 2 characters; at level char a line holds one");
}

TEST(a_file_must_be_the_vocabulary_that_is_given)
{
    rt_data *data;
    const rt_vocabulary *given = open_characters("hello")->vocabulary;
    expect_ok(open_with_file(&data, given, TOKENS "e\nh\nl\no", "lo"));
    ck_assert_ptr_eq(data->vocabulary, given);
    is_status(open_with_file(&data, given, TOKENS "h\ne\nl\no", "lo"), RT_CONFIG,
              lasting("data.vocab_file: %s is not the vocabulary that the model was trained with; "
                      "leave the key out to use that one",
                      in_folder("b")));
    ck_assert_ptr_null(data);
}

TEST(an_unknown_character_is_encoded_as_the_unknown_token)
{
    rt_data *data = open_characters("ab\xc3\xa9");
    int32_t *ids;
    int count;
    rt_unknown unknown;
    expect_ok(rt_data_encode(data, "\xc3\xa9z\xe2\x82\xac\x61", &ids, &count, &unknown));
    ck_assert_int_eq(count, 4);
    ck_assert(ids[0] == 7 && ids[1] == 4 && ids[2] == 4 && ids[3] == 5);
    expect_unknown(unknown, 2, 2, "'z'");
    rt_free(ids);
    expect_ok(rt_data_encode(data, "", &ids, &count, &unknown));
    ck_assert_int_eq(count, 0);
    rt_free(ids);
    is_status(rt_data_encode(data, "ab\xc3", &ids, &count, &unknown), RT_ARGUMENT,
              "byte 0xc3 at byte 2 is not UTF-8");
    ck_assert(ids == NULL && count == 0);
}
