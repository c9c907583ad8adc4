/* data.eval_file: where its windows lie, what is left for training, and evaluation alone. */

#include "samples.h"

/* Tokens that are all different: token i has the id RT_FIRST_SYMBOL + i, as a byte or as an id. */
enum { PLACES = 250, LENGTH = 8, WINDOW = LENGTH - 1 };
enum { BYTES, TOKENS, KINDS };
static const char *const units[] = {"bytes", "ids"};

/* A run of tokens in a file; `place` is that of the first. */
typedef struct piece {
    const char *name;
    int place, count;
} piece;

/* Writes the piece and returns it as data.file names it. */
static const char *write_piece(int kind, piece p)
{
    rt_data_options o;
    uint8_t bytes[PLACES];
    int64_t ids[PLACES];
    for (int i = 0; i < p.count; i++) {
        bytes[i] = (uint8_t)(p.place + i);
        ids[i] = RT_FIRST_SYMBOL + p.place + i;
    }
    if (kind == TOKENS) {
        write_ids(&o, (storage){0}, ids, (size_t)p.count);
        ck_assert_int_eq(rename(in_folder("a"), in_folder(p.name)), 0);
    } else {
        write_file(in_folder(p.name), bytes, (size_t)p.count);
    }
    return lasting("%s/%s%s", folder, p.name, kind == TOKENS ? ":/ids" : "");
}

/* Trained on all places; evaluated on 30 from 100 on and, of bytes, on 17 from 50 on. */
static rt_data_options pieces(int kind)
{
    rt_data_options o = options_for(kind == TOKENS ? "tokens" : "text");
    o.length = LENGTH;
    o.vocab = RT_FIRST_SYMBOL + PLACES;
    o.eval_fraction = 0.2;
    o.eval_file = write_piece(kind, (piece){"b", 100, 30});
    if (kind == BYTES)
        o.eval_file = lasting("%s , %s", o.eval_file, write_piece(kind, (piece){"c", 50, 17}));
    o.file = write_piece(kind, (piece){"a", 0, PLACES});
    return o;
}

/* The place where a row begins, which is one piece of a file. */
static int place_of(const rt_batch *batch, int row)
{
    const int first = row * batch->length, place = original(batch, first + 1) - RT_FIRST_SYMBOL;
    for (int t = 0; t < batch->length; t++)
        ck_assert_int_eq(batch->mask[first + t], 1);
    for (int t = 1; t < batch->length; t++)
        ck_assert_int_eq(original(batch, first + t), RT_FIRST_SYMBOL + place + t - 1);
    return place;
}

SUITE(.setup = make_folder, .teardown = remove_folder)

TEST_ROWS(each_window_of_evaluation_lies_in_one_file, 0, KINDS)
{
    const int rows = _i == BYTES ? 6 : 4;
    static const int places[] = {100, 107, 114, 121, 50, 57};
    const rt_data_options o = pieces(_i);
    rt_data *data = source(&o);
    rt_batch batch = batch_of(2 * rows, LENGTH);
    ck_assert_int_eq(rt_data_evaluation_rows(data, LENGTH), rows);
    rt_data_evaluation(data, 0, &batch);
    for (int r = 0; r < 2 * rows; r++)
        ck_assert_int_eq(place_of(&batch, r), places[r % rows]);
}

/* At this length the second file has no window. */
TEST_ROWS(a_file_without_a_window_at_another_length_is_passed_over, 0, KINDS)
{
    const rt_data_options o = pieces(_i);
    rt_data *data = source(&o);
    rt_batch batch = batch_of(2, 21);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 21), 1);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 32), 0);
    ck_assert_int_eq(rt_data_short_texts(data).count, 0);
    rt_data_evaluation(data, 0, &batch);
    ck_assert_int_eq(place_of(&batch, 0), 100);
    ck_assert_int_eq(place_of(&batch, 1), 100);
}

