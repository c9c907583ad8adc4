/* The toy tasks, recomputed from their definition. */

#include "samples.h"

#include <math.h>

enum { ROWS = 16, STEPS = 4 };

static const int lengths[] = {4, 5, 6, 7, 8, 15, 32, 33, 129};
static const int vocabs[] = {6, 7, 32, 1000};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* One row of a batch. */
typedef struct row {
    const rt_data_options *options;
    int length;
    const int32_t *ids, *labels;
    const uint8_t *mask;
} row;

static void check_symbol(row x, int t)
{
    ck_assert_msg(x.ids[t] >= 4 && x.ids[t] < x.options->vocab && x.mask[t] == 1,
                  "expected a symbol below %d at %d; got %d", x.options->vocab, t, x.ids[t]);
}

/* [CLS] symbols [SEP] [MASK]s and padding, and labels nowhere but at [MASK]. */
static int check_question(row x)
{
    int n = (x.length - 2) / 2;
    for (int t = 0; t < x.length; t++) {
        if (t >= 1 && t <= n) {
            check_symbol(x, t);
        } else {
            int id = t == 0 ? 1 : t == n + 1 ? 3 : t < 2 * n + 2 ? 2 : 0;
            ck_assert_msg(x.ids[t] == id, "length %d: expected id %d at %d; got %d", x.length, id,
                          t, x.ids[t]);
            ck_assert_int_eq(x.mask[t], id != 0);
        }
        if (x.ids[t] != 2)
            ck_assert_int_eq(x.labels[t], RT_NO_LABEL);
    }
    return n;
}

static void check_copy(row x)
{
    int n = check_question(x);
    for (int i = 1; i <= n; i++)
        ck_assert_int_eq(x.labels[n + 1 + i], x.ids[i]);
}

static void check_reverse(row x)
{
    int n = check_question(x);
    for (int i = 1; i <= n; i++)
        ck_assert_int_eq(x.labels[n + 1 + i], x.ids[n + 1 - i]);
}

/* The i-th label is the i-th smallest: fewer than i symbols are below it, and at least i are
 * not above it. */
static void check_sort(row x)
{
    int n = check_question(x);
    for (int i = 1; i <= n; i++) {
        int below = 0, not_above = 0;
        for (int j = 1; j <= n; j++) {
            below += x.ids[j] < x.labels[n + 1 + i];
            not_above += x.ids[j] <= x.labels[n + 1 + i];
        }
        ck_assert_msg(below < i && not_above >= i, "label %d of %d is %d: %d below, %d not above",
                      i, n, x.labels[n + 1 + i], below, not_above);
    }
}

static void check_shift(row x)
{
    int distance = x.options->distance;
    ck_assert_int_eq(x.ids[0], 1);
    ck_assert_int_eq(x.mask[0], 1);
    for (int t = 1; t < x.length; t++)
        check_symbol(x, t);
    for (int t = 0; t < x.length; t++)
        ck_assert_int_eq(x.labels[t], t > distance ? x.ids[t - distance] : RT_NO_LABEL);
}

static void check_batch(const rt_data_options *o, const rt_batch *batch, void (*check)(row))
{
    for (int r = 0; r < batch->rows; r++) {
        size_t at = (size_t)r * (size_t)batch->length;
        check((row){o, batch->length, batch->ids + at, batch->labels + at, batch->mask + at});
    }
}

/* Training and evaluation, and evaluation at twice the length. */
static void check_draws(const rt_data_options *o, void (*check)(row))
{
    rt_data *data = opened(o);
    rt_batch batch = new_batch(ROWS, o->length), longer = new_batch(ROWS, 2 * o->length);
    for (uint32_t step = 0; step < STEPS; step++) {
        rt_data_training(data, 7, step, 3, &batch);
        check_batch(o, &batch, check);
    }
    rt_data_evaluation(data, 0, &batch);
    check_batch(o, &batch, check);
    rt_data_evaluation(data, 0, &longer);
    check_batch(o, &longer, check);
    free_batch(batch);
    free_batch(longer);
    rt_data_close(data);
}

