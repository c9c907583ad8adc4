#ifndef ROTOR_TESTS_LAWS_SESSIONS_H
#define ROTOR_TESTS_LAWS_SESSIONS_H

/* Models of all kinds that a session takes, and texts for them. */

#include "laws.h"
#include "models/new_model.h"

#include "models/encodings/encoding.h"
#include "models/session.h"

enum { V = 41, T = 270 };

#ifdef RT_DOUBLE
static const double tolerance = 1e-12;
#else
static const double tolerance = 2e-4; /* sums of floats in another order, through two layers */
#endif

typedef struct row {
    const char *name;
    rt_transformer_options o; /* what differs from the plain one */
} row;

#define ROPE_OF(share) .kind = RT_POSITION_ROPE, .fraction = share
#define ROPE           ROPE_OF(1)
/* Factors of longrope for four pairs. */
static const double slight_factors[] = {1, 1.1, 1.2, 1.3}, rising_factors[] = {1, 2, 3, 4};

#define LONGROPE                                                                                   \
    .scaling = RT_SCALING_LONGROPE, .scale = 3, .short_factors = {4, slight_factors},              \
    .long_factors = {4, rising_factors}
#define SCALED(...)                                                                                \
    .position = {ROPE, .frequencies = {.base = 100, .original_len = 60, __VA_ARGS__}}
#define LEARNED(...)                                                                               \
    .position = {ROPE, .frequencies = {.base = 100}}, .theta = {.learn = true, __VA_ARGS__}

#define LEARNED_SELECTIVE(...)                                                                     \
    .position = {.kind = RT_POSITION_SELECTIVE, .frequencies = {.base = 100}, __VA_ARGS__},        \
    .theta = {.learn = true, .scope = RT_THETA_HEAD, .form = RT_THETA_RAW}

