#ifndef ROTOR_TESTS_LAWS_SESSIONS_H
#define ROTOR_TESTS_LAWS_SESSIONS_H

/* Models of all kinds that a session takes, and texts for them. */

#include "laws.h"
#include "models/new_model.h"
#include "option_words.h"

#include "models/encodings/encoding.h"
#include "models/session.h"

enum { V = 41, T = 270 };

#ifdef RT_DOUBLE
static const double tolerance = 1e-12;
#else
static const double tolerance = 2e-4; /* sums of floats in another order, through two layers */
#endif

/* Texts of up to 60 tokens, and longer ones, are read with different theta. */
#define SCALED "position.base=100 position.original_len=60 position.scaling="
#define LONGROPE                                                                                   \
    "position.original_len=60 position.scaling=longrope position.scale=3 "                         \
    "position.short_factors=1,1.1,1.2,1.3 position.long_factors=1,2,3,4 "
#define LEARNED   "theta.learn=yes position.base=100 theta.scope="
#define PERTURBED " theta.init=perturbed theta.init_sigma=0.5 "
#define SELECTIVE "position.kind=selective "
#define POLAR     "position.kind=pope "
#define SLIDING   "model.layer_types=sliding,full "
#define FULL      "model.layer_types=full,sliding "
#define PRE       "model.norm=pre "
#define DECODER   "model.kind=decoder "

/* Settings of models with two layers of four heads, which have rope if they do not say another
 * kind. */
static const char *const rows[] = {
    "position.pairing=half",
    "position.fraction=0.5",
    "position.fraction=0",
    "position.rotate_value=yes",
    LEARNED "model",
    LEARNED "layer" PERTURBED,
    LEARNED "head theta.form=raw" PERTURBED,
    "theta.head_scale=yes",
    LEARNED "head model.kv_heads=2 theta.head_scale=yes" PERTURBED,
    SCALED "linear position.scale=3",
    SCALED "ntk position.scale=3",
    SCALED "yarn position.scale=3",
    SCALED "llama3 position.scale=3",
    LONGROPE "position.base=100",
    "position.xpos=10",
    "position.xpos=30 position.fraction=0.5 position.rotate_value=yes",
    LEARNED "head position.xpos=9",
    LONGROPE "position.base=100 position.xpos=20 position.pairing=half",
    "position.xpos=10 model.window=30 model.kv_heads=2",
    "position.every=2",
    "position.kind=t5 position.every=2",
    "model.kv_heads=2",
    "model.kv_heads=1 position.kind=shaw",
    "model.window=1",
    "model.window=7",
    "model.window=40 model.kv_heads=2 position.kind=alibi",
    "model.window=271", /* of all tokens */
    PRE,
    PRE "model.norm_kind=rms model.ffn=geglu model.bias=none",
    SLIDING "model.window=7",
    FULL "model.window=40 model.kv_heads=2",
    FULL "model.window=7 position.local_base=50",
    LONGROPE SLIDING "model.window=50 position.base=1000 position.local_base=50",
    PRE "model.norm_bias=no model.first_norm=no",
    "model.embedding_norm=yes",
    "position.layers=no,yes",
    "model.head_dim=12 model.kv_heads=2 model.qk_norm=yes",
    "model.head_dim=6 model.bias=qkv",
    PRE "model.residual=parallel model.bias=ffn position.fraction=0.25",
    "position.forget=gate",
    "position.forget=gate position.kind=none model.window=7 model.kv_heads=2",
    "position.key_shift=yes position.fraction=0.5 position.pairing=half model.kv_heads=2",
    "position.key_shift=yes position.kind=none model.window=9 model.length_scale=learned",
    "model.length_scale=floor model.length_factor=0.5 model.length_floor=6 position.every=2",
    "position.forget=fixed position.forget_times=3..50 position.kind=t5",
    SELECTIVE "position.taps=4 position.phase_bias=yes",
    SELECTIVE LEARNED "head theta.form=raw model.window=9 model.norm=pre position.rank=3 "
                      "position.taps=2 position.phase_gate=yes position.forget=gate",
    SLIDING "model.window=9 model.kv_heads=2 position.pairing=half position.local_fraction=0.25",
    POLAR "model.window=7 position.every=2",
    POLAR LEARNED "head theta.form=raw model.kv_heads=2 model.qk_norm=yes position.phase=yes",
    POLAR FULL "model.window=9 position.phase=yes position.local_base=50 position.base=1000 "
               "position.original_len=60 position.scaling=yarn position.scale=3",
    "types=2",
    "model.embedding_dim=12",
};
enum { ROWS = sizeof rows / sizeof *rows, KINDS = RT_POSITION_NONE + 1 };

