/* Linear attention is what its formula says, and what rope does to it (RoFormer, eq. 19). */

#include "linear.h"

static const real theta[] = {1, 0.1, 0.01, 0.001};

enum { FIRST = RT_ATTENTION_LINEAR_ELU, END = RT_ATTENTION_LINEAR_COSINE + 1 };

/* ---- both forms ---- */

/* Lengths on both sides of the chunks of 64 that the library works in. */
TEST_ROWS(the_linear_form_equals_the_sum_over_pairs, FIRST, END)
{
    static const int lengths[] = {1, 5, 64, 65, 130, 201};
    uint8_t mask[2 * 201];
    for (int i = 0; i < 2 * 201; i++)
        mask[i] = i % 3 != 1;
    for (int n = 0; n < 6 * 8; n++) {
        const int T = lengths[n / 8];
        linear_problem p =
            linear_new((rt_linear_form_options){.kind = (rt_attention_kind)_i,
                                                .causal = n & 1,
                                                .key_mask = n & 2 ? mask : NULL},
                       (const int[]){2, T, T, 2, 4, 5}, n & 4 ? theta : NULL, (uint64_t)n * 100000);
        linear_expect_agreement(&p, 1e-12);
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
                       n % 2 ? theta : NULL, (uint64_t)n * 100000);
        linear_expect_agreement(&p, 1e-12);
        linear_end(&p);
    }
}

/* ---- rope ---- */

static linear_problem square(rt_attention_kind kind, bool causal)
{
    return linear_new((rt_linear_form_options){.kind = kind, .causal = causal},
                      (const int[]){2, 90, 90, 2, 8, 3}, NULL, 7000000);
}

enum { SQUARE = 2 * 90 * 2 * 3 };

TEST_ROWS(a_theta_of_0_is_no_rotation, FIRST, END)
{
    static const real zeros[4] = {0};
    real plain[SQUARE], still[SQUARE], turned[SQUARE];
    for (int causal = 0; causal < 2; causal++) {
        linear_problem p = square((rt_attention_kind)_i, causal);
        linear_run(plain, &p);
        p.theta = zeros;
        linear_run(still, &p);
        p.theta = theta;
        linear_run(turned, &p);
        expect_near(largest_difference(still, plain, SQUARE), 0, 1e-15, "%s, change by theta = 0",
                    linear_name(&p));
        expect_above(largest_difference(turned, plain, SQUARE), 1e-2, "%s, change by rope",
                     linear_name(&p));
        linear_end(&p);
    }
}

TEST_ROWS(only_distances_matter, FIRST, END)
{
    static const double offsets[] = {1, 17, 1000, -40};
    real here[SQUARE], there[SQUARE];
    for (int n = 0; n < 8; n++) {
        linear_problem p = square((rt_attention_kind)_i, n % 2);
        p.theta = theta;
        linear_run(here, &p);
        p.offset = offsets[n / 2];
        linear_run(there, &p);
        expect_near(largest_difference(there, here, SQUARE), 0, 1e-12,
                    "%s, change by a shift of %g", linear_name(&p), p.offset);
        linear_end(&p);
    }
}

/* ---- weights ---- */

enum { T = 70 };

/* The weights, (T, T), that queries give to keys: what comes out if value j is the j-th row
 * of the identity. */
static void weights_of(real *weights, rt_attention_kind kind, bool causal, bool rope)
{
    linear_problem p = linear_new((rt_linear_form_options){.kind = kind, .causal = causal},
                                  (const int[]){1, T, T, 1, 8, T}, rope ? theta : NULL, 8000000);
    for (int i = 0; i < T * T; i++)
        p.v[i] = i / T == i % T;
    linear_run(weights, &p);
    linear_end(&p);
}

static double sum_of(const real *row)
{
    double sum = 0;
    for (int j = 0; j < T; j++)
        sum += row[j];
    return sum;
}

