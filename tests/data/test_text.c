/* Text: where its windows lie, what of them is hidden, and its alphabet. */

#include "samples.h"

#include <math.h>

/* A text whose bytes are all different, so that a unit tells its place: byte i is i. */
enum { PLACES = 250, LENGTH = 8, WINDOW = LENGTH - 1 };

static rt_data_options ruler(double eval_fraction)
{
    rt_data_options o = options_for("text");
    uint8_t bytes[PLACES];
    for (int i = 0; i < PLACES; i++)
        bytes[i] = (uint8_t)i;
    o.length = LENGTH;
    o.eval_fraction = eval_fraction;
    set_file(&o, write_file(in_folder("a"), bytes, sizeof bytes));
    return o;
}

/* What stood at a place before anything was hidden. */
static int32_t original(const rt_batch *batch, int at)
{
    return batch->labels[at] == RT_NO_LABEL ? batch->ids[at] : batch->labels[at];
}

/* The place in the ruler where a row begins; the row must be one piece of it. */
static int place_of(const rt_batch *batch, int row)
{
    int first = row * batch->length;
    int place = original(batch, first + 1) - RT_FIRST_SYMBOL;
    ck_assert_int_eq(batch->ids[first], RT_ID_CLS);
    ck_assert_int_eq(batch->labels[first], RT_NO_LABEL);
    for (int t = 0; t < batch->length; t++)
        ck_assert_int_eq(batch->mask[first + t], 1);
    for (int t = 1; t < batch->length; t++)
        ck_assert_int_eq(original(batch, first + t), RT_FIRST_SYMBOL + place + t - 1);
    return place;
}

/* The last 50 places are kept: 200 remain, and so 194 places to begin at. */
START_TEST(training_windows_begin_anywhere_before_the_tail)
{
    enum { STARTS = 200 - WINDOW + 1, ROWS = 100, STEPS = 200 };
    rt_data_options o = ruler(0.2);
    rt_data *data = opened(&o);
    rt_batch batch = new_batch(ROWS, LENGTH);
    int counts[STARTS] = {0};
    for (uint32_t step = 0; step < STEPS; step++) {
        rt_data_training(data, 3, step, 0, &batch);
        for (int r = 0; r < ROWS; r++) {
            int place = place_of(&batch, r);
            ck_assert_msg(place < STARTS, "a window begins at %d", place);
            counts[place]++;
        }
    }
    ck_assert_int_gt(counts[0], 0);
    ck_assert_int_gt(counts[STARTS - 1], 0);
    double bound = STARTS - 1 + 5 * sqrt(2.0 * STARTS);
    ck_assert_double_lt(chi_squared(counts, STARTS, ROWS * STEPS), bound);
    free_batch(batch);
    rt_data_close(data);
}
END_TEST

static void check_evaluation(double eval_fraction, int length, int begin, int rows)
{
    rt_data_options o = ruler(eval_fraction);
    rt_data *data = opened(&o);
    ck_assert_int_eq(rt_data_evaluation_rows(data, length), rows);
    rt_batch batch = new_batch(2 * rows, length);
    rt_data_evaluation(data, 0, &batch);
    for (int r = 0; r < 2 * rows; r++)
        ck_assert_int_eq(place_of(&batch, r), begin + r % rows * (length - 1));
    free_batch(batch);
    rt_data_close(data);
}

START_TEST(evaluation_windows_go_through_the_tail_and_begin_again)
{
    check_evaluation(0.2, LENGTH, 200, 7);
    check_evaluation(0.2, 2, 200, 50);
    check_evaluation(0.2, 51, 200, 1);
    check_evaluation(0.5, 32, 125, 4);
}
END_TEST

START_TEST(a_text_without_a_tail_is_evaluated_on_all_of_it)
{
    check_evaluation(0, LENGTH, 0, PLACES / WINDOW);
    check_evaluation(0, PLACES + 1, 0, 1);
}
END_TEST

