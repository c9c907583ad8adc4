/* Labelled texts: what files hold, and the sequences that are made of them. */

#include "data/labels.h"
#include "data/tokenizers/vocabulary.h"
#include "samples.h"

/* Level char, files that have what they need, and all rows in training and evaluation. */
static rt_data_options labelled(const char *task, const char *name)
{
    rt_data_options o = options_for(task);
    o.level = RT_LEVEL_CHAR;
    o.eval_fraction = 0;
    set_file(&o, in_folder(name));
    return o;
}

static rt_data_options options_of(const char *task, const char *name, const char *text)
{
    const rt_data_options o = labelled(task, name);
    write_file(o.file, text, strlen(text));
    return o;
}

static rt_data *open_text(const char *task, const char *name, const char *text)
{
    const rt_data_options o = options_of(task, name, text);
    return source(&o);
}

/* A row as text: the first character of every token, C for [CLS], S for [SEP], with its type and
 * label where they are not 0 and none; '.' for padding. */
static const char *shown(const rt_data *data, const rt_batch *b, int row)
{
    static char text[1000];
    size_t used = 0;
    for (int t = 0; t < b->length; t++) {
        const int at = row * b->length + t;
        const char *token = "";
        size_t size;
        if (!b->mask[at])
            token = b->ids[at] == RT_ID_PAD ? "." : "!";
        else if (b->ids[at] == RT_ID_CLS || b->ids[at] == RT_ID_SEP)
            token = b->ids[at] == RT_ID_CLS ? "C" : "S";
        else if (!(token = rt_vocabulary_decode(rt_data_vocabulary(data), b->ids[at], &size)))
            token = "?";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", token,
                                 b->types[at] ? "'" : "");
        if (b->labels[at] != RT_NO_LABEL)
            used += (size_t)snprintf(text + used, sizeof text - used, "%d", (int)b->labels[at]);
    }
    return text;
}

/* The rows of an evaluation, whose last is the longest, in the order of their lengths. */
static void expect_rows(rt_data *data, int length, const char *const *rows)
{
    const int count = (int)rt_data_evaluation_rows(data, length);
    rt_batch b = batch_of(count, length);
    rt_data_evaluation(data, 0, &b);
    for (int r = 0; r < count; r++)
        ck_assert_str_eq(shown(data, &b, r), rows[r]);
    ck_assert_ptr_null(rows[count]);
}

#define EXPECTED(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- sequences ---- */

SUITE(.setup = make_folder, .teardown = remove_folder)

TEST(a_text_stands_between_cls_and_sep_with_its_label_at_cls)
{
    rt_data *data = open_text("classify", "a.tsv", "text\tlabel\nabc\tyes\nd\tno\nxy\tno\n");
    ck_assert_int_eq(rt_data_classes(data), 2);
    ck_assert_int_eq(rt_data_types(data), 0);
    ck_assert(rt_data_varies(data));
    expect_rows(data, 6, EXPECTED("C0dS...", "C0xyS..", "C1abcS."));
}

TEST(a_pair_has_two_seps_and_its_second_text_is_of_type_one)
{
    rt_data *data = open_text("classify", "a.csv",
                              "id,text_b,label,text\n1,fg,b,\"a,\"\"c\"\n2,h,a,\"d\ne\"\n");
    ck_assert_int_eq(rt_data_types(data), 2);
    expect_rows(data, 9, EXPECTED("C0d\neSh'S'..", "C1a,\"cSf'g'S'"));
}

TEST(a_token_has_its_label_at_its_first_piece)
{
    rt_data *data = open_text("tag", "a.tsv", "\nab\tX\nc\tO\n\n\nd\tO\n");
    expect_rows(data, 6, EXPECTED("Cd0S...", "Ca1bc0S."));
}

