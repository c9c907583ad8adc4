/* Outputs do not depend on the content of padding. They depend on its length only by rounding. */

#include "encoder.h"

static const double rounding = sizeof(real) == sizeof(double) ? 1e-12 : 1e-4;

/* More keys than a tile of attention, so that some tiles are padding alone. */
enum { ROWS = 4, LONGEST = 24, LENGTH = 300, LABELS = 3 };

/* Tokens of each row: all of them, some, one, and some after padding, where a causal query sees no
 * key at all. */
static const struct {
    int start, count;
} tokens[ROWS] = {{0, LONGEST}, {0, 9}, {0, 1}, {5, 11}};

typedef struct sequences {
    int T;
    int32_t ids[ROWS * LENGTH];
    int32_t types[ROWS * LENGTH];
    uint8_t mask[ROWS * LENGTH];
    int32_t where[ROWS * LENGTH]; /* the tokens */
    int count;
} sequences;

/* Fills in the same tokens for every T; `filling` is the content of the padding. The head of a
 * sequence reads its place 0, which is a token then. */
static void fill(sequences *s, const rt_transformer *m, int T, uint64_t filling)
{
    const bool first = m->options.head == RT_HEAD_SEQUENCE;
    uint64_t next = 0;
    s->T = T;
    s->count = 0;
    for (int r = 0; r < ROWS; r++) {
        const int start = first ? 0 : tokens[r].start;
        for (int t = 0; t < T; t++) {
            const int at = r * T + t;
            const bool token = t >= start && t < start + tokens[r].count;
            uint64_t *from = token ? &next : &filling;
            s->ids[at] = draw_below(from, VOCAB);
            s->types[at] = draw_below(from, 2);
            s->mask[at] = token;
            if (token)
                s->where[s->count++] = at;
        }
    }
}

/* Results of one forward and backward. */
typedef struct results {
    size_t logits_size;
    real logits[ROWS * LONGEST * VOCAB]; /* of tokens, or of sequences */
    real loss;
    size_t grads_size;
    real *grads;
} results;

static void compute(results *o, rt_transformer *m, const sequences *s)
{
    int32_t wanted[ROWS * LONGEST];
    uint64_t next = 1000;
    rt_graph *g = rt_graph_new();
    const rt_transformer_input in =
        INPUT(.B = ROWS, .T = s->T, .ids = s->ids, .token_types = s->types, .key_mask = s->mask);
    rt_graph_record(g, true);
    rt_parameters_zero_grads(&m->parameters);
    rt_tensor *hidden = rt_transformer_encode(m, g, &in);
    if (m->options.head != RT_HEAD_SEQUENCE)
        hidden = rt_embedding(g, rt_reshape(g, hidden, RT_SHAPE_OF(ROWS * s->T, DIM)), s->where,
                              RT_SHAPE_OF(s->count), RT_NO_PADDING);
    else
        hidden = rt_pool(g, hidden, m->options.pool, s->mask);
    rt_tensor *logits = made(g, rt_transformer_logits(m, g, hidden));
    for (size_t r = 0; r < rt_rows(logits); r++)
        wanted[r] = draw_below(&next, rt_columns(logits));
    rt_tensor *loss = rt_cross_entropy(g, logits, wanted, 0, (double)rt_rows(logits));
    expect_ok(rt_graph_backward(g, loss));
    o->logits_size = rt_size(logits);
    ck_assert_uint_le(o->logits_size, sizeof o->logits / sizeof *o->logits);
    memcpy(o->logits, logits->data, o->logits_size * sizeof *o->logits);
    o->loss = loss->data[0];
    o->grads_size = m->parameters.block_size;
    o->grads = rt_alloc(o->grads_size, sizeof *o->grads);
    memcpy(o->grads, m->parameters.grads, o->grads_size * sizeof *o->grads);
    rt_graph_free(g);
}

static real largest(const real *x, size_t size)
{
    real most = 1;
    for (size_t i = 0; i < size; i++)
        most = fabs((double)x[i]) > (double)most ? (real)fabs((double)x[i]) : most;
    return most;
}

static void expect_same_bits(const real *got, const real *expected, size_t size, const char *what,
                             const char *of)
{
    for (size_t i = 0; memcmp(got, expected, size * sizeof *got) && i < size; i++)
        ck_assert_msg(!memcmp(got + i, expected + i, sizeof *got),
                      "%s: %s %zu: expected %.17g, got %.17g", of, what, i, (double)expected[i],
                      (double)got[i]);
}

