/* The laws of another theta than the model's own, and of pairs that do not rotate. */

#include "sessions.h"

#include "models/usage.h"

enum { SIZE = 8, PAIRS = SIZE / 2, TOKENS = 40, MOST = 2 * 4 * 2 * PAIRS };

/* A pair switched off at evaluation equals a pair with learned theta 0. Pairs from K on are. */
TEST_ROWS(pairs_switched_off_have_theta_0, 0, 3 * PAIRS)
{
    static real off[TOKENS * V], zeros[TOKENS * V];
    const int K = _i / 3;
    double factors[MOST], theta[MOST];
    rt_transformer_options o = model_of(LEARNED "model theta.form=raw model.kv_heads=2" PERTURBED);
    o.theta.scope = (rt_theta_scope)(_i % 3);
    rt_transformer *m = make(&o);
    for (int i = 0; i < MOST; i++)
        factors[i] = i % PAIRS < K;
    rt_transformer_change_theta(m, &(rt_theta_change){factors, true});
    whole(off, m, TOKENS);
    rt_transformer_change_theta(m, NULL);
    rt_transformer_theta(m, theta);
    for (size_t i = 0; i < rt_transformer_theta_count(&o); i++)
        theta[i] *= factors[i];
    rt_transformer_set_theta(m, theta);
    whole(zeros, m, TOKENS);
    expect_same(off, zeros, TOKENS, "zeros", K);
}

/* In a sliding layer with a local fraction of 1/2, pairs 0 and 1 rotate by 1 and base^(-1/2) and
 * the others do not rotate; interleaved pairs keep their features. */
TEST(a_local_fraction_is_that_of_sliding_layers)
{
    static real local[TOKENS * V], changed[TOKENS * V], shared[TOKENS * V], all[TOKENS * V];
    double numbers[MOST];
    rt_transformer_options o =
        model_of(SLIDING "model.window=7 model.kv_heads=2 position.base=100");
    rt_transformer *whole_model = make(&o);
    rt_transformer_rotation(whole_model, TOKENS, numbers);
    for (int i = 0; i < 2 * PAIRS; i++)
        numbers[i] = i % PAIRS < 2 ? pow(100, -(i % PAIRS) / 2.0) : 0;
    rt_transformer_change_theta(whole_model, &(rt_theta_change){.numbers = numbers});
    whole(changed, whole_model, TOKENS);
    o.position.local_fraction = 0.5;
    rt_transformer *m = make(&o);
    whole(local, m, TOKENS);
    expect_same(local, changed, TOKENS, "a local fraction", 0);
    rt_transformer_rotation(m, TOKENS, numbers);
    ck_assert_double_eq(numbers[PAIRS - 1], 0);
    o.layer_types.count = 0; /* all slide */
    whole(all, make(&o), TOKENS);
    o.position.fraction = 0.5;
    o.position.local_fraction = 0;
    whole(shared, make(&o), TOKENS);
    expect_same(all, shared, TOKENS, "the fraction of all layers", 0);
}

/* Overriding theta by itself changes nothing. Any other theta gives a whole text the logits of one
 * that is fed token by token. */
static void expect_changes(const rt_transformer_options *o, const char *name)
{
    static real own[TOKENS * V], other[TOKENS * V], fed[TOKENS * V];
    double numbers[MOST], again[MOST];
    rt_transformer *m = make(o);
    const int count = (int)rt_shape_size(rt_transformer_rotation_shape(&m->options));
    if (!rt_transformer_pairs(o))
        return;
    ck_assert_int_le(count, MOST);
    whole(own, m, TOKENS);
    rt_transformer_rotation(m, TOKENS, numbers);
    const rt_theta_change change = {.numbers = numbers};
    rt_transformer_change_theta(m, &change);
    whole(other, m, TOKENS);
    expect_same(other, own, TOKENS, name, 0);
    for (int i = 0; i < count; i++)
        numbers[i] = i % 5 ? 1.3 * sin(i) : 0;
    rt_transformer_rotation(m, TOKENS, again);
    ck_assert(!memcmp(numbers, again, (size_t)count * sizeof *again));
    whole(other, m, TOKENS);
    session = new_session(m, 0);
    draw_text(text);
    for (int k = 0; k < TOKENS; k++)
        feed(1, fed + k * V);
    expect_same(fed, other, TOKENS, name, 1);
    if (o->window != 1) /* a token sees itself */
        expect_above(largest_difference(other, own, TOKENS * V), 100 * tolerance, "%s", name);
    rt_transformer_change_theta(m, NULL);
    whole(other, m, TOKENS);
    ck_assert_msg(!memcmp(own, other, sizeof own), "%s", name);
}

TEST_ROWS(theta_can_be_overridden_in_every_model, 0, ROWS + KINDS)
{
    expect_of_all(row_at(_i), expect_changes);
}

TEST(a_factor_changes_the_theta_of_its_layer_and_head_alone)
{
    double numbers[MOST], theta[MOST];
    const rt_transformer_options o = model_of("model.kv_heads=2");
    rt_transformer *m = make(&o);
    for (int i = 0; i < 2 * 2 * PAIRS; i++)
        numbers[i] = i == 2 * PAIRS + PAIRS + 1 ? -3 : 1;
    rt_transformer_change_theta(m, &(rt_theta_change){numbers, true});
    rt_transformer_rotation(m, 9, theta);
    for (int i = 0; i < 2 * 2 * PAIRS; i++)
        expect_near(theta[i], numbers[i] * pow(10000, -(double)(i % PAIRS) / PAIRS), 1e-15,
                    "theta %d", i);
}

