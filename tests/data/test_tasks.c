/* The toy tasks, recomputed from their definition. */

#include "data/labelled_batch.h"
#include "samples.h"

enum { ROWS = 16, STEPS = 4 };

static const int lengths[] = {4, 5, 6, 7, 8, 15, 32, 33, 129};
static const int vocabs[] = {6, 7, 32, 1000};

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
    const int n = check_question(x);
    for (int i = 1; i <= n; i++)
        ck_assert_int_eq(x.labels[n + 1 + i], x.ids[i]);
}

static void check_reverse(row x)
{
    int n = check_question(x);
    for (int i = 1; i <= n; i++)
        ck_assert_int_eq(x.labels[n + 1 + i], x.ids[n + 1 - i]);
}

/* Label i is the i-th smallest: fewer than i symbols are below it, at least i are not above it. */
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

/* [CLS] x + y [SEP] [MASK]s and padding; the labels are the digits of x + y. */
static void check_addition(row x)
{
    const int n = (x.length - 4) / 3, end = 2 * n + 2;
    long long terms[2] = {0}, sum = 0;
    if (n > 17)
        return;
    for (int t = 0; t < x.length; t++) {
        const bool digit = t > 0 && t < end && t != n + 1, masked = t > end && t <= end + n + 1;
        const int id = t == 0 ? 1 : t == n + 1 ? 14 : t == end ? 3 : masked ? 2 : 0;
        ck_assert(digit ? x.ids[t] >= 4 && x.ids[t] < 14 : x.ids[t] == id);
        ck_assert_int_eq(x.mask[t], digit || id);
        ck_assert_int_eq(x.labels[t] != RT_NO_LABEL, masked);
        if (digit)
            terms[t > n] = 10 * terms[t > n] + x.ids[t] - 4;
        if (masked)
            sum = 10 * sum + x.labels[t] - 4;
    }
    ck_assert_int_eq(terms[0] + terms[1], sum);
}

static void check_shift(row x)
{
    int distance = x.options->distance;
    for (int t = 1; t < x.length; t++)
        check_symbol(x, t);
    for (int t = 0; t < x.length; t++)
        ck_assert_int_eq(x.labels[t], t > distance ? x.ids[t - distance] : RT_NO_LABEL);
}

/* The sums so far modulo 2, or 5. */
static void check_sums(row x)
{
    const int n = x.options->task == task_named("parity") ? 2 : 5;
    int sum = 0;
    ck_assert_int_eq(x.labels[0], RT_NO_LABEL);
    for (int t = 1; t < x.length; t++) {
        check_symbol(x, t);
        sum += x.ids[t] - 4;
        ck_assert_int_eq(x.labels[t], 4 + sum % n);
    }
}

static int count_of(row x, int first, int last, int32_t symbol)
{
    int count = 0;
    for (int i = first; i <= last; i++)
        count += x.ids[i] == symbol;
    return count;
}

/* No symbol of the window occurs more often, and none that stands nearer as often. */
static void check_majority(row x)
{
    const int width = x.options->distance;
    for (int t = 1; t < x.length; t++) {
        const int first = t - width + 1;
        check_symbol(x, t);
        if (t < width) {
            ck_assert_int_eq(x.labels[t], RT_NO_LABEL);
            continue;
        }
        const int most = count_of(x, first, t, x.labels[t]);
        bool passed = false;
        ck_assert_int_gt(most, 0);
        for (int i = t; i >= first; i--) {
            passed |= x.ids[i] == x.labels[t];
            ck_assert_int_le(count_of(x, first, t, x.ids[i]), passed ? most : most - 1);
        }
    }
}

/* The queried key occurs once, since all keys differ. Its value is the label. */
static void check_recall(row x)
{
    int p = (x.length - 4) / 2, end = 2 * p + 1, found = 0;
    const int32_t wish[] = {3, x.ids[end + 1], 2, 0};
    for (int t = 1; t < end; t++)
        check_symbol(x, t);
    for (int t = end; t < x.length; t++)
        ck_assert_int_eq(x.ids[t], wish[t - end]);
    for (int t = 0; t < x.length; t++) {
        ck_assert_int_eq(x.mask[t], t < end + 3);
        if (t != end + 2)
            ck_assert_int_eq(x.labels[t], RT_NO_LABEL);
    }
    for (int i = 0; i < p; i++) {
        for (int j = 0; j < i; j++)
            ck_assert_int_ne(x.ids[1 + 2 * i], x.ids[1 + 2 * j]);
        if (x.ids[1 + 2 * i] != x.ids[end + 1])
            continue;
        found++;
        ck_assert_int_eq(x.labels[end + 2], x.ids[2 + 2 * i]);
    }
    ck_assert_int_eq(found, 1);
}

