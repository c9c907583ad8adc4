/* Models whose tokens have positions with two coordinates or positions of their own, and patches of
 * images. In double. */

#include "core/gradcheck.h"
#include "new_model.h"
#include "option_words.h"

enum { B = 2, W = 3, T = 1 + 2 * W, PATCH = 5, HEADS = 2, PAIRS = 4 };

/* A class token at (0, 0) and two rows of three patches. */
static const double columns[T] = {0, 0, 1, 2, 0, 1, 2}, rows[T] = {0, 0, 0, 0, 1, 1, 1};
static const int32_t ids[B * T] = {1, 4, 4, 4, 4, 4, 4, 1, 4, 4, 4, 4, 4, 4};
static const rt_positions places = {.B = B, .T = T, .at = columns, .second = rows};
static real pixels[B * T * PATCH];

static rt_transformer_options images(const char *words)
{
    rt_transformer_options o = {.patch = PATCH, .position.max_len = T};
    set_options(&o, "vocab=5 head=sequence labels=3 model.layers=2 model.dim=16 model.heads=2 "
                    "model.norm=pre model.norm_eps=1e-12 position.axes=2 position.base=10 "
                    "position.scale=1 position.fraction=1 theta.scope=head");
    set_options(&o, words);
    return o;
}

static rt_transformer_input input(void)
{
    for (int i = 0; i < B * T * PATCH; i++)
        pixels[i] = (real)(i / PATCH % T ? sin(1 + i) : 0);
    return INPUT(.B = B, .T = T, .ids = ids, .patches = pixels, .positions = &places);
}

#define MIXED "position.mixing=mixed theta.learn=yes theta.form=raw"

/* Models of every encoding that has two coordinates. */
static const struct {
    const char *words;
    bool moves; /* the result depends on where the image is */
} kinds[] = {{"position.kind=rope", false},
             {"theta.learn=yes", false},
             {MIXED, false},
             {"position.kind=none", false},
             {"position.kind=sinusoidal", true},
             {"position.kind=learned", false}};

static rt_transformer *model_of(int kind)
{
    const rt_transformer_options o = images(kinds[kind].words);
    rt_transformer *m = new_model(&o, 3);
    grow(m, 20);
    return m;
}

static rt_tensor *loss(rt_graph *g, rt_tensor *const *parameters, void *context)
{
    static const int32_t labels[] = {2, 0};
    const rt_transformer_input in = input();
    (void)parameters;
    return rt_cross_entropy(g, rt_transformer_forward(context, g, &in), labels, 0, B);
}

TEST_ROWS(gradients_of_an_image_model_agree_with_central_differences, 0, ROWS(kinds))
{
    rt_transformer *m = model_of(_i);
    rt_tensor *inputs[64];
    const rt_gradcheck_options o = {.samples = 20};
    for (int i = 0; i < m->parameters.count; i++)
        inputs[i] = &m->parameters.list[i]->tensor;
    expect_ok(rt_gradcheck(loss, m, inputs, m->parameters.count, &o, NULL));
}

TEST_ROWS(a_rotated_image_model_sees_differences_of_coordinates_alone, 0, ROWS(kinds))
{
    static double right[T], down[T];
    rt_transformer *m = model_of(_i);
    rt_transformer_input in = input();
    rt_graph *g = new_graph();
    const real *first = made(g, rt_transformer_forward(m, g, &in))->data;
    const rt_positions moved = {.B = B, .T = T, .at = right, .second = down};
    for (int t = 0; t < T; t++) {
        right[t] = columns[t] + 5;
        down[t] = rows[t] + 2;
    }
    in.positions = &moved;
    const real *second = made(g, rt_transformer_forward(m, g, &in))->data;
    bool equal = true;
    for (int i = 0; i < B * 3; i++)
        equal &= fabs((double)(first[i] - second[i])) < 1e-10;
    ck_assert_int_eq(equal, !kinds[_i].moves);
    down[3] += 1; /* one patch is elsewhere */
    const real *third = made(g, rt_transformer_forward(m, g, &in))->data;
    ck_assert_int_eq(fabs((double)(third[0] - second[0])) > 1e-6, _i < 3 || kinds[_i].moves);
}

