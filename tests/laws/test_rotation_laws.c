/* The laws of rotation by position times theta (RoFormer, eq. 14 to 34). */

#include "laws.h"

#include <complex.h>

enum { MOST = 64 };

static const int sizes[] = {2, 4, 8, 16, 64};
enum { SIZES = sizeof sizes / sizeof *sizes };

TEST(scores_depend_on_distance_only)
{
    real q[MOST], k[MOST], a[MOST], b[MOST], c[MOST];
    double theta[MOST / 2];
    uint64_t next = 0;
    for (int n = 0; n < 2000; n++) {
        const int D = sizes[n % SIZES], m = draw_below(&next, 2048), at = draw_below(&next, 2048);
        rt_theta_geometric(theta, D / 2, 10000);
        draw_row(q, (size_t)D, &next);
        draw_row(k, (size_t)D, &next);
        turn(a, q, theta, D, m, RT_INTERLEAVED);
        turn(b, k, theta, D, at, RT_INTERLEAVED);
        turn(c, k, theta, D, at - m, RT_INTERLEAVED);
        expect_near(dot(a, b, D), dot(q, c, D), 1e-9, "(R_%d q).(R_%d k), D = %d", m, at, D);
    }
}

TEST(lengths_are_kept)
{
    real x[MOST], y[MOST];
    double theta[MOST / 2];
    uint64_t next = 100000;
    for (int n = 0; n < 1000; n++) {
        const int D = sizes[n % SIZES], m = draw_below(&next, 100000);
        rt_theta_geometric(theta, D / 2, 10000);
        draw_row(x, (size_t)D, &next);
        turn(y, x, theta, D, m, n % 2 ? RT_HALF : RT_INTERLEAVED);
        expect_near(sqrt(dot(y, y, D) / dot(x, x, D)), 1, 1e-14, "|R_%d x| / |x|, D = %d", m, D);
    }
}

/* R_m as a matrix, (D, D), column by column. */
static void matrix_of(real *matrix, const double *theta, int D, double m, rt_pairing pairing)
{
    real unit[MOST], column[MOST];
    for (int j = 0; j < D; j++) {
        memset(unit, 0, sizeof unit);
        unit[j] = 1;
        turn(column, unit, theta, D, m, pairing);
        for (int i = 0; i < D; i++)
            matrix[i * D + j] = column[i];
    }
}

TEST(the_transpose_is_the_rotation_the_other_way)
{
    enum { D = 8 };
    real there[D * D], back[D * D];
    double theta[D / 2];
    rt_theta_geometric(theta, D / 2, 10000);
    for (int pairing = 0; pairing < 2; pairing++)
        for (int m = 0; m < 300; m += 7) {
            matrix_of(there, theta, D, m, (rt_pairing)pairing);
            matrix_of(back, theta, D, -m, (rt_pairing)pairing);
            for (int i = 0; i < D * D; i++)
                expect_near(there[i / D * D + i % D], back[i % D * D + i / D], 1e-15,
                            "R_%d transposed, element %d, %d", m, i % D, i / D);
        }
}

TEST(rotations_one_after_the_other_are_one_by_the_sum)
{
    enum { D = 16 };
    real x[D], a[D], b[D], c[D];
    double theta[D / 2];
    uint64_t next = 200000;
    rt_theta_geometric(theta, D / 2, 10000);
    for (int n = 0; n < 200; n++) {
        const int s = draw_below(&next, 4096) - 2048, t = draw_below(&next, 4096) - 2048;
        draw_row(x, D, &next);
        turn(a, x, theta, D, s, RT_INTERLEAVED);
        turn(b, a, theta, D, t, RT_INTERLEAVED);
        turn(c, x, theta, D, s + t, RT_INTERLEAVED);
        /* The three angles are rounded each: by up to 2e-13 at 2048. */
        expect_near(largest_difference(b, c, D), 0, 1e-12, "|R_%d R_%d x - R_%d x|", t, s, s + t);
    }
}

TEST(position_0_changes_no_bit)
{
    real x[MOST], y[MOST];
    double theta[MOST / 2];
    uint64_t next = 300000;
    for (int n = 0; n < 2 * SIZES; n++) {
        const int D = sizes[n / 2];
        rt_theta_geometric(theta, D / 2, 10000);
        draw_row(x, (size_t)D, &next);
        turn(y, x, theta, D, 0, n % 2 ? RT_HALF : RT_INTERLEAVED);
        for (int i = 0; i < D; i++)
            ck_assert_msg(!memcmp(&x[i], &y[i], sizeof *x),
                          "feature %d of %d: expected the bits of %.17g, got %.17g", i, D, x[i],
                          y[i]);
    }
}

/* As a matrix of 2 x 2 blocks; as multiplication of complex numbers by e^(i m theta); and as
 * x cos + (-x_2, x_1, -x_4, x_3, ...) sin. */
TEST(three_forms_agree)
{
    enum { D = 16 };
    real x[D], y[D];
    double theta[D / 2];
    uint64_t next = 400000;
    rt_theta_geometric(theta, D / 2, 10000);
    for (int m = 0; m < 2000; m += 11) {
        draw_row(x, D, &next);
        turn(y, x, theta, D, m, RT_INTERLEAVED);
        for (int i = 0; i < D; i++) {
            const double angle = m * theta[i / 2], c = cos(angle), s = sin(angle);
            const double blocks[2][2] = {{c, -s}, {s, c}};
            const real *pair = x + i / 2 * 2;
            const double by_matrix = blocks[i % 2][0] * pair[0] + blocks[i % 2][1] * pair[1];
            const double complex z = (pair[0] + I * pair[1]) * cexp(I * angle);
            const double rotated = i % 2 ? x[i - 1] : -x[i + 1];
            expect_near(y[i], by_matrix, 1e-15, "matrix, m = %d, feature %d", m, i);
            expect_near(y[i], i % 2 ? cimag(z) : creal(z), 1e-15, "complex, m = %d, %d", m, i);
            expect_near(y[i], x[i] * c + rotated * s, 1e-15, "eq. 34, m = %d, feature %d", m, i);
        }
    }
}

