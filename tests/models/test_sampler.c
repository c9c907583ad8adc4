/* Sampling of tokens: draws compared with probabilities computed by hand or from their definitions.
 */

#include "models/sampler.h"

#include "core/random.h"
#include "suite.h"

RELEASER(free_sampler, rt_sampler_free)

/* Returns a sampler, which is freed after the test. */
static rt_sampler *sampler_of(rt_sampling o, int count)
{
    rt_sampler *s;
    expect_ok(rt_sampler_new(&s, &o, count));
    return owned(s, free_sampler);
}

/* Computes logits of values that are proportional to probabilities. */
static void logits_of(real *logits, const double *shares, int count)
{
    for (int i = 0; i < count; i++)
        logits[i] = (real)log(shares[i]);
}

static int32_t draw(rt_sampler *s, const real *logits, uint32_t number)
{
    int32_t token = -1;
    expect_ok(rt_sampler_draw(s, logits, number, &token));
    return token;
}

/* A logit of -infinity among them; each row computed by hand. */
static const struct {
    double temperature;
    int top_k;
    double top_p;
    double expected[5];
} rows[] = {
    {1, 0, 1, {0.1, 0.4, 0.2, 0, 0.3}},
    {0.5, 0, 1, {1 / 30., 16 / 30., 4 / 30., 0, 9 / 30.}},
    {0, 0, 1, {0, 1, 0, 0, 0}},
    {0, 3, 0.5, {0, 1, 0, 0, 0}},
    {1, 1, 1, {0, 1, 0, 0, 0}},
    {1, 2, 1, {0, 4 / 7., 0, 0, 3 / 7.}},
    {1, 3, 1, {0, 4 / 9., 2 / 9., 0, 3 / 9.}},
    {1, 5, 1, {0.1, 0.4, 0.2, 0, 0.3}},
    {1, 1000, 1, {0.1, 0.4, 0.2, 0, 0.3}},
    {1, 0, 1e-9, {0, 1, 0, 0, 0}},
    {1, 0, 0.39, {0, 1, 0, 0, 0}},
    {1, 0, 0.41, {0, 4 / 7., 0, 0, 3 / 7.}},
    {1, 0, 0.71, {0, 4 / 9., 2 / 9., 0, 3 / 9.}},
    {1, 0, 0.95, {0.1, 0.4, 0.2, 0, 0.3}},
    {1, 2, 0.95, {0, 4 / 7., 0, 0, 3 / 7.}},
    {1, 3, 0.5, {0, 4 / 7., 0, 0, 3 / 7.}},
    {1e-3, 0, 1, {0, 1, 0, 0, 0}},
    {1e-300, 0, 1, {0, 1, 0, 0, 0}},
    {1e300, 0, 1, {0.25, 0.25, 0.25, 0, 0.25}},
    {1e300, 2, 1, {0.5, 0.5, 0, 0, 0}},
};

TEST_ROWS(probabilities_are_those_of_temperature_top_k_and_top_p, 0, ROWS(rows))
{
    static const double shares[] = {1, 4, 2, 0, 3};
    real logits[5];
    double p[5];
    rt_sampler *s =
        sampler_of((rt_sampling){rows[_i].temperature, rows[_i].top_k, rows[_i].top_p, 1}, 5);
    logits_of(logits, shares, 5);
    expect_ok(rt_sampler_probabilities(s, logits, p));
    for (int i = 0; i < 5; i++)
        ck_assert_msg(fabs(p[i] - rows[_i].expected[i]) <= 8 * (double)RT_REAL_EPSILON,
                      "probability %d is %.17g, expected %.17g", i, p[i], rows[_i].expected[i]);
    for (uint32_t n = 0; n < 200; n++)
        ck_assert(p[draw(s, logits, n)] > 0);
}

TEST(a_softmax_adds_up_to_1_however_large_the_logits_are)
{
    static const real logits[] = {1000, 1000, (real)-INFINITY, -1000, 999};
    double p[5], sum = 0;
    expect_ok(rt_probabilities(logits, 5, p));
    for (int i = 0; i < 5; i++)
        sum += p[i];
    ck_assert_double_eq_tol(sum, 1, 1e-15);
    ck_assert_double_eq_tol(p[0], 1 / (2 + exp(-1)), 1e-15);
    ck_assert_double_eq_tol(p[4], exp(-1) / (2 + exp(-1)), 1e-15);
    ck_assert(p[0] == p[1] && p[2] == 0 && p[3] == 0);
}

