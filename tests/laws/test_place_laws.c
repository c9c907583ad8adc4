/* Dependence of an encoder on the positions of tokens: on their order, and on the number of padding
 * tokens before them. An encoder counts tokens from 0, so that padding shifts a block: encodings of
 * distances alone must be invariant. */

#include "encoder.h"

static const int paddings[] = {1, 16, 37, MOST_PADDING};
enum { PADDINGS = sizeof paddings / sizeof *paddings };

static double change_by_shift(const rt_transformer_options *o, int padding)
{
    real here[OUTPUT], there[OUTPUT];
    encode_block(here, o, 0);
    encode_block(there, o, padding);
    return largest_difference(here, there, OUTPUT);
}

static bool is_symmetric(rt_position_kind kind)
{
    switch (kind) {
    case RT_POSITION_ALIBI:
    case RT_POSITION_NONE:
        return true;
    default:
        return false;
    }
}

static void expect_change(double change, bool some, const rt_transformer_options *o,
                          const char *what)
{
    const char *kind = rt_encoding_word((int)o->position.kind);
    const char *attention = attentions[o->attention], *causal = o->causal ? ", causal" : "";
    if (some)
        expect_above(change, 1e-3, "change by %s, %s, %s%s", what, kind, attention, causal);
    else
        expect_near(change, 0, 1e-12, "change by %s, %s, %s%s", what, kind, attention, causal);
}

/* Every valid model. The keys that a causal query sees tell its position without any encoding. */
TEST_ROWS(encodings_and_causal_models_depend_on_the_order_of_tokens, 0, KINDS *ATTENTIONS * 2)
{
    const rt_transformer_options o = with((rt_position_kind)(_i / 2 / ATTENTIONS),
                                          (rt_attention_kind)(_i / 2 % ATTENTIONS), _i % 2);
    const rt_position_kind kind = o.position.kind;
    const rt_encoding *encoding = rt_encoding_of(&o);
    const bool refused = (encoding->of_scores && o.attention != RT_ATTENTION_SOFTMAX) ||
                         (encoding->causal && !o.causal);
    const rt_status status = rt_transformer_check(&o);
    ck_assert_msg(!status.code == !refused, "%s", status.message);
    if (refused)
        return;                           /* linear attention has no scores to add to */
    const places mixed = by_steps(17, 5); /* 17 and 40 have no common divisor */
    const places reversed = by_steps(BLOCK - 1, BLOCK - 1);
    expect_change(change_by_order(make(&o), mixed, ALL), kind != RT_POSITION_NONE || o.causal, &o,
                  "another order");
    expect_change(change_by_order(make(&o), reversed, ALL), !is_symmetric(kind) || o.causal, &o,
                  "the order in reverse");
    for (int n = 0; n < PADDINGS; n++)
        expect_change(change_by_shift(&o, paddings[n]), rt_encoding_of(&o)->embeddings, &o,
                      "a shift");
}

/* Distances 12 and 13 share a bucket in an encoder, half of whose buckets are for later tokens. A
 * causal model has a bucket for each. */
TEST(causal_t5_distinguishes_more_distances)
{
    enum { LAST = BLOCK - 1 };
    for (int causal = 0; causal < 2; causal++) {
        rt_transformer_options o = with(RT_POSITION_T5, RT_ATTENTION_SOFTMAX, causal);
        o.layers = 1;
        places swapped = by_steps(1, 0);
        swapped.from[LAST - 12] = LAST - 13;
        swapped.from[LAST - 13] = LAST - 12;
        const double change = change_by_order(make(&o), swapped, LAST);
        if (causal)
            expect_above(change, 1e-3, "change by a swap at 12 and 13, causal");
        else
            expect_near(change, 0, 1e-12, "change by a swap at 12 and 13");
    }
}

TEST(rope_is_invariant_to_a_shift_in_every_setting)
{
    static const char *const settings[] = {
        "position.pairing=half", "position.pairing=half position.fraction=0.5",
        "position.scaling=yarn position.scale=4 position.original_len=64",
        "position.frequencies=reciprocal",
        "theta.learn=yes theta.scope=head theta.init=perturbed theta.init_sigma=0.5"};
    for (int i = 0; i < ROWS(settings); i++) {
        rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, false);
        set_options(&o, settings[i]);
        for (int n = 0; n < PADDINGS; n++)
            expect_change(change_by_shift(&o, paddings[n]), false, &o,
                          lasting("a shift of %d, %s", paddings[n], settings[i]));
    }
}

TEST(rope_without_pairs_ignores_the_order_of_tokens)
{
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, false);
    o.position.fraction = 0;
    expect_change(change_by_order(make(&o), by_steps(17, 5), ALL), false, &o, "another order");
}

TEST(rotated_values_depend_on_a_shift)
{
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, false);
    o.position.rotate_value = true;
    expect_above(change_by_shift(&o, 16), 1e-3, "change by a shift of 16");
}
