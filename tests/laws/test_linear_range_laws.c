/* Linear attention is what its formula says, and what rope does to it (RoFormer, eq. 19); and at
 * the edges of its range: keys whose exponentials would overflow, cosines of nothing, queries that
 * see nothing. */

#include "linear.h"

static const real theta[] = {1, (real)0.1};
static const real thetas[] = {1, (real)0.1, (real)0.01, (real)0.001};

enum { FIRST = RT_ATTENTION_LINEAR_ELU, END = RT_ATTENTION_LINEAR_COSINE + 1 };
enum { B = 2, T = 150, H = 2, D = 4, E = 3, KEYS = B * T * H * D };

static const double tolerance = 1e4 * (double)RT_REAL_EPSILON;
static const double exact = 4e3 * (double)RT_REAL_EPSILON; /* 1e-12 in double */

/* Lengths on both sides of the chunks of 64 that the library works in. */
TEST_ROWS(the_linear_form_equals_the_sum_over_pairs, FIRST, END)
{
    static const int lengths[] = {1, 5, 64, 65, 130, 201};
    uint8_t mask[2 * 201];
    for (int i = 0; i < 2 * 201; i++)
        mask[i] = i % 3 != 1;
    for (int n = 0; n < 6 * 8; n++) {
        const int length = lengths[n / 8];
        linear_problem p = linear_new((rt_linear_form_options){.kind = (rt_attention_kind)_i,
                                                               .causal = n & 1,
                                                               .key_mask = n & 2 ? mask : NULL},
                                      (const int[]){2, length, length, 2, 4, 5},
                                      n & 4 ? thetas : NULL, (uint64_t)n * 100000);
        linear_expect_agreement(&p, exact);
        linear_end(&p);
    }
}

TEST_ROWS(queries_and_keys_may_differ_in_number, FIRST, END)
{
    static const int lengths[][2] = {{3, 130}, {70, 9}, {129, 200}, {1, 64}};
    for (int n = 0; n < 8; n++) {
        linear_problem p =
            linear_new((rt_linear_form_options){.kind = (rt_attention_kind)_i, .eps = 0.01},
                       (const int[]){1, lengths[n / 2][0], lengths[n / 2][1], 3, 6, 2},
                       n % 2 ? thetas : NULL, (uint64_t)n * 100000);
        linear_expect_agreement(&p, exact);
        linear_end(&p);
    }
}

static linear_problem problem(rt_attention_kind kind, bool causal, const uint8_t *mask, bool rope)
{
    return linear_new((rt_linear_form_options){.kind = kind, .causal = causal, .key_mask = mask},
                      (const int[]){B, T, T, H, D, E}, rope ? theta : NULL, 0);
}

/* e^huge is infinite: in float from 89 on, in double from 710 on. */
static const double huge = sizeof(real) == sizeof(float) ? 200 : 2000;

/* Keys times `size`, plus `slope` for every token: (0, 1) of the way along the sequence. */
static void expect_range(double size, double slope)
{
    uint8_t mask[B * T];
    for (int i = 0; i < B * T; i++)
        mask[i] = i % 5 != 2;
    for (int n = 0; n < 8; n++) {
        linear_problem p = problem(RT_ATTENTION_LINEAR_SOFTMAX, n & 1, n & 2 ? mask : NULL, n & 4);
        for (int i = 0; i < KEYS; i++) {
            const double along = (double)(i / (H * D) % T) / T;
            p.k[i] = (real)(size * (double)p.k[i] + slope * along);
        }
        linear_expect_agreement(&p, tolerance);
        linear_end(&p);
    }
}

/* Large keys, and keys that grow and fall along the sequence: at 20 times huge every token is out
 * of reach of the one before. */
TEST(the_exponential_of_large_keys_does_not_overflow)
{
    const double sizes[][2] = {{huge, 0},      {1, 0},     {1, huge},
                               {1, 20 * huge}, {1, -huge}, {10, -huge / 10}};
    expect_above(huge, log((double)RT_REAL_MAX), "the size of the keys");
    for (int i = 0; i < ROWS(sizes); i++)
        expect_range(sizes[i][0], sizes[i][1]);
}

TEST(what_all_keys_have_in_common_cancels)
{
    real plain[B * T * H * E], raised[B * T * H * E];
    for (int causal = 0; causal < 2; causal++) {
        linear_problem p = problem(RT_ATTENTION_LINEAR_SOFTMAX, causal, NULL, true);
        for (int i = 0; i < KEYS; i++) /* so that both sums are exact */
            p.k[i] = (real)(rint(64 * (double)p.k[i]) / 64);
        linear_run(plain, &p);
        for (int i = 0; i < KEYS; i++)
            p.k[i] += (real)huge;
        linear_run(raised, &p);
        expect_near(largest_difference(raised, plain, B * T * H * E), 0, 0,
                    "change by keys that are all %g larger", huge);
        linear_end(&p);
    }
}

/* Their cosine counts as 0, so that such a query takes the mean, and such a key counts once. */
TEST(zero_vectors_have_cosine_0)
{
    real out[B * T * H * E];
    for (int n = 0; n < 4; n++) {
        linear_problem p = problem(RT_ATTENTION_LINEAR_COSINE, n & 1, NULL, n & 2);
        memset(p.q + H * D * 7, 0, H * D * sizeof *p.q);  /* query 7 */
        memset(p.k + H * D * 3, 0, H * D * sizeof *p.k);  /* key 3 */
        memset(p.k + H * D * 90, 0, H * D * sizeof *p.k); /* and 90 */
        linear_expect_agreement(&p, tolerance);
        linear_run(out, &p);
        const int seen = n & 1 ? 8 : T;
        double mean = 0;
        for (int j = 0; j < seen; j++)
            mean += (double)p.v[j * H * E] / seen;
        expect_near((double)out[7 * H * E], mean, tolerance, "the result of a query of zeros");
        memset(p.q, 0, KEYS * sizeof *p.q);
        memset(p.k, 0, KEYS * sizeof *p.k);
        linear_expect_agreement(&p, tolerance);
        linear_end(&p);
    }
}

/* Sequence 0 has no visible key; sequence 1 only from the 100th on. */
TEST_ROWS(queries_without_visible_keys_get_zeros, FIRST, END)
{
    real out[B * T * H * E];
    uint8_t mask[B * T] = {0};
    memset(mask + T + 100, 1, T - 100);
    for (int n = 0; n < 4; n++) {
        linear_problem p = problem((rt_attention_kind)_i, n & 1, mask, n & 2);
        linear_run(out, &p);
        const int blind = n & 1 ? T + 100 : T;
        for (int i = 0; i < B * T * H * E; i++) {
            const int token = i / (H * E);
            ck_assert_msg((out[i] == 0) == (token < blind), "%s, token %d: expected %s, got %g",
                          linear_name(&p), token, token < blind ? "0" : "another number than 0",
                          (double)out[i]);
        }
        linear_expect_agreement(&p, tolerance);
        linear_end(&p);
    }
}