static void check_task(const char *name, void (*check)(row))
{
    for (int i = 0; i < COUNT(lengths); i++)
        for (int j = 0; j < COUNT(vocabs); j++) {
            rt_data_options o = options_for(name);
            o.length = lengths[i];
            o.vocab = vocabs[j];
            o.distance = 1;
            check_draws(&o, check);
        }
}

START_TEST(copy_asks_for_the_symbols_in_their_order)
{
    check_task("copy", check_copy);
}
END_TEST

START_TEST(reverse_asks_for_the_symbols_from_the_last_to_the_first)
{
    check_task("reverse", check_reverse);
}
END_TEST

START_TEST(sort_asks_for_the_symbols_from_the_smallest_to_the_largest)
{
    check_task("sort", check_sort);
}
END_TEST

START_TEST(shift_asks_for_the_symbol_at_a_distance)
{
    check_task("shift", check_shift);
    for (int distance = 1; distance <= 30; distance++) {
        rt_data_options o = options_for("shift");
        o.distance = distance;
        check_draws(&o, check_shift);
    }
}
END_TEST

START_TEST(a_long_sequence_is_sorted)
{
    rt_data_options o = options_for("sort");
    o.length = 20000;
    o.vocab = 5000;
    rt_data *data = opened(&o);
    rt_batch batch = new_batch(1, o.length);
    rt_data_training(data, 1, 0, 0, &batch);
    int n = (o.length - 2) / 2;
    long difference = 0;
    for (int i = 1; i <= n; i++) {
        difference += batch.labels[n + 1 + i] - batch.ids[i];
        if (i > 1)
            ck_assert_int_ge(batch.labels[n + 1 + i], batch.labels[n + i]);
    }
    ck_assert_int_eq(difference, 0);
    free_batch(batch);
    rt_data_close(data);
}
END_TEST

/* Eight symbols. What is counted are pairs: those beside each other, those of one place in
 * sequences that follow each other, and those of one place in steps that follow each other.
 * The numbers are the same in every run; the bound is five deviations. */
START_TEST(symbols_are_uniform_and_independent)
{
    enum { SYMBOLS = 8, CELLS = SYMBOLS * SYMBOLS, BATCH = 500 };
    rt_data_options o = options_for("shift");
    o.vocab = SYMBOLS + 4;
    rt_data *data = opened(&o);
    rt_batch batch = new_batch(BATCH, o.length), next = new_batch(BATCH, o.length);
    rt_data_training(data, 1, 0, 0, &batch);
    rt_data_training(data, 1, 1, 0, &next);
    int beside[CELLS] = {0}, below[CELLS] = {0}, later[CELLS] = {0}, draws = 0;
    for (int r = 0; r < BATCH - 1; r++)
        for (int t = 1; t < o.length - 1; t++, draws++) {
            int at = r * o.length + t, first = (batch.ids[at] - 4) * SYMBOLS - 4;
            beside[first + batch.ids[at + 1]]++;
            below[first + batch.ids[at + o.length]]++;
            later[first + next.ids[at]]++;
        }
    double bound = CELLS - 1 + 5 * sqrt(2.0 * CELLS);
    ck_assert_double_lt(chi_squared(beside, CELLS, draws), bound);
    ck_assert_double_lt(chi_squared(below, CELLS, draws), bound);
    ck_assert_double_lt(chi_squared(later, CELLS, draws), bound);
    free_batch(batch);
    free_batch(next);
    rt_data_close(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tasks");
    TCase *tests = leak_checked_case(suite, "tasks");
    tcase_add_test(tests, copy_asks_for_the_symbols_in_their_order);
    tcase_add_test(tests, reverse_asks_for_the_symbols_from_the_last_to_the_first);
    tcase_add_test(tests, sort_asks_for_the_symbols_from_the_smallest_to_the_largest);
    tcase_add_test(tests, shift_asks_for_the_symbol_at_a_distance);
    tcase_add_test(tests, a_long_sequence_is_sorted);
    tcase_add_test(tests, symbols_are_uniform_and_independent);
    return run_suite(suite);
}
