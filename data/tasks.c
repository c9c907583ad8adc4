#include "core/random.h"
#include "core/tensor.h"
#include "data/images.h"
#include "data/source.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The toy tasks. Each sequence begins with [CLS] as an anchor: RoPE encodes distances only, so the
 * start must be visible. Answers are at a distance from the tokens they repeat, because the
 * residual path alone could copy in place. */

/* Smallest vocabulary with symbols to distinguish. */
enum { TWO_SYMBOLS = RT_FIRST_SYMBOL + 2 };

static rt_random randomness(rt_draw draw)
{
    return (rt_random){draw.seed, draw.step, RT_STREAM_TASK};
}

/* Draws the random words of a position, or of a symbol that a sequence repeats. */
static void words_at(rt_draw draw, int index, uint32_t words[4])
{
    rt_random_words(randomness(draw), rt_draw_index(draw, index), words);
}

/* Returns a random number in 0 ... n-1. */
static int below(rt_draw draw, int position, int n)
{
    return (int)rt_random_below(randomness(draw), rt_draw_index(draw, position), (uint32_t)n);
}

/* Returns a random symbol from `first` on. */
static int32_t symbol_from(int32_t first, const rt_data *data, rt_draw draw, int position)
{
    return first + below(draw, position, data->vocab - first);
}

static int32_t symbol(const rt_data *data, rt_draw draw, int position)
{
    return symbol_from(RT_FIRST_SYMBOL, data, draw, position);
}

static void put(rt_sequence row, int position, int32_t id)
{
    row.ids[position] = id;
    row.mask[position] = 1;
}

/* Labels token t with the id of an earlier token. */
static void answer_with(rt_sequence row, int t, int source)
{
    row.labels[t] = row.ids[source];
    if (row.distances)
        row.distances[t] = t - source;
}

/* Symbols of a row and the positions of their labels, n each. */
typedef struct question {
    int n;
    const int32_t *symbols;
    int32_t *answers;
} question;

/* Draws the question [CLS] s_1 ... s_n [SEP] [MASK]*n, n = (length - 2) / 2. */
static question ask(const rt_data *data, rt_draw draw, rt_sequence row)
{
    int n = (row.length - 2) / 2;
    put(row, 0, RT_ID_CLS);
    put(row, n + 1, RT_ID_SEP);
    for (int i = 1; i <= n; i++) {
        put(row, i, symbol(data, draw, i));
        put(row, n + 1 + i, RT_ID_MASK);
    }
    return (question){n, row.ids + 1, row.labels + n + 2};
}

/* Draws copy: at the i-th [MASK], s_i. */
static void draw_copy(const rt_data *data, rt_draw draw, rt_sequence row)
{
    question q = ask(data, draw, row);
    memcpy(q.answers, q.symbols, (size_t)q.n * sizeof *q.answers);
}

/* Draws reverse: at the i-th [MASK], s_{n+1-i}. */
static void draw_reverse(const rt_data *data, rt_draw draw, rt_sequence row)
{
    question q = ask(data, draw, row);
    for (int i = 0; i < q.n; i++)
        q.answers[i] = q.symbols[q.n - 1 - i];
}

/* Sorts by Shell's method: in place, because drawing must not allocate, and fast for long
 * sequences. */
static void sort(int32_t *values, int n)
{
    for (int gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int i = gap; i < n; i++) {
            int32_t value = values[i];
            int j = i;
            for (; j >= gap && values[j - gap] > value; j -= gap)
                values[j] = values[j - gap];
            values[j] = value;
        }
}

/* Draws sort: at the i-th [MASK], the i-th smallest. */
static void draw_sort(const rt_data *data, rt_draw draw, rt_sequence row)
{
    question q = ask(data, draw, row);
    memcpy(q.answers, q.symbols, (size_t)q.n * sizeof *q.answers);
    sort(q.answers, q.n);
}

/* The ids of the digits 0 to 9 are those of the first ten symbols. */
enum { DIGITS = 10, PLUS = RT_FIRST_SYMBOL + DIGITS, ADDITION_VOCAB };