TEST_ROWS(all_of_the_file_is_trained_on, 0, KINDS)
{
    enum { STARTS = PLACES - WINDOW + 1, ROWS = 20000 };
    const rt_data_options o = pieces(_i);
    rt_data *data = source(&o);
    rt_batch batch = batch_of(ROWS, LENGTH);
    int counts[STARTS] = {0};
    rt_data_training(data, 3, 0, 0, &batch);
    for (int r = 0; r < ROWS; r++) {
        const int place = place_of(&batch, r);
        ck_assert_int_lt(place, STARTS);
        counts[place]++;
    }
    ck_assert_int_gt(counts[0], 0);
    ck_assert_int_gt(counts[STARTS - 1], 0);
}

/* ---- files that cannot be evaluated ---- */

TEST_ROWS(a_file_for_evaluation_holds_a_window, 0, KINDS)
{
    rt_data_options o = pieces(_i);
    for (int tokens = WINDOW; tokens >= WINDOW - 1; tokens--) {
        o.eval_file = write_piece(_i, (piece){"b", 0, tokens});
        o.file = write_piece(_i, (piece){"a", 0, PLACES});
        if (tokens == WINDOW)
            succeeds(status_of(&o));
    }
    is_data_error(status_of(&o), o.eval_file,
                  lasting(": data.eval_file must hold at least 7 %s (data.length 8); it holds 6",
                          units[_i]));
}

TEST_ROWS(a_file_for_training_needs_no_tail, 0, KINDS)
{
    rt_data_options o = pieces(_i);
    o.file = write_piece(_i, (piece){"a", 0, WINDOW});
    ck_assert_int_eq(status_of(&o).code, RT_OK);
    o.file = write_piece(_i, (piece){"a", 0, WINDOW - 1});
    is_data_error(status_of(&o), o.file,
                  lasting(": data.length 8 needs 7 %s for training; data.file has 6", units[_i]));
}

TEST(each_file_for_evaluation_is_there_and_not_empty)
{
    rt_data_options o = pieces(BYTES);
    write_file(in_folder("c"), "", 0);
    is_data_error(status_of(&o), in_folder("c"),
                  ": data.eval_file must hold text; the file is empty");
    unlink(in_folder("c"));
    is_data_error(status_of(&o), in_folder("c"), ": No such file or directory (data.eval_file)");
    o.eval_file = lasting("%s,", in_folder("b"));
    is_status(status_of(&o), RT_CONFIG, "data.eval_file must name a file; got an empty name");
}

TEST(ids_for_evaluation_are_in_the_vocabulary)
{
    rt_data_options o = pieces(TOKENS);
    o.vocab = RT_FIRST_SYMBOL + 129;
    o.file = write_piece(TOKENS, (piece){"a", 0, 129});
    is_data_error(status_of(&o), o.eval_file,
                  ": data.eval_file must hold ids from 0 to 132 (data.vocab 133); got 133 at index "
                  "29");
    o.eval_file = lasting("b.h5");
    is_status(status_of(&o), RT_CONFIG,
              "data.eval_file must name a file and a data set for tokens, as in ids.h5:/train, or "
              "a file that ends in .bin or .npy; got 'b.h5'");
}

static rt_data_options characters(const char *training, const char *evaluation)
{
    rt_data_options o = options_for("text");
    o.length = 3;
    o.level = RT_LEVEL_CHAR;
    set_file(&o, write_file(in_folder("a"), training, strlen(training)));
    o.eval_file = lasting("%s", write_file(in_folder("b"), evaluation, strlen(evaluation)));
    return o;
}

/* The characters are those of data.file; what else is evaluated on is told by itself. */
TEST(the_vocabulary_is_that_of_the_training)
{
    const rt_data_options o = characters("abcabc", "abxcyx");
    rt_data *data = source(&o);
    ck_assert_int_eq(rt_data_vocab(data), RT_FIRST_SYMBOL + 1 + 3);
    ck_assert_uint_eq(rt_data_unknown(data).count, 0);
    const rt_unknown unknown = rt_data_evaluation_unknown(data);
    ck_assert(unknown.count == 3 && unknown.at == 2);
    ck_assert_str_eq(unknown.name, "'x'");
}