/* It is the same arithmetic in another order; but which of two products a fused addition leaves
 * unrounded is up to the compiler. */
TEST(half_pairing_is_interleaved_up_to_the_permutation)
{
    real x[MOST], permuted[MOST], y[MOST], half[MOST];
    double theta[MOST / 2];
    uint64_t next = 500000;
    for (int n = 0; n < 200; n++) {
        const int D = sizes[n % SIZES], m = draw_below(&next, 2048);
        rt_theta_geometric(theta, D / 2, 10000);
        draw_row(x, (size_t)D, &next);
        for (int i = 0; i < D; i++)
            permuted[i / 2 + i % 2 * (D / 2)] = x[i];
        turn(y, x, theta, D, m, RT_INTERLEAVED);
        turn(half, permuted, theta, D, m, RT_HALF);
        for (int i = 0; i < D; i++)
            expect_near(half[i / 2 + i % 2 * (D / 2)], y[i], 4e-16, "feature %d of %d, m = %d", i,
                        D, m);
    }
}

/* theta / pi is irrational. */
TEST(angles_never_repeat)
{
    const real x[2] = {1, 0};
    real y[2];
    double theta[4];
    rt_theta_geometric(theta, 4, 10000);
    for (int i = 0; i < 4; i++)
        for (int m = 1; m < 2000; m++) {
            turn(y, x, theta + i, 2, m, RT_INTERLEAVED);
            expect_above(hypot(y[0] - 1, y[1]), 1e-5, "theta_%d: |R_%d x - x|", i, m);
        }
}

/* The opposite of the law above, to show that the test could see it. */
TEST(angles_of_2_pi_over_7_repeat_at_distance_7)
{
    static const double theta[1] = {2 * 3.141592653589793 / 7};
    const real x[2] = {1, 0};
    real y[2], z[2];
    for (int m = 0; m < 50; m++) {
        turn(y, x, theta, 2, m, RT_INTERLEAVED);
        turn(z, x, theta, 2, m + 7, RT_INTERLEAVED);
        expect_near(largest_difference(z, y, 2), 0, 1e-13, "|R_%d x - R_%d x|", m + 7, m);
    }
}

/* (R_m W x).(R_{m+3} W x), or the same with W R in place of R W. */
static double projected_score(real W[8][8], const real *x, const double *theta, int m,
                              bool rotate_first)
{
    real row[2][8], in[8], out[8];
    for (int k = 0; k < 2; k++) {
        const int at = m + 3 * k;
        turn(in, x, theta, 8, rotate_first ? at : 0, RT_INTERLEAVED);
        for (int i = 0; i < 8; i++)
            out[i] = dot(W[i], in, 8);
        turn(row[k], out, theta, 8, rotate_first ? 0 : at, RT_INTERLEAVED);
    }
    return dot(row[0], row[1], 8);
}

TEST(rotation_must_follow_the_projection)
{
    real W[8][8], x[8];
    double theta[4], farthest = 0;
    uint64_t next = 600000;
    rt_theta_geometric(theta, 4, 10000);
    draw_row(W[0], sizeof W / sizeof W[0][0], &next);
    draw_row(x, 8, &next);
    const double after = projected_score(W, x, theta, 0, false);
    const double before = projected_score(W, x, theta, 0, true);
    for (int m = 1; m < 200; m++) {
        expect_near(projected_score(W, x, theta, m, false), after, 1e-12,
                    "score at %d, rotated after W", m);
        farthest = rt_larger_error(farthest, fabs(projected_score(W, x, theta, m, true) - before));
    }
    expect_above(farthest, 1e-3, "change of a score rotated before W");
}

/* Hugging Face's own unit test: q = arange(2 * 12 * 16 * 64) / 100, heads before tokens, of
 * which token 1 and 5 of the first head are given to four places. */
TEST(golden_rows_of_the_public_model)
{
    static const struct {
        int token;
        double expected[8];
    } rows[] = {{1, {-.2012, .8897, .0263, .9401, .2074, .9463, .3481, .9343}},
                {5, {3.9859, -2.1580, -.7984, -4.4904, -4.1181, -2.0252, -4.4782, 1.1253}}};
    real x[64], y[64];
    double theta[32];
    rt_theta_geometric(theta, 32, 10000);
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 64; i++)
            x[i] = (rows[r].token * 64 + i) / 100.0;
        turn(y, x, theta, 64, rows[r].token, RT_INTERLEAVED);
        for (int i = 0; i < 8; i++)
            expect_near(y[i], rows[r].expected[i], 5.1e-5, "token %d, feature %d", rows[r].token,
                        i);
    }
    for (int i = 0; i < 64; i++)
        x[i] = (64 + i) / 100.0;
    turn(y, x, theta, 64, 1, RT_HALF);
    expect_near(y[0], -.4620, 5.1e-5, "token 1, feature 0, by half pairing");
}