START_TEST(a_tail_that_is_shorter_than_a_window_has_no_rows)
{
    rt_data_options o = ruler(0.2);
    rt_data *data = opened(&o);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 52), 0);
    rt_data_close(data);
}
END_TEST

START_TEST(a_window_that_begins_again_has_other_masks)
{
    rt_data_options o = ruler(0.2);
    rt_data *data = opened(&o);
    rt_batch batch = new_batch(14, LENGTH);
    rt_data_evaluation(data, 0, &batch);
    ck_assert(!same_rows(&batch, 0, &batch, 7, 7));
    free_batch(batch);
    rt_data_close(data);
}
END_TEST

/* Twenty letters in an order that does not matter here. */
enum { LETTERS = 20, LONG_TEXT = 4000, LONG_LENGTH = 101, MANY = 1000 };

static rt_data *open_letters(double mask_probability)
{
    static char text[LONG_TEXT];
    for (int i = 0; i < LONG_TEXT; i++)
        text[i] = (char)('a' + i * 7 % LETTERS);
    rt_data_options o = options_for("text");
    o.length = LONG_LENGTH;
    o.mask_probability = mask_probability;
    set_file(&o, write_file(in_folder("a"), text, sizeof text));
    return opened(&o);
}

/* A count of n draws must lie within four deviations of what its probability says. */
static void expect_share(const char *what, int count, int n, double p)
{
    double deviation = sqrt(n * p * (1 - p));
    ck_assert_msg(fabs(count - n * p) < 4 * deviation, "%s: expected %.0f of %d; got %d", what,
                  n * p, n, count);
}

/* One in twenty of the random units is what stood there. */
START_TEST(chosen_units_are_hidden_as_in_bert)
{
    rt_data *data = open_letters(0.15);
    rt_batch batch = new_batch(MANY, LONG_LENGTH);
    int chosen = 0, masked = 0, stayed = 0, other = 0, units[LETTERS] = {0};
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
        units[batch.ids[i] - RT_FIRST_SYMBOL]++;
    }
    expect_share("chosen", chosen, MANY * (LONG_LENGTH - 1), 0.15);
    expect_share("[MASK]", masked, chosen, 0.8);
    expect_share("stayed", stayed, chosen, 0.1 + 0.1 / LETTERS);
    expect_share("other", other, chosen, 0.1 - 0.1 / LETTERS);
    ck_assert_double_lt(chi_squared(units, LETTERS, other), LETTERS - 1 + 5 * sqrt(2.0 * LETTERS));
    free_batch(batch);
    rt_data_close(data);
}
END_TEST

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

START_TEST(every_unit_is_chosen_when_the_probability_is_one)
{
    rt_data *data = open_letters(1);
    rt_batch batch = new_batch(10, LONG_LENGTH);
    int last;
    rt_data_training(data, 1, 0, 0, &batch);
    for (int r = 0; r < 10; r++)
        ck_assert_int_eq(labels_of(&batch, r, &last), LONG_LENGTH - 1);
    free_batch(batch);
    rt_data_close(data);
}
END_TEST

START_TEST(no_sequence_is_without_a_label)
{
    rt_data *data = open_letters(1e-12);
    rt_batch batch = new_batch(MANY, 11);
    int counts[11] = {0};
    rt_data_training(data, 1, 0, 0, &batch);
    for (int r = 0; r < MANY; r++) {
        int last = 0;
        ck_assert_int_eq(labels_of(&batch, r, &last), 1);
        counts[last]++;
    }
    ck_assert_int_eq(counts[0], 0);
    ck_assert_double_lt(chi_squared(counts + 1, 10, MANY), 9 + 5 * sqrt(20));
    free_batch(batch);
    rt_data_close(data);
}
END_TEST