TEST(turns_are_counted_over_the_reach_of_attention)
{
    const double two_pi = 8 * atan(1);
    rt_transformer_options o = model_of("");
    ck_assert_int_eq(rt_transformer_reach(&o, 0, 128), 128);
    o.window = 64;
    ck_assert_int_eq(rt_transformer_reach(&o, 0, 128), 64);
    ck_assert_int_eq(rt_transformer_reach(&o, 0, 20), 20);
    expect_near(rt_theta_turns(&o, 0, 128, two_pi), 63, 1e-12, "whole turns");
    expect_near(rt_theta_turns(&o, -1, 64, -0.1), 6.3 / two_pi, 1e-15, "a part of one");
    o.position.kind = RT_POSITION_POPE;
    expect_near(rt_theta_turns(&o, 0, 20, two_pi), 19, 1e-12, "turns of pope");
    o.position.kind = RT_POSITION_SELECTIVE;
    ck_assert_msg(isnan(rt_theta_turns(&o, 0, 20, two_pi)), "turns of sums over tokens");
}

/* Length and parts of the queries or keys of a pair over tokens whose hidden states are x. */
static rt_pair_sum sum_by_hand(rt_affine a, const real *x, const uint8_t *mask, int count,
                               int first, int second)
{
    const int C = rt_columns(a.weight);
    rt_pair_sum sum = {0};
    for (int t = 0; t < count; t++) {
        const double u =
            dot(a.weight->data + first * C, x + t * C, C) + (double)a.bias->data[first];
        const double v =
            dot(a.weight->data + second * C, x + t * C, C) + (double)a.bias->data[second];
        sum.length += mask[t] ? hypot(u, v) : 0;
        sum.a += mask[t] ? u : 0;
        sum.b += mask[t] ? v : 0;
    }
    return sum;
}

static void expect_sum(rt_pair_sum got, rt_pair_sum expected, const char *what, int i)
{
    expect_near(got.length, expected.length, 1e4 * tolerance, "length of %s %d", what, i);
    expect_near(got.a, expected.a, 1e4 * tolerance, "first of %s %d", what, i);
    expect_near(got.b, expected.b, 1e4 * tolerance, "second of %s %d", what, i);
}

/* Only layers with rope count, without padding. Half of each head rotates. */
TEST_ROWS(usage_is_that_of_queries_and_keys_before_their_rotation, 0, 2)
{
    enum { B = 2, N = 10, HALF = PAIRS / 2, KV = 2 };
    const bool half = _i;
    int32_t ids[T];
    uint8_t mask[B * N];
    rt_tensor *states[4];
    rt_transformer_options o = model_of("model.kv_heads=2 position.fraction=0.5 position.every=2");
    o.position.pairing = half ? RT_HALF : RT_INTERLEAVED;
    o.layers = 3;
    rt_transformer *m = make(&o);
    rt_graph *g = new_graph();
    rt_usage u;
    expect_ok(rt_usage_new(&u, &o, N));
    draw_text(ids);
    for (int t = 0; t < B * N; t++)
        mask[t] = t % N < 7;
    const rt_transformer_input in =
        INPUT(.B = B, .T = N, .ids = ids, .key_mask = mask, .usage = &u, .hidden_states = states);
    rt_graph_record(g, false);
    made(g, rt_transformer_encode(m, g, &in));
    ck_assert_double_eq(u.tokens, B * 7);
    ck_assert_uint_eq(u.queries, 2 * 4 * HALF);
    ck_assert_uint_eq(u.keys, 2 * KV * HALF);
    for (int n = 0; n < 2; n++)
        for (int h = 0; h < 4; h++)
            for (int i = 0; i < HALF; i++) {
                const int first = h * SIZE + (half ? i : 2 * i);
                const int second = first + (half ? HALF : 1);
                const rt_transformer_layer *layer = m->layers + 2 * n;
                const real *x = states[2 * n]->data;
                expect_sum(u.query[(n * 4 + h) * HALF + i],
                           sum_by_hand(layer->query, x, mask, B * N, first, second), "query", i);
                if (h < KV)
                    expect_sum(u.key[(n * KV + h) * HALF + i],
                               sum_by_hand(layer->key, x, mask, B * N, first, second), "key", i);
            }
    rt_usage_free(&u);
}

TEST(shares_are_relative_to_the_mean_of_the_pairs)
{
    static const rt_pair_sum sums[] = {{6, 3, 4}, {2, 0, -1}, {1, 0, 0}, {3, 0, 0}};
    static const rt_pair_sum none[] = {{0, 0, 0}, {0, 0, 0}};
    double length[4], of_mean[4];
    rt_usage_shares(length, of_mean, sums, 4);
    for (int i = 0; i < 4; i++) {
        expect_near(length[i], sums[i].length / 3, 1e-15, "length %d", i);
        expect_near(of_mean[i], i == 0 ? 5 / 1.5 : i == 1 ? 1 / 1.5 : 0, 1e-15, "mean %d", i);
    }
    rt_usage_shares(length, of_mean, none, 2);
    expect_near(length[0] + length[1] + of_mean[0] + of_mean[1], 0, 0, "nothing");
}

TEST(usage_needs_pairs_that_add_to_scores)
{
    rt_usage u;
    const rt_transformer_options linear = model_of("model.attention=linear_elu"),
                                 t5 = model_of("position.kind=t5"),
                                 none = model_of("position.fraction=0");
    ck_assert_str_eq(rt_usage_new(&u, &linear, 8).message,
                     "model.attention = linear_elu has no scores that pairs of queries and keys "
                     "add to");
    ck_assert_str_eq(rt_usage_new(&u, &t5, 8).message,
                     "position.kind = t5 has no pairs that rotate");
    ck_assert_str_eq(rt_usage_new(&u, &none, 8).message,
                     "position.fraction = 0 leaves no pair that rotates");
}