static int place_of(row x, int first, int last, int32_t id)
{
    while (first <= last && x.ids[first] != id)
        first++;
    return first;
}

/* The keys of the pairs differ and belong to the first half of the symbols. Each is queried once
 * after the pairs, at an even distance from the first query. */
static void check_mqar(row x)
{
    const int p = x.options->pairs, middle = 4 + (x.options->vocab - 4) / 2;
    int asked = 0;
    for (int t = 1; t < x.length; t++)
        check_symbol(x, t);
    for (int i = 0; i < p; i++) {
        ck_assert_int_lt(x.ids[1 + 2 * i], middle);
        ck_assert_int_ge(x.ids[2 + 2 * i], middle);
        ck_assert_int_eq(count_of(x, 1, 2 * p, x.ids[1 + 2 * i]), 1);
    }
    for (int t = 0; t < x.length; t++) {
        if (x.labels[t] == RT_NO_LABEL)
            continue;
        const int key = place_of(x, 1, 2 * p, x.ids[t]);
        ck_assert(t > 2 * p && (t - 2 * p) % 2 == 1 && key < 2 * p);
        ck_assert_int_eq(x.labels[t], x.ids[key + 1]);
        for (int before = 0; before < t; before++)
            ck_assert(x.labels[before] == RT_NO_LABEL || x.ids[before] != x.ids[t]);
        asked++;
    }
    ck_assert_int_eq(asked, p);
}

/* The symbols repeat after n, which is where labels begin; each is the symbol that follows. */
static void check_induction(row x)
{
    const int T = x.length - 1;
    int n = 0;
    while (x.labels[n] == RT_NO_LABEL)
        n++;
    n--;
    ck_assert(4 * n >= T && 2 * n <= T);
    for (int t = 1; t <= T; t++) {
        check_symbol(x, t);
        if (t > n)
            ck_assert_int_eq(x.ids[t], x.ids[t - n]);
        ck_assert_int_eq(x.labels[t], t > n && t < T ? x.ids[t + 1] : RT_NO_LABEL);
    }
}

/* The 4 stands before the passkey and at the end, and nowhere else. */
static void check_passkey(row x)
{
    const int end = x.length - 2;
    const int place = place_of(x, 1, end - 1, 4);
    ck_assert_int_lt(place, end - 1);
    ck_assert_int_eq(x.ids[end], 4);
    ck_assert_int_eq(x.ids[end + 1], 2);
    for (int t = 1; t < end; t++) {
        check_symbol(x, t);
        ck_assert(t == place || x.ids[t] >= 5);
    }
    for (int t = 0; t < x.length; t++)
        ck_assert_int_eq(x.labels[t], t == end + 1 ? x.ids[place + 1] : RT_NO_LABEL);
}

static void check_order(row x)
{
    int counts[2] = {0}, places[2] = {0};
    for (int t = 1; t < x.length; t++) {
        check_symbol(x, t);
        ck_assert_int_eq(x.labels[t], RT_NO_LABEL);
        if (x.ids[t] > 5)
            continue;
        counts[x.ids[t] - 4]++;
        places[x.ids[t] - 4] = t;
    }
    ck_assert(counts[0] == 1 && counts[1] == 1);
    ck_assert_int_eq(x.labels[0], places[0] < places[1] ? 1 : 0);
}

static void check_repeating(row x)
{
    int labels = 0;
    ck_assert_int_eq(x.labels[0], RT_NO_LABEL);
    for (int t = 1; t < x.length; t++) {
        ck_assert_int_eq(x.mask[t], 1);
        if (x.labels[t] == RT_NO_LABEL)
            check_symbol(x, t);
        else
            ck_assert(x.labels[t] >= 4 && x.labels[t] < x.options->vocab);
        labels += x.labels[t] != RT_NO_LABEL;
    }
    ck_assert_int_ge(labels, 1);
}

