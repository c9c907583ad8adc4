/* The values of rt_key_exp, held against e^(x - m) with m from its definition. */

#include "graphs.h"
#include "ops/ops.h"

#include <math.h>

enum { B = 2, T = 6, H = 2, D = 3, SIZE = B * T * H * D };

static real x[SIZE];

static size_t at(int b, int t, int h, int d)
{
    return (((size_t)b * T + (size_t)t) * H + (size_t)h) * D + (size_t)d;
}

/* The largest visible feature of a head up to and including token t; -infinity if there is none. */
static double largest(const uint8_t *mask, int b, int t, int h)
{
    double m = -INFINITY;
    for (int j = 0; j <= t; j++)
        for (int d = 0; d < D && mask[b * T + j]; d++)
            m = fmax(m, (double)x[at(b, j, h, d)]);
    return m;
}

static void expect_values(const uint8_t *mask, bool causal)
{
    const real *level;
    rt_graph *g = rt_graph_new();
    rt_tensor in = rt_tensor_of(x, NULL, RT_SHAPE_OF(B, T, H, D));
    const rt_tensor *y = made(g, rt_key_exp(g, &in, mask, causal, NULL, &level));
    ck_assert(causal == (level != NULL));
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++)
            for (int h = 0; h < H; h++) {
                const double m = largest(mask, b, causal ? t : T - 1, h);
                if (causal && isfinite(m))
                    ck_assert_double_eq((double)level[(b * T + t) * H + h], m);
                for (int d = 0; d < D; d++) {
                    const size_t i = at(b, t, h, d);
                    const double expected = mask[b * T + t] ? exp((double)x[i] - m) : 0;
                    ck_assert_msg(fabs((double)y->data[i] - expected) <= 1e-14,
                                  "sequence %d, token %d, head %d: expected %g, got %g", b, t, h,
                                  expected, (double)y->data[i]);
                }
            }
    rt_graph_free(g);
}

/* Masks that leave all, hide tokens among the others, hide the first, and hide all of one. */
static const uint8_t masks[][B * T] = {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                                       {1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1},
                                       {0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0},
                                       {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}};

/* Far below 0, so that e^x is 0, and far above it, so that it is infinite. */
TEST(keys_are_measured_by_the_largest)
{
    static const double centers[] = {0, -2000, 2000};
    for (int c = 0; c < 3; c++)
        for (int m = 0; m < 4; m++) {
            for (int i = 0; i < SIZE; i++)
                x[i] = (real)(centers[c] + 4 * rt_random_uniform((rt_random){9, 0, RT_STREAM_CHECK},
                                                                 (uint64_t)i));
            expect_values(masks[m], false);
            expect_values(masks[m], true);
        }
}

/* Were they counted, all others would vanish beside them. */
TEST(masked_tokens_do_not_count)
{
    for (int m = 1; m < 4; m++) {
        for (int i = 0; i < SIZE; i++)
            x[i] = (real)(masks[m][i / (H * D)] ? -2000 + i % 5 : 1000 + i);
        expect_values(masks[m], false);
        expect_values(masks[m], true);
    }
}
