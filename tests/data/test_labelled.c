/* Labelled texts: the contents of files, and the sequences made of them. */

#include "data/labels.h"
#include "samples.h"

/* Options of level char with all rows in training and evaluation. */
static rt_data_options labelled(const char *task, const char *name)
{
    rt_data_options o = options_with(task, "level=char eval_fraction=0");
    o.file = in_folder(name);
    return o;
}

static rt_data_options options_of(const char *task, const char *name, const char *text)
{
    const rt_data_options o = labelled(task, name);
    write_bytes(o.file, text, strlen(text));
    return o;
}

static rt_data *open_text(const char *task, const char *name, const char *text)
{
    const rt_data_options o = options_of(task, name, text);
    return source(&o);
}

/* A row as text: characters, C for [CLS], S for [SEP], "'" for type 1, labels, '.' for padding. */
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
        else if (!(token = rt_vocabulary_decode(data->vocabulary, b->ids[at], &size)))
            token = "?";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", token,
                                 b->types[at] ? "'" : "");
        if (b->labels[at] != RT_NO_LABEL)
            used += (size_t)snprintf(text + used, sizeof text - used, "%d", (int)b->labels[at]);
    }
    return text;
}

/* Expects the rows of an evaluation, shortest first, with a bar between them. */
static void expect_rows(rt_data *data, int length, const char *rows)
{
    const int count = (int)rt_data_evaluation_rows(data, length);
    rt_batch b = evaluation_of(data, count, length);
    const char *all = "";
    for (int r = 0; r < count; r++)
        all = lasting("%s%s%s", all, r ? "|" : "", shown(data, &b, r));
    ck_assert_str_eq(all, rows);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* Line ends and a byte order mark are no part of a text, and the last line end may be missing. */
static const struct {
    const char *name, *text; /* of tag, if the name has no ending */
    int length;
    const char *rows;
} sequences[] = {
    {"a.tsv", "text\tlabel\nabc\tyes\nd\tno\nxy\tno\n", 6, "C0dS...|C0xyS..|C1abcS."},
    {"a.csv", "id,text_b,label,text\n1,fg,b,\"a,\"\"c\"\n2,h,a,\"d\ne\"\n", 9,
     "C0d\neSh'S'..|C1a,\"cSf'g'S'"},
    {"a", "\nab\tX\nc\tO\n\n\nd\tO\n", 6, "Cd0S...|Ca1bc0S."},
    {"a.tsv", "text\tlabel\nab\tx\nc\ty\n", 5, "C1cS..|C0abS."},
    {"a.tsv", "text\tlabel\nab\tx\nc\ty", 5, "C1cS..|C0abS."},
    {"a.tsv", "text\tlabel\r\nab\tx\r\nc\ty\r\n", 5, "C1cS..|C0abS."},
    {"a.tsv", "\xef\xbb\xbftext\tlabel\r\nab\tx\n\r\n\nc\ty", 5, "C1cS..|C0abS."},
    {"a", "a\tx\r\nb\ty\r\n\r\nc\tx", 5, "Cc0S..|Ca0b1S."},
    {"a.tsv", "text\tlabel\n\"a\"\t\"x\"\nb\"\"\"c\ty\n\"d\tz\n", 8,
     "C2\"dS....|C0\"a\"S...|C1b\"\"\"cS."},
};

TEST_ROWS(the_rows_of_a_file_are_sequences_with_labels, 0, ROWS(sequences))
{
    const char *task = strchr(sequences[_i].name, '.') ? "classify" : "tag";
    rt_data *data = open_text(task, sequences[_i].name, sequences[_i].text);
    const bool quoted = strstr(sequences[_i].text, "\"x\"");
    ck_assert_int_eq(data->classes, quoted ? 3 : 2);
    ck_assert_int_eq(data->types, strstr(sequences[_i].text, "text_b") ? 2 : 0);
    ck_assert(data->varies);
    expect_rows(data, sequences[_i].length, sequences[_i].rows);
    ck_assert(!quoted || !strcmp(data->labels->names[0], "\"x\"")); /* as it is written */
}

TEST(a_long_text_is_cut_at_its_end_and_counted)
{
    rt_data_options o =
        options_of("classify", "a.tsv", "text\tlabel\nab\tx\nabcd\ty\nabcde\tx\nabcdefgh\ty\n");
    o.length = 6;
    rt_data *data = source(&o);
    ck_assert_uint_eq(data->cut.count, 2);
    ck_assert_uint_eq(data->cut.of, 4);
    expect_rows(data, 6, "C0abS..|C1abcdS|C0abcdS|C1abcdS");
    expect_rows(data, 9, "C0abS.....|C1abcdS...|C0abcdeS..|C1abcdefgS");
    o = options_of("tag", "b.tsv", "ab\tx\ncd\ty\n");
    o.length = 5;
    data = source(&o);
    ck_assert_uint_eq(data->cut.count, 1);
    expect_rows(data, 5, "Ca0bc1S");
}

/* The tokenizers library of Hugging Face does so, too. It cuts one token at a time from the longer
 * text; of equally long texts, from the one that was shorter, or else from the first. */
TEST(the_longer_text_of_a_pair_is_truncated_first)
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
                *(a > b || (a == b && first <= second) ? &a : &b) -= 1;
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

TEST(a_line_of_ten_megabytes_is_a_row)
{
    const rt_data_options o = labelled("classify", "a.tsv");
    FILE *file = fopen(o.file, "w");
    fprintf(file, "text\tlabel\nb\ty\n");
    for (int i = 0; i < 10000000; i++)
        fputc('a', file);
    fprintf(file, "\tx\n");
    fclose(file);
    expect_rows(source(&o), 5, "C1bS..|C0aaaS");
}

static const char *write_rows(const char *name, int from, int count)
{
    char text[40000];
    size_t used = (size_t)snprintf(text, sizeof text, "text\tlabel\n");
    for (int i = from; i < from + count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%03d%.*s\t%c\n", i, i * 7 % 23,
                                 "aaaaaaaaaaaaaaaaaaaaaaa", 'x' + i % 2);
    return write_bytes(in_folder(name), text, used);
}

static int number_of(const rt_data *data, const rt_batch *b, int row)
{
    char digits[4] = "";
    size_t size;
    for (int i = 0; i < 3; i++)
        digits[i] = *rt_vocabulary_decode(data->vocabulary, b->ids[row * b->length + 1 + i], &size);
    return atoi(digits);
}

/* Batches are cut to their longest row. Rows in any order would have about a third of padding,
 * whole rows half. */
TEST(an_epoch_trains_in_batches_of_like_lengths)
{
    enum { COUNT = 900, BATCH = 8, STEPS = (COUNT + BATCH - 1) / BATCH };
    rt_data_options o = labelled("classify", "a.tsv");
    o.file = write_rows("a.tsv", 0, COUNT);
    o.eval_file = write_rows("b.tsv", 950, 20);
    o.batch_size = BATCH;
    rt_data *data = source(&o);
    rt_batch b = batch_of(BATCH, o.length);
    for (uint32_t epoch = 0; epoch < 2; epoch++) {
        long tokens = 0, places = 0;
        for (uint32_t step = epoch * STEPS; step < (epoch + 1) * STEPS; step++) {
            int longest = 0;
            rt_data_training(data, 1, step, 0, &b);
            for (int i = 0; i < BATCH * b.length; i++) {
                tokens += b.mask[i];
                longest = b.mask[i] && i % b.length >= longest ? i % b.length + 1 : longest;
            }
            places += (long)longest * BATCH;
            for (int r = 0; r < BATCH; r++)
                ck_assert_int_lt(number_of(data, &b, r), COUNT);
        }
        ck_assert_msg(100 * places < 115 * tokens, "%ld tokens in %ld", tokens, places);
    }
    b = evaluation_of(data, (int)rt_data_evaluation_rows(data, o.length), o.length);
    ck_assert_int_eq(b.rows, 20);
    for (int i = 0; i < 20; i++)
        ck_assert_int_ge(number_of(data, &b, i), 950);
}

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

TEST(a_model_keeps_its_vocabulary_and_its_labels)
{
    rt_data *first = open_text("classify", "a.tsv", "text\tlabel\nabc\tx\nd\ty\nb\tz\n");
    const rt_data_of_model meaning = meaning_of(first);
    const rt_data_options o =
        options_of("classify", "b.tsv", "text\tlabel\nd\xc3\xa9\xc3\xa9\tz\n");
    rt_data *second = source_as(&o, meaning);
    ck_assert_int_eq(second->classes, 3);
    ck_assert_ptr_eq(second->labels, meaning.labels);
    ck_assert_ptr_eq(second->vocabulary, meaning.vocabulary);
    expect_rows(second, 6, "C2d??S.");
    const rt_unknown unknown = second->unknown[RT_PART_TRAINING];
    ck_assert_uint_eq(unknown.count, 2);
    ck_assert_str_eq(unknown.name, "'\xc3\xa9' (U+00E9)");
    ck_assert_uint_eq(unknown.at, strlen("text\tlabel\nd"));
}

TEST(a_label_that_is_new_is_named_with_its_line)
{
    rt_data *first = open_text("classify", "a.tsv", "text\tlabel\nabc\tx\nd\ty\n"), *second;
    rt_data_options o = options_of("classify", "b.tsv", "text\tlabel\n\na\tx\nb\tz\n");
    is_data_error(rt_data_open(&second, &o, (rt_data_of_model){.labels = first->labels}), o.file,
                  ":4: column label: 'z' is not a label of the model");
    ck_assert_ptr_null(second);
    o = options_of("tag", "a.tsv", "a\tx\nb\ty\n");
    o.eval_file = write_text("b.tsv", "a\tx\n\nb\tz\n");
    is_data_error(status_of(&o), o.eval_file,
                  ":3: column label: 'z' is not a label of the training file");
}

TEST(labels_ascend_by_bytes_and_are_read_as_they_are_written)
{
    rt_text_span names[] = {{"b", 1}, {"aa", 2}, {"\xc3\xa9", 2}, {"Z", 1},
                            {"b", 1}, {"a", 1},  {"B-PER", 5}};
    rt_labels *labels, *read;
    char *text;
    expect_ok(rt_labels_of(&labels, "f", names, 7));
    expect_ok(rt_labels_write(labels, &text));
    ck_assert_str_eq(text, "B-PER\nZ\na\naa\nb\n\xc3\xa9\n");
    expect_ok(rt_labels_read(&read, "f", text, strlen(text)));
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

TEST_ROWS(a_malformed_file_of_labels_is_refused, 0, ROWS(no_labels))
{
    rt_labels *labels;
    is_status(rt_labels_read(&labels, "f", no_labels[_i].bytes, no_labels[_i].size), RT_DATA,
              no_labels[_i].message);
    ck_assert_ptr_null(labels);
}

#define HEADING "; the heading must name text, label and, for pairs, text_b, separated by "

static const struct {
    const char *name, *text;
    size_t size; /* 0: up to the zero */
    const char *message;
} bad[] = {
    {"a.tsv", "", 0, ": data.file must hold text; the file is empty"},
    {"a.tsv", "text\tlabel\n", 0, ": has a heading and no row below it"},
    {"a.tsv", "text\tlabel\n\n\r\n", 0, ": has a heading and no row below it"},
    {"a.tsv", "text\tlable\na\tx\n", 0, ":1: has no column 'label'" HEADING "tabs"},
    {"a.csv", "label,sentence\nx,a\n", 0, ":1: has no column 'text'" HEADING "commas"},
    {"a.tsv", "text,label\na,x\n", 0, ":1: has no column 'text'" HEADING "tabs"},
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
    /* of tokens */
    {"a", "\n\n", 0, ": has no token"},
    {"a", "a\n", 0, ":1: must be TOKEN<TAB>LABEL; got one column"},
    {"a", "a\tx\n\nb x\n", 0, ":3: must be TOKEN<TAB>LABEL; got one column"},
    {"a", "a\tx\tP\n", 0, ":1: must be TOKEN<TAB>LABEL; got more columns"},
    {"a", "a\tx\n\ty\n", 0, ":2: column token is empty"},
    {"a", "a\tx\nb\t\n", 0, ":2: column label is empty"},
    {"a", "a\tx\nb\ty\n\xe2\x82\n", 0, ":3: byte 0xe2 at offset 8 of the file is not UTF-8"},
    {"a", "a\tO\nb\tO\n", 0, ": every label is 'O'; a task needs at least two"},
};

TEST_ROWS(a_malformed_table_of_labelled_texts_is_refused, 0, ROWS(bad))
{
    const rt_data_options o =
        labelled(strchr(bad[_i].name, '.') ? "classify" : "tag", bad[_i].name);
    write_bytes(o.file, bad[_i].text, bad[_i].size ? bad[_i].size : strlen(bad[_i].text));
    is_data_error(status_of(&o), o.file, bad[_i].message);
}

TEST(labels_are_limited_in_bytes_and_in_number)
{
    for (int size = 255; size <= 256; size++) {
        const rt_data_options o =
            options_of("classify", "a.tsv", lasting("text\tlabel\na\tx\nb\t%0*d\n", size, 1));
        if (size == 255)
            expect_ok(status_of(&o));
        else
            is_data_error(status_of(&o), o.file, ":3: column label is longer than 255 bytes");
    }
    const rt_data_options o = labelled("tag", "a");
    FILE *file = fopen(o.file, "w");
    for (int i = 0; i <= RT_LABELS_LIMIT; i++)
        fprintf(file, "a\t%d\n", i);
    fclose(file);
    is_data_error(status_of(&o), o.file,
                  lasting(": there can be up to %d different labels; it has %d", RT_LABELS_LIMIT,
                          RT_LABELS_LIMIT + 1));
}

TEST(both_parts_need_a_row_of_the_same_columns)
{
    rt_data_options o = options_of("classify", "a.tsv", "text\tlabel\na\tx\nb\ty\n");
    o.eval_fraction = 1e-9;
    is_data_error(status_of(&o), o.file,
                  ": has 2 rows, of which 2 are for training and 0 for evaluation "
                  "(data.eval_fraction 1e-09); both need at least one");
    o.eval_file = write_text("b.tsv", "text\ttext_b\tlabel\na\tb\tx\n");
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
