/* Refusals of ops for invalid input, and their results at the edges. */

#include "graphs.h"
#include "ops/ops.h"

#include <cblas.h>

static real data[256];
static rt_graph *g;

static void make_graph(void)
{
    g = new_graph();
}

static rt_tensor tensor(rt_shape shape)
{
    return rt_tensor_of(data, NULL, shape);
}

static void expect_refusal(const rt_tensor *result, const char *message)
{
    ck_assert_ptr_null(result);
    ck_assert_str_eq(rt_graph_status(g).message, message);
    rt_graph_clear(g);
}

SUITE(.setup = make_graph)

TEST(shapes_that_do_not_fit_are_named)
{
    rt_tensor a = tensor(RT_SHAPE_OF(2, 3)), b = tensor(RT_SHAPE_OF(2)),
              c = tensor(RT_SHAPE_OF(4, 3));
    rt_tensor d = tensor(RT_SHAPE_OF(3)), one = tensor(RT_SCALAR), e = tensor(RT_SHAPE_OF(2, 3, 4));
    expect_refusal(rt_add(g, &a, &b), "[add] y must have the last axes of x; got x (2, 3), y (2)");
    expect_refusal(rt_add(g, &d, &a), "[add] y must have the last axes of x; got x (3), y (2, 3)");
    expect_refusal(rt_multiply(g, &a, &b),
                   "[multiply] y must have the last axes of x; got x (2, 3), y (2)");
    expect_refusal(rt_reshape(g, &a, RT_SHAPE_OF(5)),
                   "[reshape] (5) does not have the size of (2, 3)");
    expect_refusal(rt_matmul(g, &a, &a),
                   "[matmul] a must be (..., M, K), b (..., K, N) or (K, N); got (2, 3), (2, 3)");
    expect_refusal(
        rt_matmul(g, &a, &e),
        "[matmul] a must be (..., M, K), b (..., K, N) or (K, N); got (2, 3), (2, 3, 4)");
    expect_refusal(rt_linear_onto(g, &a, &a, &c, NULL),
                   "[linear] residual must be (2, 4); got (2, 3)");
    expect_refusal(rt_linear_activate(g, &a, &c, &d, RT_GELU),
                   "[linear_activation] bias must be (4); got (3)");
    expect_refusal(rt_linear(g, &e, &c, NULL),
                   "[linear] x must be (..., I), weight (O, I); got (2, 3, 4), (4, 3)");
    expect_refusal(rt_linear(g, &a, &c, &d), "[linear] bias must be (4); got (3)");
    expect_refusal(rt_linear(g, &one, &c, NULL),
                   "[linear] x must be (..., I), weight (O, I); got (), (4, 3)");
    expect_refusal(rt_layer_norm(g, &a, &b, &b, 1e-5),
                   "[layer_norm] x must be (..., C), weight and bias (C); got (2, 3), (2), (2)");
    expect_refusal(rt_layer_norm(g, &a, &d, &b, 1e-5),
                   "[layer_norm] x must be (..., C), weight and bias (C); got (2, 3), (3), (2)");
    expect_refusal(
        rt_layer_norm(g, &a, &b, NULL, 1e-5),
        "[layer_norm] x must be (..., C), weight and bias (C); got (2, 3), (2), no bias");
    expect_refusal(rt_layer_norm(g, &a, &d, &d, -1), "[layer_norm] eps must be >= 0; got -1");
    expect_refusal(rt_dropout(g, &a, 1), "[dropout] p must be in [0, 1); got 1");
    expect_refusal(rt_dropout(g, &a, NAN), "[dropout] p must be in [0, 1); got nan");
    a = tensor(RT_SHAPE_OF(3, 8));
    expect_refusal(rt_pool(g, &a, RT_POOL_LAST, NULL), "[pool] x must be (B, T, C); got (3, 8)");
}

