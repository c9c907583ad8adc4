/* The encodings of positions, each row of RT_POSITION_KINDS: that it is whole. Sinusoidal encoding
 * and ALiBi: what their numbers do, and what they do to attention. */

#include "laws.h"

#include "models/encodings/encoding.h"
#include "models/positions.h"

#include <stdio.h>
#include <unistd.h>

/* ---- rows ---- */

/* Reference of each row's numbers, or the test that has it: a file of tests/. */
static const char *const references[] = {
    [RT_POSITION_ROPE] = "vectors/rope_vectors.h5",
    [RT_POSITION_SINUSOIDAL] = "vectors/pos_vectors.h5",
    [RT_POSITION_LEARNED] = "models/test_encodings.c",
    [RT_POSITION_ALIBI] = "vectors/pos_vectors.h5",
    [RT_POSITION_T5] = "laws/test_distance_laws.c",
    [RT_POSITION_SHAW] = "laws/test_distance_laws.c",
    [RT_POSITION_NONE] = "laws/test_place_laws.c",
};

static int row_count(void)
{
    int count = 0;
    while (rt_encoding_word(count))
        count++;
    return count;
}

TEST(every_row_is_whole)
{
    ck_assert_int_eq((int)(sizeof references / sizeof *references), row_count());
    for (int i = 0; i < row_count(); i++) {
        const rt_transformer_options o = {.position.kind = (rt_position_kind)i};
        const rt_encoding *row = rt_encoding_of(&o);
        char path[4096];
        ck_assert_str_eq(row->word, rt_encoding_word(i));
        ck_assert_msg(references[i], "%s has no reference", row->word);
        snprintf(path, sizeof path, TEST_SOURCES "/%s", references[i]);
        ck_assert_msg(!access(path, R_OK), "%s: there is no %s", row->word, path);
        ck_assert(row->of_scores == (row->scores != NULL));
        ck_assert(row->in_layers == (row->scores || row->rotation));
        ck_assert(!row->add_layer || row->in_layers);
        ck_assert(!row->capacity == !row->capacity_key);
        ck_assert(!row->free || row->start);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(row->word, rt_encoding_word(k));
    }
}

/* ---- sinusoidal (Vaswani et al. 2017) ---- */

enum { D = 64, ROWS = 400 };

static double *table_of(rt_pairing layout)
{
    double *table = rt_alloc((size_t)ROWS * D, sizeof *table);
    rt_sinusoidal_table(table, ROWS, D, 10000, layout);
    return table;
}

/* sum cos(g w_i) */
static double expected_product(int g)
{
    double sum = 0;
    for (int i = 0; i < D / 2; i++)
        sum += cos(g * pow(10000, -2.0 * i / D));
    return sum;
}

/* The angles t w_i are rounded in proportion to t. */
static double tolerance_at(int t)
{
    return fmax(5e-14, t * 3e-16);
}

TEST(products_of_sines_depend_on_distance_only)
{
    for (int layout = 0; layout < 2; layout++) {
        double *table = table_of((rt_pairing)layout);
        for (int g = 0; g <= 200; g++)
            for (int t = 0; t + g < ROWS; t += 9) {
                const double *one = table + (size_t)t * D, *other = one + (size_t)g * D;
                expect_near(dot(one, other, D), expected_product(g), tolerance_at(t + g),
                            "PE(%d).PE(%d)", t, t + g);
                expect_near(dot(other, one, D), expected_product(-g), tolerance_at(t + g),
                            "PE(%d).PE(%d)", t + g, t);
            }
        rt_free(table);
    }
}

/* Queries and keys are W PE: this is why a sinusoidal model knows absolute positions. */
TEST(behind_a_projection_products_of_sines_depend_on_the_place)
{
    double *table = table_of(RT_INTERLEAVED), W[D * D], projected[D], first = 0, farthest = 0;
    uint64_t next = 0;
    draw_row(W, D * D, &next);
    for (int t = 0; t + 5 < ROWS; t++) {
        for (int i = 0; i < D; i++)
            projected[i] = dot(W + (size_t)i * D, table + (size_t)(t + 5) * D, D);
        const double product = dot(table + (size_t)t * D, projected, D);
        first = t == 0 ? product : first;
        farthest = rt_larger_error(farthest, fabs(product - first));
    }
    expect_above(farthest, 1, "change of PE(t)^T W PE(t + 5)");
    rt_free(table);
}

/* |PE(t) - PE(t + g)| is said to grow with g; it often falls. */
TEST(the_difference_of_sines_is_not_proportional_to_distance)
{
    int falls = 0;
    for (int g = 0; g < 200; g++)
        falls += D - 2 * expected_product(g + 1) < D - 2 * expected_product(g);
    ck_assert_msg(falls == 83, "expected 83 of 200 steps to fall, got %d", falls);
}