/* Draws addition: [CLS] x_1 ... x_n + y_1 ... y_n [SEP] [MASK]*(n + 1), n = (length - 4) / 3, two
 * decimal numbers of n digits; at the i-th [MASK], digit i of their sum, which has n + 1 digits. */
static void draw_addition(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int n = (row.length - 4) / 3, end = 2 * n + 2;
    int32_t *x = row.ids + 1, *y = row.ids + n + 2, *sum = row.labels + end + 1;
    (void)data;
    put(row, 0, RT_ID_CLS);
    for (int i = 1; i < end; i++)
        put(row, i, i == n + 1 ? PLUS : RT_FIRST_SYMBOL + below(draw, i, DIGITS));
    put(row, end, RT_ID_SEP);
    for (int i = n, carried = 0; i >= 0; i--) {
        const int digits = i ? x[i - 1] + y[i - 1] - 2 * RT_FIRST_SYMBOL + carried : carried;
        put(row, end + 1 + i, RT_ID_MASK);
        sum[i] = RT_FIRST_SYMBOL + digits % DIGITS;
        carried = digits / DIGITS;
    }
}

/* Draws shift: [CLS] s_1 ... s_n; at s_i, i > distance: s_{i-distance}. */
static void draw_shift(const rt_data *data, rt_draw draw, rt_sequence row)
{
    int distance = data->options.distance;
    put(row, 0, RT_ID_CLS);
    for (int i = 1; i < row.length; i++) {
        put(row, i, symbol(data, draw, i));
        if (i > distance)
            row.labels[i] = row.ids[i - distance];
    }
}

static void check_range(const rt_data_options *o, rt_rule_sink to, const char *key, int value,
                        int least, int most)
{
    if (value < least || value > most)
        rt_rule_broken(to, RT_OPTIONS("data.task", key, "data.length"),
                       "%s must be from %d to %d for %s with data.length %d; got %d", key, least,
                       most, rt_tasks[o->task].name, o->length, value);
}

static void check_shift(const rt_data_options *o, rt_rule_sink to)
{
    check_range(o, to, "data.distance", o->distance, 1, o->length - 2);
}

/* Returns the most frequent of s_first ... s_last; on a tie, the one nearest to s_last. */
static int32_t most_frequent(const int32_t *symbols, int first, int last)
{
    int most = 0;
    int32_t found = symbols[last];
    for (int i = last; i >= first; i--) {
        int count = 0;
        for (int j = first; j <= i; j++)
            count += symbols[j] == symbols[i];
        if (count > most) {
            most = count;
            found = symbols[i];
        }
    }
    return found;
}

/* Draws majority: [CLS] s_1 ... s_n; at s_i, i >= W = distance: the most frequent of s_{i-W+1} ...
 * s_i. */
static void draw_majority(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int width = data->options.distance;
    put(row, 0, RT_ID_CLS);
    for (int i = 1; i < row.length; i++) {
        put(row, i, symbol(data, draw, i));
        if (i >= width)
            row.labels[i] = most_frequent(row.ids, i - width + 1, i);
    }
}

enum { WIDEST = 64 }; /* limits the time per label, which is quadratic */

static void check_majority(const rt_data_options *o, rt_rule_sink to)
{
    check_range(o, to, "data.distance", o->distance, 1,
                o->length - 1 < WIDEST ? o->length - 1 : WIDEST);
}

/* Draws parity and modular_sum: [CLS] s_1 ... s_n; at s_i: the sum of s_1 ... s_i modulo the number
 * of the task. Symbols count from 0. */
static void draw_sums(const rt_data *data, rt_draw draw, rt_sequence row)
{
    int sum = 0;
    put(row, 0, RT_ID_CLS);
    for (int i = 1; i < row.length; i++) {
        put(row, i, symbol(data, draw, i));
        sum = (sum + row.ids[i] - RT_FIRST_SYMBOL) % data->task->modulus;
        row.labels[i] = RT_FIRST_SYMBOL + sum;
    }
}

static int pairs_of(int length)
{
    return (length - 4) / 2;
}

/* Draws p distinct keys from the first `symbols` symbols; all ordered choices have equal
 * probability. Floyd's method chooses the set: a symbol that was drawn before is replaced by the
 * last of the range. Swapping each new key with a random earlier one makes the order random. */
