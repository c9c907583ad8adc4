/* Positions that depend on content: laws that hold for any parameters. */

#include "encoder.h"

#include "models/usage.h"

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

/* Expects another last token to change nothing before it. */
static void expect_no_look_ahead(rt_transformer *m, int32_t block[BLOCK], const real *here)
{
    real there[OUTPUT];
    block[BLOCK - 1] = (block[BLOCK - 1] + 1) % VOCAB;
    encode(there, m, block, 0);
    expect_near(largest_difference(here, there, OUTPUT - DIM), 0, 1e-13, "another last token");
    expect_above(largest_difference(here + OUTPUT - DIM, there + OUTPUT - DIM, DIM), 1e-3,
                 "the last token");
}

/* ALiBi has the slopes 2^(-8 (h + 1) / H): with two heads 1/16 and 1/256. */
TEST(fixed_gates_are_alibi)
{
    rt_transformer_options o = forgetful(RT_POSITION_NONE, RT_FORGET_FIXED);
    const rt_transformer_options alibi = with(RT_POSITION_ALIBI, RT_ATTENTION_SOFTMAX, true);
    o.position.forget_times = (rt_interval){.least = 16, .most = 256};
    expect_equal(&o, &alibi, 1e-12);
}

TEST_ROWS(open_gates_change_no_output, 0, KINDS * 2)
{
    const rt_position_kind kind = (rt_position_kind)(_i / 2);
    const rt_transformer_options plain = with(kind, RT_ATTENTION_SOFTMAX, true);
    rt_transformer_options o = forgetful(kind, RT_FORGET_BIAS);
    o.position.forget_bias = 40;
    if (_i % 2)
        o.kv_heads = 1;
    rt_transformer_options without = o;
    without.position = plain.position;
    /* alibi has its own decays; selective needs a key head for each head */
    if (kind == RT_POSITION_ALIBI || (_i % 2 && kind == RT_POSITION_SELECTIVE))
        ck_assert_int_eq(rt_transformer_check(&o).code, RT_ARGUMENT);
    else
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
TEST_ROWS(a_gate_depends_only_on_the_tokens_in_between, 0, KINDS)
{
    const rt_transformer_options o = forgetful((rt_position_kind)_i, RT_FORGET_GATE);
    real here[OUTPUT], there[OUTPUT];
    int32_t block[BLOCK];
    if (_i == RT_POSITION_ALIBI) {
        ck_assert_int_eq(rt_transformer_check(&o).code, RT_ARGUMENT);
        return;
    }
    rt_transformer *m = make(&o);
    draw_block(block);
    encode(here, m, block, 0);
    if (!rt_encoding_of(&o)->embeddings) {
        encode(there, m, block, 37);
        expect_near(largest_difference(here, there, OUTPUT), 0, 1e-12, "after padding");
    }
    expect_no_look_ahead(m, block, here);
}

/* The weights of two keys of one query have a ratio that no token before them changes, but any
 * between them. */
TEST(scores_see_the_text_between_two_tokens)
{
    enum { QUERY = BLOCK - 1, KEY = 20, OTHER = 30 };
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
        ratios[way] = (double)row[OTHER] / (double)row[KEY];
    }
    expect_near(ratios[1] / ratios[0], 1, 1e-12, "a token before both keys");
    expect_above(fabs(ratios[2] / ratios[0] - 1), 1e-6, "a token between the keys");
}

static rt_transformer_options selective(int taps)
{
    rt_transformer_options o = with(RT_POSITION_SELECTIVE, RT_ATTENTION_SOFTMAX, true);
    o.position.taps = taps;
    return o;
}

/* Makes a model with a phase of 1 at every token: e^0 beside maps of 0. */
static rt_transformer *of_constant_phase(rt_transformer_options *o)
{
    o->position.phase_bias = true;
    rt_transformer *m = make(o);
    for (int l = 0; l < o->layers; l++) {
        const rt_tensor *up = m->layers[l].phase.up, *bias = m->layers[l].phase.bias;
        memset(up->data, 0, rt_size(up) * sizeof(real));
        memset(bias->data, 0, rt_size(bias) * sizeof(real));
    }
    return m;
}