TEST(heads_that_do_not_fit_are_named)
{
    const rt_attention_options none = {.scale = 0}, bad = {.dropout = 1};
    const rt_positions at = {.B = 2, .T = 2};
    rt_tensor q = tensor(RT_SHAPE_OF(1, 2, 2, 3)), k = tensor(RT_SHAPE_OF(1, 2, 2, 4)),
              shared = tensor(RT_SHAPE_OF(1, 2, 3, 3)), x = tensor(RT_SHAPE_OF(2, 2, 4, 3));
    rt_tensor theta = tensor(RT_SHAPE_OF(2)), per_head = tensor(RT_SHAPE_OF(3, 1));
    expect_refusal(rt_attention(g, &q, &k, &k, &none),
                   "[attention] q, k, v must be (B, Tq, H, D), (B, Tk, G, D), (B, Tk, G, E), G a "
                   "divisor of H; got (1, 2, 2, 3), (1, 2, 2, 4), (1, 2, 2, 4)");
    expect_refusal(rt_attention(g, &shared, &q, &q, &none),
                   "[attention] q, k, v must be (B, Tq, H, D), (B, Tk, G, D), (B, Tk, G, E), G a "
                   "divisor of H; got (1, 2, 3, 3), (1, 2, 2, 3), (1, 2, 2, 3)");
    expect_refusal(rt_attention(g, &q, &q, &q, &bad),
                   "[attention] dropout must be in [0, 1); got 1");
    expect_refusal(rt_rope(g, &x, rt_rotation_learned(g, &theta, RT_THETA_LOG, RT_HALF, 1, at)),
                   "[rope] x must be (B, T, H, D) with D >= 4; got (2, 2, 4, 3)");
    expect_refusal(
        rt_rope(g, &x, rt_rotation_learned(g, &per_head, RT_THETA_LOG, RT_HALF, 1, at)),
        "[rope] the rotation is for 3 heads, 1 sequences and 2 positions; got x (2, 2, 4, 3)");
    expect_refusal((rt_tensor *)rt_rotation_learned(g, &x, RT_THETA_LOG, RT_HALF, 1, at),
                   "[rope] theta must be (R/2), (G, R/2) or (G, 2, R/2); got (2, 2, 4, 3)");
}

TEST(ids_and_labels_out_of_range_are_named)
{
    static const int32_t ids[] = {0, 2}, labels[] = {1, 3}, low[] = {-1, 0};
    rt_tensor table = tensor(RT_SHAPE_OF(2, 3)), logits = tensor(RT_SHAPE_OF(2, 3));
    expect_refusal(rt_embedding(g, &table, ids, RT_SHAPE_OF(2), RT_NO_PADDING),
                   "[embedding] id 1 is 2; the table has 2 rows");
    expect_refusal(rt_embedding(g, &table, low, RT_SHAPE_OF(2), RT_NO_PADDING),
                   "[embedding] id 0 is -1; the table has 2 rows");
    expect_refusal(rt_cross_entropy(g, &logits, labels, 0, 1),
                   "[cross_entropy] label 1 must be from 0 to 2; got 3");
    expect_refusal(rt_cross_entropy(g, &logits, labels, 0, 0),
                   "[cross_entropy] divisor must be positive, smoothing in [0, 1); got 0, 0");
}

/* Not the table, whose shape is right. */
TEST(a_shape_of_ids_that_does_not_fit_is_named)
{
    static const int32_t ids[2] = {0};
    static const rt_shape five = {.ndim = 5, .axis = {1, 1, 1, 1}}, less = {.ndim = -1};
    rt_tensor table = tensor(RT_SHAPE_OF(2, 3));
    expect_refusal(rt_embedding(g, &table, ids, RT_SHAPE_OF(1, 1, 1, 2), RT_NO_PADDING),
                   "[embedding] the shape of the ids must have up to 3 axes and at least one "
                   "element; got (1, 1, 1, 2)");
    expect_refusal(rt_embedding(g, &table, ids, five, RT_NO_PADDING),
                   "[embedding] the shape of the ids must have up to 3 axes and at least one "
                   "element; got (5 axes)");
    expect_refusal(rt_reshape(g, &table, less),
                   "[reshape] (-1 axes) does not have the size of (2, 3)");
}

