/* The laws of xPos: rotation whose scores decay with the distance (Sun et al. 2022). */

#include "encoder.h"

#include "models/positions.h"

enum { T = 200, HEADS = 2, D = 8, PAIRS = D / 2, ROWS = T * HEADS };
static const double scale = 50;

/* Queries or keys of T tokens at positions from `offset` on, rotated by the first pairs. */
static void decay(real *y, const real *x, int pairs, rt_pairing pairing, double offset, double s)
{
    double theta[PAIRS];
    rt_graph *g = new_graph();
    rt_tensor in = rt_tensor_of((real *)x, NULL, RT_SHAPE_OF(1, T, HEADS, D));
    rt_theta_geometric(theta, pairs, 100);
    const rt_rotation *r = rt_rotation_fixed(g, theta, RT_SHAPE_OF(1, pairs), pairing, 1,
                                             (rt_positions){.B = 1, .T = T, .offset = offset});
    memcpy(y, made(g, rt_rope(g, &in, rt_rotation_decayed(g, r, T, s)))->data,
           ROWS * D * sizeof *y);
}

typedef struct drawn {
    real q[ROWS * D], k[ROWS * D], y[ROWS * D], z[ROWS * D];
} drawn;

static void draw_both(drawn *d)
{
    uint64_t next = 0;
    draw_row(d->q, ROWS * D, &next);
    draw_row(d->k, ROWS * D, &next);
}

/* With zeta_i = (2i/D + 0.4) / 1.4 the score is sum_i zeta_i^((m - n) / s) Re(q_i k_i^* e^(i (m -
 * n) theta_i)), q_i and k_i the pairs as complex numbers. */
TEST(a_score_is_that_of_the_formula)
{
    static drawn d;
    draw_both(&d);
    decay(d.y, d.q, PAIRS, RT_INTERLEAVED, 0, scale);
    decay(d.z, d.k, PAIRS, RT_INTERLEAVED, 0, -scale);
    for (int m = 0; m < T; m += 3)
        for (int n = 0; n <= m; n += 7) {
            const real *q = d.q + m * HEADS * D, *k = d.k + n * HEADS * D;
            double expected = 0;
            for (int i = 0; i < PAIRS; i++) {
                const double angle = (m - n) * pow(100, -2.0 * i / D);
                const double zeta = (2.0 * i / D + 0.4) / 1.4;
                const double along = q[2 * i] * k[2 * i] + q[2 * i + 1] * k[2 * i + 1];
                const double across = q[2 * i] * k[2 * i + 1] - q[2 * i + 1] * k[2 * i];
                expected += pow(zeta, (m - n) / scale) * (along * cos(angle) + across * sin(angle));
            }
            expect_near(dot(d.y + m * HEADS * D, d.z + n * HEADS * D, D), expected, 1e-13,
                        "score of %d and %d", m, n);
        }
}

/* The pairs of the part that is rotated are counted, and no other feature changes. */
TEST(a_fraction_of_a_head_decays_as_a_smaller_head)
{
    static drawn d;
    draw_both(&d);
    decay(d.y, d.q, PAIRS / 2, RT_HALF, 0, scale);
    for (int row = 0; row < ROWS; row++) {
        const real *x = d.q + row * D, *y = d.y + row * D;
        const double power = row / HEADS / scale;
        for (int i = 0; i < PAIRS / 2; i++)
            expect_near(hypot(y[i], y[i + PAIRS / 2]),
                        pow(i ? 9 / 14.0 : 2 / 7.0, power) * hypot(x[i], x[i + PAIRS / 2]), 1e-14,
                        "pair %d at %d", i, row / HEADS);
        ck_assert(!memcmp(x + PAIRS, y + PAIRS, PAIRS * sizeof *x));
    }
}

/* A rotation of two tokens uses the first two of three positions. */
TEST(sequences_have_positions_of_their_own)
{
    static const double at[] = {3, 8, 9, 40, 7, 5};
    real held[1] = {1};
    rt_graph *g = new_graph();
    rt_tensor theta = rt_tensor_of(held, NULL, RT_SHAPE_OF(1));
    const rt_rotation *r =
        rt_rotation_learned(g, &theta, RT_THETA_RAW, RT_HALF, 1,
                            (rt_positions){.B = 2, .T = 3, .at = at, .per_sequence = true});
    const rt_rotation *y = rt_rotation_decayed(g, r, 2, 10);
    ck_assert_msg(y != NULL, "%s", rt_graph_status(g).message);
    ck_assert_int_eq(y->length, 2);
    for (int row = 0; row < 4; row++) {
        const double m = at[row / 2 * 3 + row % 2], factor = pow(2 / 7.0, m / 10);
        expect_near(y->position[row], m, 0, "position of row %d", row);
        expect_near(y->cosine[row], factor * cos(m), 1e-15, "cosine of row %d", row);
        expect_near(y->sine[row], factor * sin(m), 1e-15, "sine of row %d", row);
    }
}