/* Scores depend on differences of angles. */
TEST_ROWS(selective_rope_of_a_constant_phase_is_rope, 0, 4)
{
    rt_transformer_options o = selective(_i % 2 ? 4 : 0);
    rt_transformer_options rope = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, true);
    real here[OUTPUT], there[OUTPUT];
    int32_t block[BLOCK];
    o.theta.learn = rope.theta.learn = _i > 1;
    rope.position.pairing = RT_HALF;
    rt_transformer *m = of_constant_phase(&o);
    draw_block(block);
    encode(here, m, block, 0);
    encode(there, make(&rope), block, 0);
    expect_near(largest_difference(here, there, OUTPUT), 0, 1e-12, "difference");
}

TEST_ROWS(selective_rope_keeps_lengths_and_a_prefix_does_not_see_its_continuation, 0, 3)
{
    rt_transformer_options o = selective(2 * _i);
    real here[OUTPUT];
    int32_t block[BLOCK];
    rt_graph *g = new_graph();
    o.position.phase_gate = _i > 0;
    rt_transformer *m = make(&o);
    draw_block(block);
    encode(here, m, block, 0);
    expect_no_look_ahead(m, block, here);
    rt_tensor x = rt_tensor_of(here, NULL, RT_SHAPE_OF(1, BLOCK, DIM));
    rt_tensor q = rt_tensor_of(here, NULL, RT_SHAPE_OF(1, BLOCK, 2, DIM / 2));
    rt_attention_pass pass = {.input = &x, .query = &q, .key = &q, .value = &q};
    rt_encoding_of(&o)->attention(m, g, 0, &pass);
    const rt_tensor *turned = made(g, rt_rope(g, &q, pass.rotation.query));
    expect_near(dot(turned->data, turned->data, OUTPUT) / dot(q.data, q.data, OUTPUT), 1, 1e-13,
                "ratio of squares");
    expect_above(largest_difference(turned->data, q.data, OUTPUT), 0.1, "the turn");
}

/* The share of each head is divided by its own length. */
TEST(phases_do_not_depend_on_the_scale_of_a_share_of_the_input)
{
    rt_transformer_options o = selective(0);
    real shares[OUTPUT], scaled[OUTPUT];
    uint64_t next = 0;
    rt_graph *g = new_graph();
    rt_transformer *m = make(&o);
    draw_row(shares, OUTPUT, &next);
    for (int i = 0; i < OUTPUT; i++)
        scaled[i] = (i / (DIM / 2) % 2 ? 300 : 2000) * shares[i];
    rt_attention_pass passes[2];
    for (int i = 0; i < 2; i++) {
        rt_tensor *x = rt_graph_constant(g, i ? scaled : shares, RT_SHAPE_OF(1, BLOCK, DIM));
        passes[i] = (rt_attention_pass){.input = x};
        rt_encoding_of(&o)->attention(m, g, 0, &passes[i]);
    }
    const rt_tensor *one = passes[0].rotation.query->angles;
    const rt_tensor *other = passes[1].rotation.query->angles;
    expect_near(largest_difference(one->data, other->data, rt_size(one)), 0, 1e-4, "angles");
}

static rt_attention_pass polar_heads(const rt_transformer *m, rt_graph *g, rt_tensor *x, int first)
{
    rt_attention_pass a = {.query = x, .key = x, .at = {.first = first, .count = 1, .length = 99}};
    const rt_encoding *encoding = rt_encoding_of(&m->options);
    const rt_layer_rotation rotation = encoding->rotation((rt_transformer *)m, g, 0, a.at);
    encoding->attention(m, g, 0, &a);
    a.query = made(g, rt_rope(g, a.query, rotation.query));
    a.key = made(g, rt_rope(g, a.key, rotation.key));
    return a;
}