TEST(softmax_rows_sum_to_1_whatever_their_size)
{
    static const double scales[] = {0, 1, 1e3, 1e30};
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 21; i++)
            data[i] = (real)(scales[s] * sin(i));
        rt_tensor x = tensor(RT_SHAPE_OF(3, 7));
        rt_tensor *y = rt_softmax(g, &x), *log_y = rt_log_softmax(g, &x);
        for (int r = 0; r < 3; r++) {
            double sum = 0;
            for (int i = 0; i < 7; i++) {
                sum += (double)y->data[7 * r + i];
                ck_assert(!isnan(log_y->data[7 * r + i]));
            }
            ck_assert_double_eq_tol(sum, 1, 1e-12);
        }
    }
}

TEST(a_loss_without_labels_is_zero)
{
    static const int32_t labels[] = {RT_IGNORE, RT_IGNORE};
    rt_tensor logits = tensor(RT_SHAPE_OF(2, 3));
    ck_assert(rt_cross_entropy(g, &logits, labels, 0, 1)->data[0] == 0);
    ck_assert_uint_eq(rt_count_correct(&logits, labels), 0);
    memset(data, 0, sizeof data); /* the first of equal logits counts */
    ck_assert_uint_eq(rt_count_correct(&logits, (const int32_t[]){0, 1}), 1);
}

typedef rt_tensor *computed(rt_tensor *in, rt_activation kind, bool at_once);

static rt_tensor *activated_linear(rt_tensor *in, rt_activation kind, bool at_once)
{
    return at_once ? rt_linear_activate(g, &in[0], &in[1], &in[2], kind)
                   : rt_activate(g, rt_linear(g, &in[0], &in[1], &in[2]), kind);
}

static rt_tensor *gated_unit(rt_tensor *in, rt_activation kind, bool at_once)
{
    return at_once ? rt_glu(g, &in[0], &in[1], kind)
                   : rt_multiply(g, rt_activate(g, &in[0], kind), &in[1]);
}

/* Results and gradients are the same, over more numbers than fit a block. */
static void expect_same(computed *compute, const rt_shape shapes[3], rt_activation kind)
{
    enum { MOST = 10240 };
    static real numbers[MOST], grads[2][MOST], results[2][MOST], upstream[MOST];
    size_t used = 0, size = 0;
    memset(grads, 0, sizeof grads);
    for (int i = 0; i < MOST; i++) {
        numbers[i] =
            (real)(6 * rt_random_uniform((rt_random){8, 0, RT_STREAM_CHECK}, (uint64_t)i)) - 3;
        upstream[i] = (real)(i % 7) - 3;
    }
    for (int at_once = 0; at_once < 2; at_once++) {
        rt_tensor in[3];
        used = 0;
        for (int i = 0; i < 3; i++) {
            in[i] = rt_tensor_of(numbers + used, grads[at_once] + used, shapes[i]);
            used += rt_shape_size(shapes[i]);
        }
        rt_graph_clear(g);
        rt_tensor *y = compute(in, kind, at_once);
        expect_ok(rt_graph_backward_from(g, y, upstream));
        size = rt_size(y);
        memcpy(results[at_once], y->data, size * sizeof(real));
    }
    for (size_t i = 0; i < size; i++)
        ck_assert_double_eq_tol(results[0][i], results[1][i], 1e-12);
    for (size_t i = 0; i < used; i++)
        ck_assert_double_eq_tol(grads[0][i], grads[1][i], compute == gated_unit ? 1e-12 : 1e-9);
}

TEST_ROWS(an_activation_is_computed_with_its_linear_map_and_its_product, RT_GELU,
          RT_LOG_SIGMOID + 1)
{
    static const rt_shape linear[3] = {RT_SHAPE_OF(130, 3), RT_SHAPE_OF(40, 3), RT_SHAPE_OF(40)};
    static const rt_shape gated[3] = {RT_SHAPE_OF(1250, 4), RT_SHAPE_OF(1250, 4)};
    expect_same(activated_linear, linear, (rt_activation)_i);
    expect_same(gated_unit, gated, (rt_activation)_i);
}