/* No dropped token ranks before a kept one, in long rows with ties, of which the smaller ids come
 * first. Without the last of the kept tokens, less than top_p is left. */
TEST_ROWS(the_most_likely_are_kept, 0, 2 * 28)
{
    enum { COUNT = 1000 };
    static real logits[COUNT];
    static double all[COUNT], p[COUNT];
    const bool by_share = _i % 2;
    const int top_k = 1 + _i / 2 * 37;
    const double top_p = by_share ? (1 + _i / 2) / 29.0 : 1;
    for (uint64_t i = 0; i < COUNT; i++)
        logits[i] = (real)rt_random_below((rt_random){3, 0, RT_STREAM_CHECK}, i, 40) / 8;
    rt_sampler *s = sampler_of((rt_sampling){1, by_share ? 0 : top_k, top_p, 0}, COUNT);
    expect_ok(rt_probabilities(logits, COUNT, all));
    expect_ok(rt_sampler_probabilities(s, logits, p));
    int kept = 0, last = -1;
    double share = 0;
    for (int i = 0; i < COUNT; i++)
        if (p[i] > 0) {
            kept++;
            share += all[i];
            last = last < 0 || all[i] <= all[last] ? i : last;
        }
    ck_assert(by_share ? share >= top_p - 1e-12 && share - all[last] < top_p : kept == top_k);
    for (int i = 0; i < COUNT; i++)
        ck_assert(p[i] > 0 || all[i] < all[last] || (all[i] == all[last] && i > last));
    const int32_t first = draw(sampler_of((rt_sampling){0, 0, 1, 0}, COUNT), logits, 0);
    for (int i = 0; i < COUNT; i++)
        ck_assert(all[i] < all[first] || (all[i] == all[first] && i >= first));
}

/* The number is compared with the cumulated probabilities. */
TEST_ROWS(a_draw_selects_the_token_at_its_random_number, 0, 3)
{
    static const double shares[] = {0.125, 0.5, 0.375}, temperatures[] = {1, 0.7, 3};
    real logits[3];
    double p[3];
    int counts[3] = {0};
    rt_sampler *s = sampler_of((rt_sampling){temperatures[_i], 0, 1, 7}, 3);
    logits_of(logits, shares, 3);
    expect_ok(rt_sampler_probabilities(s, logits, p));
    for (uint32_t n = 0; n < 1000; n++) {
        const double u = rt_random_uniform((rt_random){7, n, RT_STREAM_SAMPLE}, 0);
        const int32_t token = draw(s, logits, n);
        ck_assert_int_eq(token, u < p[0] ? 0 : u < p[0] + p[1] ? 1 : 2);
        counts[token]++;
    }
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq_tol(counts[i], 1000 * p[i], 5 * sqrt(1000 * p[i]));
}

/* Rounded probabilities may add up to less than the drawn number. Then the most likely token is
 * drawn, never one without probability. */
TEST(a_token_without_probability_is_never_drawn)
{
    static const double shares[] = {0, 1, 0, 1e-3, 0};
    real logits[5];
    int counts[5] = {0};
    rt_sampler *s = sampler_of((rt_sampling){.temperature = 1, .top_p = 1, .seed = 2}, 5);
    logits_of(logits, shares, 5);
    for (uint32_t n = 0; n < 20000; n++)
        counts[draw(s, logits, n)]++;
    ck_assert(!counts[0] && !counts[2] && !counts[4] && counts[3] > 0);
    for (int i = 0; i < 5; i++)
        logits[i] = i == 3 ? -700 : (real)-INFINITY;
    for (uint32_t n = 0; n < 100; n++)
        ck_assert_int_eq(draw(s, logits, n), 3);
}

