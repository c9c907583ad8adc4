/* Windows of text and of token ids: places, masks and labels; data.eval_file; evaluation alone. */

#include "data/files.h"
#include "samples.h"

/* All tokens differ, so that each identifies its position: token i has the id first_id(kind) + i,
 * whether it is a byte, a token id or a character (from U+00FA on, with two bytes each). */
enum { PLACES = 250, LENGTH = 8, WINDOW = LENGTH - 1 };

enum { BYTES, TOKENS, CHARACTERS, KINDS };
static const char *const units[] = {"bytes", "ids", "characters"};

/* Before the characters is [UNK]. */
static int first_id(int kind)
{
    return kind == CHARACTERS ? RT_FIRST_SYMBOL + 1 : RT_FIRST_SYMBOL;
}

/* A run of tokens in a file; `place` is that of the first. */
typedef struct piece {
    const char *name;
    int place, count;
} piece;

/* Writes the piece and returns it as data.file names it. */
static const char *write_piece(int kind, piece p)
{
    rt_data_options o;
    uint8_t bytes[2 * PLACES];
    int64_t ids[PLACES];
    size_t size = 0;
    for (int i = 0; i < p.count; i++) {
        const int code = p.place + i + (kind == CHARACTERS ? 250 : 0);
        ids[i] = RT_FIRST_SYMBOL + code;
        if (kind == CHARACTERS)
            bytes[size++] = (uint8_t)(0xc0 | code >> 6);
        bytes[size++] = (uint8_t)(kind == CHARACTERS ? 0x80 | (code & 0x3f) : code);
    }
    if (kind == TOKENS) {
        write_ids(&o, (storage){0}, ids, (size_t)p.count);
        ck_assert_int_eq(rename(in_folder("a"), in_folder(p.name)), 0);
    } else {
        write_bytes(in_folder(p.name), bytes, size);
    }
    return lasting("%s/%s%s", scratch, p.name, kind == TOKENS ? ":/ids" : "");
}

static rt_data_options ruler(int kind, double eval_fraction)
{
    rt_data_options o = options_for(kind == TOKENS ? "tokens" : "text");
    o.length = LENGTH;
    o.vocab = RT_FIRST_SYMBOL + PLACES;
    o.eval_fraction = eval_fraction;
    o.level = kind == CHARACTERS ? RT_LEVEL_CHAR : RT_LEVEL_BYTE;
    o.file = write_piece(kind, (piece){"a", 0, PLACES});
    return o;
}

/* Trained on all places; evaluated on 30 from 100 on and, of bytes, on 17 from 50 on. */
static rt_data_options pieces(int kind)
{
    rt_data_options o;
    const char *first = write_piece(kind, (piece){"b", 100, 30});
    const char *second = kind == BYTES ? write_piece(kind, (piece){"c", 50, 17}) : NULL;
    o = ruler(kind, 0.2);
    o.eval_file = second ? lasting("%s , %s", first, second) : first;
    return o;
}

