/* Linear attention at the edges of its range, in both precisions: keys whose exponentials would
 * overflow, cosines of nothing, queries that see nothing, and what cosines are bounded by. */

#include "linear.h"

static const real theta[] = {1, (real)0.1};

enum { FIRST = RT_ATTENTION_LINEAR_ELU, END = RT_ATTENTION_LINEAR_COSINE + 1 };
enum { B = 2, T = 150, H = 2, D = 4, E = 3, KEYS = B * T * H * D };

static const double tolerance = 1e4 * (double)RT_REAL_EPSILON;

static linear_problem problem(rt_attention_kind kind, bool causal, const uint8_t *mask, bool rope)
{
    return linear_new((rt_linear_form_options){.kind = kind, .causal = causal, .key_mask = mask},
                      (const int[]){B, T, T, H, D, E}, rope ? theta : NULL, 0);
}

/* ---- keys ---- */

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

/* ---- vectors without a direction ---- */

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

/* The numerator alone, over a denominator that is the number of keys: similarity j of query i
 * times T is what comes out for a value that is 1 at j. */
static void similarities(real *sim, real *vectors, bool opposite)
{
    static real zeros[T * D], identity[T * T], keys[T * D];
    const rt_linear_attention_options options = {.constant = 1};
    real t_data[] = {theta[0], theta[1]};
    for (int i = 0; i < T * T; i++)
        identity[i] = i / T == i % T ? T : 0;
    for (int i = 0; i < T * D; i++)
        keys[i] = opposite ? -vectors[i] : vectors[i];
    rt_graph *g = rt_graph_new();
    rt_tensor q = rt_tensor_of(vectors, NULL, RT_SHAPE_OF(1, T, 1, D));
    rt_tensor k = rt_tensor_of(keys, NULL, RT_SHAPE_OF(1, T, 1, D));
    rt_tensor v = rt_tensor_of(identity, NULL, RT_SHAPE_OF(1, T, 1, T));
    rt_tensor nothing = rt_tensor_of(zeros, NULL, RT_SHAPE_OF(1, T, 1, D));
    rt_tensor t = rt_tensor_of(t_data, NULL, RT_SHAPE_OF(2));
    const rt_rotation *r =
        rt_rotation_learned(g, &t, RT_THETA_RAW, RT_INTERLEAVED, 1, (rt_positions){.B = 1, .T = T});
    const rt_tensor *y =
        rt_linear_attention(g, rt_rope(g, rt_normalize(g, &q), r),
                            rt_rope(g, rt_normalize(g, &k), r), &v, &nothing, &nothing, &options);
    ck_assert_msg(y != NULL, "%s", rt_graph_status(g).message);
    memcpy(sim, y->data, T * T * sizeof *sim);
    rt_graph_free(g);
}

TEST(similarities_of_the_cosine_form_lie_between_0_and_2)
{
    static real vectors[T * D], sim[T * T];
    const double slack = 8 * (double)RT_REAL_EPSILON;
    uint64_t next = 9000000;
    for (int opposite = 0; opposite < 2; opposite++) {
        draw_row(vectors, T * D, &next);
        similarities(sim, vectors, opposite);
        for (int i = 0; i < T * T; i++) {
            expect_near((double)sim[i], 1, 1 + slack, "similarity of %d and %d", i / T, i % T);
            if (i / T == i % T) /* the bounds are reached */
                expect_near((double)sim[i], opposite ? 0 : 2, slack, "similarity of %d with %s",
                            i / T, opposite ? "its opposite" : "itself");
        }
    }
}

/* ---- nothing to see ---- */

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
