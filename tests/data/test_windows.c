/* Windows of text and of token ids: where they lie, what of them is hidden, what is asked. */

#include "samples.h"

#include <math.h>

/* Tokens that are all different, so that each tells its place: token i has the id
 * first_id(kind) + i, whether it is a byte, a character (from U+00FA on, with two bytes
 * each) or a token id. */
enum { PLACES = 250, LENGTH = 8, WINDOW = LENGTH - 1 };

enum { BYTES, CHARACTERS, TOKENS, KINDS };

/* Before the characters is [UNK]. */
static int first_id(int kind)
{
    return kind == CHARACTERS ? RT_FIRST_SYMBOL + 1 : RT_FIRST_SYMBOL;
}

static rt_data_options ruler(int kind, double eval_fraction)
{
    rt_data_options o = options_for(kind == TOKENS ? "tokens" : "text");
    uint8_t bytes[2 * PLACES];
    int64_t ids[PLACES];
    size_t size = 0;
    for (int i = 0; i < PLACES; i++) {
        int code = kind == CHARACTERS ? 250 + i : i;
        ids[i] = RT_FIRST_SYMBOL + i;
        if (kind == CHARACTERS)
            bytes[size++] = (uint8_t)(0xc0 | code >> 6);
        bytes[size++] = (uint8_t)(kind == CHARACTERS ? 0x80 | (code & 0x3f) : code);
    }
    o.length = LENGTH;
    o.vocab = RT_FIRST_SYMBOL + PLACES;
    o.eval_fraction = eval_fraction;
    o.level = kind == CHARACTERS ? RT_LEVEL_CHAR : RT_LEVEL_BYTE;
    if (kind == TOKENS)
        write_ids(&o, (storage){0}, ids, PLACES);
    else
        set_file(&o, write_file(in_folder("a"), bytes, size));
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

SUITE(.setup = make_folder, .teardown = remove_folder)

/* The last 50 places are kept: 200 remain, and so 194 places to begin at. */
TEST_ROWS(training_windows_begin_anywhere_before_the_tail, 0, KINDS)
{
    enum { STARTS = 200 - WINDOW + 1, ROWS = 100, STEPS = 200 };
    rt_data_options o = ruler(_i, 0.2);
    rt_data *data = source(&o);
    rt_batch batch = batch_of(ROWS, LENGTH);
    int counts[STARTS] = {0};
    for (uint32_t step = 0; step < STEPS; step++) {
        rt_data_training(data, 3, step, 0, &batch);
        for (int r = 0; r < ROWS; r++) {
            int place = place_of(_i, &batch, r);
            ck_assert_msg(place < STARTS, "a window begins at %d", place);
            counts[place]++;
        }
    }
    ck_assert_int_gt(counts[0], 0);
    ck_assert_int_gt(counts[STARTS - 1], 0);
    double bound = STARTS - 1 + 5 * sqrt(2.0 * STARTS);
    ck_assert_double_lt(chi_squared(counts, STARTS, ROWS * STEPS), bound);
}

static void check_evaluation(int kind, double eval_fraction, int length, int begin, int rows)
{
    rt_data_options o = ruler(kind, eval_fraction);
    rt_data *data = source(&o);
    ck_assert_int_eq(rt_data_evaluation_rows(data, length), rows);
    rt_batch batch = batch_of(2 * rows, length);
    rt_data_evaluation(data, 0, &batch);
    for (int r = 0; r < 2 * rows; r++)
        ck_assert_int_eq(place_of(kind, &batch, r), begin + r % rows * (length - 1));
}

TEST_ROWS(evaluation_windows_go_through_the_tail_and_begin_again, 0, KINDS)
{
    check_evaluation(_i, 0.2, LENGTH, 200, 7);
    check_evaluation(_i, 0.2, 2, 200, 50);
    check_evaluation(_i, 0.2, 51, 200, 1);
    check_evaluation(_i, 0.5, 32, 125, 4);
}

TEST_ROWS(a_file_without_a_tail_is_evaluated_on_all_of_it, 0, KINDS)
{
    check_evaluation(_i, 0, LENGTH, 0, PLACES / WINDOW);
    check_evaluation(_i, 0, PLACES + 1, 0, 1);
}

TEST_ROWS(a_tail_that_is_shorter_than_a_window_has_no_rows, 0, KINDS)
{
    rt_data_options o = ruler(_i, 0.2);
    rt_data *data = source(&o);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 52), 0);
}

TEST_ROWS(a_window_that_begins_again_has_other_masks, 0, KINDS)
{
    rt_data_options o = ruler(_i, 0.2);
    rt_data *data = source(&o);
    rt_batch batch = batch_of(14, LENGTH);
    rt_data_evaluation(data, 0, &batch);
    ck_assert(!same_rows(&batch, 0, &batch, 7, 7));
}

