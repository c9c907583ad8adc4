/* When the order of tokens matters to an encoder, and when it does not. */

#include "encoder.h"

/* The place that each token comes from when the block is put in another order. */
typedef struct places {
    int from[BLOCK];
} places;

static places by_steps(int step, int start)
{
    places p;
    for (int i = 0; i < BLOCK; i++)
        p.from[i] = (step * i + start) % BLOCK;
    return p;
}

static places mixed(void)
{
    return by_steps(17, 5); /* 17 and 40 have no common divisor */
}

static places reversed(void)
{
    return by_steps(BLOCK - 1, BLOCK - 1);
}

static places swapped(int i, int j)
{
    places p = by_steps(1, 0);
    p.from[i] = j;
    p.from[j] = i;
    return p;
}

/* How far the outputs, of all tokens or of one, are from those of the same tokens before the
 * block was put in another order. */
enum { ALL = -1 };
static double change_by_order(const rt_transformer_options *o, places p, int token)
{
    int32_t block[BLOCK], reordered[BLOCK];
    real out[OUTPUT], expected[OUTPUT], got[OUTPUT];
    rt_transformer *m = make(o);
    draw_block(block);
    encode(out, m, block, 0);
    for (int i = 0; i < BLOCK; i++) {
        reordered[i] = block[p.from[i]];
        memcpy(expected + (size_t)i * DIM, out + (size_t)p.from[i] * DIM, DIM * sizeof *out);
    }
    encode(got, m, reordered, 0);
    rt_transformer_free(m);
    if (token == ALL)
        return largest_difference(got, expected, OUTPUT);
    return largest_difference(got + token * DIM, expected + token * DIM, DIM);
}

TEST(without_positions_the_order_of_tokens_does_not_matter)
{
    for (int attention = 0; attention < ATTENTIONS; attention++) {
        const rt_transformer_options o =
            with(RT_POSITION_NONE, (rt_attention_kind)attention, false);
        expect_near(change_by_order(&o, mixed(), ALL), 0, 1e-12, "change by another order, %s",
                    attentions[attention]);
    }
}

TEST(with_positions_the_order_of_tokens_matters)
{
    for (int kind = RT_POSITION_ROPE; kind < RT_POSITION_NONE; kind++) {
        const rt_transformer_options o = with((rt_position_kind)kind, RT_ATTENTION_SOFTMAX, false);
        expect_above(change_by_order(&o, mixed(), ALL), 1e-3, "change by another order, %s",
                     rt_encoding_word(kind));
    }
    for (int attention = 0; attention < ATTENTIONS; attention++) {
        const rt_transformer_options o =
            with(RT_POSITION_ROPE, (rt_attention_kind)attention, false);
        expect_above(change_by_order(&o, mixed(), ALL), 1e-3, "change by another order, rope, %s",
                     attentions[attention]);
    }
}

/* In one layer, so that nothing comes round by way of the others: the first token with the
 * others, all ahead of it, in reverse; and the last with the others, all behind it. */
TEST(the_order_of_tokens_ahead_and_behind_matters)
{
    static const int fixed[] = {0, BLOCK - 1};
    const places sides[] = {by_steps(BLOCK - 1, 0), by_steps(BLOCK - 1, BLOCK - 2)};
    for (int kind = RT_POSITION_ROPE; kind < RT_POSITION_NONE; kind++)
        for (int side = 0; side < 2; side++) {
            rt_transformer_options o = with((rt_position_kind)kind, RT_ATTENTION_SOFTMAX, false);
            o.layers = 1;
            expect_above(change_by_order(&o, sides[side], fixed[side]), 1e-3,
                         "change of token %d by the order of the others, %s", fixed[side],
                         rt_encoding_word(kind));
        }
}

/* Of each distance, whichever side it is on. */
static bool is_symmetric(int kind)
{
    static const rt_position_kind symmetric[] = {
        RT_POSITION_ALIBI,
    };
    for (size_t i = 0; i < sizeof symmetric / sizeof *symmetric; i++)
        if (kind == (int)symmetric[i])
            return true;
    return false;
}

TEST(symmetric_encodings_alone_do_not_tell_ahead_from_behind)
{
    for (int kind = RT_POSITION_ROPE; kind < RT_POSITION_NONE; kind++) {
        const rt_transformer_options o = with((rt_position_kind)kind, RT_ATTENTION_SOFTMAX, false);
        const double change = change_by_order(&o, reversed(), ALL);
        if (is_symmetric(kind))
            expect_near(change, 0, 1e-12, "change by the order in reverse, %s",
                        rt_encoding_word(kind));
        else
            expect_above(change, 1e-3, "change by the order in reverse, %s",
                         rt_encoding_word(kind));
    }
}

/* Distances 12 and 13 share a bucket in an encoder, where half of the buckets are for what is
 * ahead; a causal model has one for each. */
TEST(causal_t5_tells_more_distances_apart)
{
    enum { LAST = BLOCK - 1 };
    for (int causal = 0; causal < 2; causal++) {
        rt_transformer_options o = with(RT_POSITION_T5, RT_ATTENTION_SOFTMAX, causal);
        o.layers = 1;
        const double change = change_by_order(&o, swapped(LAST - 12, LAST - 13), LAST);
        if (causal)
            expect_above(change, 1e-3, "change by a swap at 12 and 13, causal");
        else
            expect_near(change, 0, 1e-12, "change by a swap at 12 and 13");
    }
}

/* Which keys a causal query sees says where it is. */
TEST(causal_attention_knows_an_order_without_positions)
{
    for (int attention = 0; attention < ATTENTIONS; attention++) {
        const rt_transformer_options o = with(RT_POSITION_NONE, (rt_attention_kind)attention, true);
        expect_above(change_by_order(&o, mixed(), ALL), 1e-3, "change by another order, %s, causal",
                     attentions[attention]);
    }
}