/* clang-format off */
static const row rows[] = {
    {"rope, half", {.position = {ROPE, .pairing = RT_HALF}}},
    {"part of rope", {.position = {ROPE_OF(0.5)}}},
    {"nothing of rope", {.position = {ROPE_OF(0)}}},
    {"values that turn", {.position = {ROPE, .rotate_value = true}}},
    {"theta of the model", {LEARNED(.scope = RT_THETA_MODEL)}},
    {"theta of layers", {LEARNED(.scope = RT_THETA_LAYER, .init = RT_THETA_PERTURBED,
                                 .init_sigma = 0.5)}},
    {"theta of heads", {LEARNED(.scope = RT_THETA_HEAD, .form = RT_THETA_RAW,
                                .init = RT_THETA_PERTURBED, .init_sigma = 0.5)}},
    {"factors of heads", {.position = {ROPE}, .theta = {.head_scale = true}}},
    {"theta of heads of keys, factors of heads", {.kv_heads = 2, LEARNED(.scope = RT_THETA_HEAD,
                                                       .head_scale = true,
                                                       .init = RT_THETA_PERTURBED,
                                                       .init_sigma = 0.5)}},
    {"linear", {SCALED(.scaling = RT_SCALING_LINEAR, .scale = 3)}},
    {"ntk", {SCALED(.scaling = RT_SCALING_NTK, .scale = 3)}},
    {"yarn", {SCALED(.scaling = RT_SCALING_YARN, .scale = 3)}},
    {"llama3", {SCALED(.scaling = RT_SCALING_LLAMA3, .scale = 3)}},
    {"longrope", {SCALED(LONGROPE)}},
    {"xpos", {.position = {ROPE, .xpos = 10}}},
    {"xpos of a part, values that turn", {.position = {ROPE_OF(0.5), .xpos = 30,
                                                       .rotate_value = true}}},
    {"xpos, theta of heads", {.position = {ROPE, .frequencies = {.base = 100}, .xpos = 9},
                              .theta = {.learn = true, .scope = RT_THETA_HEAD}}},
    {"xpos, longrope", {.position = {ROPE, .xpos = 20, .pairing = RT_HALF, .frequencies = {
        .base = 100, .original_len = 60, LONGROPE}}}},
    {"xpos, a window and shared keys", {.window = 30, .kv_heads = 2,
                                        .position = {ROPE, .xpos = 10}}},
    {"layers without positions", {.position = {ROPE, .every = 2}}},
    {"t5 in every second layer", {.position = {.kind = RT_POSITION_T5, .every = 2}}},
    {"shared keys", {.kv_heads = 2, .position = {ROPE}}},
    {"one head of keys, shaw", {.kv_heads = 1, .position = {.kind = RT_POSITION_SHAW}}},
    {"a window of 1", {.window = 1, .position = {ROPE}}},
    {"a window of 7", {.window = 7, .position = {ROPE}}},
    {"a window of 40, alibi", {.window = 40, .kv_heads = 2, .position = {.kind = RT_POSITION_ALIBI}}},
    {"a window of all", {.window = T + 1, .position = {ROPE}}},
    {"a norm before", {.norm = RT_NORM_PRE, .position = {ROPE}}},
    {"rms and a gate", {.norm = RT_NORM_PRE, .norm_kind = RT_NORM_RMS, .ffn = RT_FFN_GEGLU,
                        .bias = RT_BIAS_NONE, .position = {ROPE}}},
    {"a layer that sees all", {.window = 7, .layer_types = {2, {RT_LAYER_SLIDING, RT_LAYER_FULL}},
                               .position = {ROPE}}},
    {"a layer with a window behind one that sees all", {.window = 40, .kv_heads = 2, .layer_types = {
        2, {RT_LAYER_FULL, RT_LAYER_SLIDING}}, .position = {ROPE}}},
    {"a base of its own", {.window = 7, .layer_types = {2, {RT_LAYER_FULL, RT_LAYER_SLIDING}},
                           .position = {ROPE, .local_base = 50}}},
    {"longrope of two bases", {.window = 50, .layer_types = {2, {RT_LAYER_SLIDING, RT_LAYER_FULL}},
                               .position = {ROPE, .local_base = 50, .frequencies = {
        .base = 1000, .original_len = 60, LONGROPE}}}},
    {"no first norm, none of biases", {.norm = RT_NORM_PRE, .norm_bias = RT_WITHOUT,
                                       .first_norm = RT_WITHOUT, .position = {ROPE}}},
    {"a norm of embeddings", {.embedding_norm = RT_EMBEDDING_NORM_YES, .position = {ROPE}}},
    {"positions in the second layer alone", {.position = {ROPE, .layers = {2, {
        RT_LAYER_WITHOUT_POSITIONS, RT_LAYER_WITH_POSITIONS}}}}},
    {"large heads, a norm of queries and keys", {.head_dim = 12, .kv_heads = 2, .qk_norm = true,
                                                 .position = {ROPE}}},
    {"small heads with biases", {.head_dim = 6, .bias = RT_BIAS_QKV, .position = {ROPE}}},
    {"blocks beside each other", {.norm = RT_NORM_PRE, .residual = RT_RESIDUAL_PARALLEL,
                                  .bias = RT_BIAS_FFN, .position = {ROPE_OF(0.25)}}},
    {"forgetting", {.position = {ROPE, .forget = RT_FORGET_GATE}}},
    {"forgetting in a window, shared keys", {.window = 7, .kv_heads = 2,
        .position = {.kind = RT_POSITION_NONE, .forget = RT_FORGET_GATE}}},
    {"shifted keys beside part of rope", {.kv_heads = 2, .position = {ROPE_OF(0.5), .key_shift = true,
                                                                     .pairing = RT_HALF}}},
    {"shifted keys without positions, log n", {.window = 9, .length_scale = RT_LENGTH_LEARNED,
                                               .position = {.kind = RT_POSITION_NONE,
                                                            .key_shift = true}}},
    {"a factor in steps", {.length_scale = RT_LENGTH_FLOOR, .length_factor = 0.5, .length_floor = 6,
                           .position = {ROPE, .every = 2}}},
    {"fixed gates beside t5", {.position = {.kind = RT_POSITION_T5, .forget = RT_FORGET_FIXED,
                                            .forget_times = {.most = 50, .least = 3}}}},
    {"selective", {.position = {.kind = RT_POSITION_SELECTIVE, .taps = 4, .phase_bias = true}}},
    {"selective, gates and theta of heads", {.window = 9, .norm = RT_NORM_PRE,
        LEARNED_SELECTIVE(.rank = 3, .taps = 2, .phase_gate = true, .forget = RT_FORGET_GATE)}},
    {"less of rope in a layer that slides", {.window = 9, .kv_heads = 2, .layer_types = {
        2, {RT_LAYER_SLIDING, RT_LAYER_FULL}}, .position = {ROPE, .pairing = RT_HALF,
                                                            .local_fraction = 0.25}}},
    {"polar, a window", {.window = 7, .position = {.kind = RT_POSITION_POPE, .every = 2}}},
    {"polar, phases and theta of heads", {.kv_heads = 2, .qk_norm = true, .position = {
        .kind = RT_POSITION_POPE, .phase = true, .frequencies = {.base = 100}},
        .theta = {.learn = true, .scope = RT_THETA_HEAD, .form = RT_THETA_RAW}}},
    {"polar, two bases and yarn", {.window = 9, .layer_types = {2, {RT_LAYER_FULL, RT_LAYER_SLIDING}},
        .position = {.kind = RT_POSITION_POPE, .phase = true, .local_base = 50, .frequencies = {
            .base = 1000, .original_len = 60, .scaling = RT_SCALING_YARN, .scale = 3}}}},
    {"types of tokens", {.token_types = 2, .position = {ROPE}}},
    {"embeddings of their own width", {.embedding_dim = 12, .position = {ROPE}}},
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof *rows, KINDS = RT_POSITION_NONE + 1 };

