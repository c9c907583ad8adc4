/* The laws of rotation, in double. */

#include "ops/ops.h"
#include "suite.h"

#include <complex.h>
#include <math.h>
#include <string.h>

static const double pi = 3.141592653589793;

static double draw(uint64_t index)
{
    return 2 * rt_random_uniform((rt_random){17, 0, RT_STREAM_CHECK}, index) - 1;
}

/* R_m x for one row of D features. */
static void turn(double *y, const double *x, const double *theta, int D, double m,
                 rt_pairing pairing)
{
    rt_graph *g = rt_graph_new();
    rt_tensor in = rt_tensor_of((real *)x, NULL, RT_SHAPE_OF(1, 1, 1, D));
    rt_tensor t = rt_tensor_of((real *)theta, NULL, RT_SHAPE_OF(D / 2));
    rt_rotation *r =
        rt_rotation_learned(g, &t, RT_THETA_RAW, pairing, 1, 1, 1, (rt_positions){.offset = m});
    rt_tensor *out = rt_rope(g, &in, r);
    ck_assert_msg(out != NULL, "%s", rt_graph_status(g).message);
    memcpy(y, out->data, (size_t)D * sizeof *y);
    rt_graph_free(g);
}

static double dot(const double *x, const double *y, int size)
{
    double sum = 0;
    for (int i = 0; i < size; i++)
        sum += x[i] * y[i];
    return sum;
}

enum { MOST = 64 };

static void draw_row(double *x, int D, uint64_t *next)
{
    for (int i = 0; i < D; i++)
        x[i] = draw((*next)++);
}

START_TEST(scores_depend_on_distance_only)
{
    static const int sizes[] = {2, 4, 8, 16, 64};
    double q[MOST], k[MOST], a[MOST], b[MOST], c[MOST], theta[MOST];
    uint64_t next = 0;
    for (int n = 0; n < 2000; n++) {
        const int D = sizes[n % 5];
        const double m = floor(2048 * (draw(next++) + 1) / 2),
                     at = floor(1024 * (draw(next++) + 1));
        rt_theta_geometric(theta, D / 2, 10000);
        draw_row(q, D, &next);
        draw_row(k, D, &next);
        turn(a, q, theta, D, m, RT_INTERLEAVED);
        turn(b, k, theta, D, at, RT_INTERLEAVED);
        turn(c, k, theta, D, at - m, RT_INTERLEAVED);
        ck_assert_double_eq_tol(dot(a, b, D), dot(q, c, D), 1e-9);
        ck_assert_double_eq_tol(dot(a, a, D), dot(q, q, D), 1e-13 * D);
    }
}
END_TEST

START_TEST(rotations_form_a_group)
{
    double x[16], a[16], b[16], c[16], theta[8];
    uint64_t next = 0;
    rt_theta_geometric(theta, 8, 10000);
    draw_row(x, 16, &next);
    turn(a, x, theta, 16, 0, RT_INTERLEAVED);
    ck_assert(!memcmp(a, x, sizeof x)); /* R_0 changes no bit */
    turn(a, x, theta, 16, 5, RT_INTERLEAVED);
    turn(b, a, theta, 16, 7, RT_INTERLEAVED);
    turn(c, x, theta, 16, 12, RT_INTERLEAVED);
    for (int i = 0; i < 16; i++)
        ck_assert_double_eq_tol(b[i], c[i], 1e-14);
    turn(b, a, theta, 16, -5, RT_INTERLEAVED);
    for (int i = 0; i < 16; i++)
        ck_assert_double_eq_tol(b[i], x[i], 1e-15);
}
END_TEST

START_TEST(three_forms_agree)
{
    double x[8], y[8], theta[4];
    uint64_t next = 100;
    rt_theta_geometric(theta, 4, 10000);
    draw_row(x, 8, &next);
    turn(y, x, theta, 8, 11, RT_INTERLEAVED);
    for (int i = 0; i < 4; i++) {
        const double c = cos(11 * theta[i]), s = sin(11 * theta[i]);
        const double complex z = (x[2 * i] + I * x[2 * i + 1]) * cexp(I * 11 * theta[i]);
        ck_assert_double_eq_tol(y[2 * i], c * x[2 * i] - s * x[2 * i + 1], 1e-15); /* matrix */
        ck_assert_double_eq_tol(y[2 * i], creal(z), 1e-15);
        ck_assert_double_eq_tol(y[2 * i + 1], cimag(z), 1e-15);
        ck_assert_double_eq_tol(y[2 * i + 1], x[2 * i + 1] * c + x[2 * i] * s, 1e-15); /* eq. 34 */
    }
}
END_TEST

