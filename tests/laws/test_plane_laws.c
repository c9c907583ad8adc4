/* The laws of rotation by positions with two coordinates (Heo et al. 2024): axial, where half of
 * the pairs rotate by each coordinate, and mixed, where every pair rotates by both. */

#include "laws.h"

#include <complex.h>

enum { D = 16, PAIRS = D / 2, LIMIT = 40 };

/* One number of theta for each pair, or two. */
typedef struct plane {
    bool mixed;
    rt_pairing pairing;
} plane;
static const plane planes[] = {{false, RT_INTERLEAVED},
                               {false, RT_HALF},
                               {true, RT_INTERLEAVED},
                               {true, RT_HALF}};
enum { PLANES = sizeof planes / sizeof *planes };

static void draw_theta(real theta[D], uint64_t *next)
{
    draw_row(theta, D, next);
}

/* y = R_(x, y) of one row of D features. */
static void turn_in_plane(real *result, const real *row, const real *theta, plane p, double x,
                          double y)
{
    rt_graph *g = rt_graph_new();
    rt_tensor in = rt_tensor_of((real *)row, NULL, RT_SHAPE_OF(1, 1, 1, D));
    rt_tensor t =
        rt_tensor_of((real *)theta, NULL, p.mixed ? RT_SHAPE_OF(1, 2, PAIRS) : RT_SHAPE_OF(PAIRS));
    rt_rotation *r = rt_rotation_learned(g, &t, RT_THETA_RAW, p.pairing, 1,
                                         (rt_positions){.B = 1, .T = 1, .at = &x, .second = &y});
    memcpy(result, made(g, rt_rope(g, &in, r))->data, D * sizeof *result);
    rt_graph_free(g);
}

static double angle_of(const real *theta, plane p, int i, double x, double y)
{
    if (p.mixed)
        return x * theta[i] + y * theta[PAIRS + i];
    return (i < PAIRS / 2 ? x : y) * theta[i];
}

TEST_ROWS(a_rotation_in_the_plane_multiplies_pairs_by_e_to_the_i_angle, 0, PLANES)
{
    const plane p = planes[_i];
    real row[D], turned[D], theta[D];
    uint64_t next = 400000;
    for (int n = 0; n < 200; n++) {
        const double x = draw_below(&next, LIMIT), y = draw_below(&next, LIMIT);
        draw_theta(theta, &next);
        draw_row(row, D, &next);
        turn_in_plane(turned, row, theta, p, x, y);
        for (int i = 0; i < PAIRS; i++) {
            const bool half = p.pairing == RT_HALF;
            const int a = half ? i : 2 * i, b = half ? i + PAIRS : 2 * i + 1;
            const double complex z = (row[a] + I * row[b]) * cexp(I * angle_of(theta, p, i, x, y));
            expect_near(turned[a], creal(z), 1e-14, "pair %d at (%g, %g)", i, x, y);
            expect_near(turned[b], cimag(z), 1e-14, "pair %d at (%g, %g)", i, x, y);
        }
    }
}

TEST_ROWS(lengths_are_kept_and_scores_depend_on_both_differences_alone, 0, PLANES)
{
    const plane p = planes[_i];
    real query[D], key[D], q[D], k[D], theta[D];
    uint64_t next = 500000;
    for (int n = 0; n < 200; n++) {
        const double x = draw_below(&next, LIMIT), y = draw_below(&next, LIMIT);
        const double right = draw_below(&next, LIMIT), down = draw_below(&next, LIMIT);
        draw_theta(theta, &next);
        draw_row(query, D, &next);
        draw_row(key, D, &next);
        turn_in_plane(q, query, theta, p, x, y);
        expect_near(dot(q, q, D), dot(query, query, D), 1e-13, "at (%g, %g)", x, y);
        turn_in_plane(k, key, theta, p, 3, 5);
        const double score = dot(q, k, D);
        turn_in_plane(q, query, theta, p, x + right, y + down);
        turn_in_plane(k, key, theta, p, 3 + right, 5 + down);
        expect_near(dot(q, k, D), score, 1e-12, "moved by (%g, %g)", right, down);
        turn_in_plane(k, key, theta, p, 3 + right, 6 + down);
        ck_assert_msg(fabs(dot(q, k, D) - score) > 1e-9, "the second difference changes nothing");
    }
}