/* The reference is computed in extended precision. */
TEST(softplus_and_log_sigmoid_are_exact_far_from_0)
{
    static const double at[] = {-800, -700, -40, -1, -1e-9, 0, 1e-9, 1, 40, 700, 800};
    enum { N = ROWS(at) };
    real ones[N], slopes[N];
    for (int kind = RT_SOFTPLUS; kind <= RT_LOG_SIGMOID; kind++) {
        const long double sign = kind == RT_SOFTPLUS ? 1 : -1;
        rt_graph_clear(g);
        for (int i = 0; i < N; i++) {
            data[i] = (real)at[i];
            ones[i] = 1;
            slopes[i] = 0;
        }
        rt_tensor x = rt_tensor_of(data, slopes, RT_SHAPE_OF(N));
        rt_tensor *y = rt_activate(g, &x, (rt_activation)kind);
        expect_ok(rt_graph_backward_from(g, y, ones));
        for (int i = 0; i < N; i++) {
            const long double z = sign * at[i], value = sign * log1pl(expl(z));
            const long double slope = 1 / (1 + expl(-z));
            ck_assert_msg(fabsl(y->data[i] - value) <= 4e-16L * fabsl(value) + 1e-320L,
                          "f(%g) is %.17g", at[i], (double)y->data[i]);
            ck_assert_msg(fabsl(slopes[i] - slope) <= 4e-16L * slope + 1e-320L, "f'(%g) is %.17g",
                          at[i], (double)slopes[i]);
        }
    }
}

TEST(dropout_draws_the_same_mask_from_the_same_counters)
{
    enum { N = 256 };
    real first[N], second[N];
    int kept = 0;
    for (int i = 0; i < N; i++)
        data[i] = 1;
    rt_tensor x = tensor(RT_SHAPE_OF(N));
    ck_assert_ptr_eq(rt_dropout(g, &x, 0.25), &x); /* not told what to draw from: off */
    rt_graph_set_random(g, 1, 2, 3);
    memcpy(first, rt_dropout(g, &x, 0.25)->data, sizeof first);
    memcpy(second, rt_dropout(g, &x, 0.25)->data, sizeof second);
    ck_assert(memcmp(first, second, sizeof first)); /* the second dropout of a graph */
    rt_graph_clear(g);
    rt_graph_set_random(g, 1, 2, 3);
    ck_assert(!memcmp(first, rt_dropout(g, &x, 0.25)->data, sizeof first));
    rt_graph_clear(g);
    rt_graph_set_random(g, 1, 2, 4); /* another shard */
    ck_assert(memcmp(first, rt_dropout(g, &x, 0.25)->data, sizeof first));
    for (int i = 0; i < N; i++) {
        ck_assert(first[i] == 0 || fabs((double)first[i] - 4.0 / 3) < 1e-6);
        kept += first[i] != 0;
    }
    ck_assert_int_ge(kept, 170);
    ck_assert_int_le(kept, 214);
}

/* OpenBLAS begins with as many as there are processors. */
TEST(openblas_computes_products_with_one_thread)
{
    real ones[64];
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    const rt_tensor a = rt_tensor_of(ones, NULL, RT_SHAPE_OF(8, 8));
    ck_assert_ptr_nonnull(rt_matmul(g, (rt_tensor *)&a, (rt_tensor *)&a));
    ck_assert_int_eq(openblas_get_num_threads(), 1);
}

static int first_largest(const real *x, int size)
{
    int best = -1;
    for (int i = 0; i < size; i++)
        if (!isnan(x[i]) && (best < 0 || x[i] > x[best]))
            best = i;
    return best < 0 ? 0 : best;
}