static void check_batch(const rt_data_options *o, const rt_batch *batch, void (*check)(row))
{
    for (int r = 0; r < batch->rows; r++) {
        size_t at = (size_t)r * (size_t)batch->length;
        ck_assert(batch->ids[at] == RT_ID_CLS && batch->mask[at] == 1);
        check((row){o, batch->length, batch->ids + at, batch->labels + at, batch->mask + at});
    }
}

/* Training and evaluation, and evaluation at twice the length. */
static void check_draws(const rt_data_options *o, void (*check)(row))
{
    rt_data *data = source(o);
    rt_batch batch = batch_of(ROWS, o->length), longer = batch_of(ROWS, 2 * o->length);
    for (uint32_t step = 0; step < STEPS; step++) {
        rt_data_training(data, 7, step, 3, &batch);
        check_batch(o, &batch, check);
    }
    rt_data_evaluation(data, 0, &batch);
    check_batch(o, &batch, check);
    rt_data_evaluation(data, 0, &longer);
    check_batch(o, &longer, check);
}

static void check_task(const char *name, void (*check)(row))
{
    for (int i = 0; i < ROWS(lengths) * ROWS(vocabs); i++) {
        rt_data_options o = options_with(name, "period=2"), longer;
        o.length = lengths[i / ROWS(vocabs)];
        o.vocab = vocabs[i % ROWS(vocabs)];
        o.distance = o.pairs = 1;
        longer = o;
        longer.length *= 2;
        if (!rt_data_check(&o).code && !rt_data_check(&longer).code)
            check_draws(&o, check);
    }
}

#define OPTION(name) offsetof(rt_data_options, name)

/* Tasks, and an option that is set to every number of a range, at a length. */
static const struct {
    const char *name;
    void (*check)(row);
    size_t option;
    int first, last, length;
} tasks[] = {
    {"copy", check_copy, 0, 0, 0, 0},
    {"reverse", check_reverse, 0, 0, 0, 0},
    {"sort", check_sort, 0, 0, 0, 0},
    {"addition", check_addition, 0, 0, 0, 0},
    {"parity", check_sums, 0, 0, 0, 0},
    {"modular_sum", check_sums, 0, 0, 0, 0},
    {"recall", check_recall, 0, 0, 0, 0},
    {"induction", check_induction, 0, 0, 0, 0},
    {"passkey", check_passkey, 0, 0, 0, 0},
    {"shift", check_shift, OPTION(distance), 1, 30, 32},
    {"mqar", check_mqar, OPTION(pairs), 1, 12, 130},
    {"order", check_order, OPTION(length), 3, 4, 32},
    {"majority", check_majority, OPTION(distance), 1, 31, 32},
    {"period", check_repeating, 0, 0, 0, 0},
    {"spin", check_repeating, 0, 0, 0, 0},
};

TEST_ROWS(a_task_draws_the_sequences_of_its_definition, 0, ROWS(tasks))
{
    check_task(tasks[_i].name, tasks[_i].check);
    for (int value = tasks[_i].first; value && value <= tasks[_i].last; value++) {
        rt_data_options o = options_for(tasks[_i].name);
        o.length = tasks[_i].length;
        *(int *)((char *)&o + tasks[_i].option) = value;
        check_draws(&o, tasks[_i].check);
    }
}

/* Restores the masks of an answered question; each token of the answer is predicted by the one
 * before it, and the last one predicts [SEP]. Returns its length. */
static int mask_answer(int32_t *ids, int32_t *labels, const uint8_t *mask, int length)
{
    int tokens = 0, first = 0;
    while (tokens < length && mask[tokens])
        tokens++;
    for (int t = tokens; t < length; t++)
        ck_assert(ids[t] == 0 && !mask[t] && labels[t] == RT_NO_LABEL);
    while (labels[first] == RT_NO_LABEL)
        first++;
    ck_assert_int_eq(ids[first], 3);
    ck_assert_int_eq(labels[tokens - 1], 3);
    for (int t = tokens - 1; t > first; t--) {
        ck_assert_int_eq(labels[t - 1], ids[t]);
        labels[t] = ids[t];
        ids[t] = 2;
    }
    labels[first] = RT_NO_LABEL;
    return tokens;
}

