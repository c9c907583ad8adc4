/* A line of text as a row of labelled data, against the rows of files that hold it. */

#include "data/labelled_batch.h"
#include "samples.h"

enum { A = RT_FIRST_SYMBOL + 'a', NONE = RT_NO_LABEL };

static const char table[] = "text\tlabel\nab\tx\nc\ty\n";
static const char pairs[] = "text\ttext_b\tlabel\nab\tc\tx\nc\td\ty\n";
static const char tokens[] = "ab\tx\nc\ty\n";

static rt_data *open_file(const char *task, rt_level level, int length, const char *text)
{
    rt_data_options o = options_with(task, "eval_fraction=0");
    o.level = level;
    o.length = length;
    o.file = write_text("a.tsv", text);
    if (level == RT_LEVEL_WORDPIECE)
        o.vocab_file =
            write_text("b", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nit\n,\n");
    return source(&o);
}

static rt_example_text encode(const rt_data *data, const char *line, rt_batch *row)
{
    rt_example_text x;
    expect_ok(rt_data_encode_example(&x, data, line, strlen(line), row));
    owned(x.texts, rt_free);
    return x;
}

static void expect_ids(const int32_t *got, const char *what, int count, const int32_t *wanted)
{
    for (int i = 0; i < count; i++)
        ck_assert_msg(got[i] == wanted[i], "%s %d is %d, expected %d", what, i, (int)got[i],
                      (int)wanted[i]);
}

#define IDS(...) ((const int32_t[]){__VA_ARGS__})

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(each_token_has_its_number_at_its_first_piece)
{
    rt_data *data = open_file("tag", RT_LEVEL_BYTE, 9, tokens);
    rt_batch row = batch_of(1, 9);
    rt_example_text x = encode(data, " \tab  c\tabc ", &row);
    expect_ids(row.ids, "id", 9,
               IDS(RT_ID_CLS, A, A + 1, A + 2, A, A + 1, A + 2, RT_ID_SEP, RT_ID_PAD));
    expect_ids(row.labels, "label", 9, IDS(NONE, 0, NONE, 1, 2, NONE, NONE, NONE, NONE));
    ck_assert_int_eq(x.count, 3);
    ck_assert(!x.cut && x.texts[1].size == 1 && *x.texts[1].bytes == 'c');
}

/* A token of a control character has no pieces, and is [UNK] as in a file. */
TEST(a_token_without_pieces_is_unknown)
{
    rt_data *data = open_file("tag", RT_LEVEL_WORDPIECE, 12, "unaffable\tx\nit\ty\n");
    rt_batch row = batch_of(1, 12);
    rt_example_text x = encode(data, "it \x01 zz unaffable", &row);
    expect_ids(row.ids, "id", 8, IDS(2, 8, 1, 1, 5, 6, 7, 3));
    expect_ids(row.labels, "label", 8, IDS(NONE, 0, 1, 2, 3, NONE, NONE, NONE));
    ck_assert_uint_eq(x.unknown.count, 1);
    ck_assert_uint_eq(x.unknown.at, 5);
}

TEST_ROWS(a_line_is_cut_as_the_row_of_a_file, 0, 3)
{
    static const struct {
        const char *task, *line, *file;
        int whole; /* length that the line needs */
    } rows[] = {{"classify", "abcde", "text\tlabel\nabcde\tone\nz\ttwo\n", 7},
                {"classify", "abcd\txyz", "text\ttext_b\tlabel\nabcd\txyz\tone\nz\tz\ttwo\n", 10},
                {"tag", "ab cde", "ab\tone\ncde\tone\n\nz\ttwo\n", 7}};
    for (int length = 5; length <= 12; length++) {
        rt_data *data = open_file(rows[_i].task, RT_LEVEL_CHAR, length, rows[_i].file);
        rt_batch all = evaluation_of(data, 2, length), row = batch_of(1, length);
        rt_example_text x = encode(data, rows[_i].line, &row);
        const int at = all.ids[1] != row.ids[1] ? length : 0; /* the other row begins with a z */
        expect_ids(row.ids, "id", length, all.ids + at);
        expect_ids(row.types, "type", length, all.types + at);
        ck_assert(!memcmp(row.mask, all.mask + at, (size_t)length));
        for (int t = 0, number = 0; t < length; t++)
            ck_assert_int_eq(row.labels[t], all.labels[at + t] == NONE ? NONE : number++);
        ck_assert(x.cut || x.count == 1 + (_i > 0));
        ck_assert_int_eq(x.cut, length < rows[_i].whole);
        ck_assert_uint_eq(data->cut.count, x.cut);
    }
}

#define NO_PAIR "a pair must be TEXT<TAB>TEXT, neither empty; got "

static const struct {
    const char *task, *file;
    rt_level level;
    const char *line;
    size_t size;
    int length; /* of the row; 0: 9 */
    const char *message;
} bad[] = {
    /* a folder of Hugging Face can be of a model for two tokens */
    {"classify", table, RT_LEVEL_BYTE, "a", 1, 2,
     "data.length must be at least 3 for classify; got 2"},
    {"copy", NULL, RT_LEVEL_BYTE, "ab", 2, 0, "data.task = copy has no labelled texts"},
    {"classify", table, RT_LEVEL_CHAR, "", 0, 0, "the text is empty"},
    {"classify", table, RT_LEVEL_BYTE, "ab\xff", 3, 0, "byte 0xff at byte 2 is not UTF-8"},
    {"tag", tokens, RT_LEVEL_BYTE, "a \xc3", 3, 0, "byte 0xc3 at byte 2 is not UTF-8"},
    {"classify", table, RT_LEVEL_CHAR, "a\0b", 3, 0, "byte 0x00 at byte 1 is not text"},
    {"classify", pairs, RT_LEVEL_CHAR, "ab", 2, 0, NO_PAIR "no tab"},
    {"classify", pairs, RT_LEVEL_CHAR, "\tab", 3, 0, NO_PAIR "an empty text"},
    {"classify", pairs, RT_LEVEL_CHAR, "ab\t", 3, 0, NO_PAIR "an empty text"},
    {"classify", pairs, RT_LEVEL_CHAR, "a\tb\tc", 5, 0, NO_PAIR "more than one tab"},
    {"classify", pairs, RT_LEVEL_WORDPIECE, "it\t  ", 5, 0,
     "text_b: has no token of the vocabulary"},
    {"classify", pairs, RT_LEVEL_WORDPIECE, " \tit", 4, 0, "text: has no token of the vocabulary"},
    {"classify", table, RT_LEVEL_WORDPIECE, "  ", 2, 0, "has no token of the vocabulary"},
    {"tag", tokens, RT_LEVEL_CHAR, " \t ", 3, 0, "the text is empty"},
};

TEST_ROWS(a_line_that_is_no_row_is_refused, 0, ROWS(bad))
{
    const rt_data_options copy = options_for("copy");
    rt_data *data =
        bad[_i].file ? open_file(bad[_i].task, bad[_i].level, 9, bad[_i].file) : source(&copy);
    rt_batch row = batch_of(1, bad[_i].length ? bad[_i].length : 9);
    rt_example_text x;
    is_status(rt_data_encode_example(&x, data, bad[_i].line, bad[_i].size, &row), RT_ARGUMENT,
              bad[_i].message);
    rt_example_text_free(&x);
}

TEST(unknown_characters_are_counted_in_the_line)
{
    rt_data *data = open_file("classify", RT_LEVEL_CHAR, 32, pairs);
    rt_batch row = batch_of(1, 32);
    rt_example_text x = encode(data, "abc\tdXcY", &row);
    ck_assert_uint_eq(x.unknown.count, 2);
    ck_assert_uint_eq(x.unknown.at, 5);
    ck_assert_str_eq(x.unknown.name, "'X'");
    x = encode(data, "Qbc\tdXcY", &row);
    ck_assert_uint_eq(x.unknown.count, 3);
    ck_assert_uint_eq(x.unknown.at, 0);
}

TEST(a_full_heap_is_an_error)
{
    rt_data *data = open_file("tag", RT_LEVEL_CHAR, 9, tokens);
    rt_batch row = batch_of(1, 9);
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 3)
    {
        rt_example_text x;
        code = rt_data_encode_example(&x, data, "ab c", 4, &row).code;
        rt_example_text_free(&x);
    }
    ck_assert_int_eq(code, RT_OK);
}