START_TEST(the_alphabet_is_the_bytes_that_occur_in_ascending_order)
{
    static const uint8_t text[] = {'b', 0xff, 'a', 0, 'b', 0xff, 'c', 'a'};
    static const uint8_t expected[] = {0, 'a', 'b', 'c', 0xff};
    rt_data_options o = options_for("text");
    o.length = 2;
    o.eval_fraction = 0.5;
    set_file(&o, write_file(in_folder("a"), text, sizeof text));
    rt_data *data = opened(&o);
    const rt_alphabet *alphabet = rt_data_alphabet(data);
    ck_assert_int_eq(alphabet->count, 5);
    ck_assert_int_eq(rt_data_vocab(data), 9);
    ck_assert_mem_eq(alphabet->units, expected, sizeof expected);
    rt_alphabet again = rt_alphabet_of(alphabet->units, (size_t)alphabet->count);
    ck_assert_mem_eq(&again, alphabet, sizeof again);
    rt_data_close(data);
}
END_TEST

START_TEST(a_text_of_all_bytes_has_260_tokens)
{
    uint8_t text[512];
    for (int i = 0; i < 512; i++)
        text[i] = (uint8_t)(i / 2);
    rt_alphabet alphabet = rt_alphabet_of(text, sizeof text);
    ck_assert_int_eq(alphabet.count, 256);
    ck_assert_int_eq(alphabet.ids[255], 259);
    ck_assert_int_eq(rt_alphabet_decode(&alphabet, 259), 255);
    ck_assert_int_eq(rt_alphabet_of(text, 0).count, 0);
}
END_TEST

START_TEST(decoding_gives_back_what_was_encoded)
{
    static const char text[] = "hello\xc3\xa9";
    rt_alphabet alphabet = rt_alphabet_of((const uint8_t *)text, sizeof text - 1);
    int32_t ids[sizeof text - 1];
    rt_status status = rt_alphabet_encode(&alphabet, text, sizeof text - 1, ids);
    ck_assert_int_eq(status.code, RT_OK);
    for (size_t i = 0; i < sizeof text - 1; i++)
        ck_assert_int_eq(rt_alphabet_decode(&alphabet, ids[i]), (uint8_t)text[i]);
    ck_assert_int_eq(rt_alphabet_decode(&alphabet, RT_ID_MASK), -1);
    ck_assert_int_eq(rt_alphabet_decode(&alphabet, RT_FIRST_SYMBOL + alphabet.count), -1);
    ck_assert_int_eq(rt_alphabet_decode(&alphabet, INT32_MIN), -1);
    ck_assert_int_eq(rt_alphabet_decode(&alphabet, INT32_MAX), -1);
}
END_TEST

START_TEST(encoding_names_a_byte_outside_the_alphabet)
{
    rt_alphabet alphabet = rt_alphabet_of((const uint8_t *)"abc", 3);
    int32_t ids[4];
    rt_status status = rt_alphabet_encode(&alphabet, "abzc", 4, ids);
    ck_assert_int_eq(status.code, RT_ARGUMENT);
    ck_assert_str_eq(status.message, "'z' at byte 2 does not occur in the training text");
    status = rt_alphabet_encode(&alphabet, "\n", 1, ids);
    ck_assert_str_eq(status.message, "byte 0x0a at byte 0 does not occur in the training text");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tests = leak_checked_case(suite, "text");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, training_windows_begin_anywhere_before_the_tail);
    tcase_add_test(tests, evaluation_windows_go_through_the_tail_and_begin_again);
    tcase_add_test(tests, a_text_without_a_tail_is_evaluated_on_all_of_it);
    tcase_add_test(tests, a_tail_that_is_shorter_than_a_window_has_no_rows);
    tcase_add_test(tests, a_window_that_begins_again_has_other_masks);
    tcase_add_test(tests, chosen_units_are_hidden_as_in_bert);
    tcase_add_test(tests, every_unit_is_chosen_when_the_probability_is_one);
    tcase_add_test(tests, no_sequence_is_without_a_label);
    tcase_add_test(tests, the_alphabet_is_the_bytes_that_occur_in_ascending_order);
    tcase_add_test(tests, a_text_of_all_bytes_has_260_tokens);
    tcase_add_test(tests, decoding_gives_back_what_was_encoded);
    tcase_add_test(tests, encoding_names_a_byte_outside_the_alphabet);
    return run_suite(suite);
}