/* Whatever the line ends, and whether the last one is there. */
TEST(line_ends_and_a_mark_at_the_start_are_no_part_of_a_text)
{
    static const char *const files[] = {"text\tlabel\nab\tx\nc\ty\n", "text\tlabel\nab\tx\nc\ty",
                                        "text\tlabel\r\nab\tx\r\nc\ty\r\n",
                                        "\xef\xbb\xbftext\tlabel\r\nab\tx\n\r\n\nc\ty"};
    for (int i = 0; i < 4; i++) {
        rt_data *data = open_text("classify", "a.tsv", files[i]);
        expect_rows(data, 5, EXPECTED("C1cS..", "C0abS."));
    }
    rt_data *data = open_text("tag", "a.tsv", "a\tx\r\nb\ty\r\n\r\nc\tx");
    expect_rows(data, 5, EXPECTED("Cc0S..", "Ca0b1S."));
}

TEST(quotes_of_a_tsv_are_kept)
{
    rt_data *data =
        open_text("classify", "a.tsv", "text\tlabel\n\"a\"\t\"x\"\nb\"\"\"c\ty\n\"d\tz\n");
    ck_assert_str_eq(rt_data_labels(data)->names[0], "\"x\"");
    expect_rows(data, 8, EXPECTED("C2\"dS....", "C0\"a\"S...", "C1b\"\"\"cS."));
}

/* ---- what is too long ---- */

TEST(a_long_text_is_cut_at_its_end_and_counted)
{
    rt_data_options o =
        options_of("classify", "a.tsv", "text\tlabel\nab\tx\nabcd\ty\nabcde\tx\nabcdefgh\ty\n");
    o.length = 6;
    rt_data *data = source(&o);
    ck_assert_uint_eq(rt_data_cut(data).count, 2);
    ck_assert_uint_eq(rt_data_cut(data).of, 4);
    expect_rows(data, 6, EXPECTED("C0abS..", "C1abcdS", "C0abcdS", "C1abcdS"));
    expect_rows(data, 9, EXPECTED("C0abS.....", "C1abcdS...", "C0abcdeS..", "C1abcdefgS"));
}

/* One after the other from the longer text, from the second if both are as long: independently
 * counted here. */
TEST(of_a_pair_the_longer_text_is_cut_first)
{
    enum { MOST = 9 };
    for (int pair = 0; pair < MOST * MOST; pair++) {
        const int first = 1 + pair / MOST, second = 1 + pair % MOST;
        rt_data_options o = options_of("classify", "a.tsv",
                                       lasting("text\ttext_b\tlabel\n%.*s\t%.*s\t0\nx\ty\t1\n",
                                               first, "aaaaaaaaa", second, "bbbbbbbbb"));
        o.length = 2 * MOST + 4;
        const rt_data *data = source(&o);
        for (int length = 5; length <= 2 * MOST + 4; length++) {
            char expected[100] = "C0";
            int a = first, b = second;
            while (a + b + 3 > length)
                *(a > b ? &a : &b) -= 1;
            for (int i = 0; i < a; i++)
                strcat(expected, "a");
            strcat(expected, "S");
            for (int i = 0; i < b; i++)
                strcat(expected, "b'");
            strcat(expected, "S'");
            for (int i = a + b + 3; i < length; i++)
                strcat(expected, ".");
            rt_batch batch = batch_of(2, length);
            rt_data_evaluation(data, 0, &batch);
            ck_assert_str_eq(shown(data, &batch, batch.labels[0] ? 1 : 0), expected);
        }
    }
}

TEST(a_long_sentence_is_cut_with_its_labels)
{
    rt_data_options o = options_of("tag", "a.tsv", "ab\tx\ncd\ty\n");
    o.length = 5;
    rt_data *data = source(&o);
    ck_assert_uint_eq(rt_data_cut(data).count, 1);
    expect_rows(data, 5, EXPECTED("Ca0bc1S"));
}

TEST(a_line_of_ten_megabytes_is_a_row)
{
    enum { SIZE = 10000000 };
    rt_data_options o = labelled("classify", "a.tsv");
    char *text = rt_alloc(SIZE + 100, 1);
    size_t used = (size_t)sprintf(text, "text\tlabel\nb\ty\n");
    memset(text + used, 'a', SIZE);
    strcpy(text + used + SIZE, "\tx\n");
    write_file(o.file, text, strlen(text));
    rt_free(text);
    rt_data *data = source(&o);
    expect_rows(data, 5, EXPECTED("C1bS..", "C0aaaS"));
}