TEST(a_text_in_other_characters_altogether_is_refused)
{
    const rt_data_options o = characters("abcabc", "xyzxyz"), broken = characters("abc", "a\xff");
    write_file(in_folder("b"), "xyzxyz", 6);
    is_data_error(status_of(&o), o.eval_file, ": data.eval_file has no token of the vocabulary");
    write_file(in_folder("b"), "ab\xff", 3);
    is_error(status_of(&broken), RT_DATA, "/b: data.level = char needs UTF-8; byte 0xff");
}

TEST_ROWS(all_files_are_listed, 0, KINDS)
{
    static const char *const names[] = {"a", "b", "c"};
    char path[RT_PATH_SIZE];
    rt_data_options o = pieces(_i);
    const int count = _i == BYTES ? 3 : 2;
    for (int i = 0; i < count; i++) {
        ck_assert(rt_data_file_at(&o, i, path));
        ck_assert_str_eq(path, in_folder(names[i]));
    }
    ck_assert(!rt_data_file_at(&o, count, path));
    o.eval_file = lasting("%s:/more", in_folder("a"));
    if (_i == TOKENS) /* another data set of the same file */
        ck_assert(!rt_data_file_at(&o, 1, path));
}

/* ---- evaluation alone ---- */

static rt_data *evaluated_as(const rt_data_options *o, rt_data_meaning meaning)
{
    rt_data *data;
    succeeds(rt_data_open_evaluation(&data, o, meaning));
    return owned(data, close_source);
}

static rt_data *evaluated(const rt_data_options *o)
{
    return evaluated_as(o, (rt_data_meaning){0});
}

TEST_ROWS(evaluation_alone_draws_what_a_training_evaluates, 0, KINDS)
{
    rt_data_options o = pieces(_i);
    const int rows = _i == BYTES ? 6 : 4;
    rt_data *data = source(&o);
    rt_batch expected = batch_of(rows, LENGTH), batch = batch_of(rows, LENGTH);
    rt_data_evaluation(data, 0, &expected);
    unlink(in_folder("a"));
    for (int i = 0; i < 2; i++) {
        data = evaluated(&o);
        ck_assert_int_eq(rt_data_evaluation_rows(data, LENGTH), rows);
        ck_assert(!rt_data_varies(data));
        rt_data_evaluation(data, 0, &batch);
        ck_assert(same_rows(&batch, 0, &expected, 0, rows));
        o.file = NULL;
    }
}

/* Five tokens where a window has seven: [CLS], the five, and padding. */
static void is_short_row(const rt_batch *batch, int row, int place)
{
    const int first = row * batch->length;
    for (int t = 0; t < batch->length; t++) {
        ck_assert_int_eq(batch->mask[first + t], t <= 5);
        ck_assert_int_eq(batch->ids[first + t], t == 0   ? RT_ID_CLS
                                                : t <= 5 ? RT_FIRST_SYMBOL + place + t - 1
                                                         : RT_ID_PAD);
        ck_assert_int_eq(batch->labels[first + t],
                         t < 5 ? RT_FIRST_SYMBOL + place + t : RT_NO_LABEL);
    }
}

TEST_ROWS(a_short_text_is_evaluated_as_one_shorter_sequence, 0, KINDS)
{
    rt_data_options o = pieces(_i);
    o.objective = RT_OBJECTIVE_LM;
    o.eval_file = write_piece(_i, (piece){"b", 30, 5});
    rt_data *data = evaluated(&o);
    rt_batch batch = batch_of(2, LENGTH);
    ck_assert(rt_data_varies(data));
    ck_assert_uint_eq(rt_data_short_texts(data).count, 1);
    ck_assert_uint_eq(rt_data_short_texts(data).least, 5);
    ck_assert_int_eq(rt_data_evaluation_rows(data, LENGTH), 1);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 100), 1);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 3), 2);
    rt_data_evaluation(data, 0, &batch);
    is_short_row(&batch, 0, 30);
    is_short_row(&batch, 1, 30);
}