TEST_ROWS(questions_of_every_length_label_each_token_of_the_answer, 0, 4)
{
    enum { MANY = 400 };
    static const struct {
        int task, around, each;
    } asked[] = {{0, 2, 2}, {1, 2, 2}, {2, 2, 2}, {3, 4, 3}};
    rt_data_options o = options_for(tasks[asked[_i].task].name);
    o.shortest = 9;
    o.length = 23;
    rt_data *data = source(&o);
    rt_batch some = batch_of(MANY, 23), longer = batch_of(4, 32), one = batch_of(1, 23);
    int counts[24] = {0}, sizes = 0;
    ck_assert(data->options.shortest && data->varies);
    rt_data_training(data, 7, 1, 5, &some);
    rt_data_training(data, 7, 1, 5 + MANY - 1, &one);
    ck_assert(same_rows(&some, MANY - 1, &one, 0, 1));
    for (int r = 0; r < MANY + 4; r++) {
        rt_batch *b = r < MANY ? &some : &longer;
        const size_t at = (size_t)(r < MANY ? r : r - MANY) * (size_t)b->length;
        if (r == MANY)
            rt_data_evaluation(data, 0, &longer);
        const int tokens = mask_answer(b->ids + at, b->labels + at, b->mask + at, b->length);
        tasks[asked[_i].task].check((row){&o, tokens, b->ids + at, b->labels + at, b->mask + at});
        if (r < MANY)
            counts[tokens]++;
        else /* at another length all have the most symbols that fit */
            ck_assert_int_gt(tokens + asked[_i].each, 32);
    }
    for (int tokens = 0; tokens < 24; tokens++) {
        const int symbols = tokens - asked[_i].around;
        const bool fits = symbols >= 9 - asked[_i].around - asked[_i].each + 1 && symbols > 0 &&
                          symbols % asked[_i].each == 0;
        ck_assert_int_eq(counts[tokens] > 0, fits);
        sizes += fits;
    }
    for (int tokens = 0; tokens < 24; tokens++) /* five standard deviations */
        ck_assert(!counts[tokens] || abs(counts[tokens] - MANY / sizes) < 5 * 7);
}

TEST_ROWS(a_label_is_the_token_at_its_distance, 0, 4)
{
    static const char *const names[] = {"recall", "mqar", "induction", "passkey"};
    rt_data_options o = options_with(names[_i], "vocab=64 length=48 pairs=3");
    rt_data *data = source(&o);
    rt_batch b = batch_of(ROWS, 48);
    b.distances = batch_array(sizeof(int32_t) * ROWS * 48);
    ck_assert(data->task->distances);
    rt_data_training(data, 7, 1, 0, &b);
    for (int i = 0; i < ROWS * 48; i++) {
        ck_assert(b.distances[i] >= 0 && b.distances[i] <= i % 48);
        ck_assert_int_eq(b.distances[i] > 0, b.labels[i] != RT_NO_LABEL);
        if (b.distances[i])
            ck_assert_int_eq(b.labels[i], b.ids[i - b.distances[i]]);
    }
}

static void free_rows(void *rows)
{
    rt_labelled_batch_free(rows);
    rt_free(rows);
}

static rt_labelled_batch *random_rows(int rows, int length, int most)
{
    rt_labelled_batch *b = owned(rt_alloc(1, sizeof *b), free_rows);
    expect_ok(rt_labelled_batch_new(b, rows, length, 0, NULL));
    expect_ok(rt_labelled_batch_randomize(b, most, NULL));
    return b;
}

/* Rows of 4 to 20 tokens at positions of 0 ... 39: every position is as likely as every other. */
TEST(random_positions_ascend_and_belong_to_their_row)
{
    enum { MANY = 3000, MOST = 40, T = 20 };
    rt_data_options o = options_for("copy");
    o.length = T;
    o.shortest = 4;
    rt_data *data = source(&o);
    rt_labelled_batch *many = random_rows(MANY, T, MOST), *one = random_rows(1, T, MOST);
    int counts[MOST] = {0}, tokens = 0, differ = 0;
    rt_draw_training(many, data, 7, 1, 0);
    for (int r = 0; r < MANY; r++) {
        const double *at = many->positions + r * T;
        const uint8_t *mask = many->batch.mask + r * T;
        double last = -1;
        for (int t = 0; t < T; last = at[t++]) {
            ck_assert(at[t] == floor(at[t]) && at[t] < MOST);
            ck_assert(mask[t] ? at[t] > last : at[t] == last);
            tokens += mask[t];
            counts[(int)at[t]] += mask[t];
        }
        if (r % 100)
            continue;
        rt_draw_training(one, data, 7, 1, (uint32_t)r);
        ck_assert(!memcmp(one->positions, at, (size_t)one->batch.length * sizeof *at));
        rt_draw_training(one, data, 7, 2, (uint32_t)r);
        differ += at[0] != one->positions[0] || at[1] != one->positions[1];
        rt_draw_evaluation(one, data, (uint32_t)r);
        differ += at[0] != one->positions[0] || at[1] != one->positions[1];
    }
    ck_assert_int_gt(differ, 50);
    for (int i = 0; i < MOST; i++) /* five standard deviations */
        ck_assert(abs(counts[i] - tokens / MOST) < 5 * 30);
}