static double score(const rt_attention_pass *query, const rt_attention_pass *key, int head)
{
    const int size = query->query->shape[3];
    return query->options.scale *
           dot(query->query->data + head * size, key->key->data + head * size, size);
}

/* Scores depend on the difference of positions; with phases of 0, those of a token with itself are
 * the sum of squares of softplus, divided by sqrt(D). */
TEST_ROWS(polar_scores_depend_on_differences, 0, 4)
{
    enum { SIZE = DIM / 2 };
    rt_transformer_options o = with(RT_POSITION_POPE, RT_ATTENTION_SOFTMAX, false);
    real numbers[DIM];
    uint64_t next = 0;
    double squares = 0;
    rt_graph *g = new_graph();
    o.position.phase = _i % 2;
    o.theta.learn = _i > 1;
    rt_transformer *m = make(&o);
    draw_row(numbers, DIM, &next);
    rt_tensor x = rt_tensor_of(numbers, NULL, RT_SHAPE_OF(1, 1, 2, SIZE));
    for (int c = SIZE; c < DIM; c++)
        squares += pow(log1p(exp((double)numbers[c])), 2);
    const rt_attention_pass at_0 = polar_heads(m, g, &x, 0), at_5 = polar_heads(m, g, &x, 5);
    const rt_attention_pass at_30 = polar_heads(m, g, &x, 30), at_35 = polar_heads(m, g, &x, 35);
    expect_near(score(&at_35, &at_30, 1), score(&at_5, &at_0, 1), 1e-12, "the same difference");
    expect_above(fabs(score(&at_35, &at_30, 1) - score(&at_30, &at_0, 1)), 1e-3, "another one");
    if (o.position.phase)
        expect_above(fabs(score(&at_5, &at_0, 1) - score(&at_0, &at_5, 1)), 1e-3, "the direction");
    else
        expect_near(score(&at_30, &at_30, 1), squares / sqrt(SIZE), 1e-12, "the diagonal");
}

/* Lets the encodings beside position.kind change the attention of layer 0. */
static void change_attention(const rt_transformer *m, rt_graph *g, rt_attention_pass *a)
{
    const rt_encoding *encoding;
    for (int n = 1; (encoding = rt_encoding_at(&m->options, n)); n++)
        if (rt_encoding_acts(encoding, &m->options, 0))
            encoding->attention(m, g, 0, a);
}

/* The previous key of a repeated token is the same. */
TEST(shifting_keys_of_one_repeated_token_changes_no_output)
{
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, true);
    const int32_t block[BLOCK] = {0};
    real here[OUTPUT], there[OUTPUT];
    o.position.fraction = 0.5;
    encode(here, make(&o), block, 0);
    o.position.key_shift = true;
    encode(there, make(&o), block, 0);
    expect_near(largest_difference(here, there, OUTPUT), 0, 1e-13, "difference");
}

/* Key 0 keeps its own features. */
TEST(a_shifted_key_holds_the_features_of_the_key_before)
{
    rt_transformer_options o = with(RT_POSITION_NONE, RT_ATTENTION_SOFTMAX, true);
    real keys[3 * DIM];
    o.position.key_shift = true;
    rt_graph *g = new_graph();
    rt_attention_pass a = {.at = {.count = 3, .length = 3}};
    for (int i = 0; i < 3 * DIM; i++)
        keys[i] = (real)i;
    rt_tensor k = rt_tensor_of(keys, NULL, RT_SHAPE_OF(1, 3, 2, DIM / 2));
    a.key = &k;
    change_attention(make(&o), g, &a);
    for (int i = 0; i < 3 * DIM; i++) {
        const bool shifted = i % (DIM / 2) >= DIM / 4;
        expect_near((double)made(g, a.key)->data[i], i - (shifted && i >= DIM ? DIM : 0), 0,
                    "number %d", i);
    }
}