/* ---- training and evaluation ---- */

static const char *write_rows(const char *name, int from, int count)
{
    char text[40000];
    size_t used = (size_t)snprintf(text, sizeof text, "text\tlabel\n");
    for (int i = from; i < from + count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%03d%.*s\t%c\n", i, i * 7 % 23,
                                 "aaaaaaaaaaaaaaaaaaaaaaa", 'x' + i % 2);
    return lasting("%s", write_file(in_folder(name), text, used));
}

/* The number that a row of write_rows begins with. */
static int number_of(const rt_data *data, const rt_batch *b, int row)
{
    char digits[4] = "";
    size_t size;
    for (int i = 0; i < 3; i++)
        digits[i] =
            *rt_vocabulary_decode(rt_data_vocabulary(data), b->ids[row * b->length + 1 + i], &size);
    return atoi(digits);
}

TEST(an_epoch_trains_on_every_row_of_the_file)
{
    enum { COUNT = 300, BATCH = 7, STEPS = (COUNT + BATCH - 1) / BATCH };
    rt_data_options o = labelled("classify", "a.tsv");
    o.file = write_rows("a.tsv", 0, COUNT);
    o.eval_file = write_rows("b.tsv", 500, 20);
    o.batch_size = BATCH;
    rt_data *data = source(&o);
    rt_batch b = batch_of(BATCH, o.length);
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        int seen[COUNT] = {0};
        for (uint32_t step = epoch * STEPS; step < (epoch + 1) * STEPS; step++) {
            rt_data_training(data, 1, step, 0, &b);
            for (int r = 0; r < BATCH; r++) {
                const int i = number_of(data, &b, r);
                ck_assert_int_lt(i, COUNT);
                seen[i]++;
            }
        }
        for (int i = 0; i < COUNT; i++)
            ck_assert_msg(seen[i] >= 1 && seen[i] <= 2, "row %d: %d times", i, seen[i]);
    }
    ck_assert_int_eq(rt_data_evaluation_rows(data, o.length), 20);
    for (uint32_t i = 0; i < 20; i++) {
        rt_batch one = batch_of(1, o.length);
        rt_data_evaluation(data, i, &one);
        ck_assert_int_ge(number_of(data, &one, 0), 500);
    }
}

/* Marks the rows that training (or evaluation) has. */
static int mark_rows(const rt_data_options *o, bool evaluation, bool *has, int count)
{
    rt_data *data = source(o);
    const int rows = (int)rt_data_evaluation_rows(data, o->length);
    rt_batch b = batch_of(evaluation ? rows : o->batch_size, o->length);
    memset(has, 0, (size_t)count);
    for (uint32_t step = 0; step < (evaluation ? 1u : (uint32_t)count); step++) {
        if (evaluation)
            rt_data_evaluation(data, 0, &b);
        else
            rt_data_training(data, 1, step, 0, &b);
        for (int r = 0; r < b.rows; r++)
            has[number_of(data, &b, r)] = true;
    }
    return rows;
}

TEST(every_row_is_either_trained_on_or_evaluated)
{
    enum { COUNT = 900 };
    bool training[COUNT], evaluation[COUNT], other[COUNT];
    rt_data_options o = labelled("classify", "a.tsv");
    o.file = write_rows("a.tsv", 0, COUNT);
    o.eval_fraction = 0.25;
    const int rows = mark_rows(&o, true, evaluation, COUNT);
    mark_rows(&o, false, training, COUNT);
    /* the mean is 225, the deviation 13 */
    ck_assert_msg(rows > 225 - 65 && rows < 225 + 65, "%d rows of %d are evaluated", rows, COUNT);
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(training[i] != evaluation[i], "row %d: training %d, evaluation %d", i,
                      training[i], evaluation[i]);
    o.eval_seed++;
    mark_rows(&o, true, other, COUNT);
    ck_assert(memcmp(evaluation, other, COUNT) != 0);
    o.eval_fraction = 0;
    ck_assert_int_eq(mark_rows(&o, true, other, COUNT), COUNT);
}

