/* Choices of --predict, compared with the probabilities of the model and the random numbers, both
 * computed here from their definitions. */

#include "models/new_model.h"
#include "train/step/training.h"
#include "util/scratch.h"

#include "core/random.h"
#include "data/tokenizers/vocabulary.h"
#include "train/use/predict.h"

enum { LENGTH = 32, FIRST_ORDINARY = 5, VOCAB = 100, ADDED = 20, SEED = 7 };

/* The ordinary tokens are the characters of ASCII from the blank on. */
#define ID_OF(character) (FIRST_ORDINARY + (character) - ' ')
#define CHARACTER_OF(id) (' ' + (id)-FIRST_ORDINARY)

static training *t;

/* Makes a model of characters, which reads `length` of them. */
static void make_model_of_length(bool lm, int length)
{
    char text[50 * (VOCAB - FIRST_ORDINARY) + 1] = "";
    for (int i = 0; i < 50 * (VOCAB - FIRST_ORDINARY); i++)
        text[i] = (char)(' ' + i % (VOCAB - FIRST_ORDINARY));
    put_text("a.txt", text);
    t = new_choosy_training(
        lasting("[model]\nlayers = 1\ndim = 16\nheads = 2\ncausal = %s\n[data]\ntask = text\n"
                "length = %d\nfile = %s\nobjective = %s\nlevel = char\n",
                lm ? "yes" : "no", length, in_scratch("a.txt"), lm ? "lm" : "mlm"));
}