TEST_ROWS(a_short_tail_is_evaluated_and_an_empty_one_is_not, 0, KINDS)
{
    rt_data_options o = pieces(_i);
    rt_data *data;
    o.eval_file = NULL;
    o.objective = RT_OBJECTIVE_LM;
    o.file = write_piece(_i, (piece){"a", 0, 9});
    o.eval_fraction = 0.6;
    data = evaluated(&o);
    rt_batch batch = batch_of(1, LENGTH);
    rt_data_evaluation(data, 0, &batch);
    is_short_row(&batch, 0, 4);
    o.eval_fraction = 0.1;
    is_data_error(rt_data_open_evaluation(&data, &o, (rt_data_meaning){0}), o.file,
                  lasting(": data.eval_fraction 0.1 leaves none of its 9 %s for evaluation; set "
                          "data.eval_fraction=0 to evaluate all of them",
                          units[_i]));
    ck_assert(!data);
}

/* ---- labelled data ---- */

static rt_data_options labelled(const char *training, const char *evaluation)
{
    rt_data_options o = options_for("classify");
    o.level = RT_LEVEL_CHAR;
    set_file(&o, write_file(in_folder("a.tsv"), training, strlen(training)));
    o.eval_file = lasting("%s", write_file(in_folder("b.tsv"), evaluation, strlen(evaluation)));
    return o;
}

TEST(what_rows_for_evaluation_lack_is_told_by_itself)
{
    const rt_data_options o = labelled("text\tlabel\nabc\tx\nd\ty\n", "text\tlabel\naxx\ty\n");
    rt_data *data = source(&o);
    const rt_unknown unknown = rt_data_evaluation_unknown(data);
    ck_assert_uint_eq(rt_data_unknown(data).count, 0);
    ck_assert_uint_eq(unknown.count, 2);
    ck_assert_uint_eq(unknown.at, strlen("text\tlabel\na"));
}

/* The labels and the vocabulary are those of the model. */
TEST(evaluation_alone_reads_its_own_rows)
{
    rt_data_options o = labelled("text\tlabel\nabc\tx\nd\ty\n", "text\tlabel\ndd\ty\n");
    rt_data *first = source(&o);
    unlink(o.file);
    rt_data *data = evaluated_as(&o, meaning_of(first));
    rt_batch b = batch_of(1, 4);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 4), 1);
    rt_data_evaluation(data, 0, &b);
    ck_assert_int_eq(b.labels[0], 1);
    ck_assert_int_eq(b.ids[1], b.ids[2]);
}

TEST(evaluation_alone_needs_no_row_for_training)
{
    rt_data_options o = labelled("text\tlabel\na\tx\nb\ty\n", "");
    rt_data *data;
    o.eval_file = NULL;
    o.eval_fraction = 1 - 1e-9;
    ck_assert_int_eq(status_of(&o).code, RT_DATA);
    data = evaluated(&o);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 4), 2);
    o.eval_fraction = 1e-9;
    is_data_error(rt_data_open_evaluation(&data, &o, (rt_data_meaning){0}), o.file,
                  ": none of its 2 rows is for evaluation (data.eval_fraction 1e-09); set "
                  "data.eval_fraction=0 to evaluate all of them");
}

/* Each request for memory fails once. */
TEST_ROWS(a_source_with_a_file_for_evaluation_is_opened_or_not, 0, 2)
{
    const rt_data_options o =
        _i ? labelled("text\tlabel\nabc\tx\nd\ty\n", "text\tlabel\ndd\ty\n") : pieces(BYTES);
    rt_data *data = NULL;
    size_t n = 0;
    while (!data) {
        rt_memory_fail_at(++n);
        const rt_status status = rt_data_open(&data, &o, NULL);
        rt_memory_fail_at(0);
        ck_assert_int_eq(status.code, data ? RT_OK : RT_MEMORY);
    }
    ck_assert_uint_gt(n, 4);
    rt_data_close(data);
}