static void draw_keys(int symbols, rt_draw draw, int32_t *pairs, int p)
{
    assert(p <= symbols);
    for (int i = 0; i < p; i++) {
        uint32_t words[4];
        words_at(draw, 1 + 2 * i, words);
        int last = symbols - p + i;
        int32_t key = RT_FIRST_SYMBOL + rt_word_below(words[0], last + 1);
        for (int before = 0; before < i; before++)
            if (pairs[2 * before] == key) {
                key = RT_FIRST_SYMBOL + last;
                break;
            }
        int place = rt_word_below(words[1], i + 1);
        pairs[2 * i] = pairs[2 * place];
        pairs[2 * place] = key;
    }
}

/* Draws recall: [CLS] k_1 v_1 ... k_p v_p [SEP] k_q [MASK], p = (length - 4) / 2; at [MASK]: v_q.
 */
static void draw_recall(const rt_data *data, rt_draw draw, rt_sequence row)
{
    int p = pairs_of(row.length), end = 2 * p + 1;
    int32_t *pairs = row.ids + 1;
    int q = below(draw, 0, p);
    draw_keys(data->vocab - RT_FIRST_SYMBOL, draw, pairs, p);
    put(row, 0, RT_ID_CLS);
    for (int i = 0; i < p; i++) {
        put(row, 1 + 2 * i, pairs[2 * i]);
        put(row, 2 + 2 * i, symbol(data, draw, 2 + 2 * i));
    }
    put(row, end, RT_ID_SEP);
    put(row, end + 1, pairs[2 * q]);
    put(row, end + 2, RT_ID_MASK);
    answer_with(row, end + 2, 2 + 2 * q);
}

static void check_recall(const rt_data_options *o, rt_rule_sink to)
{
    int p = pairs_of(o->length), symbols = o->vocab - RT_FIRST_SYMBOL;
    if (p > symbols)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.vocab", "data.length"),
                       "data.vocab must be at least %d for recall with data.length %d, whose %d "
                       "keys are all different; got %d, which fits up to data.length %d",
                       RT_FIRST_SYMBOL + p, o->length, p, o->vocab, 2 * symbols + 5);
}

enum { ONE = RT_FIRST_SYMBOL, OTHER, FIRST_AROUND, ORDER_VOCAB };

/* Draws order: [CLS] and symbols, with one 4 and one 5 among them; at [CLS]: 1 if the 4 comes
 * first, else 0. */
static void draw_order(const rt_data *data, rt_draw draw, rt_sequence row)
{
    uint32_t words[4];
    words_at(draw, 0, words);
    int one = 1 + rt_word_below(words[0], row.length - 1);
    int other = 1 + rt_word_below(words[1], row.length - 2);
    other += other >= one;
    put(row, 0, RT_ID_CLS);
    for (int t = 1; t < row.length; t++)
        put(row, t, symbol_from(FIRST_AROUND, data, draw, t));
    row.ids[one] = ONE;
    row.ids[other] = OTHER;
    row.labels[0] = one < other;
}

/* Returns the number of keys of mqar: the first half of the symbols; the others are values. */
static int keys_of_vocab(int vocab)
{
    return (vocab - RT_FIRST_SYMBOL) / 2;
}

/* Returns the number of positions for a query of mqar: every other one after the pairs. */
static int slots_of(int length, int pairs)
{
    return (length - 1 - 2 * pairs) / 2;
}

/* Draws a slot g = k - 1 with probability proportional to k^(a - 1), k = 1 ... slots, a = 0.01: the
 * law of Zoology. Proposes the integer k nearest to a number of the continuous law, whose share
 * from k - 1/2 to k + 1/2 is at least that of k, and rejects the excess, less than 9 %. Returns -1
 * if it rejects. */
static int draw_slot(const uint32_t words[4], int slots)
{
    const double a = 0.01, least = pow(0.5, a), most = pow(slots + 0.5, a);
    const double x = pow(least + words[0] * 0x1p-32 * (most - least), 1 / a);
    const int k = x + 0.5 < slots ? (int)(x + 0.5) : slots;
    const double share = pow(k + 0.5, a) - pow(k - 0.5, a);
    return words[1] * 0x1p-32 * share < a * pow(k, a - 1) ? k - 1 : -1;
}