START_TEST(half_pairing_is_interleaved_up_to_the_permutation)
{
    double x[8], permuted[8], y[8], half[8], theta[4];
    uint64_t next = 200;
    rt_theta_geometric(theta, 4, 10000);
    draw_row(x, 8, &next);
    for (int i = 0; i < 4; i++) {
        permuted[i] = x[2 * i];
        permuted[4 + i] = x[2 * i + 1];
    }
    turn(y, x, theta, 8, 3, RT_INTERLEAVED);
    turn(half, permuted, theta, 8, 3, RT_HALF);
    for (int i = 0; i < 4; i++)
        ck_assert(half[i] == y[2 * i] && half[4 + i] == y[2 * i + 1]);
}
END_TEST

START_TEST(angles_repeat_only_for_a_rational_theta)
{
    double x[2] = {1, 0}, y[2], z[2], theta[1] = {2 * pi / 7};
    turn(y, x, theta, 2, 3, RT_INTERLEAVED);
    turn(z, x, theta, 2, 10, RT_INTERLEAVED);
    ck_assert_double_eq_tol(y[0], z[0], 1e-14);
    theta[0] = 1;
    for (int m = 1; m < 2000; m++) {
        turn(y, x, theta, 2, m, RT_INTERLEAVED);
        ck_assert_double_gt(hypot(y[0] - 1, y[1]), 1e-5);
    }
}
END_TEST

/* Rotating before a linear map loses the relative property, after it keeps it. */
START_TEST(rotation_must_follow_the_projection)
{
    enum { D = 8 };
    double W[D][D], x[D], projected[D], rotated[D], a[D], b[D], theta[D / 2];
    double after[2], before[2];
    uint64_t next = 300;
    rt_theta_geometric(theta, D / 2, 10000);
    draw_row(W[0], D * D, &next);
    draw_row(x, D, &next);
    for (int i = 0; i < D; i++)
        projected[i] = dot(W[i], x, D);
    for (int shift = 0; shift < 2; shift++) {
        turn(a, projected, theta, D, 2 + 50 * shift, RT_INTERLEAVED);
        turn(b, projected, theta, D, 5 + 50 * shift, RT_INTERLEAVED);
        after[shift] = dot(a, b, D);
        for (int k = 0; k < 2; k++) {
            turn(rotated, x, theta, D, (k ? 5 : 2) + 50 * shift, RT_INTERLEAVED);
            for (int i = 0; i < D; i++)
                (k ? b : a)[i] = dot(W[i], rotated, D);
        }
        before[shift] = dot(a, b, D);
    }
    ck_assert_double_eq_tol(after[0], after[1], 1e-12);
    ck_assert_double_gt(fabs(before[0] - before[1]), 1e-3);
}
END_TEST

/* The golden rows of Hugging Face's own unit test. */
START_TEST(golden_rows_of_the_public_model)
{
    static const double first[] = {-.2012, .8897, .0263, .9401, .2074, .9463, .3481, .9343};
    static const double fifth[] = {3.9859,  -2.1580, -.7984,  -4.4904,
                                   -4.1181, -2.0252, -4.4782, 1.1253};
    double theta[32], x[64], y[64];
    static const struct {
        int row;
        const double *expected;
    } rows[] = {{1, first}, {5, fifth}};
    rt_theta_geometric(theta, 32, 10000);
    /* Hugging Face's table is [sin | cos] of 64 numbers; the input counts up in hundredths, and
     * its function rotates by position = row. */
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 64; i++)
            x[i] = (rows[k].row * 64 + i) / 100.0;
        turn(y, x, theta, 64, rows[k].row, RT_INTERLEAVED);
        for (int i = 0; i < 8; i++)
            ck_assert_double_eq_tol(y[i], rows[k].expected[i], 1e-4);
    }
}
END_TEST

START_TEST(conventions_of_theta)
{
    double theta[64];
    rt_theta_geometric(theta, 64, 10000);
    ck_assert_double_eq(theta[0], 1);
    ck_assert_double_eq_tol(theta[63], 1.154782e-4, 1e-10);
}
END_TEST