TEST(as_few_positions_as_tokens_are_all_used_in_order)
{
    rt_data_options o = options_with("mqar", "length=48 pairs=3");
    rt_data *data = source(&o);
    rt_labelled_batch *b = random_rows(2, 48, 48);
    rt_draw_evaluation(b, data, 0);
    for (int i = 0; i < 96; i++)
        ck_assert(b->positions[i] == i % 48);
}

TEST(a_long_sequence_is_sorted)
{
    rt_data_options o = options_with("sort", "length=20000 vocab=5000");
    rt_data *data = source(&o);
    rt_batch batch = training_of(data, 1, o.length);
    int n = (o.length - 2) / 2;
    long difference = 0;
    for (int i = 1; i <= n; i++) {
        difference += batch.labels[n + 1 + i] - batch.ids[i];
        if (i > 1)
            ck_assert_int_ge(batch.labels[n + 1 + i], batch.labels[n + i]);
    }
    ck_assert_int_eq(difference, 0);
}

/* Counts pairs of eight symbols: neighbours, equal positions of consecutive sequences, and equal
 * positions of consecutive steps. The numbers are the same in every run; the bound is five
 * deviations. */
TEST(symbols_are_uniform_and_independent)
{
    enum { SYMBOLS = 8, CELLS = SYMBOLS * SYMBOLS, BATCH = 500 };
    rt_data_options o = options_for("shift");
    o.vocab = SYMBOLS + 4;
    rt_data *data = source(&o);
    rt_batch batch = training_of(data, BATCH, o.length), next = batch_of(BATCH, o.length);
    rt_data_training(data, 1, 1, 0, &next);
    int beside[CELLS] = {0}, below[CELLS] = {0}, later[CELLS] = {0}, draws = 0;
    for (int r = 0; r < BATCH - 1; r++)
        for (int t = 1; t < o.length - 1; t++, draws++) {
            int at = r * o.length + t, first = (batch.ids[at] - 4) * SYMBOLS - 4;
            beside[first + batch.ids[at + 1]]++;
            below[first + batch.ids[at + o.length]]++;
            later[first + next.ids[at]]++;
        }
    are_uniform(beside, CELLS, draws);
    are_uniform(below, CELLS, draws);
    are_uniform(later, CELLS, draws);
}

/* Probability that the slots of `pairs` queries, drawn one after the other from those that are
 * left, leave out the first slot. */
static double misses_first(const double *p, bool *taken, int pairs, double left)
{
    double sum = pairs ? 0 : 1;
    for (int slot = 1; pairs && slot < 27; slot++) {
        if (taken[slot])
            continue;
        taken[slot] = true;
        sum += p[slot] / left * misses_first(p, taken, pairs - 1, left - p[slot]);
        taken[slot] = false;
    }
    return sum;
}

/* The query of a pair is in slot g of 27 with a probability in proportion to (g + 1)^(a - 1), as
 * numpy.random.choice draws it for Zoology. */
TEST_ROWS(distances_of_mqar_follow_a_power_law, 1, 5)
{
    enum { DRAWS = 40000 };
    double p[27], sum = 0;
    bool taken[27] = {false};
    rt_data_options o = options_for("mqar");
    o.pairs = _i;
    o.length = 1 + 2 * _i + 2 * 27;
    o.vocab = 64;
    const rt_batch batch = training_of(source(&o), DRAWS, o.length);
    int slots[27] = {0};
    for (int r = 0; r < DRAWS; r++)
        for (int slot = 0; slot < 27; slot++)
            slots[slot] += batch.labels[r * o.length + 1 + 2 * _i + 2 * slot] != RT_NO_LABEL;
    for (int slot = 0; slot < 27; slot++)
        sum += p[slot] = pow(slot + 1, 0.01 - 1);
    const double first = 1 - misses_first(p, taken, _i, sum);
    ck_assert_double_le(fabs(slots[0] - DRAWS * first), 5 * sqrt(DRAWS * first * (1 - first)));
    for (int slot = 0; slot < 27 && _i == 1; slot++) {
        const double wish = DRAWS * p[slot] / sum;
        ck_assert_double_le(fabs(slots[slot] - wish), 5 * sqrt(wish));
    }
}

