/* An encoder counts its tokens from 0, so a block of tokens is shifted by padding before it
 * that nobody sees: encodings of distances alone must not notice. */

#include "encoder.h"

static const int paddings[] = {1, 16, 37, MOST_PADDING};
enum { PADDINGS = sizeof paddings / sizeof *paddings };

/* How much the output changes by that many tokens of padding. */
static double change_by_shift(const rt_transformer_options *o, int padding)
{
    int32_t block[BLOCK];
    real here[OUTPUT], there[OUTPUT];
    rt_transformer *m = make(o);
    draw_block(block);
    encode(here, m, block, 0);
    encode(there, m, block, padding);
    rt_transformer_free(m);
    return largest_difference(here, there, OUTPUT);
}

static void expect_no_change(const rt_transformer_options *o, const char *what)
{
    for (int n = 0; n < PADDINGS; n++)
        expect_near(change_by_shift(o, paddings[n]), 0, 1e-12, "change by a shift of %d, %s, %s%s",
                    paddings[n], what, attentions[o->attention], o->causal ? ", causal" : "");
}

/* All but those that are added to the embeddings. */
TEST(encodings_of_distance_do_not_notice_a_shift)
{
    for (int n = 0; n < 2 * KINDS; n++) {
        const rt_transformer_options o =
            with((rt_position_kind)(n / 2), RT_ATTENTION_SOFTMAX, n % 2);
        if (!rt_encoding_of(&o)->embeddings)
            expect_no_change(&o, rt_encoding_word(n / 2));
    }
}

TEST(linear_attention_with_rope_does_not_notice_a_shift)
{
    for (int attention = RT_ATTENTION_LINEAR_ELU; attention < ATTENTIONS; attention++)
        for (int causal = 0; causal < 2; causal++) {
            const rt_transformer_options o =
                with(RT_POSITION_ROPE, (rt_attention_kind)attention, causal);
            expect_no_change(&o, "rope");
        }
}

TEST(no_setting_of_rope_notices_a_shift)
{
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, false);
    o.position.pairing = RT_HALF;
    expect_no_change(&o, "half pairing");
    o.position.fraction = 0.5;
    expect_no_change(&o, "half of the pairs");
    o.position.frequencies = (rt_frequency_options){.base = 10000,
                                                    .scaling = RT_SCALING_YARN,
                                                    .scale = 4,
                                                    .original_len = 64};
    expect_no_change(&o, "yarn");
    o.position.frequencies =
        (rt_frequency_options){.base = 10000, .family = RT_FREQUENCIES_RECIPROCAL};
    expect_no_change(&o, "reciprocal frequencies");
    o.theta = (rt_theta_options){.learn = true,
                                 .scope = RT_THETA_HEAD,
                                 .init = RT_THETA_PERTURBED,
                                 .init_sigma = 0.5};
    expect_no_change(&o, "a theta for each head");
}

TEST(encodings_of_places_notice_a_shift)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int attention = 0; attention < ATTENTIONS; attention++) {
            const rt_transformer_options o =
                with((rt_position_kind)kind, (rt_attention_kind)attention, false);
            for (int p = 0; p < PADDINGS && rt_encoding_of(&o)->embeddings; p++)
                expect_above(change_by_shift(&o, paddings[p]), 1e-3,
                             "change by a shift of %d, %s, %s", paddings[p], rt_encoding_word(kind),
                             attentions[attention]);
        }
}

/* A value that turns carries its place into the output. */
TEST(rotated_values_notice_a_shift)
{
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, false);
    o.position.rotate_value = true;
    expect_above(change_by_shift(&o, 16), 1e-3, "change by a shift of 16");
}