/* Tokens and padding of batches that are cut to their longest row. */
TEST(batches_of_like_lengths_have_little_padding)
{
    enum { COUNT = 900, BATCH = 8 };
    rt_data_options o = labelled("classify", "a.tsv");
    o.file = write_rows("a.tsv", 0, COUNT);
    o.batch_size = BATCH;
    rt_data *data = source(&o);
    rt_batch b = batch_of(BATCH, o.length);
    long tokens = 0, room = 0;
    for (uint32_t step = 0; step < (COUNT + BATCH - 1) / BATCH; step++) {
        int longest = 0;
        rt_data_training(data, 1, step, 0, &b);
        for (int r = 0; r < BATCH; r++) {
            int length = 0;
            while (length < b.length && b.mask[r * b.length + length])
                length++;
            tokens += length;
            longest = length > longest ? length : longest;
        }
        room += (long)longest * BATCH;
    }
    /* rows in any order would have about a third of padding, whole rows half */
    ck_assert_msg(100 * room < 115 * tokens, "%ld tokens in %ld", tokens, room);
}

/* ---- vocabulary and labels of a model ---- */

TEST(a_model_keeps_its_vocabulary_and_its_labels)
{
    rt_data *first = open_text("classify", "a.tsv", "text\tlabel\nabc\tx\nd\ty\nb\tz\n");
    const rt_data_of_model meaning = meaning_of(first);
    const rt_data_options o =
        options_of("classify", "b.tsv", "text\tlabel\nd\xc3\xa9\xc3\xa9\tz\n");
    rt_data *second = source_as(&o, meaning);
    ck_assert_int_eq(rt_data_classes(second), 3);
    ck_assert_ptr_eq(rt_data_labels(second), meaning.labels);
    ck_assert_ptr_eq(rt_data_vocabulary(second), meaning.vocabulary);
    expect_rows(second, 6, EXPECTED("C2d??S."));
    const rt_unknown unknown = rt_data_unknown(second);
    ck_assert_uint_eq(unknown.count, 2);
    ck_assert_str_eq(unknown.name, "'\xc3\xa9' (U+00E9)");
    ck_assert_uint_eq(unknown.at, strlen("text\tlabel\nd"));
}

TEST(a_label_that_a_model_lacks_is_named_with_its_line)
{
    rt_data *first = open_text("classify", "a.tsv", "text\tlabel\nabc\tx\nd\ty\n");
    const rt_data_options o = options_of("classify", "b.tsv", "text\tlabel\n\na\tx\nb\tz\n");
    rt_data *second;
    is_data_error(rt_data_open_as(&second, &o, (rt_data_of_model){.labels = rt_data_labels(first)}),
                  o.file, ":4: column label: 'z' is not a label of the model");
    ck_assert_ptr_null(second);
}

TEST(a_label_that_only_the_evaluation_has_is_named_with_its_line)
{
    rt_data_options o = options_of("tag", "a.tsv", "a\tx\nb\ty\n");
    o.eval_file = lasting("%s", write_file(in_folder("b.tsv"), "a\tx\n\nb\tz\n", 9));
    is_data_error(status_of(&o), o.eval_file,
                  ":3: column label: 'z' is not a label of the training file");
}

TEST(labels_ascend_by_bytes_and_are_read_as_they_are_written)
{
    rt_text_span names[] = {{"b", 1}, {"aa", 2}, {"\xc3\xa9", 2}, {"Z", 1},
                            {"b", 1}, {"a", 1},  {"B-PER", 5}};
    rt_labels *labels, *read;
    char *text;
    ck_assert_int_eq(rt_labels_of(&labels, "f", names, 7).code, RT_OK);
    ck_assert_int_eq(rt_labels_write(labels, &text).code, RT_OK);
    ck_assert_str_eq(text, "B-PER\nZ\na\naa\nb\n\xc3\xa9\n");
    ck_assert_int_eq(rt_labels_read(&read, "f", text, strlen(text)).code, RT_OK);
    ck_assert(rt_labels_equal(labels, read));
    ck_assert(!rt_labels_equal(labels, NULL) && rt_labels_equal(NULL, NULL));
    for (int i = 0; i < labels->count; i++)
        ck_assert_int_eq(rt_labels_find(read,
                                        (rt_text_span){labels->names[i], strlen(labels->names[i])}),
                         i);
    ck_assert_int_eq(rt_labels_find(read, (rt_text_span){"aaa", 3}), -1);
    ck_assert_int_eq(rt_labels_find(read, (rt_text_span){"", 0}), -1);
    rt_labels_free(labels);
    rt_labels_free(read);
    rt_free(text);
}