/* Heo et al. 2024: one random angle for each head and layer. */
TEST(mixed_theta_starts_with_a_length_for_each_pair_and_an_angle_for_each_head)
{
    const rt_transformer_options o = images(MIXED);
    rt_transformer *m = new_model(&o, 3);
    const rt_shape shape = rt_transformer_theta_shape(&m->options);
    double theta[2][HEADS][2][PAIRS], lengths[2][HEADS][2][PAIRS], angles[2 * HEADS];
    ck_assert_uint_eq(rt_shape_size(shape) * sizeof(double), sizeof theta);
    rt_transformer_theta(m, &theta[0][0][0][0]);
    rt_transformer_theta_geometric(&m->options, shape, &lengths[0][0][0][0]);
    for (int n = 0; n < 2 * HEADS; n++) {
        double(*of)[PAIRS] = theta[n / HEADS][n % HEADS];
        angles[n] = atan2(of[1][0], of[0][0]);
        for (int i = 0; i < PAIRS; i++) {
            const double length = pow(10, -(i % 2) / 2.0);
            const double angle = angles[n] + (i < PAIRS / 2 ? 0 : acos(0));
            ck_assert_double_eq_tol(lengths[n / HEADS][n % HEADS][1][i], length, 1e-15);
            ck_assert_double_eq_tol(of[0][i], length * cos(angle), 1e-14);
            ck_assert_double_eq_tol(of[1][i], length * sin(angle), 1e-14);
        }
        for (int before = 0; before < n; before++)
            ck_assert_double_gt(fabs(angles[n] - angles[before]), 1e-3);
    }
}

TEST(axial_theta_is_that_of_half_the_features_for_each_coordinate)
{
    const rt_transformer_options o = images("theta.learn=yes");
    double theta[2 * HEADS * PAIRS];
    rt_transformer_theta(new_model(&o, 3), theta);
    for (int i = 0; i < 2 * HEADS * PAIRS; i++)
        ck_assert_double_eq_tol(theta[i], pow(10, -(i % 2) / 2.0), 1e-15);
}

/* Texts with the positions that they would have without any. */
TEST_ROWS(positions_of_each_text_may_be_given, 0, 3)
{
    static const char *const one[] = {"position.kind=rope", "position.kind=sinusoidal",
                                      "position.kind=learned"};
    rt_transformer_options o = images(one[_i]);
    double usual[B * T];
    o.patch = 0;
    o.position.axes = 1;
    rt_transformer *m = new_model(&o, 3);
    grow(m, 20);
    rt_graph *g = new_graph();
    rt_positions at = {.B = B, .T = T, .at = usual, .per_sequence = true};
    rt_transformer_input in = INPUT(.B = B, .T = T, .ids = ids);
    for (int i = 0; i < B * T; i++)
        usual[i] = i % T;
    const real *without = made(g, rt_transformer_forward(m, g, &in))->data;
    in.positions = &at;
    const real *with = made(g, rt_transformer_forward(m, g, &in))->data;
    for (int i = 0; i < B * 3; i++)
        ck_assert_double_eq_tol((double)with[i], (double)without[i], 1e-12);
    usual[B * T - 1] = 0; /* of the second text */
    with = made(g, rt_transformer_forward(m, g, &in))->data;
    ck_assert_double_eq_tol((double)with[0], (double)without[0], 1e-12);
    ck_assert_double_gt(fabs((double)(with[3] - without[3])), 1e-9);
}

TEST(an_input_without_the_coordinates_or_patches_of_the_model_is_refused)
{
    rt_transformer_options o = images("");
    const rt_positions line = {.B = B, .T = T, .at = columns},
                       shorter = {.B = B, .T = T - 1, .at = columns, .second = rows};
    const struct {
        const rt_positions *at;
        const real *patches;
        const char *why;
    } bad[] = {{NULL, pixels, "(for a grid of n x n); got 7"},
               {&line, pixels, "positions must have 2 coordinates; got 1"},
               {&shorter, pixels, "must be given for 2 texts of 7 tokens"},
               {&places, NULL, "patches must be given if, and only if, the model has patches"}};
    for (int i = 0; i < ROWS(bad); i++) {
        rt_graph *g = new_graph();
        rt_transformer_input in = input();
        in.positions = bad[i].at;
        in.patches = bad[i].patches;
        ck_assert_ptr_null(rt_transformer_forward(new_model(&o, 1), g, &in));
        ck_assert_msg(strstr(rt_graph_status(g).message, bad[i].why) != NULL, "row %d: %s", i,
                      rt_graph_status(g).message);
    }
}
