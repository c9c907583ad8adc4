/* Rotation by positions with two coordinates (Heo et al. 2024): axial, where half of the pairs
 * rotate by each coordinate, and mixed, where every pair rotates by both. */

#include "laws.h"

TEST(coordinates_that_contradict_theta_are_refused)
{
    static const double x[3] = {0, 1, 2}, y[3] = {0, 1, (double)NAN};
    static const real numbers[2 * 3] = {1, 1, 1, 1, 1, 1};
    const struct {
        rt_shape theta;
        rt_positions at;
        const char *why;
    } refused[] = {
        {RT_SHAPE_OF(3), {2, 1, x, y, false, 0}, "half of the pairs rotate by each coordinate"},
        {RT_SHAPE_OF(1, 2, 3), {2, 1, x, NULL, false, 0}, "needs two coordinates"},
        {RT_SHAPE_OF(2), {2, 1, NULL, y, false, 0}, "need both"},
        {RT_SHAPE_OF(2), {3, 1, x, y, false, 0}, "second coordinate of position 2 is nan"},
        {RT_SHAPE_OF(1, 3, 2), {2, 1, x, y, false, 0}, "theta must be"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        rt_graph *g = new_graph();
        rt_tensor theta = rt_tensor_of((real *)numbers, NULL, refused[i].theta);
        ck_assert_ptr_null(rt_rotation_learned(g, &theta, RT_THETA_RAW, RT_HALF, 1, refused[i].at));
        ck_assert_msg(strstr(rt_graph_status(g).message, refused[i].why) != NULL,
                      "row %zu: expected '%s', got '%s'", i, refused[i].why,
                      rt_graph_status(g).message);
    }
    rt_graph *g = new_graph();
    const rt_rotation *r = rt_rotation_fixed(g, x, RT_SHAPE_OF(1, 2), RT_HALF, 1,
                                             (rt_positions){.B = 1, .T = 2, .at = x, .second = x});
    ck_assert_ptr_nonnull(r);
    ck_assert_ptr_null(rt_rotation_decayed(g, r, 2, 4));
    ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message, "one coordinate"));
}

enum { B = 2, W = 3, H = 2, F = 8, NUMBERS = B * W * 2 * H * F };

static void fill_by(real *x, size_t size, double factor, double step, double (*f)(double))
{
    for (size_t i = 0; i < size; i++)
        x[i] = (real)(factor * f(1 + step * (double)i));
}

static void expect_line(FILE *file, const char *of, const char *what, const real *x, size_t size)
{
    char name[32], quantity[16];
    double wanted;
    ck_assert_int_eq(fscanf(file, "%31s %15s", name, quantity), 2);
    ck_assert_str_eq(name, of);
    ck_assert_str_eq(quantity, what);
    for (size_t i = 0; i < size; i++) {
        ck_assert_int_eq(fscanf(file, "%lf", &wanted), 1);
        expect_near(x[i], wanted, 1e-13, "%s, %s, number %zu", of, what, i);
    }
}

/* And a fixed theta rotates as the same one that is learned. */
TEST(rotations_in_the_plane_and_their_gradients_equal_those_of_pytorch)
{
    static const double x[] = {0, 1, 2, 0, 1, 2}, y[] = {0, 0, 0, 1, 1, 1};
    static const struct {
        const char *name;
        bool mixed; /* theta has two numbers for each pair */
        rt_pairing pairing;
    } planes[] = {{"axial-interleaved", false, RT_INTERLEAVED},
                  {"axial-half", false, RT_HALF},
                  {"mixed-interleaved", true, RT_INTERLEAVED},
                  {"mixed-half", true, RT_HALF}};
    FILE *file = fopen(TEST_SOURCES "/fixtures/rope_plane/values.txt", "r");
    ck_assert_ptr_nonnull(file);
    for (int n = 0; n < ROWS(planes); n++) {
        real numbers[NUMBERS], dx[NUMBERS] = {0}, weights[NUMBERS];
        real theta[2 * H * F / 2], dtheta[2 * H * F / 2] = {0};
        rt_tensor in = rt_tensor_of(numbers, dx, RT_SHAPE_OF(B, 2 * W, H, F));
        rt_tensor t =
            rt_tensor_of(theta, dtheta,
                         planes[n].mixed ? RT_SHAPE_OF(H, 2, F / 2) : RT_SHAPE_OF(H, F / 2));
        rt_tensor w = rt_tensor_of(weights, NULL, RT_SHAPE_OF(B, 2 * W, H, F));
        fill_by(numbers, NUMBERS, 1, 1, sin);
        fill_by(theta, rt_size(&t), 0.3, 3, cos);
        fill_by(weights, NUMBERS, 1, 2, cos);
        in.wants_grad = t.wants_grad = true;
        rt_graph *g = new_graph();
        const rt_positions at = {.B = B, .T = 2 * W, .at = x, .second = y};
        const rt_rotation *r = rt_rotation_learned(g, &t, RT_THETA_RAW, planes[n].pairing, 1, at);
        const rt_rotation *fixed =
            rt_rotation_fixed(g, theta, rt_tensor_shape(&t), planes[n].pairing, 1, at);
        rt_tensor *result = made(g, rt_rope(g, &in, r));
        const rt_tensor *same = made(g, rt_rope(g, &in, fixed));
        ck_assert(!memcmp(result->data, same->data, sizeof numbers));
        expect_line(file, planes[n].name, "y", result->data, NUMBERS);
        expect_ok(rt_graph_backward(g, rt_sum(g, rt_multiply(g, result, &w))));
        expect_line(file, planes[n].name, "dx", dx, NUMBERS);
        expect_line(file, planes[n].name, "dtheta", dtheta, rt_size(&t));
    }
    ck_assert_int_eq(fclose(file), 0);
}