/* A model may have more rows than its vocabulary has tokens: they may hold anything. */
TEST(rows_beyond_the_count_are_never_drawn)
{
    const real logits[] = {0, 1, 2, 50, (real)NAN};
    static const double temperatures[] = {0, 1, 1e300};
    for (int i = 0; i < 3; i++) {
        rt_sampler *s = sampler_of((rt_sampling){temperatures[i], 0, 1, 3}, 3);
        for (uint32_t n = 0; n < 500; n++)
            ck_assert_int_lt(draw(s, logits, n), 3);
    }
}

TEST(a_draw_allocates_nothing)
{
    const real logits[] = {0, 1, 2};
    rt_sampler *s = sampler_of((rt_sampling){1, 2, 0.5, 3}, 3);
    const size_t before = rt_memory_requests();
    draw(s, logits, 0);
    ck_assert_uint_eq(rt_memory_requests(), before);
}

TEST(options_out_of_range_are_refused)
{
    static const struct {
        rt_sampling o;
        int count;
        const char *message;
    } bad[] = {
        {{-1, 0, 1, 0}, 3, "[sampler] temperature must be a number >= 0; got -1"},
        {{NAN, 0, 1, 0}, 3, "[sampler] temperature must be a number >= 0; got nan"},
        {{INFINITY, 0, 1, 0}, 3, "[sampler] temperature must be a number >= 0; got inf"},
        {{1, -1, 1, 0}, 3, "[sampler] top_k must be >= 0; got -1"},
        {{1, 0, 0, 0}, 3, "[sampler] top_p must be in (0, 1]; got 0"},
        {{1, 0, 1.5, 0}, 3, "[sampler] top_p must be in (0, 1]; got 1.5"},
        {{1, 0, -0.5, 0}, 3, "[sampler] top_p must be in (0, 1]; got -0.5"},
        {{1, 0, NAN, 0}, 3, "[sampler] top_p must be in (0, 1]; got nan"},
        {{1, 0, 1, 0}, 0, "[sampler] needs at least one token; got 0"},
        {{1, 0, 1, 0}, -1, "[sampler] needs at least one token; got -1"},
    };
    for (int i = 0; i < ROWS(bad); i++) {
        rt_sampler *s = (rt_sampler *)&bad;
        is_status(rt_sampler_new(&s, &bad[i].o, bad[i].count), RT_ARGUMENT, bad[i].message);
        ck_assert_ptr_null(s);
    }
    rt_sampler_free(NULL);
}

TEST(rows_that_have_no_probabilities_are_refused)
{
    static const struct {
        real logits[3];
        const char *message;
    } bad[] = {
        {{0, (real)NAN, 1}, "logit 1 of a row is nan"},
        {{(real)NAN, (real)NAN, (real)NAN}, "logit 0 of a row is nan"},
        {{0, 1, (real)INFINITY}, "logit 2 of a row is inf"},
        {{(real)-INFINITY, (real)-INFINITY, (real)-INFINITY},
         "none of the 3 logits of a row is finite"},
    };
    static const double temperatures[] = {0, 1};
    for (int i = 0; i < 2 * ROWS(bad); i++) {
        const real *logits = bad[i / 2].logits;
        double p[3] = {7, 7, 7};
        int32_t token = 7;
        rt_sampler *s = sampler_of((rt_sampling){temperatures[i % 2], 0, 1, 3}, 3);
        is_status(rt_sampler_draw(s, logits, 0, &token), RT_NONFINITE, bad[i / 2].message);
        is_status(rt_sampler_probabilities(s, logits, p), RT_NONFINITE, bad[i / 2].message);
        is_status(rt_probabilities(logits, 3, p), RT_NONFINITE, bad[i / 2].message);
        ck_assert(token == 7 && p[0] == 7 && p[1] == 7 && p[2] == 7);
    }
    is_status(rt_probabilities(NULL, 0, NULL), RT_ARGUMENT,
              "none of the 0 logits of a row is finite");
}

TEST(without_memory_there_is_no_sampler)
{
    for (size_t n = 1; n <= 3; n++) {
        rt_sampler *s;
        rt_memory_fail_at(n);
        ck_assert_int_eq(rt_sampler_new(&s, &(rt_sampling){1, 0, 1, 0}, 3).code, RT_MEMORY);
        ck_assert_ptr_null(s);
    }
}