/* Rows 0 ... ROWS + KINDS - 1: those above, and every kind of position by itself. */
static inline const char *row_at(int i)
{
    return i < ROWS ? rows[i] : lasting("position.kind=%s", rt_encoding_word(i - ROWS));
}

/* Returns the options of a causal model with these settings. */
static inline rt_transformer_options model_of(const char *words)
{
    rt_transformer_options o = {.vocab = V,
                                .layers = 2,
                                .dim = 32,
                                .heads = 4,
                                .norm_eps = 1e-12,
                                .causal = true,
                                .position = {.frequencies = {.base = 10000},
                                             .fraction = 1,
                                             .max_len = T}};
    set_options(&o, words);
    o.tie_embeddings = !o.embedding_dim;
    return o;
}

/* Returns whether there is a model with these options; linear attention has no scores to change. */
static inline bool exists(const rt_transformer_options *o)
{
    return o->attention == RT_ATTENTION_SOFTMAX ||
           !(rt_encoding_of(o)->of_scores || o->window || o->kv_heads || o->position.xpos > 0 ||
             o->theta.head_scale || o->position.forget || o->position.key_shift || o->length_scale);
}

/* A law of every model with these settings, of both kinds and with every attention. */
static inline void expect_of_all(const char *words,
                                 void (*law)(const rt_transformer_options *o, const char *words))
{
    int tried = 0;
    for (int i = 0; i < 8; i++) {
        rt_transformer_options o = model_of(words);
        o.kind = (rt_model_kind)(i / 4);
        o.attention = (rt_attention_kind)(i % 4);
        if (!exists(&o))
            continue;
        law(&o, words);
        tried++;
    }
    ck_assert_int_ge(tried, 2);
}

static inline rt_transformer *make(const rt_transformer_options *o)
{
    rt_transformer *m = new_model(o, 1);
    grow(m, 10);
    for (int i = 0; i < m->parameters.count; i++) {
        rt_parameter *p = m->parameters.list[i];
        for (size_t k = 0; p->role == RT_ROLE_FACTOR && k < rt_size(&p->tensor); k++)
            p->tensor.data[k] = (real)(0.5 + (double)k);
    }
    return m;
}

/* The model of a test, a session of it, and a text. */
static rt_transformer *model;
static rt_session *session;
static int32_t text[T];

static inline void draw_text(int32_t ids[T])
{
    uint64_t next = 0;
    for (int t = 0; t < T; t++)
        ids[t] = draw_below(&next, V);
}

static inline void expect_same(const real *got, const real *expected, int count, const char *name,
                               int way)
{
    double largest = 1;
    for (int i = 0; i < count * V; i++)
        largest = fmax(largest, fabs((double)expected[i]));
    expect_near(largest_difference(got, expected, (size_t)count * V) / largest, 0, tolerance,
                "%s, way %d of feeding", name, way);
}

RELEASER(free_new_session, rt_session_free)

/* Returns a session, which is freed after the test. */
static inline rt_session *new_session(rt_transformer *m, int capacity)
{
    rt_session *s;
    expect_ok(rt_session_new(&s, m, capacity));
    return owned(s, free_new_session);
}

static inline void open_model(const rt_transformer_options *o)
{
    model = make(o);
    draw_text(text);
}

static inline void open_session(const rt_transformer_options *o)
{
    open_model(o);
    session = new_session(model, 0);
}

/* Reads tokens of the text from its end so far on, all at once or one by one, with the logits of
 * each token or, if NULL, without. */
static inline void feed(int count, real *logits)
{
    expect_ok(rt_session_feed(session, text + rt_session_count(session), count, logits ? count : 0,
                              logits));
}

static inline void keep(int count)
{
    ck_assert(!rt_session_keep(session, count).code);
}

/* The logits of the first `count` tokens from the whole text at once, (count, V). */
static inline void whole(real *logits, rt_transformer *m, int count)
{
    int32_t ids[T];
    draw_text(ids);
    memcpy(logits, logits_of(m, ids, NULL, count), (size_t)count * V * sizeof *logits);
}

#endif