/* Of windows at every place that training can choose, and of all of evaluation. */
TEST_ROWS(training_and_evaluation_share_no_token, 0, KINDS)
{
    static const double fractions[] = {0.05, 0.2, 0.5, 0.9};
    enum { ROWS = 2000 };
    for (int i = 0; i < 4; i++) {
        rt_data_options o = ruler(_i, fractions[i]);
        rt_data *data = source(&o);
        int rows = (int)rt_data_evaluation_rows(data, LENGTH), last = 0, first = PLACES;
        rt_batch training = batch_of(ROWS, LENGTH), evaluation = batch_of(rows, LENGTH);
        rt_data_training(data, 1, 0, 0, &training);
        rt_data_evaluation(data, 0, &evaluation);
        for (int r = 0; r < ROWS; r++) {
            int end = place_of(_i, &training, r) + WINDOW - 1;
            last = end > last ? end : last;
        }
        for (int r = 0; r < rows; r++) {
            int place = place_of(_i, &evaluation, r);
            first = place < first ? place : first;
        }
        ck_assert_int_eq(last + 1, first);
    }
}

/* The row is [CLS] and tokens that follow each other; each place asks for the next. */
static void check_next(int kind, const rt_batch *batch, int row)
{
    const int32_t *ids = batch->ids + row * batch->length;
    const int32_t *labels = batch->labels + row * batch->length;
    int last = batch->length - 1;
    ck_assert_int_ge(ids[1], first_id(kind));
    for (int t = 0; t <= last; t++) {
        ck_assert_int_eq(ids[t], t ? ids[1] + t - 1 : RT_ID_CLS);
        ck_assert_int_eq(labels[t], t < last ? ids[1] + t : RT_NO_LABEL);
        ck_assert_int_eq(batch->mask[row * batch->length + t], 1);
    }
}

TEST_ROWS(a_language_model_is_asked_for_the_next_token_everywhere, 0, KINDS)
{
    static const int lengths[] = {2, LENGTH, 31};
    enum { ROWS = 50 };
    rt_data_options o = ruler(_i, 0.2);
    o.objective = RT_OBJECTIVE_LM;
    rt_data *data = source(&o);
    for (int i = 0; i < 3; i++) {
        rt_batch batch = batch_of(ROWS, lengths[i]);
        rt_data_training(data, 1, 0, 0, &batch);
        for (int r = 0; r < ROWS; r++)
            check_next(_i, &batch, r);
    }
}

TEST_ROWS(evaluation_asks_a_language_model_for_every_token_of_the_tail_once, 0, KINDS)
{
    rt_data_options o = ruler(_i, 0.2);
    o.objective = RT_OBJECTIVE_LM;
    rt_data *data = source(&o);
    int rows = (int)rt_data_evaluation_rows(data, 11), asked[PLACES] = {0};
    rt_batch batch = batch_of(rows, 11);
    rt_data_evaluation(data, 0, &batch);
    for (int i = 0; i < rows * 11; i++)
        if (batch.labels[i] != RT_NO_LABEL)
            asked[batch.labels[i] - first_id(_i)]++;
    for (int i = 0; i < PLACES; i++)
        ck_assert_int_eq(asked[i], i >= 200);
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
        set_file(&o, write_file(in_folder("a"), text, sizeof text));
    return source(&o);
}

/* A count of n draws must lie within four deviations of what its probability says. */
static void expect_share(const char *what, int count, int n, double p)
{
    double deviation = sqrt(n * p * (1 - p));
    ck_assert_msg(fabs(count - n * p) < 4 * deviation, "%s: expected %.0f of %d; got %d", what,
                  n * p, n, count);
}

/* One in twenty of the random tokens is what stood there; of bytes there are 256, whichever
 * occur. */
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
    ck_assert_double_lt(chi_squared(counts, choices, other), choices - 1 + 5 * sqrt(2.0 * choices));
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

TEST_ROWS(every_token_is_chosen_when_the_probability_is_one, 0, KINDS)
{
    rt_data *data = open_letters(_i, 1);
    rt_batch batch = batch_of(10, LONG_LENGTH);
    int last;
    rt_data_training(data, 1, 0, 0, &batch);
    for (int r = 0; r < 10; r++)
        ck_assert_int_eq(labels_of(&batch, r, &last), LONG_LENGTH - 1);
}

TEST_ROWS(no_sequence_is_without_a_label, 0, KINDS)
{
    rt_data *data = open_letters(_i, 1e-12);
    rt_batch batch = batch_of(MANY, 11);
    int counts[11] = {0};
    rt_data_training(data, 1, 0, 0, &batch);
    for (int r = 0; r < MANY; r++) {
        int last = 0;
        ck_assert_int_eq(labels_of(&batch, r, &last), 1);
        counts[last]++;
    }
    ck_assert_int_eq(counts[0], 0);
    ck_assert_double_lt(chi_squared(counts + 1, 10, MANY), 9 + 5 * sqrt(20));
}
