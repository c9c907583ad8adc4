/* Positions that depend on content: what they must be, whatever their parameters. */

#include "encoder.h"

/* A causal model that forgets, beside an encoding. */
static rt_transformer_options forgetful(rt_position_kind kind, rt_forget forget)
{
    rt_transformer_options o = with(kind, RT_ATTENTION_SOFTMAX, true);
    o.position.forget = forget;
    o.position.forget_times = (rt_interval){.least = 3, .most = 30};
    return o;
}

static void expect_equal(const rt_transformer_options *a, const rt_transformer_options *b,
                         double tolerance)
{
    real here[OUTPUT], there[OUTPUT];
    encode_block(here, a, 0);
    encode_block(there, b, 0);
    expect_near(largest_difference(here, there, OUTPUT), 0, tolerance, "difference");
}

/* ALiBi has the slopes 2^(-8 (h + 1) / H): with two heads 1/16 and 1/256. */
TEST(fixed_gates_are_alibi)
{
    rt_transformer_options o = forgetful(RT_POSITION_NONE, RT_FORGET_FIXED);
    const rt_transformer_options alibi = with(RT_POSITION_ALIBI, RT_ATTENTION_SOFTMAX, true);
    o.position.forget_times = (rt_interval){.least = 16, .most = 256};
    expect_equal(&o, &alibi, 1e-12);
}

TEST_ROWS(open_gates_are_no_change, 0, KINDS * 2)
{
    const rt_position_kind kind = (rt_position_kind)(_i / 2);
    const rt_transformer_options plain = with(kind, RT_ATTENTION_SOFTMAX, true);
    if (kind == RT_POSITION_ALIBI)
        return;
    rt_transformer_options o = forgetful(kind, RT_FORGET_BIAS);
    o.position.forget_bias = 40;
    if (_i % 2)
        o.kv_heads = 1;
    rt_transformer_options without = o;
    without.position = plain.position;
    expect_equal(&o, &without, 1e-12);
}

TEST(a_bias_starts_at_the_decay_times_of_fixed_gates)
{
    const rt_transformer_options bias = forgetful(RT_POSITION_ROPE, RT_FORGET_BIAS);
    const rt_transformer_options fixed = forgetful(RT_POSITION_ROPE, RT_FORGET_FIXED);
    const rt_transformer *m = new_model(&bias, 1);
    expect_equal(&bias, &fixed, 1e-13);
    for (int h = 0; h < 2; h++) {
        const double z = (double)m->layers[1].forget.bias->data[h];
        expect_near(log1p(exp(-z)) * (h ? 30 : 3), 1, 1e-14, "-log f times the decay time");
    }
}

/* The block after padding, and with other tokens ahead. */
TEST_ROWS(a_gate_depends_on_what_is_between_and_nothing_else, 0, KINDS)
{
    if (_i == RT_POSITION_ALIBI)
        return;
    const rt_transformer_options o = forgetful((rt_position_kind)_i, RT_FORGET_GATE);
    real here[OUTPUT], there[OUTPUT];
    int32_t block[BLOCK];
    rt_transformer *m = make(&o);
    draw_block(block);
    encode(here, m, block, 0);
    if (!rt_encoding_of(&o)->embeddings) {
        encode(there, m, block, 37);
        expect_near(largest_difference(here, there, OUTPUT), 0, 1e-12, "after padding");
    }
    block[BLOCK - 1] = (block[BLOCK - 1] + 1) % VOCAB;
    encode(there, m, block, 0);
    expect_near(largest_difference(here, there, OUTPUT - DIM), 0, 1e-13, "another last token");
    expect_above(largest_difference(here + OUTPUT - DIM, there + OUTPUT - DIM, DIM), 1e-3,
                 "the last token");
}

/* The weights of two keys of one query have a ratio that no token before them changes, but any
 * between them. */
TEST(scores_see_the_text_between_two_tokens)
{
    enum { QUERY = BLOCK - 1, KEY = 20, LATER = 30 };
    static real weights[2 * BLOCK * BLOCK];
    rt_transformer_options o = forgetful(RT_POSITION_NONE, RT_FORGET_GATE);
    int32_t block[BLOCK];
    o.layers = 1;
    rt_transformer *m = make(&o);
    real *maps[] = {weights};
    double ratios[3];
    for (int way = 0; way < 3; way++) {
        rt_graph *g = new_graph();
        draw_block(block);
        if (way)
            block[way == 1 ? KEY - 5 : KEY + 5] ^= 1;
        const rt_transformer_input in = INPUT(.B = 1, .T = BLOCK, .ids = block, .attentions = maps);
        made(g, rt_transformer_encode(m, g, &in));
        const real *row = weights + QUERY * BLOCK;
        ratios[way] = (double)row[LATER] / (double)row[KEY];
    }
    expect_near(ratios[1] / ratios[0], 1, 1e-12, "a token before both keys");
    expect_above(fabs(ratios[2] / ratios[0] - 1), 1e-6, "a token between the keys");
}
