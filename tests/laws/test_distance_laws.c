/* The classes that distances are sorted into: the buckets of T5 (Raffel et al. 2020) and the
 * clipped distances of Shaw et al. (2018). */

#include "laws.h"

#include "models/positions.h"

static int16_t class_of[RT_MAX_CLASSES_OF];

/* The class of key position - query position, clamped as attention does it. */
static int class_at(const rt_distances *d, int distance)
{
    const int reach = d->reach;
    const int clamped = distance < -reach ? -reach : distance > reach ? reach : distance;
    return d->class_of[clamped + reach];
}

static void expect_class(const rt_distances *d, int distance, int expected)
{
    const int got = class_at(d, distance);
    ck_assert_msg(got == expected, "class of distance %d: expected %d, got %d", distance, expected,
                  got);
}

enum { FAR = 1000 };

/* The first distance of each bucket by the published formula, exact + floor(ln(n / exact) /
 * ln(128 / exact) (buckets - exact)), in whole numbers: of each side, and of a causal
 * model. */
static const int firsts[2][32] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91},
                                  {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                   11, 12, 13, 14, 15, 16, 19, 21, 24, 27, 31,
                                   35, 40, 46, 52, 59, 67, 77, 87, 99, 113}};

TEST(buckets_follow_the_published_formula)
{
    for (int causal = 0; causal < 2; causal++) {
        const rt_distances d = rt_t5_distances(class_of, causal);
        const int side = causal ? 32 : 16;
        ck_assert_int_eq(d.classes, 32);
        for (int n = 0, bucket = 0; n <= FAR; n++) {
            bucket += bucket + 1 < side && n == firsts[causal][bucket + 1];
            expect_class(&d, -n, bucket);
            if (n > 0) /* a causal query sees nothing ahead */
                expect_class(&d, n, causal ? 0 : side + bucket);
        }
    }
}

TEST(distances_of_shaw_are_clipped_at_16)
{
    const rt_distances d = rt_shaw_distances(class_of);
    for (int n = -FAR; n <= FAR; n++)
        expect_class(&d, n, n < -16 ? 0 : n > 16 ? 32 : n + 16);
    ck_assert_int_eq(d.classes, 33);
}

enum { T = 300, TERMS = 33 };

/* The probabilities, (T, T), of attention without content, by which every key gets a tenth of
 * its class as its score: by a bias, or by a key that meets a query of 1. */
static void weigh_classes(real *probabilities, const rt_distances *d, bool by_key, bool causal)
{
    real query[T], zeros[T] = {0}, terms[TERMS];
    for (int i = 0; i < T; i++)
        query[i] = by_key;
    for (int c = 0; c < d->classes; c++)
        terms[c] = c / 10.0;
    rt_tensor q = rt_tensor_of(query, NULL, RT_SHAPE_OF(1, T, 1, 1));
    rt_tensor k = rt_tensor_of(zeros, NULL, RT_SHAPE_OF(1, T, 1, 1));
    rt_tensor table = rt_tensor_of(terms, NULL, RT_SHAPE_OF(d->classes, 1));
    const rt_attention_options options = {.causal = causal,
                                          .distances = d,
                                          .distance_bias = by_key ? NULL : &table,
                                          .distance_keys = by_key ? &table : NULL,
                                          .probabilities = probabilities};
    rt_graph *g = new_graph();
    const rt_tensor *y = rt_attention(g, &q, &k, &k, &options);
    ck_assert_msg(y != NULL, "%s", rt_graph_status(g).message);
}

static void expect_classes(const rt_distances *d, bool by_key, bool causal)
{
    real *probabilities = rt_alloc((size_t)T * T, sizeof *probabilities);
    weigh_classes(probabilities, d, by_key, causal);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) {
            const real *p = probabilities + (size_t)i * T;
            if (causal && j > i)
                expect_near(p[j], 0, 0, "probability of key %d for query %d, causal", j, i);
            else
                expect_near(10 * log(p[j] / p[i]), class_at(d, j - i) - class_at(d, 0), 1e-11,
                            "class of key %d for query %d, less that of distance 0", j, i);
        }
    rt_free(probabilities);
}

TEST_ROWS(attention_adds_the_bias_and_the_key_of_key_minus_query, 0, 2)
{
    const rt_distances t5 = rt_t5_distances(class_of, _i);
    expect_classes(&t5, false, _i);
    const rt_distances shaw = rt_shaw_distances(class_of);
    expect_classes(&shaw, true, _i);
}