static void make_model(bool lm)
{
    make_model_of_length(lm, LENGTH);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* Computes the probabilities, at one place of the ids, of those from `first` on whose logits,
 * divided by the temperature, take part: the characters, and one more. */
static void probabilities_with(int first, int more, const int32_t *ids, int count, int place,
                               double temperature, double p[VOCAB])
{
    const real *logits = logits_of(t->state->model, ids, NULL, count) + place * VOCAB;
    double sum = 0;
    for (int id = 0; id < VOCAB; id++)
        sum += p[id] = id < first && id != more ? 0 : exp((double)logits[id] / temperature);
    for (int id = 0; id < VOCAB; id++)
        p[id] /= sum;
}

/* Computes the probabilities of the characters. */
static void probabilities_at(const int32_t *ids, int count, int place, double temperature,
                             double p[VOCAB])
{
    probabilities_with(FIRST_ORDINARY, FIRST_ORDINARY, ids, count, place, temperature, p);
}

/* The first character up to which the probabilities sum to more than the number drawn for an
 * answer.
 */
static int32_t drawn_of(int answer, const double p[VOCAB], int number)
{
    const rt_random random = {SEED, (uint32_t)number, RT_STREAM_SAMPLE};
    const double u = rt_random_uniform(random, (uint64_t)answer);
    double sum = 0;
    for (int id = FIRST_ORDINARY; id < VOCAB; id++)
        if ((sum += p[id]) > u)
            return id;
    return VOCAB - 1;
}

static int32_t drawn(const double p[VOCAB], int number)
{
    return drawn_of(0, p, number);
}

static int32_t largest(const double p[VOCAB])
{
    int32_t best = FIRST_ORDINARY;
    for (int id = FIRST_ORDINARY; id < VOCAB; id++)
        best = p[id] > p[best] ? id : best;
    return best;
}

static char printed[512];

static rt_status predict_with(const rt_predict_options *o)
{
    rt_predicted predicted;
    memset(printed, 0, sizeof printed);
    FILE *to = fmemopen(printed, sizeof printed, "w");
    ck_assert_ptr_nonnull(to);
    const rt_status status = rt_predict(to, t->state->model, t->data, &t->config, o, &predicted);
    fclose(to);
    return status;
}

static void predict(const char *text, double temperature, int count)
{
    expect_ok(predict_with(&(
        rt_predict_options){.text = text, .sampling = {temperature, 0, 1, SEED}, .count = count}));
}

/* Rows 0, 4 and 5 draw the most likely token. tests/models/test_sampler.c has cases in between. */
TEST_ROWS(a_continuation_is_drawn_from_the_probabilities, 0, 6)
{
    static const rt_sampling rows[] = {{0, 0, 1, SEED},   {0.3, 0, 1, SEED}, {1, 0, 1, SEED},
                                       {2.5, 0, 1, SEED}, {2.5, 1, 1, SEED}, {2.5, 0, 1e-9, SEED}};
    const double temperature = rows[_i].temperature;
    const bool likeliest = temperature == 0 || _i > 3;
    int32_t ids[LENGTH] = {RT_ID_CLS, ID_OF('a'), ID_OF('b')};
    unsigned char expected[ADDED];
    double p[VOCAB];
    make_model(true);
    for (int n = 0; n < ADDED; n++) {
        probabilities_at(ids, 3 + n, 2 + n, temperature > 0 ? temperature : 1, p);
        ids[3 + n] = likeliest ? largest(p) : drawn(p, n);
        expected[n] = (unsigned char)CHARACTER_OF(ids[3 + n]);
    }
    expect_ok(
        predict_with(&(rt_predict_options){.text = "ab", .sampling = rows[_i], .count = ADDED}));
    ck_assert_int_eq(memcmp(printed, "ab", 2), 0);
    for (int n = 0; n < ADDED; n++)
        ck_assert_msg((unsigned char)printed[2 + n] == expected[n],
                      "character %d is 0x%02x, expected 0x%02x", n, (unsigned char)printed[2 + n],
                      expected[n]);
    ck_assert_int_eq(printed[2 + ADDED], '\n');
}

/* The model keeps [CLS] and the newest other tokens: half of its length, of an odd number the
 * larger half. */
TEST_ROWS(a_text_beyond_the_length_is_continued_from_its_newest_half, 0, 2)
{
    enum { MANY = 3 * LENGTH };
    const int length = LENGTH - _i, half = (length + 1) / 2;
    int32_t ids[LENGTH + 1] = {RT_ID_CLS, ID_OF('a'), ID_OF('b')};
    double p[VOCAB];
    int count = 3, halves = 0;
    make_model_of_length(true, length);
    predict("ab", 1, MANY);
    for (int n = 0; n < MANY; n++) {
        probabilities_at(ids, count, count - 1, 1, p);
        ids[count++] = drawn(p, n);
        ck_assert_msg(printed[2 + n] == CHARACTER_OF(ids[count - 1]),
                      "character %d is '%c', expected '%c'", n, printed[2 + n],
                      (char)CHARACTER_OF(ids[count - 1]));
        if (count > length) {
            memmove(ids + 1, ids + count - (half - 1), (size_t)(half - 1) * sizeof *ids);
            count = half;
            halves++;
        }
    }
    ck_assert_int_gt(halves, 2);
}

/* The token takes part with its probability, and nothing is printed for it; the other special ones
 * still have none. */
TEST(a_token_that_ends_a_text_is_chosen_as_any_other)
{
    enum { SEEDS = 200 };
    const int32_t ids[LENGTH] = {RT_ID_CLS, ID_OF('a'), ID_OF('b')};
    int ended = 0;
    make_model(true);
    ((rt_vocabulary *)t->data->vocabulary)->ends = (rt_end_ids){1, {RT_ID_SEP}};
    double p[VOCAB];
    probabilities_with(FIRST_ORDINARY, RT_ID_SEP, ids, 3, 2, 3, p);
    for (int seed = 0; seed < SEEDS; seed++) {
        rt_predict_options o = {.text = "ab", .sampling = {3, 0, 1, (uint64_t)seed}, .count = 1};
        double left = rt_random_uniform((rt_random){o.sampling.seed, 0, RT_STREAM_SAMPLE}, 0);
        int id = -1;
        while (left >= 0)
            left -= p[++id];
        expect_ok(predict_with(&o));
        ck_assert_str_eq(printed, id == RT_ID_SEP ? "ab\n" : lasting("ab%c\n", CHARACTER_OF(id)));
        const char *json = lasting("\", \"tokens\": %d, \"end\": \"%s\"}\n", id != RT_ID_SEP,
                                   id == RT_ID_SEP ? "token" : "length");
        o.jsonl = true;
        expect_ok(predict_with(&o));
        ck_assert_msg(strstr(printed, json) != NULL, "no %s in %s", json, printed);
        ended += id == RT_ID_SEP;
    }
    ck_assert_int_gt(ended, 0);
    ck_assert_int_lt(ended, SEEDS / 2);
}

/* Rows: four samples of one text, two of each of two lines, and four lines. The answers are the
 * same: each is drawn with random numbers of its own. */
TEST_ROWS(every_answer_has_random_numbers_of_its_own, 0, 6)
{
    enum { ANSWERS = 4, SIZE = 10 };
    static const int samples[] = {ANSWERS, 2, 0};
    static char lines[] = "ab\nab\nab\nab\n";
    const int each = samples[_i / 2];
    char expected[512] = "";
    double p[VOCAB];
    make_model(true);
    for (int answer = 0; answer < ANSWERS; answer++) {
        int32_t ids[LENGTH] = {RT_ID_CLS, ID_OF('a'), ID_OF('b')};
        char text[SIZE + 1] = "", sample[32] = "";
        for (int n = 0; n < SIZE; n++) {
            probabilities_at(ids, 3 + n, 2 + n, 1, p);
            ids[3 + n] = drawn_of(answer, p, n);
            text[n] = (char)CHARACTER_OF(ids[3 + n]);
        }
        if (each)
            snprintf(sample, sizeof sample, "\"sample\": %d, ", 1 + answer % each);
        size_t used = strlen(expected);
        if (_i % 2)
            used += (size_t)snprintf(expected + used, sizeof expected - used,
                                     "{\"text\": \"ab\", %s\"continuation\": \"", sample);
        else
            used += (size_t)snprintf(expected + used, sizeof expected - used, "ab");
        for (int n = 0; n < SIZE; n++) {
            if (_i % 2 && strchr("\"\\", text[n]))
                expected[used++] = '\\';
            expected[used++] = text[n];
        }
        snprintf(expected + used, sizeof expected - used, "%s\n",
                 _i % 2 ? "\", \"tokens\": 10, \"end\": \"length\"}" : "");
    }
    FILE *from = fmemopen(lines, each ? 6 : sizeof lines - 1, "r");
    expect_ok(predict_with(&(rt_predict_options){.text = each == ANSWERS ? "ab" : NULL,
                                                 .from = from,
                                                 .sampling = {1, 0, 1, SEED},
                                                 .count = SIZE,
                                                 .samples = each,
                                                 .jsonl = _i % 2}));
    fclose(from);
    ck_assert_str_eq(printed, expected);
}

TEST(masks_of_equal_lines_are_drawn_independently)
{
    enum { LINES = 3 };
    static char lines[] = "a[MASK]\na[MASK]\na[MASK]\n";
    const int32_t ids[] = {RT_ID_CLS, ID_OF('a'), RT_ID_MASK};
    double p[VOCAB];
    make_model(false);
    probabilities_at(ids, 3, 2, 2.5, p);
    FILE *from = fmemopen(lines, sizeof lines - 1, "r");
    expect_ok(predict_with(
        &(rt_predict_options){.from = from, .sampling = {2.5, 0, 1, SEED}, .count = 1}));
    fclose(from);
    const char *at = printed;
    for (int line = 0; line < LINES; line++) {
        ck_assert_ptr_nonnull(at);
        ck_assert_int_eq(at[1], CHARACTER_OF(drawn_of(line, p, 2)));
        at = strstr(at, "\na") ? strstr(at, "\na") + 1 : NULL;
    }
}

/* The position counts [CLS]. */
TEST(a_mask_is_drawn_with_the_number_of_its_position)
{
    const int32_t ids[] = {RT_ID_CLS, ID_OF('a'), RT_ID_MASK, ID_OF('b'), RT_ID_MASK};
    char expected[] = "a?b?\n";
    double p[VOCAB];
    make_model(false);
    for (int place = 2; place < 5; place += 2) {
        probabilities_at(ids, 5, place, 2.5, p);
        expected[place - 1] = (char)CHARACTER_OF(drawn(p, place));
    }
    predict("a[MASK]b[MASK]", 2.5, 0);
    ck_assert_msg(!strncmp(printed, expected, strlen(expected)), "%s", printed);
}

TEST_ROWS(a_model_of_nan_is_an_error, 0, 2)
{
    make_model(_i);
    const rt_predict_options o = {.text = _i ? "ab" : "a[MASK]",
                                  .sampling = {1, 0, 1, SEED},
                                  .count = 1};
    const rt_parameters *p = &t->state->model->parameters;
    for (size_t i = 0; i < p->block_size; i++)
        p->values[i] = NAN;
    is_status_with(predict_with(&o), RT_NONFINITE, "of a row is nan");
}