START_TEST(a_fixed_table_grows_and_keeps_its_bits)
{
    double theta[4], before[40];
    rt_rotation_table table;
    rt_theta_geometric(theta, 4, 10000);
    ck_assert(!rt_rotation_table_init(&table, theta, 4, RT_INTERLEAVED, 1).code);
    ck_assert(!rt_rotation_reserve(&table, 10).code);
    memcpy(before, table.rotation.cosine, sizeof before);
    ck_assert(!rt_rotation_reserve(&table, 20001).code);
    ck_assert(!memcmp(before, table.rotation.cosine, sizeof before));
    ck_assert_double_eq(table.rotation.cosine[20000 * 4 + 1], cos(20000 * theta[1]));
    rt_rotation_table_free(&table);
}
END_TEST

START_TEST(position_0_and_features_that_are_not_rotated_are_left_alone)
{
    enum { T = 3, D = 6 };
    real x_data[T * D], x_grad[T * D] = {0}, theta_data[2] = {0.7, 0.1}, theta_grad[2] = {0};
    real upstream[T * D] = {0};
    uint64_t next = 400;
    draw_row(x_data, T * D, &next);
    rt_graph *g = rt_graph_new();
    rt_tensor x = rt_tensor_of(x_data, x_grad, RT_SHAPE_OF(1, T, 1, D));
    rt_tensor theta = rt_tensor_of(theta_data, theta_grad, RT_SHAPE_OF(2));
    rt_rotation *r =
        rt_rotation_learned(g, &theta, RT_THETA_RAW, RT_INTERLEAVED, 1, 1, T, (rt_positions){0});
    rt_tensor *y = rt_rope(g, &x, r);
    for (int t = 0; t < T; t++)
        for (int i = 4; i < D; i++)
            ck_assert(y->data[t * D + i] == x_data[t * D + i]);
    draw_row(upstream, D, &next); /* the gradient of row 0 only */
    ck_assert(!rt_graph_backward_from(g, y, upstream).code);
    ck_assert(theta_grad[0] == 0 && theta_grad[1] == 0);
    ck_assert(!memcmp(x_grad, upstream, D * sizeof(real)));
    rt_graph_free(g);
}
END_TEST

START_TEST(what_does_not_fit_is_refused_with_the_shapes)
{
    real data[64] = {0};
    rt_graph *g = rt_graph_new();
    rt_tensor x = rt_tensor_of(data, NULL, RT_SHAPE_OF(2, 2, 4, 3));
    rt_tensor theta = rt_tensor_of(data, NULL, RT_SHAPE_OF(2));
    rt_tensor per_head = rt_tensor_of(data, NULL, RT_SHAPE_OF(3, 1));
    rt_rotation *r =
        rt_rotation_learned(g, &theta, RT_THETA_LOG, RT_HALF, 1, 2, 2, (rt_positions){0});
    ck_assert_ptr_null(rt_rope(g, &x, r));
    ck_assert_str_eq(rt_graph_status(g).message,
                     "[rope] x must be (B, T, H, D) with D >= 4; got (2, 2, 4, 3)");
    rt_graph_clear(g);
    r = rt_rotation_learned(g, &per_head, RT_THETA_LOG, RT_HALF, 1, 2, 2, (rt_positions){0});
    ck_assert_ptr_null(rt_rope(g, &x, r));
    ck_assert_str_eq(rt_graph_status(g).message,
                     "[rope] the rotation is for 3 heads, 1 sequences and 2 positions; got x "
                     "(2, 2, 4, 3)");
    rt_graph_clear(g);
    ck_assert_ptr_null(
        rt_rotation_learned(g, &x, RT_THETA_LOG, RT_HALF, 1, 2, 2, (rt_positions){0}));
    ck_assert_str_eq(rt_graph_status(g).message,
                     "[rope] theta must be (R/2) or (H, R/2); got (2, 2, 4, 3)");
    rt_graph_free(g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rope");
    TCase *tests = leak_checked_case(suite, "laws");
    tcase_add_test(tests, scores_depend_on_distance_only);
    tcase_add_test(tests, rotations_form_a_group);
    tcase_add_test(tests, three_forms_agree);
    tcase_add_test(tests, half_pairing_is_interleaved_up_to_the_permutation);
    tcase_add_test(tests, angles_repeat_only_for_a_rational_theta);
    tcase_add_test(tests, rotation_must_follow_the_projection);
    tcase_add_test(tests, golden_rows_of_the_public_model);
    tcase_add_test(tests, conventions_of_theta);
    tcase_add_test(tests, a_fixed_table_grows_and_keeps_its_bits);
    tcase_add_test(tests, position_0_and_features_that_are_not_rotated_are_left_alone);
    tcase_add_test(tests, what_does_not_fit_is_refused_with_the_shapes);
    return run_suite(suite);
}