/* The place in the ruler where a row begins; the row must be one piece of it. */
static int place_of(int kind, const rt_batch *batch, int row)
{
    int first = row * batch->length;
    int place = original(batch, first + 1) - first_id(kind);
    ck_assert_int_eq(batch->ids[first], RT_ID_CLS);
    ck_assert_int_eq(batch->labels[first], RT_NO_LABEL);
    for (int t = 0; t < batch->length; t++)
        ck_assert_int_eq(batch->mask[first + t], 1);
    for (int t = 1; t < batch->length; t++)
        ck_assert_int_eq(original(batch, first + t), first_id(kind) + place + t - 1);
    return place;
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* Counts the places where windows of a training begin, all of which must be below `starts`. */
static void count_starts(int kind, const rt_data_options *o, int starts, int counts[PLACES])
{
    enum { COUNT = 100, STEPS = 200 };
    const rt_data *data = source(o);
    rt_batch batch = batch_of(COUNT, LENGTH);
    memset(counts, 0, PLACES * sizeof *counts);
    for (int i = 0; i < COUNT * STEPS; i++) {
        if (i % COUNT == 0)
            rt_data_training(data, 3, (uint32_t)(i / COUNT), 0, &batch);
        const int place = place_of(kind, &batch, i % COUNT);
        ck_assert_msg(place < starts, "a window begins at %d", place);
        counts[place]++;
    }
    ck_assert_int_gt(counts[0], 0);
    ck_assert_int_gt(counts[starts - 1], 0);
    are_uniform(counts, starts, COUNT * STEPS);
}

static void check_evaluation(int kind, double eval_fraction, int length, int begin, int rows)
{
    rt_data_options o = ruler(kind, eval_fraction);
    rt_data *data = source(&o);
    ck_assert_int_eq(rt_data_evaluation_rows(data, length), rows);
    rt_batch batch = evaluation_of(data, 2 * rows, length);
    for (int r = 0; r < 2 * rows; r++)
        ck_assert_int_eq(place_of(kind, &batch, r), begin + r % rows * (length - 1));
    if (length == LENGTH) /* a window that begins again has other masks */
        ck_assert(!same_rows(&batch, 0, &batch, rows, rows));
}

/* Up to the tail, where evaluation begins; data.eval_file leaves all places. */
TEST_ROWS(training_windows_begin_anywhere_before_the_tail, 0, KINDS)
{
    static const struct {
        double eval_fraction;
        int tail;
    } rows[] = {{0.05, 238}, {0.2, 200}, {0.5, 125}, {0.9, 25}};
    int counts[PLACES];
    rt_data_options o;
    for (int i = 0; i < ROWS(rows); i++) {
        o = ruler(_i, rows[i].eval_fraction);
        count_starts(_i, &o, rows[i].tail - WINDOW + 1, counts);
        check_evaluation(_i, rows[i].eval_fraction, LENGTH, rows[i].tail,
                         (PLACES - rows[i].tail) / WINDOW);
    }
    if (_i == CHARACTERS)
        return;
    o = pieces(_i);
    count_starts(_i, &o, PLACES - WINDOW + 1, counts);
}

TEST_ROWS(evaluation_windows_go_through_the_tail_and_begin_again, 0, KINDS)
{
    check_evaluation(_i, 0.2, 2, 200, 50);
    check_evaluation(_i, 0.2, 51, 200, 1);
    check_evaluation(_i, 0.5, 32, 125, 4);
    /* a file without a tail is evaluated on all of it */
    check_evaluation(_i, 0, LENGTH, 0, PLACES / WINDOW);
    check_evaluation(_i, 0, PLACES + 1, 0, 1);
}

/* The row is [CLS], so many tokens that follow each other, and padding; each place asks for the
 * next. Returns the place in the ruler where it begins. */
static int check_next(int kind, const rt_batch *batch, int row, int tokens)
{
    const int32_t *ids = batch->ids + row * batch->length;
    const int32_t *labels = batch->labels + row * batch->length;
    ck_assert_int_ge(ids[1], first_id(kind));
    for (int t = 0; t < batch->length; t++) {
        ck_assert_int_eq(ids[t], t == 0 ? RT_ID_CLS : t <= tokens ? ids[1] + t - 1 : RT_ID_PAD);
        ck_assert_int_eq(labels[t], t < tokens ? ids[1] + t : RT_NO_LABEL);
        ck_assert_int_eq(batch->mask[row * batch->length + t], t <= tokens);
    }
    return ids[1] - first_id(kind);
}

TEST_ROWS(labels_of_a_language_model_are_the_next_tokens, 0, KINDS)
{
    static const int lengths[] = {2, LENGTH, 31};
    enum { COUNT = 50 };
    rt_data_options o = ruler(_i, 0.2);
    o.objective = RT_OBJECTIVE_LM;
    rt_data *data = source(&o);
    for (int i = 0; i < 3; i++) {
        const rt_batch batch = training_of(data, COUNT, lengths[i]);
        for (int r = 0; r < COUNT; r++)
            check_next(_i, &batch, r, lengths[i] - 1);
    }
    const int rows = (int)rt_data_evaluation_rows(data, 11);
    const rt_batch batch = evaluation_of(data, rows, 11);
    int asked[PLACES] = {0};
    for (int i = 0; i < rows * 11; i++)
        if (batch.labels[i] != RT_NO_LABEL)
            asked[batch.labels[i] - first_id(_i)]++;
    for (int i = 0; i < PLACES; i++)
        ck_assert_int_eq(asked[i], i >= 200);
}

/* Training and the tokens that are read stay as they are. */
TEST_ROWS(eval_last_labels_only_the_last_tokens_of_an_evaluation, 0, KINDS)
{
    enum { COUNT = 5, LAST = 4, T = 11 };
    rt_data_options o = ruler(_i, 0.2);
    o.objective = RT_OBJECTIVE_LM;
    rt_data *whole = source(&o);
    o.eval_last = LAST;
    rt_data *data = source(&o);
    const rt_batch all = evaluation_of(whole, COUNT, T), last = evaluation_of(data, COUNT, T);
    ck_assert_mem_eq(all.ids, last.ids, COUNT * T * sizeof *all.ids);
    for (int i = 0; i < COUNT * T; i++)
        ck_assert_int_eq(last.labels[i], i % T < T - 1 - LAST ? RT_NO_LABEL : all.labels[i]);
    const rt_batch training = training_of(data, COUNT, T), same = training_of(whole, COUNT, T);
    ck_assert_mem_eq(training.labels, same.labels, COUNT * T * sizeof *same.labels);
    const rt_batch short_one = evaluation_of(data, 1, 3);
    ck_assert_int_ne(short_one.labels[0], RT_NO_LABEL);
}

TEST_ROWS(a_window_without_a_token_before_it_has_one_token_more, 0, 2)
{
    rt_data_options o = ruler(BYTES, 0);
    o.objective = RT_OBJECTIVE_LM;
    o.begin = _i ? RT_BEGIN_NONE : RT_BEGIN_AUTO;
    rt_data *data = source(&o);
    const int tokens = _i ? LENGTH : WINDOW;
    const rt_batch batch = evaluation_of(data, 2, LENGTH);
    ck_assert_int_eq(rt_data_begins(data), !_i);
    ck_assert_int_eq(rt_data_evaluation_rows(data, LENGTH), PLACES / tokens);
    for (int t = 0; t < LENGTH; t++) {
        const int32_t token = RT_FIRST_SYMBOL + tokens + t - !_i;
        ck_assert_int_eq(batch.ids[LENGTH + t], t || _i ? token : RT_ID_CLS);
        ck_assert_int_eq(batch.labels[LENGTH + t], t + 1 < LENGTH ? token + 1 : RT_NO_LABEL);
    }
}

static int labels_of(const rt_batch *batch, int row, int *last)
{
    int labels = 0;
    for (int t = 0; t < batch->length; t++)
        if (batch->labels[row * batch->length + t] != RT_NO_LABEL) {
            labels++;
            *last = t;
        }
    return labels;
}

/* Without a token before the window its first token can be masked, too; such a token is never
 * masked. */
TEST_ROWS(the_first_token_is_masked_as_any_other, 0, 2)
{
    enum { COUNT = 200 };
    rt_data_options o = ruler(BYTES, 0);
    o.begin = _i ? RT_BEGIN_NONE : RT_BEGIN_AUTO;
    const rt_batch batch = training_of(source(&o), COUNT, LENGTH);
    int first = 0;
    for (int r = 0, last; r < COUNT; r++) {
        ck_assert_int_gt(labels_of(&batch, r, &last), 0);
        first += batch.labels[r * LENGTH] != RT_NO_LABEL;
    }
    ck_assert_int_eq(first > 0, _i);
}

/* Twenty letters in an order that does not matter here. */
enum { LETTERS = 20, LONG_TEXT = 4000, LONG_LENGTH = 101, MANY = 1000 };

static rt_data *open_letters(int kind, double mask_probability)
{
    static char text[LONG_TEXT];
    static int64_t ids[LONG_TEXT];
    rt_data_options o = options_for(kind == TOKENS ? "tokens" : "text");
    for (int i = 0; i < LONG_TEXT; i++) {
        text[i] = (char)('a' + i * 7 % LETTERS);
        ids[i] = RT_FIRST_SYMBOL + i * 7 % LETTERS;
    }
    o.length = LONG_LENGTH;
    o.vocab = RT_FIRST_SYMBOL + LETTERS;
    o.mask_probability = mask_probability;
    o.level = kind == CHARACTERS ? RT_LEVEL_CHAR : RT_LEVEL_BYTE;
    if (kind == TOKENS)
        write_ids(&o, (storage){0}, ids, LONG_TEXT);
    else
        o.file = write_bytes(in_folder("a"), text, sizeof text);
    return source(&o);
}

/* Expects a count of n draws to lie within four deviations of its expected value. */
static void expect_share(const char *what, int count, int n, double p)
{
    double deviation = sqrt(n * p * (1 - p));
    ck_assert_msg(fabs(count - n * p) < 4 * deviation, "%s: expected %.0f of %d; got %d", what,
                  n * p, n, count);
}

/* One in twenty of the random tokens is the original one; bytes are drawn from all 256. */
TEST_ROWS(chosen_tokens_are_masked_as_in_bert, 0, KINDS)
{
    const int choices = _i == BYTES ? 256 : LETTERS;
    rt_data *data = open_letters(_i, 0.15);
    rt_batch batch = batch_of(MANY, LONG_LENGTH);
    int chosen = 0, masked = 0, stayed = 0, other = 0, counts[256] = {0};
    rt_data_training(data, 11, 0, 0, &batch);
    for (int i = 0; i < MANY * LONG_LENGTH; i++) {
        if (batch.labels[i] == RT_NO_LABEL)
            continue;
        chosen++;
        masked += batch.ids[i] == RT_ID_MASK;
        stayed += batch.ids[i] == batch.labels[i];
        if (batch.ids[i] == RT_ID_MASK || batch.ids[i] == batch.labels[i])
            continue;
        other++;
        counts[batch.ids[i] - first_id(_i)]++;
    }
    expect_share("chosen", chosen, MANY * (LONG_LENGTH - 1), 0.15);
    expect_share("[MASK]", masked, chosen, 0.8);
    expect_share("stayed", stayed, chosen, 0.1 + 0.1 / choices);
    expect_share("other", other, chosen, 0.1 - 0.1 / choices);
    are_uniform(counts, choices, other);
}

TEST_ROWS(every_sequence_has_a_label, 0, KINDS)
{
    const rt_batch batch = training_of(open_letters(_i, 1e-12), MANY, 11);
    int counts[11] = {0};
    for (int r = 0; r < MANY; r++) {
        int last = 0;
        ck_assert_int_eq(labels_of(&batch, r, &last), 1);
        counts[last]++;
    }
    ck_assert_int_eq(counts[0], 0);
    are_uniform(counts + 1, 10, MANY);
}

/* Lines of text, ids of files, and the ids that neither become others nor are predicted: those of
 * special tokens, [UNK] (4) included, or the mask token alone. */
static const struct {
    const char *task, *settings;
    int specials[6]; /* up to a -1 */
} with_specials[] = {
    {"text", "documents=line", {0, 1, 2, 3, -1}},
    {"text", "documents=line cross=no", {0, 1, 2, 3, -1}},
    {"text", "level=char", {0, 1, 2, 3, 4, -1}},
    {"text", "level=char documents=line", {0, 1, 2, 3, 4, -1}},
    {"tokens", "mask_id=9", {0, 1, 2, 3, 9, -1}},
    {"tokens", "begin=none", {0, 1, 2, 3, -1}},
    {"tokens", "special_tokens=no mask_id=5", {5, -1}},
};

enum { IDS = 2000 };

/* Options of windows of 12 tokens in a file of ids, or of text; at level char a and others have
 * ids. */
static rt_data_options written(const char *task, const char *settings, const int64_t *ids,
                               const char *text)
{
    rt_data_options o = options_with(task, settings);
    if (!strcmp(task, "text"))
        o.file = write_bytes(in_folder("a"), text, IDS);
    else
        write_ids(&o, (storage){0}, ids, IDS);
    if (o.level == RT_LEVEL_CHAR)
        o.vocab_file = write_text("v", "[PAD]\n[CLS]\n[MASK]\n[SEP]\n[UNK]\na\ne\n");
    o.length = 12;
    return o;
}

/* A language model is given the same windows, as they are. */
TEST_ROWS(a_special_token_is_not_masked_nor_predicted, 0, 3 * ROWS(with_specials))
{
    enum { COUNT = 300 };
    static const double probabilities[] = {1, 0.15, 1e-12};
    const double probability = probabilities[_i % 3];
    static int64_t ids[IDS];
    char text[IDS];
    for (int i = 0; i < IDS; i++) {
        ids[i] = i * i / 7 % 11;
        text[i] = "abcd\nef"[i * i / 5 % 7];
    }
    text[0] = 'a';
    rt_data_options o =
        written(with_specials[_i / 3].task, with_specials[_i / 3].settings, ids, text);
    o.mask_probability = probability;
    const rt_data *data = source(&o);
    const rt_batch masked[] = {training_of(data, COUNT, 12), evaluation_of(data, COUNT, 12)};
    o.objective = RT_OBJECTIVE_LM;
    data = source(&o);
    const rt_batch whole[] = {training_of(data, COUNT, 12), evaluation_of(data, COUNT, 12)};
    int specials = 0;
    for (int row = 0; row < 2 * COUNT; row++) {
        const rt_batch *m = &masked[row / COUNT], *w = &whole[row / COUNT];
        int labels = 0, ordinary = 0;
        bool is_special[12];
        for (int t = 0, at = row % COUNT * 12; t < 12; t++, at++) {
            is_special[t] = !w->mask[at];
            for (const int *id = with_specials[_i / 3].specials; *id >= 0; id++)
                is_special[t] |= w->ids[at] == *id;
            ordinary += !is_special[t];
        }
        if (!ordinary && row < COUNT)
            continue; /* mlm draws another window */
        for (int t = 0, at = row % COUNT * 12; t < 12; t++, at++) {
            const bool special = is_special[t], label = m->labels[at] != RT_NO_LABEL;
            ck_assert_msg(!special || (!label && m->ids[at] == w->ids[at]), "%d is special",
                          w->ids[at]);
            ck_assert_int_eq(label ? m->labels[at] : m->ids[at], w->ids[at]);
            specials += special && w->mask[at] && t > 0;
            labels += label;
        }
        ck_assert(probability == 1   ? labels == ordinary
                  : probability < .1 ? labels == (ordinary > 0)
                                     : labels <= ordinary && (labels || !ordinary));
    }
    ck_assert_int_gt(specials, COUNT / 10);
}

/* One of forty ids, or of four documents, is not special, as [SEP] or [UNK] are. Each window of
 * training holds one. */
TEST_ROWS(a_training_window_of_special_tokens_is_drawn_again, 0, 3)
{
    static const char *const rows[][2] = {{"tokens", ""},
                                          {"text", "level=char"},
                                          {"text", "level=char documents=line cross=no"}};
    enum { COUNT = 200 };
    static int64_t ids[IDS];
    char text[IDS];
    for (int i = 0; i < IDS; i++) {
        ids[i] = i % 40 ? RT_ID_SEP : 9;
        text[i] = "x\na"[i % (_i > 1 ? 8 : 40) ? _i > 1 && i % 2 : 2];
    }
    const rt_data_options o = written(rows[_i][0], rows[_i][1], ids, text);
    const rt_batch batch = training_of(source(&o), COUNT, 12);
    int unlabelled = 0;
    for (int row = 0, last; row < COUNT; row++)
        unlabelled += !labels_of(&batch, row, &last);
    ck_assert_int_lt(unlabelled, COUNT / 10);
}

static void has_short_texts(const rt_data *data, int length, size_t count, size_t least)
{
    const rt_short_texts found = rt_data_short_texts(data, length);
    ck_assert_uint_eq(found.count, count);
    ck_assert_uint_eq(found.least, least);
}

/* At a length of 21 the second file is one shorter window. */
TEST_ROWS(each_window_of_evaluation_lies_in_one_file, BYTES, CHARACTERS)
{
    const int rows = _i == BYTES ? 6 : 4;
    static const int places[] = {100, 107, 114, 121, 50, 57};
    const rt_data_options o = pieces(_i);
    rt_data *data = source(&o);
    rt_batch batch = evaluation_of(data, 2 * rows, LENGTH), longer = evaluation_of(data, 2, 21);
    ck_assert_int_eq(rt_data_evaluation_rows(data, LENGTH), rows);
    for (int r = 0; r < 2 * rows; r++) { /* of several files, each window comes once */
        bool seen = _i != BYTES && place_of(_i, &batch, r) == places[r % rows];
        for (int k = 0; _i == BYTES && k < rows; k++)
            seen |= place_of(_i, &batch, r / rows * rows + k) == places[r % rows];
        ck_assert_msg(seen, "no window at %d", places[r % rows]);
    }
    const int texts = _i == BYTES ? 2 : 1;
    ck_assert_int_eq(rt_data_evaluation_rows(data, 21), texts);
    has_short_texts(data, LENGTH, 0, 0);
    has_short_texts(data, 21, (size_t)texts - 1, _i == BYTES ? 17 : 0);
    has_short_texts(data, 52, (size_t)texts, _i == BYTES ? 17 : 30);
    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(original(&longer, r * 21 + 1) - first_id(_i), r % texts ? 50 : 100);
}

/* Ten tokens, of which a fifth is kept: windows of up to two fit in both parts. */
TEST_ROWS(a_file_must_hold_a_window_of_each_kind, 0, KINDS)
{
    rt_data_options o = ruler(_i, 0.2);
    o.file = write_piece(_i, (piece){"a", 0, 10});
    o.length = 3;
    expect_ok(status_of(&o));
    o.length = 4;
    is_data_error(status_of(&o), o.file,
                  lasting(": data.length 4 needs 3 %s for training and as many for evaluation; "
                          "data.file has 10: 8 for training and 2 for evaluation "
                          "(data.eval_fraction 0.2)",
                          units[_i]));
    o.length = INT32_MAX;
    ck_assert_int_eq(status_of(&o).code, RT_DATA);
    o.length = 2;
    o.eval_fraction = 0.01;
    ck_assert_int_eq(status_of(&o).code, RT_DATA);
}

TEST_ROWS(a_file_for_evaluation_holds_a_window, BYTES, CHARACTERS)
{
    rt_data_options o = pieces(_i);
    o.eval_file = write_piece(_i, (piece){"b", 0, WINDOW});
    o.file = write_piece(_i, (piece){"a", 0, WINDOW}); /* which needs no tail */
    expect_ok(status_of(&o));
    o.eval_file = write_piece(_i, (piece){"b", 0, WINDOW - 1});
    o.file = write_piece(_i, (piece){"a", 0, PLACES});
    is_data_error(status_of(&o), o.eval_file,
                  lasting(": data.eval_file must hold at least 7 %s (data.length 8); it holds 6",
                          units[_i]));
    o = pieces(_i);
    o.file = write_piece(_i, (piece){"a", 0, WINDOW - 1});
    is_data_error(status_of(&o), o.file,
                  lasting(": data.length 8 needs 7 %s for training; data.file has 6", units[_i]));
}

TEST(each_file_for_evaluation_is_there_and_not_empty)
{
    rt_data_options o = pieces(BYTES);
    write_text("c", "");
    is_data_error(status_of(&o), in_folder("c"),
                  ": data.eval_file must hold text; the file is empty");
    unlink(in_folder("c"));
    is_data_error(status_of(&o), in_folder("c"), ": No such file or directory (data.eval_file)");
    o.eval_file = lasting("%s,", in_folder("b"));
    is_status(status_of(&o), RT_CONFIG, "data.eval_file must name a file; got an empty name");
    o = pieces(TOKENS);
    o.vocab = RT_FIRST_SYMBOL + 129;
    o.file = write_piece(TOKENS, (piece){"a", 0, 129});
    is_data_error(
        status_of(&o), o.eval_file,
        ": data.eval_file must hold ids from 0 to 132 (data.vocab 133); got 133 at index 29");
    o.eval_file = "b.h5";
    is_status(status_of(&o), RT_CONFIG,
              "data.eval_file must name a file and a data set for tokens, as in ids.h5:/train, or "
              "a file that ends in .bin or .npy; got 'b.h5'");
}

/* 28 windows of one file and 7 of the other; of a mixture, the tails of 200 and of 50 tokens. */
TEST_ROWS(the_first_sequences_of_an_evaluation_are_of_all_files, 0, 2)
{
    const char *const files[] = {write_piece(BYTES, (piece){"b", 0, 200}),
                                 write_piece(BYTES, (piece){"c", 200, 50})};
    const char *const list = lasting(_i ? "%s*1, %s*9" : "%s, %s", files[0], files[1]);
    rt_data_options o = ruler(BYTES, 0);
    *(_i ? &o.file : &o.eval_file) = list;
    rt_data *data = source(&o);
    const int rows = (int)rt_data_evaluation_rows(data, LENGTH);
    const rt_batch batch = evaluation_of(data, rows, LENGTH);
    ck_assert_int_eq(rows, 28 + 7);
    for (int r = 0, of_second = 0; r < rows; r++) {
        of_second += place_of(BYTES, &batch, r) >= 200;
        ck_assert_double_eq_tol(of_second, (r + 1) / 5.0, 1.5);
    }
}

static rt_data_options of_texts(const char *task, const char *training, const char *evaluation)
{
    rt_data_options o = options_for(task);
    if (!strcmp(task, "text"))
        o.length = 3;
    o.level = RT_LEVEL_CHAR;
    o.file = write_text("a.tsv", training);
    o.eval_file = write_text("b.tsv", evaluation);
    return o;
}

/* The vocabulary has the characters of data.file. Unknown characters of data.eval_file are reported
 * separately. */
TEST(the_vocabulary_is_that_of_the_training)
{
    rt_data_options o = of_texts("text", "abcabc", "abxcyx");
    for (int i = 0; i < 2; i++) {
        rt_data *data = source(&o);
        const rt_unknown unknown = data->unknown[RT_PART_EVALUATION];
        ck_assert_int_eq(data->vocab, RT_FIRST_SYMBOL + 1 + 3 + i);
        ck_assert_uint_eq(data->unknown[RT_PART_TRAINING].count, 0);
        ck_assert_uint_eq(unknown.count, i ? 2 : 3);
        ck_assert_uint_eq(unknown.at, i ? strlen("text\tlabel\na") : 2);
        ck_assert_str_eq(unknown.name, "'x'");
        o = of_texts("classify", "text\tlabel\nabc\tx\nd\ty\n", "text\tlabel\naxx\ty\n");
    }
    o = of_texts("text", "abcabc", "xyzxyz");
    is_data_error(status_of(&o), o.eval_file, ": data.eval_file has no token of the vocabulary");
    write_text("b.tsv", "ab\xff");
    is_error(status_of(&o), RT_DATA, "/b.tsv: data.level = char needs UTF-8; byte 0xff");
}

/* The path of the n-th file. */
static const char *path_of(const rt_data_options *o, int n)
{
    rt_data_files files = rt_data_files_of(o);
    const char *path = rt_data_files_path(&files, n);
    rt_data_files_free(&files);
    return path;
}

TEST_ROWS(all_files_are_listed, BYTES, CHARACTERS)
{
    static const char *const names[] = {"a", "b", "c"};
    rt_data_options o = pieces(_i);
    const int count = _i == BYTES ? 3 : 2;
    for (int i = 0; i < count; i++)
        ck_assert_str_eq(path_of(&o, i), in_folder(names[i]));
    ck_assert_ptr_null(path_of(&o, count));
    o.eval_file = lasting("%s:/more", in_folder("a"));
    if (_i == TOKENS) /* another data set of the same file */
        ck_assert_ptr_null(path_of(&o, 1));
    o = options_with("images", "file=/a-images-idx3-ubyte eval_file=/b-images-idx3-ubyte");
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(path_of(&o, i), lasting("/%c-%s-ubyte", i / 2 ? 'b' : 'a',
                                                 i % 2 ? "labels-idx1" : "images-idx3"));
    ck_assert_ptr_null(path_of(&o, 4));
}

static rt_data *evaluated(const rt_data_options *o)
{
    rt_data *data;
    expect_ok(rt_data_open_evaluation(&data, o, (rt_data_of_model){0}));
    return owned(data, close_source);
}

TEST_ROWS(a_short_text_is_evaluated_as_one_shorter_sequence, BYTES, CHARACTERS)
{
    rt_data_options o = pieces(_i);
    o.objective = RT_OBJECTIVE_LM;
    o.eval_file = write_piece(_i, (piece){"b", 30, 5});
    rt_data *data = evaluated(&o);
    rt_batch batch = batch_of(2, LENGTH);
    ck_assert(data->varies);
    has_short_texts(data, LENGTH, 1, 5);
    ck_assert_int_eq(rt_data_evaluation_rows(data, LENGTH), 1);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 100), 1);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 3), 2);
    rt_data_evaluation(data, 0, &batch);
    for (int row = 0; row < 2; row++)
        ck_assert_int_eq(check_next(_i, &batch, row, 5), 30);
}