TEST(two_texts_are_the_row_of_their_line)
{
    rt_data *data =
        open_file("classify", RT_LEVEL_BYTE, 8, "text\ttext_b\tlabel\nab\ta\tx\nc\td\ty\n");
    rt_batch row = batch_of(1, 8), other = batch_of(1, 8), small = batch_of(1, 4);
    rt_example_text x = encode(data, "abc\tde", &row), y;
    expect_ok(rt_data_encode_texts(&y, data, "abc", "de", &other));
    expect_ids(other.ids, "id", 8, row.ids);
    expect_ids(other.types, "type", 8, row.types);
    ck_assert(x.cut == y.cut && y.count == 2);
    rt_example_text_free(&y);
    expect_ok(rt_data_encode_texts(&y, data, "a\tb", "c", &other));
    expect_ids(other.ids, "id", 7,
               IDS(RT_ID_CLS, A, RT_FIRST_SYMBOL + '\t', A + 1, RT_ID_SEP, A + 2, RT_ID_SEP));
    rt_example_text_free(&y);
    is_status(rt_data_encode_texts(&y, data, "a", "", &other), RT_ARGUMENT,
              "text_b: the text is empty");
    rt_example_text_free(&y);
    is_status(rt_data_encode_texts(&y, data, "a", "b", &small), RT_ARGUMENT,
              "a pair of texts needs a length of 5 tokens; got 4");
    rt_example_text_free(&y);
}