/* With 28 symbols the queried pair, the keys and their values are uniform. */
TEST(recall_is_uniform_in_its_question_keys_and_values)
{
    enum { SYMBOLS = 28, PAIRS = 14, DRAWS = 20000 };
    rt_data_options o = options_for("recall");
    rt_data *data = source(&o);
    int asked[PAIRS] = {0}, keys[SYMBOLS] = {0}, answers[SYMBOLS] = {0};
    static int together[PAIRS][SYMBOLS]; /* the question, and which symbols are keys */
    memset(together, 0, sizeof together);
    rt_batch batch = training_of(data, DRAWS, o.length);
    for (int r = 0; r < DRAWS; r++) {
        const int32_t *ids = batch.ids + r * o.length;
        int question = 0;
        for (int i = 0; i < PAIRS; i++)
            question = ids[1 + 2 * i] == ids[2 * PAIRS + 2] ? i : question;
        asked[question]++;
        for (int i = 0; i < PAIRS; i++)
            together[question][ids[1 + 2 * i] - 4]++;
        keys[ids[1 + 2 * (r % PAIRS)] - 4]++;
        answers[batch.labels[r * o.length + 2 * PAIRS + 3] - 4]++;
    }
    for (int q = 0; q < PAIRS; q++) /* half of the symbols are keys, whatever the question */
        for (int s = 0; s < SYMBOLS; s++)
            ck_assert_double_eq_tol((double)together[q][s] / asked[q], 0.5,
                                    5 * sqrt(0.25 / asked[q]));
    are_uniform(asked, PAIRS, DRAWS);
    are_uniform(keys, SYMBOLS, DRAWS);
    are_uniform(answers, SYMBOLS, DRAWS);
}

TEST(order_is_balanced)
{
    enum { PLACES = 6, PAIRS = PLACES * (PLACES - 1), DRAWS = 100 * PAIRS };
    rt_data_options o = options_for("order");
    o.length = PLACES + 1;
    rt_data *data = source(&o);
    int pairs[PAIRS] = {0}, answers[2] = {0};
    rt_batch batch = training_of(data, DRAWS, o.length);
    for (int r = 0; r < DRAWS; r++) {
        int places[2] = {0};
        for (int t = 1; t <= PLACES; t++)
            if (batch.ids[r * o.length + t] < 6)
                places[batch.ids[r * o.length + t] - 4] = t - 1;
        pairs[places[0] * (PLACES - 1) + places[1] - (places[1] > places[0])]++;
        answers[batch.labels[r * o.length]]++;
    }
    are_uniform(pairs, PAIRS, DRAWS);
    are_uniform(answers, 2, DRAWS);
}

enum { REPEATED = 10000, SHOWN_SYMBOLS = 12 };

/* Over many sequences, the share of places of a grid whose symbol stands again `right` columns and
 * `down` rows away. */
static double share_of_repeats(const rt_batch *batch, int columns, int right, int down)
{
    long same = 0, places = 0;
    for (int r = 0; r < batch->rows; r++)
        for (int line = 0; line + down < (batch->length - 1) / columns; line++)
            for (int column = right < 0 ? -right : 0; column < columns && column + right < columns;
                 column++, places++) {
                const int at = r * batch->length + 1 + line * columns + column;
                same += original(batch, at) == original(batch, at + down * columns + right);
            }
    return (double)same / (double)places;
}

/* Two symbols of a sequence are those of their places on the circle with probability p each, and
 * those are the same with probability `same`; all others are equal as often as any two symbols. */