/* Rows 0 ... ROWS + KINDS - 1: those above, and every kind of position by itself. */
static inline row row_at(int i)
{
    if (i < ROWS)
        return rows[i];
    const rt_position_kind kind = (rt_position_kind)(i - ROWS);
    return (row){rt_encoding_word(i - ROWS),
                 {.position = {.kind = kind, .fraction = kind == RT_POSITION_ROPE}}};
}

static inline rt_transformer_options options_of(const row *r, rt_model_kind kind,
                                                rt_attention_kind attention)
{
    rt_transformer_options o = r->o;
    o.kind = kind;
    o.attention = attention;
    o.vocab = V;
    o.layers = 2;
    o.dim = 32;
    o.heads = 4;
    o.norm_eps = 1e-12;
    o.causal = true;
    o.tie_embeddings = !o.embedding_dim;
    o.position.max_len = T;
    if (!(o.position.frequencies.base > 0))
        o.position.frequencies.base = 10000;
    return o;
}

/* The options of a model with softmax that has no row. */
#define MODEL_OF(model_kind, ...)                                                                  \
    options_of(&(const row){"", {__VA_ARGS__}}, model_kind, RT_ATTENTION_SOFTMAX)

/* Returns whether there is a model with these options; linear attention has no scores to change. */
static inline bool exists(const rt_transformer_options *o)
{
    return o->attention == RT_ATTENTION_SOFTMAX ||
           !(rt_encoding_of(o)->of_scores || o->window || o->kv_heads || o->position.xpos > 0 ||
             o->theta.head_scale || o->position.forget || o->position.key_shift || o->length_scale);
}

/* A law of every model that the row has, of both kinds and with every attention. */
static inline void expect_of_all(const row *r,
                                 void (*law)(const rt_transformer_options *o, const char *name))
{
    int tried = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int attention = 0; attention < 4; attention++) {
            const rt_transformer_options o =
                options_of(r, (rt_model_kind)kind, (rt_attention_kind)attention);
            if (!exists(&o) || (o.embedding_dim && o.tie_embeddings))
                continue;
            law(&o, r->name);
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

static inline void free_new_session(void *s)
{
    rt_session_free(s);
}

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
