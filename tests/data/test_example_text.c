/* A line of text as a row of labelled data, against the rows of files that hold it. */

#include "data/example_text.h"
#include "samples.h"

enum { A = RT_FIRST_SYMBOL + 'a', NONE = RT_NO_LABEL };

static rt_data *open_file(const char *task, rt_level level, int length, const char *text)
{
    rt_data_options o = options_for(task);
    o.level = level;
    o.length = length;
    o.eval_fraction = 0;
    set_file(&o, write_file(in_folder("a.tsv"), text, strlen(text)));
    if (level == RT_LEVEL_WORDPIECE) {
        static const char pieces[] =
            "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nit\n,\n";
        o.vocab_file = lasting("%s", in_folder("b"));
        write_file(o.vocab_file, pieces, strlen(pieces));
    }
    return source(&o);
}

static rt_example_text encode(const rt_data *data, const char *line, rt_batch *row)
{
    rt_example_text x;
    succeeds(rt_data_encode_example(&x, data, line, strlen(line), row));
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

/* ---- rows ---- */

SUITE(.setup = make_folder, .teardown = remove_folder)

TEST(a_text_is_a_row_with_a_label_at_cls)
{
    rt_data *data = open_file("classify", RT_LEVEL_BYTE, 8, "text\tlabel\nab\tx\nc\ty\n");
    rt_batch row = batch_of(1, 6);
    rt_example_text x = encode(data, "ab", &row);
    expect_ids(row.ids, "id", 6, IDS(RT_ID_CLS, A, A + 1, RT_ID_SEP, RT_ID_PAD, RT_ID_PAD));
    expect_ids(row.labels, "label", 6, IDS(0, NONE, NONE, NONE, NONE, NONE));
    expect_ids(row.types, "type", 6, IDS(0, 0, 0, 0, 0, 0));
    ck_assert(!memcmp(row.mask, "\1\1\1\1\0\0", 6));
    ck_assert_int_eq(x.count, 1);
    ck_assert(!x.cut);
}

TEST(a_pair_is_two_texts_with_a_tab_between)
{
    rt_data *data =
        open_file("classify", RT_LEVEL_BYTE, 9, "text\ttext_b\tlabel\nab\tc\tx\nc\td\ty\n");
    rt_batch row = batch_of(1, 7);
    rt_example_text x = encode(data, "ab\tc", &row);
    expect_ids(row.ids, "id", 7, IDS(RT_ID_CLS, A, A + 1, RT_ID_SEP, A + 2, RT_ID_SEP, RT_ID_PAD));
    expect_ids(row.types, "type", 7, IDS(0, 0, 0, 0, 1, 1, 0));
    ck_assert_int_eq(row.labels[0], 0);
    ck_assert_int_eq(x.count, 2);
}

TEST(each_token_has_its_number_at_its_first_piece)
{
    rt_data *data = open_file("tag", RT_LEVEL_BYTE, 9, "ab\tx\nc\ty\n");
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

/* ---- what is too long ---- */

/* The row of every line is that of a file which holds it, for all lengths of rows. */
TEST_ROWS(a_line_is_cut_as_the_row_of_a_file, 0, 3)
{
    static const char *const tasks[] = {"classify", "classify", "tag"};
    static const char *const lines[][2] = {{"abcde", "abcde"},
                                           {"abcd\txyz", "abcd\txyz"},
                                           {"ab cde", "ab\tone\ncde"}};
    for (int length = 5; length <= 12; length++) {
        rt_data *data = open_file(tasks[_i], RT_LEVEL_CHAR, length,
                                  lasting("%s%s\tone\n%s",
                                          _i == 2   ? ""
                                          : _i == 1 ? "text\ttext_b\tlabel\n"
                                                    : "text\tlabel\n",
                                          lines[_i][1],
                                          _i == 2   ? "\nz\ttwo\n"
                                          : _i == 1 ? "z\tz\ttwo\n"
                                                    : "z\ttwo\n"));
        rt_batch rows = batch_of(2, length), row = batch_of(1, length);
        rt_data_evaluation(data, 0, &rows);
        rt_example_text x = encode(data, lines[_i][0], &row);
        const int file = rows.ids[1] != row.ids[1]; /* the other row begins with a z */
        expect_ids(row.ids, "id", length, rows.ids + file * length);
        expect_ids(row.types, "type", length, rows.types + file * length);
        ck_assert(!memcmp(row.mask, rows.mask + file * length, (size_t)length));
        for (int t = 0; t < length; t++)
            ck_assert_int_eq(row.labels[t] == NONE, rows.labels[file * length + t] == NONE);
        ck_assert_int_eq(x.cut, length < (_i == 1 ? 10 : 7));
        ck_assert_uint_eq(rt_data_cut(data).count, x.cut);
    }
}

/* ---- what is no row ---- */

static const char table[] = "text\tlabel\nab\tx\nc\ty\n";
static const char pairs[] = "text\ttext_b\tlabel\nab\tc\tx\nc\td\ty\n";
static const char tokens[] = "ab\tx\nc\ty\n";

#define NO_PAIR "a pair must be TEXT<TAB>TEXT, neither empty; got "

static const struct {
    const char *task, *file;
    rt_level level;
    const char *line;
    size_t size;
    const char *message;
} bad[] = {
    {"classify", table, RT_LEVEL_CHAR, "", 0, "the text is empty"},
    {"classify", table, RT_LEVEL_BYTE, "ab\xff", 3, "byte 0xff at byte 2 is not UTF-8"},
    {"tag", tokens, RT_LEVEL_BYTE, "a \xc3", 3, "byte 0xc3 at byte 2 is not UTF-8"},
    {"classify", table, RT_LEVEL_CHAR, "a\0b", 3, "byte 0x00 at byte 1 is not text"},
    {"classify", pairs, RT_LEVEL_CHAR, "", 0, "the text is empty"},
    {"classify", pairs, RT_LEVEL_CHAR, "ab", 2, NO_PAIR "no tab"},
    {"classify", pairs, RT_LEVEL_CHAR, "\tab", 3, NO_PAIR "an empty text"},
    {"classify", pairs, RT_LEVEL_CHAR, "ab\t", 3, NO_PAIR "an empty text"},
    {"classify", pairs, RT_LEVEL_CHAR, "a\tb\tc", 5, NO_PAIR "more than one tab"},
    {"classify", pairs, RT_LEVEL_WORDPIECE, "it\t  ", 5, "text_b: has no token of the vocabulary"},
    {"classify", pairs, RT_LEVEL_WORDPIECE, " \tit", 4, "text: has no token of the vocabulary"},
    {"classify", table, RT_LEVEL_WORDPIECE, "  ", 2, "has no token of the vocabulary"},
    {"tag", tokens, RT_LEVEL_CHAR, "", 0, "the text is empty"},
    {"tag", tokens, RT_LEVEL_CHAR, " \t ", 3, "the text is empty"},
};

TEST_ROWS(a_line_that_is_no_row_is_refused, 0, sizeof bad / sizeof *bad)
{
    rt_data *data = open_file(bad[_i].task, bad[_i].level, 9, bad[_i].file);
    rt_batch row = batch_of(1, 9);
    rt_example_text x;
    is_status(rt_data_encode_example(&x, data, bad[_i].line, bad[_i].size, &row), RT_ARGUMENT,
              bad[_i].message);
    rt_example_text_free(&x);
}

TEST(data_without_labels_has_no_rows_of_text)
{
    const rt_data_options o = options_for("copy");
    rt_data *data = source(&o);
    rt_batch row = batch_of(1, 9);
    rt_example_text x;
    is_status(rt_data_encode_example(&x, data, "ab", 2, &row), RT_ARGUMENT,
              "data.task = copy has no labelled texts");
}

/* ---- unknown characters ---- */

TEST(unknown_characters_are_counted_in_the_line)
{
    rt_data *data =
        open_file("classify", RT_LEVEL_CHAR, 32, "text\ttext_b\tlabel\nab\tc\tx\nc\td\ty\n");
    rt_batch row = batch_of(1, 32);
    rt_example_text x = encode(data, "abc\tdXcY", &row);
    ck_assert_uint_eq(x.unknown.count, 2);
    ck_assert_uint_eq(x.unknown.at, 5);
    ck_assert_str_eq(x.unknown.name, "'X'");
    x = encode(data, "Qbc\tdXcY", &row);
    ck_assert_uint_eq(x.unknown.count, 3);
    ck_assert_uint_eq(x.unknown.at, 0);
}

/* ---- a full heap ---- */

TEST(a_full_heap_is_an_error)
{
    rt_data *data = open_file("tag", RT_LEVEL_CHAR, 9, tokens);
    rt_batch row = batch_of(1, 9);
    rt_code code = RT_MEMORY;
    size_t n = 0;
    while (code == RT_MEMORY) {
        rt_example_text x;
        rt_memory_fail_at(++n);
        code = rt_data_encode_example(&x, data, "ab c", 4, &row).code;
        rt_memory_fail_at(0);
        rt_example_text_free(&x);
    }
    ck_assert_int_eq(code, RT_OK);
    ck_assert_uint_eq(n, 4);
}

/* A folder of Hugging Face can be of a model for two tokens. */
TEST(a_row_without_room_for_a_text_is_refused)
{
    rt_data *data = open_file("classify", RT_LEVEL_BYTE, 8, "text\tlabel\nab\tx\nc\ty\n");
    rt_batch row = batch_of(1, 2);
    rt_example_text x;
    is_status(rt_data_encode_example(&x, data, "a", 1, &row), RT_ARGUMENT,
              "data.length must be at least 3 for classify; got 2");
    rt_example_text_free(&x);
}

/* A line that is split at a tab is passed as two texts, which may hold tabs. */
TEST(two_texts_are_the_row_of_their_line)
{
    rt_data *data =
        open_file("classify", RT_LEVEL_BYTE, 8, "text\ttext_b\tlabel\nab\ta\tx\nc\td\ty\n");
    rt_batch row = batch_of(1, 8), other = batch_of(1, 8), small = batch_of(1, 4);
    rt_example_text x = encode(data, "abc\tde", &row), y;
    ck_assert(!rt_data_encode_texts(&y, data, "abc", "de", &other).code);
    expect_ids(other.ids, "id", 8, row.ids);
    expect_ids(other.types, "type", 8, row.types);
    ck_assert(x.cut == y.cut && y.count == 2);
    rt_example_text_free(&y);
    ck_assert(!rt_data_encode_texts(&y, data, "a\tb", "c", &other).code);
    expect_ids(other.ids, "id", 7,
               IDS(RT_ID_CLS, A, RT_FIRST_SYMBOL + '\t', A + 1, RT_ID_SEP, A + 2, RT_ID_SEP));
    rt_example_text_free(&y);
    rt_status status = rt_data_encode_texts(&y, data, "a", "", &other);
    ck_assert_str_eq(status.message, "text_b: the text is empty");
    rt_example_text_free(&y);
    status = rt_data_encode_texts(&y, data, "a", "b", &small);
    ck_assert_str_eq(status.message, "a pair of texts needs a length of 5 tokens; got 4");
    rt_example_text_free(&y);
}