static void expect_finite(const real *x, size_t size, const char *of)
{
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(isfinite(x[i]), "%s: %zu is %g", of, i, (double)x[i]);
}

static void check_padding(rt_transformer *m, const char *name)
{
    static const int lengths[] = {LONGEST, LONGEST + 1, 77, LENGTH, LENGTH};
    static sequences s;
    static results first, before, other;
    fill(&s, m, lengths[0], 1);
    compute(&first, m, &s);
    expect_finite(first.logits, first.logits_size, name);
    expect_finite(first.grads, first.grads_size, name);
    const double of_logits = rounding * (double)largest(first.logits, first.logits_size);
    const double of_grads = rounding * (double)largest(first.grads, first.grads_size);
    for (int i = 1; i < ROWS(lengths); i++) {
        fill(&s, m, lengths[i], (uint64_t)i * 100000);
        compute(&other, m, &s);
        expect_near(largest_difference(other.logits, first.logits, first.logits_size), 0, of_logits,
                    "%s: change of logits from length %d to %d", name, lengths[0], lengths[i]);
        expect_near(largest_difference(other.grads, first.grads, first.grads_size), 0, of_grads,
                    "%s: change of gradients from length %d to %d", name, lengths[0], lengths[i]);
        if (lengths[i] == lengths[i - 1]) { /* with another content of the padding */
            expect_same_bits(&other.loss, &before.loss, 1, "loss", name);
            expect_same_bits(other.logits, before.logits, other.logits_size, "logit", name);
            expect_same_bits(other.grads, before.grads, other.grads_size, "gradient", name);
        }
        if (i > 1)
            rt_free(before.grads);
        before = other;
    }
    rt_free(other.grads);
    rt_free(first.grads);
}

/* Returns the number of models: all encodings with softmax, and those that change no scores with
 * linear attention as well. */
static int count_models(void)
{
    int count = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        const rt_transformer_options o = {.position.kind = (rt_position_kind)kind};
        const rt_encoding *encoding = rt_encoding_of(&o);
        count += (encoding->causal ? 1 : 2) * (encoding->of_scores ? 1 : ATTENTIONS);
    }
    return count;
}

SAMPLED_ROWS(the_content_of_padding_changes_no_bit_and_its_length_only_rounding, 0,
             RT_HEAD_TOKEN + 1, 3)
{
    static const char *const heads[] = {RT_HEADS(RT_CHOICE_WORD) NULL};
    int count = 0;
    for (int i = 0; i < KINDS * ATTENTIONS * 2; i++) {
        const rt_position_kind kind = (rt_position_kind)(i / 2 / ATTENTIONS);
        const rt_attention_kind attention = (rt_attention_kind)(i / 2 % ATTENTIONS);
        const bool causal = i % 2;
        rt_transformer_options o = with(kind, attention, causal);
        o.head = (rt_head)_i;
        o.labels = LABELS;
        o.token_types = 2;
        o.norm = count % 2 ? RT_NORM_PRE : RT_NORM_POST;
        o.position.max_len = LENGTH;
        o.position.rotate_value = kind == RT_POSITION_ROPE && causal;
        o.theta.learn = rt_encoding_of(&o)->pairs != NULL;
        if (rt_transformer_check(&o).code)
            continue; /* of causal models, or with scores that linear attention lacks */
        check_padding(make(&o),
                      lasting("%s, %s%s, %s", rt_encoding_word((int)kind), attentions[attention],
                              causal ? ", causal" : "", heads[_i]));
        count++;
    }
    ck_assert_int_eq(count, count_models());
}

/* Settings that depend on content, beside a kind of position. */
static const char *const beside[] = {
    "position.forget=gate position.kind=none",
    "position.forget=bias position.forget_times=2..9 position.kind=t5",
    "position.key_shift=yes position.fraction=0.5",
    "position.key_shift=yes position.kind=none",
    "model.length_scale=learned",
    "position.kind=selective position.taps=4 position.phase_gate=yes",
    "position.kind=selective position.taps=0 position.phase_bias=yes",
    "position.kind=selective position.taps=3 position.phase_bias=yes",
};

TEST_ROWS(the_content_of_padding_enters_no_sum_and_no_shift, 0, ROWS(beside))
{
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, true);
    set_options(&o, beside[_i]);
    o.token_types = 2;
    o.norm = _i % 2 ? RT_NORM_PRE : RT_NORM_POST;
    check_padding(make(&o), beside[_i]);
}