/* Puts the query of pair i into a random free slot, after 100 attempts into the next free one. With
 * three times as many slots as pairs, some of the last slots are free; one of 100 attempts is
 * likely to hit them. */
static void put_query(rt_draw draw, rt_sequence row, int i, int pairs)
{
    enum { ATTEMPTS = 100 };
    const int slots = slots_of(row.length, pairs), first = 1 + 2 * pairs;
    int slot = 0;
    for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
        uint32_t words[4];
        words_at(draw, attempt * row.length + i, words);
        const int drawn = draw_slot(words, slots);
        slot = drawn < 0 ? slot : drawn;
        if (drawn >= 0 && !row.mask[first + 2 * slot])
            break;
    }
    while (row.mask[first + 2 * slot])
        slot = (slot + 1) % slots;
    put(row, first + 2 * slot, row.ids[1 + 2 * i]);
    answer_with(row, first + 2 * slot, 2 + 2 * i);
}

/* Draws multi-query associative recall (Arora et al. 2023): [CLS] k_1 v_1 ... k_p v_p, p =
 * data.pairs, then every key once more among random symbols, at distances from a power law; at such
 * a key: its value. */
static void draw_mqar(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int p = data->options.pairs, keys = keys_of_vocab(data->vocab);
    assert(slots_of(row.length, p) >= 3 * p);
    put(row, 0, RT_ID_CLS);
    draw_keys(keys, draw, row.ids + 1, p);
    for (int i = 0; i < p; i++) {
        put(row, 1 + 2 * i, row.ids[1 + 2 * i]);
        put(row, 2 + 2 * i, symbol_from(RT_FIRST_SYMBOL + keys, data, draw, 2 + 2 * i));
    }
    for (int i = 0; i < p; i++)
        put_query(draw, row, i, p);
    for (int t = 1 + 2 * p; t < row.length; t++)
        if (!row.mask[t])
            put(row, t, symbol(data, draw, t));
}

static void check_mqar(const rt_data_options *o, rt_rule_sink to)
{
    const int keys = keys_of_vocab(o->vocab), slots = slots_of(o->length, o->pairs);
    if (o->pairs < 1 || o->pairs > keys)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.pairs", "data.vocab"),
                       "data.pairs must be from 1 to %d for mqar with data.vocab %d, half of whose "
                       "symbols are keys; got %d",
                       keys, o->vocab, o->pairs);
    else if (slots < 3 * o->pairs)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.pairs", "data.length"),
                       "data.length must be at least %d for mqar with data.pairs %d; got %d",
                       1 + 8 * o->pairs, o->pairs, o->length);
}

/* Draws induction (Olsson et al. 2022): [CLS] s_1 s_2 ... with period n, drawn for each sequence
 * from T/4 to T/2, T = length - 1; at s_t, t > n: the next symbol. */
static void draw_induction(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int T = row.length - 1, least = (T + 3) / 4;
    const int n = least + below(draw, 0, T / 2 - least + 1);
    put(row, 0, RT_ID_CLS);
    for (int t = 1; t <= T; t++) {
        put(row, t, t > n ? row.ids[t - n] : symbol(data, draw, t));
        if (t > n + 1)
            answer_with(row, t - 1, t - n);
    }
}

enum { MARK = RT_FIRST_SYMBOL, FIRST_OF_FILLER, PASSKEY_VOCAB = FIRST_OF_FILLER + 2 };

/* Draws passkey (Mohtashami and Jaggi 2023) with random filler: [CLS], the filler with a 4 and a
 * symbol k at a random position, and at the end a 4 and [MASK]; at [MASK]: k. */
static void draw_passkey(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const int end = row.length - 2;
    const int place = 1 + below(draw, 0, end - 2);
    put(row, 0, RT_ID_CLS);
    for (int t = 1; t < end; t++)
        put(row, t, symbol_from(FIRST_OF_FILLER, data, draw, t));
    put(row, place, MARK);
    put(row, end, MARK);
    put(row, end + 1, RT_ID_MASK);
    answer_with(row, end + 1, place + 1);
}