TEST(the_largest_of_a_row_is_the_first_of_equals)
{
    static const int sizes[] = {1, 2, 31, 63, 64, 65, 127, 128, 200};
    static const real values[] = {0, 1, -1, (real)NAN, (real)-INFINITY, 2, (real)INFINITY};
    real x[2 * 200];
    uint32_t seed = 1;
    for (int s = 0; s < ROWS(sizes); s++)
        for (uint32_t choices = 1; choices <= 7; choices++) {
            for (int i = 0; i < 2 * sizes[s]; i++) {
                seed = seed * 1664525 + 1013904223;
                x[i] = values[(seed >> 16) % choices];
            }
            const rt_tensor rows = rt_tensor_of(x, NULL, RT_SHAPE_OF(2, sizes[s]));
            for (int r = 0; r < 2; r++)
                ck_assert_int_eq(rt_largest(&rows, (size_t)r),
                                 first_largest(x + r * sizes[s], sizes[s]));
        }
    for (int i = 0; i < 65; i++) {
        for (int k = 0; k < 65; k++)
            x[k] = k == i ? -1 : (real)-INFINITY;
        const rt_tensor row = rt_tensor_of(x, NULL, RT_SHAPE_OF(1, 65));
        ck_assert_int_eq(rt_largest(&row, 0), i);
        x[i] = (real)NAN;
        ck_assert_int_eq(rt_largest(&row, 0), i == 0);
    }
    for (int k = 0; k < 65; k++)
        x[k] = (real)NAN;
    const rt_tensor row = rt_tensor_of(x, NULL, RT_SHAPE_OF(1, 65));
    ck_assert_int_eq(rt_largest(&row, 0), 0);
}

/* Two texts of four tokens; the second has one, the third is padding alone. */
TEST(pooling_leaves_padding_out)
{
    static const uint8_t mask[] = {1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0};
    static const double wanted[3][6] = {{0, 1, 100, 101, 200, 201},
                                        {13 / 3.0, 16 / 3.0, 100, 101, 0, 0},
                                        {7, 8, 100, 101, 200, 201}};
    static const real x[] = {0,   1,   NAN, NAN, 6,   7,   7,   8,   100, 101, NAN, NAN,
                             NAN, NAN, NAN, NAN, 200, 201, NAN, NAN, NAN, NAN, NAN, NAN};
    memcpy(data, x, sizeof x);
    rt_tensor t = tensor(RT_SHAPE_OF(3, 4, 2));
    for (int kind = RT_POOL_FIRST; kind <= RT_POOL_LAST; kind++) {
        const rt_tensor *y = rt_pool(g, &t, (rt_pooling)kind, mask);
        ck_assert_ptr_nonnull(y);
        ck_assert(rt_shapes_equal(rt_tensor_shape(y), RT_SHAPE_OF(3, 2)));
        for (int i = 0; i < 6; i++)
            ck_assert_double_eq_tol((double)y->data[i], wanted[kind][i], 1e-6);
    }
}

TEST(some_rows_have_the_bits_of_all)
{
    enum { PAIRS = 4, T = 5, OFFSET = 3 };
    double theta[PAIRS];
    rt_theta_geometric(theta, PAIRS, 100);
    const rt_shape shape = RT_SHAPE_OF(1, PAIRS);
    rt_positions at = {.B = 1, .T = T, .offset = OFFSET};
    const rt_rotation *all =
        rt_rotation_fixed(g, theta, shape, RT_HALF, 1.5, (rt_positions){.B = 1, .T = OFFSET + T});
    const rt_rotation *r = rt_rotation_fixed(g, theta, shape, RT_HALF, 1.5, at);
    const size_t size = (size_t)T * PAIRS * sizeof(real);
    ck_assert_int_eq(r->length, T);
    ck_assert(!memcmp(r->cosine, all->cosine + OFFSET * PAIRS, size));
    ck_assert(!memcmp(r->sine, all->sine + OFFSET * PAIRS, size));
    ck_assert(!memcmp(r->position, all->position + OFFSET, T * sizeof(double)));
    ck_assert_ptr_null(rt_rotation_fixed(g, theta, shape, RT_HALF, NAN, at));
    ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message, "a finite magnitude"));
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_rotation_fixed(g, NULL, shape, RT_HALF, 1, at));
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_rotation_fixed(g, theta, RT_SHAPE_OF(1, -1), RT_HALF, 1, at));
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_rotation_fixed(g, theta, RT_SHAPE_OF(0, 0), RT_HALF, 1, at));
    rt_graph_clear(g);
    ck_assert_ptr_null(rt_rotation_fixed(g, theta, shape, (rt_pairing)3, 1, at));
    rt_graph_clear(g);
    at.T = 0;
    ck_assert_ptr_null(rt_rotation_fixed(g, theta, shape, RT_HALF, 1, at));
}