static void expect_repeats(const rt_batch *batch, int columns, int right, int down, double p,
                           double same)
{
    const double share = share_of_repeats(batch, columns, right, down);
    const double expected = p * p * same + (1 - p * p * same) / SHOWN_SYMBOLS;
    ck_assert_msg(fabs(share - expected) < 4 * sqrt(expected / REPEATED),
                  "%d right, %d down: %.4f of the symbols stand there again, %.4f expected", right,
                  down, share, expected);
}

static rt_batch many_of(const rt_data_options *o)
{
    rt_batch batch = batch_of(REPEATED, o->length);
    rt_data_training(source(o), 5, 3, 0, &batch);
    return batch;
}

TEST(period_repeats_half_of_its_symbols_after_each_period)
{
    rt_data_options o = options_for("period");
    o.vocab = 4 + SHOWN_SYMBOLS;
    for (o.period = 2; o.period <= 7; o.period += 5) {
        const rt_batch batch = many_of(&o);
        for (int distance = 1; distance <= 15; distance++)
            expect_repeats(&batch, o.length - 1, distance, 0, 0.5, distance % o.period == 0);
    }
}

/* A task, its theta, the columns of its grid, and how many columns and rows away is looked. */
static const struct {
    const char *task;
    double theta, theta2;
    int columns, right, down;
} hands[] = {{"spin", 1.1, 0, 31, 17, 0},
             {"spin", 0.4, 0, 31, 17, 0},
             {"spin", 3.141592653589793, 0, 31, 17, 0},
             {"spin2", 1.1, 0.6, 6, 4, 4},
             {"spin2", 0.4, 2.5, 6, 4, 4},
             {"spin2", 0.2, 0.2, 6, 4, 4}};

/* With a random phase, two hands that are x cells apart are in one cell with probability 1 - x. */
TEST_ROWS(hands_turn_by_one_theta_per_column_and_another_per_row, 0, ROWS(hands))
{
    const double two_pi = 2 * acos(-1);
    const int columns = hands[_i].columns, far = hands[_i].right;
    rt_data_options o = options_for(hands[_i].task);
    o.vocab = 4 + SHOWN_SYMBOLS;
    o.length = 1 + columns * (hands[_i].down ? columns : 1);
    o.theta = hands[_i].theta;
    o.theta2 = hands[_i].theta2;
    const rt_batch batch = many_of(&o);
    for (int down = 0; down <= hands[_i].down; down++)
        for (int right = down ? -far : 1; right <= far; right++) {
            const double angle = fabs(remainder(o.theta * right + o.theta2 * down, two_pi));
            expect_repeats(&batch, columns, right, down, 0.6, fmax(0, 1 - 8 * angle / two_pi));
        }
}

TEST_ROWS(spin2_fills_a_grid_of_any_side, 3, 8)
{
    rt_data_options o = options_for("spin2");
    rt_batch shorter = batch_of(ROWS, 1 + _i * _i), longer = batch_of(ROWS, 1 + 4 * _i * _i);
    o.length = shorter.length;
    rt_data *data = source(&o);
    rt_data_training(data, 7, 0, 3, &shorter);
    check_batch(&o, &shorter, check_repeating);
    rt_data_evaluation(data, 0, &longer);
    check_batch(&o, &longer, check_repeating);
}

TEST_ROWS(repeating_tasks_have_the_labels_of_a_text, 0, 3)
{
    static const char *const names[] = {"period", "spin", "spin2"};
    enum { BATCH = 500 };
    rt_data_options o = options_with(names[_i], _i == 2 ? "length=37" : "");
    rt_batch batch = batch_of(BATCH, o.length);
    for (int objective = 0; objective < 2; objective++) {
        int labels = 0, hidden = 0;
        o.objective = objective ? RT_OBJECTIVE_LM : RT_OBJECTIVE_MLM;
        rt_data *data = source(&o);
        rt_data_training(data, 1, 0, 0, &batch);
        for (int i = 0; i < BATCH * o.length; i++) {
            labels += batch.labels[i] != RT_NO_LABEL;
            hidden += batch.ids[i] == 2;
            if (objective)
                ck_assert_int_eq(batch.labels[i],
                                 i % o.length == o.length - 1 ? RT_NO_LABEL : batch.ids[i + 1]);
        }
        const double share = labels / (double)(BATCH * (o.length - 1));
        ck_assert_double_eq_tol(share, objective ? 1 : 0.15, 0.02);
        ck_assert_double_eq_tol(hidden, objective ? 0 : 0.8 * labels, 0.03 * labels);
    }
}