TEST_ROWS(a_short_tail_is_evaluated_and_an_empty_one_is_not, BYTES, CHARACTERS)
{
    rt_data_options o = pieces(_i);
    rt_data *data;
    o.eval_file = NULL;
    o.objective = RT_OBJECTIVE_LM;
    o.file = write_piece(_i, (piece){"a", 0, 9});
    o.eval_fraction = 0.6;
    data = evaluated(&o);
    rt_batch batch = evaluation_of(data, 1, LENGTH);
    ck_assert_int_eq(check_next(_i, &batch, 0, 5), 4);
    o.eval_fraction = 0.1;
    is_data_error(rt_data_open_evaluation(&data, &o, (rt_data_of_model){0}), o.file,
                  lasting(": data.eval_fraction 0.1 leaves none of its 9 %s for evaluation; set "
                          "data.eval_fraction=0 to evaluate all of them",
                          units[_i]));
    ck_assert(!data);
}

TEST(a_source_for_evaluation_needs_no_row_for_training)
{
    rt_data_options o = of_texts("classify", "text\tlabel\na\tx\nb\ty\n", "");
    rt_data *data;
    o.eval_file = NULL;
    o.eval_fraction = 1 - 1e-9;
    ck_assert_int_eq(status_of(&o).code, RT_DATA);
    data = evaluated(&o);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 4), 2);
    o.eval_fraction = 1e-9;
    is_data_error(rt_data_open_evaluation(&data, &o, (rt_data_of_model){0}), o.file,
                  ": none of its 2 rows is for evaluation (data.eval_fraction 1e-09); set "
                  "data.eval_fraction=0 to evaluate all of them");
}