/* Draws [CLS] s_1 ... s_n: with the given probability s_t is symbol number which(t) of those drawn
 * for the sequence, else a random symbol. Uses words 0 and 1 of t for s_t, and word 2 of k for
 * symbol k of the sequence. */
static void repeat(const rt_data *data, rt_draw draw, rt_sequence row, double probability,
                   int (*which)(const rt_data *, rt_draw, int t, int length))
{
    const int symbols = data->vocab - RT_FIRST_SYMBOL;
    uint32_t words[4], own[4];
    put(row, 0, RT_ID_CLS);
    for (int t = 1; t < row.length; t++) {
        words_at(draw, t, words);
        words_at(draw, which(data, draw, t, row.length), own);
        const uint32_t word = words[0] * 0x1p-32 < probability ? own[2] : words[1];
        put(row, t, RT_FIRST_SYMBOL + rt_word_below(word, symbols));
    }
    rt_objective_apply(data, draw, row);
}

static int residue(const rt_data *data, rt_draw draw, int t, int length)
{
    (void)draw;
    (void)length;
    return t % data->options.period;
}

/* Draws period, P = data.period: with probability 1/2, s_t is symbol t mod P of P symbols. A pair
 * that averages over the sequence needs theta = 2 pi k / P. */
static void draw_period(const rt_data *data, rt_draw draw, rt_sequence row)
{
    repeat(data, draw, row, 0.5, residue);
}

static void check_period(const rt_data_options *o, rt_rule_sink to)
{
    check_range(o, to, "data.period", o->period, 2, o->length - 2);
}

enum { CELLS = 8 };
static const double turn = 6.283185307179586;

/* Returns the cell of a circle, for a hand that turns by data.theta per position or, on a grid, by
 * data.theta per column and data.theta2 per row. */
static int cell(const rt_data *data, rt_draw draw, int t, int length)
{
    const rt_data_options *o = &data->options;
    const int side = data->task->grid ? rt_grid_side(length) : 0;
    const int position = side ? (t - 1) % side : t, row = side ? (t - 1) / side : 0;
    uint32_t words[4];
    words_at(draw, 0, words);
    const double turns = (o->theta * position + o->theta2 * row) / turn + words[3] * 0x1p-32;
    return (int)(CELLS * (turns - floor(turns))) % CELLS;
}

/* Draws spin, and spin2 on a grid of tokens: with probability 0.6, s_t is the symbol of that cell,
 * so theta = data.theta is needed. */
static void draw_spin(const rt_data *data, rt_draw draw, rt_sequence row)
{
    repeat(data, draw, row, 0.6, cell);
}

/* Checks a theta of a circle for positions 0 ... most. Above half a turn per position the rotation
 * looks like a slower one in the opposite direction; a hand that stays in its cell looks like one
 * at rest. */
static void check_turn(const rt_data_options *o, rt_rule_sink to, const char *key, double theta,
                       int most)
{
    const char *name = rt_tasks[o->task].name;
    const double slowest = turn / CELLS / most;
    if (!(theta > 0 && theta <= turn / 2))
        rt_rule_broken(to, RT_OPTIONS("data.task", key),
                       "%s must be above 0 and at most pi for %s; "
                       "got %g",
                       key, name, theta);
    else if (theta < slowest)
        rt_rule_broken(to, RT_OPTIONS("data.task", key, "data.length"),
                       "%s must be at least %.4g for %s with data.length %d: below, the "
                       "circle rotates by less than one of its %d cells; got %g",
                       key, slowest, name, o->length, CELLS, theta);
}

static void check_spin(const rt_data_options *o, rt_rule_sink to)
{
    check_turn(o, to, "data.theta", o->theta, o->length - 2);
}

static void check_spin2(const rt_data_options *o, rt_rule_sink to)
{
    const int side = rt_grid_side(o->length);
    if (side < 2) {
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.length"),
                       "data.length must be 1 and a square, such as 50, for spin2, whose symbols "
                       "form a grid; got %d",
                       o->length);
        return;
    }
    check_turn(o, to, "data.theta", o->theta, side - 1);
    check_turn(o, to, "data.theta2", o->theta2, side - 1);
}