static const struct {
    const char *bytes;
    size_t size;
    const char *message;
} no_labels[] = {
    {"", 0, "f: must hold at least two labels"},
    {"a\n", 2, "f: must hold at least two labels"},
    {"b\na\n", 4, "f:2: must be a label, after the one before it"},
    {"a\na\n", 4, "f:2: must be a label, after the one before it"},
    {"a\n\nb\n", 5, "f:2: must be a label, after the one before it"},
    {"a\nb\0c\n", 6, "f:2: must be a label, after the one before it"},
    {"a\nb\x1b[2J\n", 8, "f:2: must be a label, after the one before it"},
    {"a\n\xff\n", 4, "f:2: must be a label, after the one before it"},
};

TEST_ROWS(a_file_of_labels_that_is_none_is_refused, 0, sizeof no_labels / sizeof *no_labels)
{
    rt_labels *labels;
    is_status(rt_labels_read(&labels, "f", no_labels[_i].bytes, no_labels[_i].size), RT_DATA,
              no_labels[_i].message);
    ck_assert_ptr_null(labels);
}

/* ---- what is no file of labelled texts ---- */

static const struct {
    const char *name, *text;
    size_t size; /* 0: up to the zero */
    const char *message;
} bad[] = {
    {"a.tsv", "", 0, ": data.file must hold text; the file is empty"},
    {"a.tsv", "text\tlabel\n", 0, ": has a heading and no row below it"},
    {"a.tsv", "text\tlabel\n\n\r\n", 0, ": has a heading and no row below it"},
    {"a.tsv", "text\tlable\na\tx\n", 0,
     ":1: has no column 'label'; the heading must name text, label and, for pairs, text_b, "
     "separated by tabs"},
    {"a.csv", "label,sentence\nx,a\n", 0,
     ":1: has no column 'text'; the heading must name text, label and, for pairs, text_b, "
     "separated by commas"},
    {"a.tsv", "text,label\na,x\n", 0,
     ":1: has no column 'text'; the heading must name text, label and, for pairs, text_b, "
     "separated by tabs"},
    {"a.tsv", "text\tlabel\ttext\na\tx\tb\n", 0, ":1: has two columns 'text'"},
    {"a.tsv", "text\tlabel\na\tx\nb\n", 0, ":3: has 1 column; the heading has 2"},
    {"a.tsv", "text\tlabel\na\tx\ty\n", 0, ":2: has 3 columns; the heading has 2"},
    {"a.tsv", "text\tlabel\na\tx\n\ty\n", 0, ":3: column text is empty"},
    {"a.tsv", "text\tlabel\na\tx\nb\t\n", 0, ":3: column label is empty"},
    {"a.csv", "text,label\n\"\",x\n", 0, ":2: column text is empty"},
    {"a.csv", "text,text_b,label\n\"a\n\nb\",c,x\na,,y\n", 0, ":5: column text_b is empty"},
    {"a.csv", "text,label\na,x\n\"b,y\nc,z\n", 0,
     ":3: the quote that column 1 begins with is not closed at the end of the cell"},
    {"a.csv", "text,label\na,\"x\" y\n", 0,
     ":2: the quote that column 2 begins with is not closed at the end of the cell"},
    {"a.csv", "text,label\na,\"x\ny\"\n", 0, ":2: column label holds a control character"},
    {"a.tsv", "text\tlabel\na\tx\nb\xff\ty\n", 0,
     ":3: byte 0xff at offset 16 of the file is not UTF-8"},
    {"a.tsv", "text\tlabel\na\tx\nb\0\ty\n", 19,
     ":3: byte 0x00 at offset 16 of the file is not text"},
    {"a.tsv", "text\tlabel\na\tx\nb\tx\n", 0, ": every label is 'x'; a task needs at least two"},
};

