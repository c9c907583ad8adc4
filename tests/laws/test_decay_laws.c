/* Long-term decay: what the RoFormer paper claims in section 3.4.3, and what it does not. */

#include "laws.h"

#include "models/positions.h"

#include <complex.h>

TEST(golden_numbers_of_figure_2)
{
    static const struct {
        int r;
        double expected;
    } rows[] = {{0, 32.5},       {1, 31.538166},   {10, 17.954137},
                {50, 12.629452}, {100, 10.227330}, {256, 6.543097}};
    double theta[64];
    rt_theta_geometric(theta, 64, 10000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_near(rt_decay(theta, 64, rows[i].r, 0), rows[i].expected, 5.1e-7, "C(%d), D = 128",
                    rows[i].r);
}

TEST(decay_is_a_trend_and_not_monotone)
{
    double theta[64];
    int up = 0;
    rt_theta_geometric(theta, 64, 10000);
    for (int r = 0; r < 256; r++)
        up += rt_decay(theta, 64, r + 1, 0) > rt_decay(theta, 64, r, 0);
    ck_assert_msg(up == 115, "expected 115 of 256 steps to go up, got %d", up);
}

TEST(small_heads_hardly_decay)
{
    double theta[4];
    rt_theta_geometric(theta, 4, 10000);
    expect_near(rt_decay(theta, 4, 10, 0), 0.99, 0.005, "C(10), D = 8");
    expect_near(rt_decay(theta, 4, 50, 0), 2.05, 0.005, "C(50), D = 8");
}

TEST(decay_is_the_mean_length_of_partial_sums)
{
    double theta[16];
    uint64_t next = 0;
    for (int n = 0; n < 100; n++) {
        const int pairs = 1 + draw_below(&next, 16), r = draw_below(&next, 500);
        double complex sum = 0;
        double lengths = 0;
        for (int i = 0; i < pairs; i++) {
            theta[i] = fabs(draw(&next));
            sum += cexp(I * (r * theta[i]));
            lengths += cabs(sum);
        }
        expect_near(rt_decay(theta, pairs, r, 0), lengths / pairs, 1e-13, "C(%d) of %d pairs", r,
                    pairs);
    }
}

/* With the decay of xPos each of the sums has smaller terms; at its scale those of pair 0 of 2 are
 * 2/7, of pair 1 9/14, and theta of 0 turns nothing: (2/7 + 13/14) / 2. */
TEST(xpos_is_in_the_sums)
{
    const double still[2] = {0, 0};
    double theta[64];
    rt_theta_geometric(theta, 64, 10000);
    expect_near(rt_decay(still, 2, 30, 30), 17 / 28.0, 1e-15, "C(30) at a scale of 30");
    for (int r = 0; r < 256; r++) {
        expect_near(rt_decay(theta, 64, r, 1e18), rt_decay(theta, 64, r, 0), 1e-12, "C(%d)", r);
        expect_above(rt_decay(theta, 64, r, 40), rt_decay(theta, 64, r + 60, 40), "C(%d)", r);
    }
}

/* The score of q and k, h_i = q_i k_i^* pair by pair, is at most the largest step of h, the
 * last one to 0, times the lengths of all partial sums (Abel). */
TEST(scores_are_within_the_bound_of_the_partial_sums)
{
    enum { PAIRS = 16, D = 2 * PAIRS };
    real q[D], k[D], a[D], b[D];
    double theta[PAIRS], tightest = 0;
    uint64_t next = 10000;
    rt_theta_geometric(theta, PAIRS, 10000);
    for (int n = 0; n < 500; n++) {
        const int m = draw_below(&next, 512), at = draw_below(&next, 512);
        const bool slow = n % 2; /* h that changes slowly, where the bound is worth something */
        double step = 0;
        draw_row(q, D, &next);
        draw_row(k, D, &next);
        for (int i = 2; slow && i < D; i++) {
            q[i] = q[i - 2] + 0.02 * q[i];
            k[i] = k[i - 2] + 0.02 * k[i];
        }
        for (int i = 0; i < PAIRS; i++) {
            double complex h[2] = {0, 0}; /* of pairs i and i + 1 */
            for (int j = 0; j < 2 && i + j < PAIRS; j++)
                h[j] = (q[2 * (i + j)] + I * q[2 * (i + j) + 1]) *
                       (k[2 * (i + j)] - I * k[2 * (i + j) + 1]);
            step = rt_larger_error(step, cabs(h[1] - h[0]));
        }
        turn(a, q, theta, D, m, RT_INTERLEAVED);
        turn(b, k, theta, D, at, RT_INTERLEAVED);
        const double bound = step * PAIRS * rt_decay(theta, PAIRS, m - at, 0);
        const double score = fabs(dot(a, b, D));
        expect_above(bound + 1e-12, score, "bound of a score at distance %d", m - at);
        tightest = rt_larger_error(tightest, score / bound);
    }
    expect_above(tightest, 0.02, "the largest share of the bound that a score reaches");
}