TEST(positions_beyond_the_reach_are_refused)
{
    const double theta[1] = {1};
    rt_graph *g = new_graph();
    for (int sign = -1; sign < 2; sign += 2) {
        const rt_rotation *r =
            rt_rotation_fixed(g, theta, RT_SHAPE_OF(1, 1), RT_HALF, 1,
                              (rt_positions){.B = 1, .T = 3, .offset = sign * 320 - 1 - sign});
        const rt_rotation *y = rt_rotation_decayed(g, r, 3, 10);
        ck_assert_msg(y != NULL, "%s", rt_graph_status(g).message);
        expect_near(log(hypot(y->cosine[1 + sign], y->sine[1 + sign])), -32 * sign * log(3.5),
                    1e-11, "the logarithm of the last factor");
        r = rt_rotation_fixed(g, theta, RT_SHAPE_OF(1, 1), RT_HALF, 1,
                              (rt_positions){.B = 1, .T = 3, .offset = sign * 320 - 1});
        ck_assert_ptr_null(rt_rotation_decayed(g, r, 3, 10));
        ck_assert_ptr_nonnull(strstr(rt_graph_status(g).message,
                                     "321 is farther from 0 than 32 times the scale of the decay, "
                                     "10"));
        rt_graph_clear(g);
    }
}

static rt_transformer_options decayed(double xpos)
{
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, true);
    o.position.xpos = xpos;
    return o;
}

TEST(xpos_limits_the_capacity_of_a_model)
{
    rt_transformer_options o = decayed(0);
    ck_assert_int_eq(rt_transformer_capacity(&o), 0);
    o = decayed(1.2);
    ck_assert_int_eq(rt_transformer_capacity(&o), 38);
    o = decayed(512);
    ck_assert_int_eq(rt_transformer_capacity(&o), 16384);
    o = decayed(1e300);
    ck_assert_int_eq(rt_transformer_capacity(&o), 0);
    o.position.kind = RT_POSITION_LEARNED;
    ck_assert_int_eq(rt_transformer_capacity(&o), o.position.max_len);
    o.position.kind = RT_POSITION_ALIBI;
    ck_assert_int_eq(rt_transformer_capacity(&o), 0);
}

TEST(a_shift_of_all_positions_changes_no_output)
{
    for (int n = 0; n < 4; n++) {
        real here[OUTPUT], there[OUTPUT], plain[OUTPUT];
        rt_transformer_options o = decayed(5);
        o.position.fraction = n % 2 ? 0.5 : 1;
        o.theta = (rt_theta_options){.learn = n / 2, .scope = RT_THETA_HEAD};
        encode_block(here, &o, 0);
        for (int padding = 1; padding < MOST_PADDING; padding += 60) {
            encode_block(there, &o, padding);
            expect_near(largest_difference(here, there, OUTPUT), 0, 1e-12, "a shift of %d",
                        padding);
        }
        o.position.xpos = 1e12;
        encode_block(here, &o, 0);
        o.position.xpos = 0;
        encode_block(plain, &o, 0);
        expect_near(largest_difference(here, plain, OUTPUT), 0, 1e-9, "a decay over 1e12 tokens");
        expect_above(largest_difference(there, plain, OUTPUT), 1e-3, "a decay over 5");
    }
}

/* A window of one token leaves nothing but its value. */
TEST(rotated_values_have_no_decay)
{
    real with_decay[OUTPUT], without[OUTPUT];
    rt_transformer_options o = decayed(3);
    o.position.rotate_value = true;
    o.window = 1;
    encode_block(with_decay, &o, 0);
    o.position.xpos = 0;
    encode_block(without, &o, 0);
    ck_assert(!memcmp(with_decay, without, sizeof without));
}

/* xPos makes the terms of each sum smaller. At its scale those of pair 0 of 2 are 2/7, of pair 1
 * 9/14, and theta of 0 rotates nothing: (2/7 + 13/14) / 2. */
TEST(the_decay_curve_includes_xpos)
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

/* Under the sanitizers, numbers of a decay that were refused must not be touched. */
TEST(a_decay_without_memory_fails_the_graph)
{
    enum { MANY = 1 << 15 };
    rt_graph *g = new_graph();
    double *theta = rt_graph_memory(g, MANY, sizeof *theta);
    rt_theta_geometric(theta, MANY, 10000);
    const rt_rotation *r = rt_rotation_fixed(g, theta, RT_SHAPE_OF(1, MANY), RT_HALF, 1,
                                             (rt_positions){.B = 1, .T = 1});
    rt_memory_fail_at(1);
    const rt_rotation *y = rt_rotation_decayed(g, r, 1, 10);
    rt_memory_fail_at(0);
    ck_assert_ptr_null(y);
    ck_assert_int_eq(rt_graph_status(g).code, RT_MEMORY);
}