static void check_images(const rt_data_options *o, rt_rule_sink to)
{
    if (!rt_grid_side(o->length))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.length"),
                       "data.length must be 1 and the number of patches of a square image for "
                       "images; got %d",
                       o->length);
}

const rt_task rt_tasks[] = {
    {"copy", 4, TWO_SYMBOLS, .question = {2, 2}, .draw = draw_copy},
    {"reverse", 4, TWO_SYMBOLS, .question = {2, 2}, .draw = draw_reverse},
    {"shift", 3, TWO_SYMBOLS, .draw = draw_shift, .check = check_shift},
    {"majority", 2, TWO_SYMBOLS, .draw = draw_majority, .check = check_majority},
    {"sort", 4, TWO_SYMBOLS, .question = {2, 2}, .draw = draw_sort},
    {"addition", 7, ADDITION_VOCAB, .question = {4, 3}, .draw = draw_addition},
    {"parity", 2, TWO_SYMBOLS, .modulus = 2, .draw = draw_sums},
    {"modular_sum", 2, RT_FIRST_SYMBOL + 5, .modulus = 5, .draw = draw_sums},
    {"recall", 6, TWO_SYMBOLS, .distances = true, .draw = draw_recall, .check = check_recall},
    {"mqar", 9, TWO_SYMBOLS, .distances = true, .draw = draw_mqar, .check = check_mqar},
    {"induction", 5, TWO_SYMBOLS, .next_token = true, .distances = true, .draw = draw_induction},
    {"passkey", 5, PASSKEY_VOCAB, .distances = true, .draw = draw_passkey},
    {"order", 3, ORDER_VOCAB, RT_TARGET_SEQUENCE, .classes = 2, .draw = draw_order},
    {"period", 4, TWO_SYMBOLS, .objective = true, .draw = draw_period, .check = check_period},
    {"spin", 3, TWO_SYMBOLS, .objective = true, .draw = draw_spin, .check = check_spin},
    {"spin2", 5, TWO_SYMBOLS, .objective = true, .grid = true, .draw = draw_spin,
     .check = check_spin2},
    {"text", 2, .kind = RT_DATA_WINDOWS, .objective = true},
    {"tokens", 2, TWO_SYMBOLS, .kind = RT_DATA_WINDOWS, .token_ids = true, .objective = true},
    {"classify", 3, 0, RT_TARGET_SEQUENCE, .kind = RT_DATA_LABELLED},
    {"tag", 3, 0, RT_TARGET_TOKENS, .kind = RT_DATA_LABELLED},
    {"images", 2, RT_IMAGE_VOCAB, RT_TARGET_SEQUENCE, .kind = RT_DATA_IMAGES, .grid = true,
     .check = check_images},
    {.name = NULL},
};

/* Returns the symbols of a question that fits, with its answer, into a sequence. */
static int question_of(const rt_task *task, int length)
{
    const int symbols = (length - task->question.around) / task->question.each;
    return symbols > 1 ? symbols : 1;
}

/* Draws a question and its answer. The answer replaces its masks: each token predicts the next one,
 * and the last one predicts [SEP]. A batch of data.length has random numbers of symbols, those
 * that data.shortest ... data.length hold; a batch of another length has the largest number. */
static void draw_answered(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_task *task = data->task;
    const rt_random random = {draw.seed, draw.step, RT_STREAM_LENGTH};
    int symbols = question_of(task, row.length);
    if (row.length == data->options.length) {
        const int fewest = question_of(task, data->options.shortest);
        symbols =
            fewest + (int)rt_random_below(random, draw.sequence, (uint32_t)(symbols - fewest + 1));
    }
    row.length = task->question.around + symbols * task->question.each;
    task->draw(data, draw, row);
    for (int t = 1; t < row.length; t++)
        if (row.labels[t] != RT_NO_LABEL) {
            row.ids[t] = row.labels[t];
            row.labels[t - 1] = row.labels[t];
            row.labels[t] = RT_ID_SEP;
        }
}

static void draw_toy(const rt_data *data, rt_draw draw, rt_sequence row)
{
    (data->options.shortest ? draw_answered : data->task->draw)(data, draw, row);
}

const rt_source rt_toys = {.draw = draw_toy};