TEST(in_an_image_of_one_row_axial_equals_rope_of_half_the_features)
{
    enum { T = 7, H = 2 };
    real x[T * H * D];
    double along[T], across[T] = {0}, axial[PAIRS], half[PAIRS / 2];
    uint64_t next = 600000;
    draw_row(x, sizeof x / sizeof *x, &next);
    rt_theta_geometric(half, PAIRS / 2, 100);
    for (int i = 0; i < PAIRS; i++)
        axial[i] = half[i % (PAIRS / 2)];
    for (int t = 0; t < T; t++)
        along[t] = t;
    rt_graph *g = rt_graph_new();
    rt_tensor in = rt_tensor_of(x, NULL, RT_SHAPE_OF(1, T, H, D));
    const rt_tensor *a = made(
        g,
        rt_rope(g, &in,
                rt_rotation_fixed(g, axial, RT_SHAPE_OF(1, PAIRS), RT_INTERLEAVED, 1,
                                  (rt_positions){.B = 1, .T = T, .at = along, .second = across})));
    const rt_tensor *b =
        made(g, rt_rope(g, &in,
                        rt_rotation_fixed(g, half, RT_SHAPE_OF(1, PAIRS / 2), RT_INTERLEAVED, 1,
                                          (rt_positions){.B = 1, .T = T})));
    for (int i = 0; i < T * H * D; i++)
        ck_assert_msg(a->data[i] == b->data[i], "number %d: %.17g and %.17g", i, a->data[i],
                      b->data[i]);
    rt_graph_free(g);
}

TEST(coordinates_and_theta_must_suit_each_other)
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
        rt_graph *g = rt_graph_new();
        rt_tensor theta = rt_tensor_of((real *)numbers, NULL, refused[i].theta);
        ck_assert_ptr_null(rt_rotation_learned(g, &theta, RT_THETA_RAW, RT_HALF, 1, refused[i].at));
        ck_assert_msg(strstr(rt_graph_status(g).message, refused[i].why) != NULL,
                      "row %zu: expected '%s', got '%s'", i, refused[i].why,
                      rt_graph_status(g).message);
        rt_graph_free(g);
    }
    rt_graph *g = rt_graph_new();
    const rt_rotation *r = rt_rotation_fixed(g, x, RT_SHAPE_OF(1, 2), RT_HALF, 1,
                                             (rt_positions){.B = 1, .T = 2, .at = x, .second = x});
    ck_assert_ptr_nonnull(r);
    ck_assert_ptr_null(rt_rotation_decayed(g, r, 2, 4));
    ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message, "one coordinate"));
    rt_graph_free(g);
}

/* ---- values and gradients of PyTorch (tests/fixtures/rope_plane) ---- */

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

TEST(rotations_in_the_plane_and_their_gradients_equal_those_of_pytorch)
{
    static const double x[] = {0, 1, 2, 0, 1, 2}, y[] = {0, 0, 0, 1, 1, 1};
    static const char *const names[] = {"axial-interleaved", "axial-half", "mixed-interleaved",
                                        "mixed-half"};
    FILE *file = fopen(TEST_SOURCES "/fixtures/rope_plane/values.txt", "r");
    ck_assert_ptr_nonnull(file);
    for (int n = 0; n < PLANES; n++) {
        const plane p = planes[n];
        real numbers[NUMBERS], dx[NUMBERS] = {0}, weights[NUMBERS];
        real theta[2 * H * F / 2], dtheta[2 * H * F / 2] = {0};
        rt_tensor in = rt_tensor_of(numbers, dx, RT_SHAPE_OF(B, 2 * W, H, F));
        rt_tensor t =
            rt_tensor_of(theta, dtheta, p.mixed ? RT_SHAPE_OF(H, 2, F / 2) : RT_SHAPE_OF(H, F / 2));
        rt_tensor w = rt_tensor_of(weights, NULL, RT_SHAPE_OF(B, 2 * W, H, F));
        fill_by(numbers, NUMBERS, 1, 1, sin);
        fill_by(theta, rt_size(&t), 0.3, 3, cos);
        fill_by(weights, NUMBERS, 1, 2, cos);
        in.wants_grad = t.wants_grad = true;
        rt_graph *g = rt_graph_new();
        const rt_positions at = {.B = B, .T = 2 * W, .at = x, .second = y};
        rt_tensor *result =
            rt_rope(g, &in, rt_rotation_learned(g, &t, RT_THETA_RAW, p.pairing, 1, at));
        expect_line(file, names[n], "y", made(g, result)->data, NUMBERS);
        expect_ok(rt_graph_backward(g, rt_sum(g, rt_multiply(g, result, &w))));
        expect_line(file, names[n], "dx", dx, NUMBERS);
        expect_line(file, names[n], "dtheta", dtheta, rt_size(&t));
        rt_graph_free(g);
    }
    ck_assert_int_eq(fclose(file), 0);
}