TEST_ROWS(a_table_that_is_none_is_refused, 0, sizeof bad / sizeof *bad)
{
    const rt_data_options o = labelled("classify", bad[_i].name);
    write_file(o.file, bad[_i].text, bad[_i].size ? bad[_i].size : strlen(bad[_i].text));
    is_data_error(status_of(&o), o.file, bad[_i].message);
}

static const struct {
    const char *text, *message;
} bad_tokens[] = {
    {"\n\n", ": has no token"},
    {"a\n", ":1: must be TOKEN<TAB>LABEL; got one column"},
    {"a\tx\n\nb x\n", ":3: must be TOKEN<TAB>LABEL; got one column"},
    {"a\tx\tP\n", ":1: must be TOKEN<TAB>LABEL; got more columns"},
    {"a\tx\n\ty\n", ":2: column token is empty"},
    {"a\tx\nb\t\n", ":2: column label is empty"},
    {"a\tx\nb\ty\n\xe2\x82\n", ":3: byte 0xe2 at offset 8 of the file is not UTF-8"},
    {"a\tO\nb\tO\n", ": every label is 'O'; a task needs at least two"},
};

TEST_ROWS(a_file_of_tokens_that_is_none_is_refused, 0, sizeof bad_tokens / sizeof *bad_tokens)
{
    const rt_data_options o = options_of("tag", "a", bad_tokens[_i].text);
    is_data_error(status_of(&o), o.file, bad_tokens[_i].message);
}

TEST(a_label_has_at_most_255_bytes)
{
    for (int size = 255; size <= 256; size++) {
        const rt_data_options o =
            options_of("classify", "a.tsv", lasting("text\tlabel\na\tx\nb\t%0*d\n", size, 1));
        if (size == 255)
            succeeds(status_of(&o));
        else
            is_data_error(status_of(&o), o.file, ":3: column label is longer than 255 bytes");
    }
}

TEST(more_labels_than_a_model_can_have_are_refused)
{
    rt_data_options o = labelled("tag", "a");
    char *text = rt_alloc(RT_LABELS_LIMIT + 1, 10);
    size_t used = 0;
    for (int i = 0; i <= RT_LABELS_LIMIT; i++)
        used += (size_t)sprintf(text + used, "a\t%d\n", i);
    write_file(o.file, text, used);
    rt_free(text);
    is_data_error(status_of(&o), o.file,
                  lasting(": there can be up to %d different labels; it has %d", RT_LABELS_LIMIT,
                          RT_LABELS_LIMIT + 1));
}

TEST(both_parts_need_a_row)
{
    rt_data_options o = options_of("classify", "a.tsv", "text\tlabel\na\tx\nb\ty\n");
    o.eval_fraction = 1e-9;
    is_data_error(status_of(&o), o.file,
                  ": has 2 rows, of which 2 are for training and 0 for evaluation "
                  "(data.eval_fraction 1e-09); both need at least one");
}

TEST(training_and_evaluation_have_pairs_or_both_have_none)
{
    rt_data_options o = options_of("classify", "a.tsv", "text\tlabel\na\tx\nb\ty\n");
    const char pairs[] = "text\ttext_b\tlabel\na\tb\tx\n";
    o.eval_file = lasting("%s", write_file(in_folder("b.tsv"), pairs, strlen(pairs)));
    is_data_error(status_of(&o), o.eval_file,
                  lasting(":1: has a column text_b, %s has none", o.file));
}

TEST(a_batch_has_a_row_and_a_pair_five_tokens)
{
    rt_data_options o = options_of("classify", "a.tsv", "text\ttext_b\tlabel\na\tb\tx\nb\tc\ty\n");
    o.batch_size = 0;
    is_status(status_of(&o), RT_CONFIG, "train.batch_size must be at least 1; got 0");
    o.batch_size = 1;
    o.length = 4;
    is_status(status_of(&o), RT_CONFIG,
              "data.length must be at least 5 for texts with text_b; got 4");
}