static void expect_distribution(rt_attention_kind kind, bool rope)
{
    static real weights[T * T];
    for (int causal = 0; causal < 2; causal++) {
        weights_of(weights, kind, causal, rope);
        for (int i = 0; i < T; i++) {
            expect_near(sum_of(weights + i * T), 1, 1e-13, "kind %d, sum of the weights of %d",
                        (int)kind, i);
            for (int j = 0; j < T; j++) {
                expect_above(weights[i * T + j], -1e-15, "kind %d, weight of %d for %d", (int)kind,
                             j, i);
                if (causal && j > i)
                    expect_near(weights[i * T + j], 0, 0, "causal, weight of %d for %d", j, i);
            }
        }
    }
}

TEST_ROWS(weights_are_not_negative_and_sum_to_1_without_rotation, FIRST, END)
{
    expect_distribution((rt_attention_kind)_i, false);
}

TEST(weights_of_the_cosine_form_stay_so_with_rotation)
{
    expect_distribution(RT_ATTENTION_LINEAR_COSINE, true);
}

TEST(rotated_weights_can_be_negative_and_need_not_sum_to_1)
{
    static real weights[T * T];
    for (int n = 0; n < 4; n++) {
        double smallest = 0, farthest = 0;
        weights_of(weights, n / 2 ? RT_ATTENTION_LINEAR_SOFTMAX : RT_ATTENTION_LINEAR_ELU, n % 2,
                   true);
        for (int i = 0; i < T * T; i++)
            smallest = -rt_larger_error(-smallest, -weights[i]);
        for (int i = 0; i < T; i++)
            farthest = rt_larger_error(farthest, fabs(sum_of(weights + i * T) - 1));
        expect_above(-smallest, 1e-3, "case %d, minus the smallest weight", n);
        expect_above(farthest, 0.1, "case %d, distance of a sum of weights from 1", n);
    }
}

/* ---- a denominator that turns, too: not offered ---- */

/* Query (1, 1) at `place`, with keys (1, 1) at 0 and 1, of which the first has value 1 and the
 * other 0; theta is 1. The denominator, rotated, is 2 cos(place) + 2 cos(place - 1). */
static double with_rotated_denominator(double place, bool rotated)
{
    real unit[1] = {1}, one[2] = {1, 1}, ones[4] = {1, 1, 1, 1}, values[2] = {1, 0};
    const rt_linear_attention_options options = {.causal = false};
    rt_graph *g = rt_graph_new();
    rt_tensor q = rt_tensor_of(one, NULL, RT_SHAPE_OF(1, 1, 1, 2));
    rt_tensor k = rt_tensor_of(ones, NULL, RT_SHAPE_OF(1, 2, 1, 2));
    rt_tensor v = rt_tensor_of(values, NULL, RT_SHAPE_OF(1, 2, 1, 1));
    rt_tensor t = rt_tensor_of(unit, NULL, RT_SHAPE_OF(1));
    rt_tensor *turned_q =
        rt_rope(g, &q,
                rt_rotation_learned(g, &t, RT_THETA_RAW, RT_HALF, 1,
                                    (rt_positions){.B = 1, .T = 1, .at = &place}));
    rt_tensor *turned_k = rt_rope(g, &k,
                                  rt_rotation_learned(g, &t, RT_THETA_RAW, RT_HALF, 1,
                                                      (rt_positions){.B = 1, .T = 2}));
    const rt_tensor *y = rt_linear_attention(g, turned_q, turned_k, &v, rotated ? turned_q : &q,
                                             rotated ? turned_k : &k, &options);
    ck_assert_msg(y != NULL, "%s", rt_graph_status(g).message);
    const double result = y->data[0];
    rt_graph_free(g);
    return result;
}

TEST(a_rotated_denominator_would_cross_0)
{
    const double zero = 0.5 + 3.14159265358979323846 / 2; /* cos a + cos(a - 1) is 0 there */
    for (int n = 1; n <= 6; n++) {
        const double near = pow(10, -n);
        const double before = with_rotated_denominator(zero - near, true);
        const double after = with_rotated_denominator(zero + near, true);
        expect_above(-before * near, 0.2, "minus the result %g before it, times that", near);
        expect_above(after * near, 0.2, "the result %g after it, times that", near);
        expect_near(with_rotated_denominator(zero - near, false), cos(zero - near) / 2, 1e-14,
                    "the result with a denominator that stays");
    }
}