/* The first query sees one key, whatever its score; n is at most the window. */
TEST_ROWS(queries_grow_with_the_number_of_their_keys, 0, 2)
{
    rt_transformer_options o = with(RT_POSITION_NONE, RT_ATTENTION_SOFTMAX, true);
    o.window = 5;
    o.length_scale = _i ? RT_LENGTH_LEARNED : RT_LENGTH_LOG;
    rt_transformer *m = make(&o);
    if (_i)
        m->layers[0].length_scale->data[1] = 3;
    rt_graph *g = new_graph();
    real ones[BLOCK * DIM];
    for (int i = 0; i < BLOCK * DIM; i++)
        ones[i] = 1;
    rt_tensor q = rt_tensor_of(ones, NULL, RT_SHAPE_OF(1, BLOCK, 2, DIM / 2));
    rt_attention_pass a = {.query = &q, .at = {.first = 0, .count = BLOCK, .length = BLOCK}};
    change_attention(m, g, &a);
    for (int i = 0; i < BLOCK * DIM; i++) {
        const int t = i / DIM, keys = t < 5 ? t + 1 : 5;
        const double factor = _i && i % DIM >= DIM / 2 ? 3 : 1;
        expect_near((double)made(g, a.query)->data[i], factor * log(keys), 1e-14, "token %d", t);
    }
}

TEST(only_layers_without_positions_have_a_stepwise_length_factor)
{
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, true);
    const rt_transformer_options plain = o;
    set_options(&o, "model.length_scale=floor model.length_factor=10 model.length_floor=4");
    expect_equal(&o, &plain, 0);
    o.position.every = 2;
    ck_assert(!rt_encoding_acts(rt_encoding_at(&o, 3), &o, 0));
    ck_assert(rt_encoding_acts(rt_encoding_at(&o, 3), &o, 1));
    o.position.kind = RT_POSITION_NONE;
    ck_assert(rt_encoding_acts(rt_encoding_at(&o, 3), &o, 0));
}

/* Reads the block, after 3 tokens of padding, with the sums of a usage. */
static void measure(rt_usage *u, rt_transformer *m)
{
    enum { BEFORE = 3, T = BEFORE + BLOCK };
    int32_t ids[T] = {0};
    uint8_t mask[T] = {0};
    rt_graph *g = new_graph();
    expect_ok(rt_usage_new(u, &m->options, T));
    draw_block(ids + BEFORE);
    memset(mask + BEFORE, 1, BLOCK);
    const rt_transformer_input in = INPUT(.B = 1, .T = T, .ids = ids, .key_mask = mask, .usage = u);
    rt_graph_record(g, false);
    made(g, rt_transformer_encode(m, g, &in));
    ck_assert_double_eq(u->tokens, BLOCK);
}

TEST(the_mean_of_fixed_gates_is_their_value)
{
    const rt_transformer_options o = forgetful(RT_POSITION_NONE, RT_FORGET_FIXED);
    rt_usage u;
    measure(&u, make(&o));
    ck_assert(!u.keys && !u.phases);
    for (int n = 0; n < 4; n++)
        expect_near(u.gates[n] / BLOCK, exp(-1.0 / (n % 2 ? 30 : 3)), 1e-14, "head %d", n % 2);
    rt_usage_free(&u);
}

TEST(constant_phases_add_up_to_the_number_of_tokens)
{
    rt_transformer_options o = selective(0);
    rt_transformer *m = of_constant_phase(&o);
    rt_usage u;
    measure(&u, m);
    ck_assert(!u.gates);
    ck_assert_int_eq(rt_usage_position(&u, RT_PHASE_PLACES - 1), u.length - 1);
    for (int n = 0; n < 2 * 2 * 4 * RT_PHASE_PLACES; n++) {
        const int tokens = rt_usage_position(&u, n % RT_PHASE_PLACES) - 2; /* behind the padding */
        expect_near(u.phases[n].count, 1, 0, "texts at %d", n);
        expect_near(u.phases[n].sum, tokens, 1e-12, "sum at %d", n);
        expect_near(u.phases[n].square, tokens * tokens, 1e-9, "square at %d", n);
    }
    rt_usage_free(&u);
}