/* ---- ALiBi (Press et al. 2022) ---- */

enum { MOST_HEADS = 48 };

/* As the authors' code has it: for a power of two, the powers of 2^(-2^-(log2 H - 3)); for
 * the others, those of the power below, then every other one of the power above. */
static void published_slopes(double *slopes, int heads)
{
    int power = 1, log2 = 0;
    for (; 2 * power <= heads; power *= 2)
        log2++;
    const double ratio = exp2(-exp2(3 - log2));
    double twice[2 * MOST_HEADS], slope = 1;
    for (int k = 0; k < power; k++)
        slopes[k] = slope *= ratio;
    if (power == heads)
        return;
    published_slopes(twice, 2 * power);
    for (int k = power; k < heads; k++)
        slopes[k] = twice[2 * (k - power)];
}

TEST(slopes_are_those_of_the_published_recursion)
{
    double slopes[MOST_HEADS], expected[MOST_HEADS + 16];
    for (int heads = 1; heads <= MOST_HEADS; heads++) {
        rt_alibi_slopes(slopes, heads);
        published_slopes(expected, heads);
        for (int h = 0; h < heads; h++)
            expect_near(slopes[h] / expected[h], 1, 1e-14, "slope %d of %d over the published", h,
                        heads);
    }
}

TEST(slopes_of_4_and_6_heads)
{
    static const double expected[] = {.25, .0625, .015625, .00390625, .5, .125};
    double slopes[6];
    for (int heads = 4; heads <= 6; heads += 2) {
        rt_alibi_slopes(slopes, heads);
        for (int h = 0; h < heads; h++)
            expect_near(slopes[h], expected[h], 0, "slope %d of %d", h, heads);
    }
}

enum { T = 40, H = 4, SIZE = 4, ELEMENTS = T * H * SIZE };

typedef struct numbers {
    real q[ELEMENTS], k[ELEMENTS], v[ELEMENTS];
} numbers;

static numbers draw_numbers(void)
{
    numbers n;
    uint64_t next = 5000;
    draw_row(n.q, ELEMENTS, &next);
    draw_row(n.k, ELEMENTS, &next);
    draw_row(n.v, ELEMENTS, &next);
    return n;
}

static void attend(real *out, numbers *n, const rt_attention_options *options)
{
    rt_graph *g = rt_graph_new();
    const rt_shape shape = RT_SHAPE_OF(1, T, H, SIZE);
    rt_tensor q = rt_tensor_of(n->q, NULL, shape), k = rt_tensor_of(n->k, NULL, shape);
    rt_tensor v = rt_tensor_of(n->v, NULL, shape);
    const rt_tensor *y = rt_attention(g, &q, &k, &v, options);
    ck_assert_msg(y != NULL, "%s", rt_graph_status(g).message);
    memcpy(out, y->data, ELEMENTS * sizeof *out);
    rt_graph_free(g);
}

/* A bias of -m i for query i, whatever the key, is what one tutorial adds: the library is made
 * to do so by keys that all stand at 0. */
TEST(a_bias_that_is_constant_along_each_row_does_nothing)
{
    static const double at_0[T] = {0};
    real without[ELEMENTS], constant[ELEMENTS], alibi[ELEMENTS];
    double slopes[H];
    numbers n = draw_numbers();
    rt_alibi_slopes(slopes, H);
    attend(without, &n, &(rt_attention_options){0});
    attend(constant, &n, &(rt_attention_options){.slopes = slopes, .key_positions = at_0});
    attend(alibi, &n, &(rt_attention_options){.slopes = slopes});
    expect_near(largest_difference(constant, without, ELEMENTS), 0, 1e-13,
                "change by a bias of -m i");
    expect_above(largest_difference(alibi, without, ELEMENTS), 1e-2, "change by ALiBi");
}

/* Where q k^T is 0, the logarithms of the probabilities are the biases, up to a constant. */
TEST(alibi_subtracts_the_slope_times_the_distance)
{
    static real probabilities[H * T * T];
    real out[ELEMENTS];
    double slopes[H];
    numbers n = draw_numbers();
    memset(n.q, 0, sizeof n.q);
    rt_alibi_slopes(slopes, H);
    for (int causal = 0; causal < 2; causal++) {
        const rt_attention_options options = {.slopes = slopes,
                                              .causal = causal,
                                              .probabilities = probabilities};
        attend(out, &n, &options);
        for (int row = 0; row < H * T; row++)
            for (int j = 0; j < T; j++) {
                const int i = row % T;
                const real *p = probabilities + (size_t)row * T;
                if (causal && j > i)
                    expect_near(p[j], 0, 0, "probability of key %d for query %d, causal", j, i);
                else
                    expect_near(log(p[j] / p[i]), -slopes[row / T] * abs(i - j), 1e-12,
                                "bias of key %d for query %d, head %d", j, i, row / T);
            }
    }
}
