/* A session that reads a text in pieces returns the numbers of the model for the whole text. */

#include "sessions.h"

#include "models/kv_cache.h"

/* Sizes of pieces, over and over: one by one; in pieces of several sizes; all at once, which is
 * more than a session reads at once; a prompt, then one by one. */
static const int pieces[][4] = {{1, 1, 1, 1}, {3, 1, 64, 2}, {T, T, T, T}, {70, 1, 1, 1}};
enum { WAYS = sizeof pieces / sizeof *pieces };

static int next_piece(int way, int n, int t)
{
    const int piece = pieces[way][n < 4 ? n : way == 1 ? n % 4 : 3];
    return piece < T - t ? piece : T - t;
}

static void feed_all(real *logits, int way)
{
    keep(0);
    for (int t = 0, n = 0; t < T; n++) {
        const int count = next_piece(way, n, t);
        feed(count, logits + (size_t)t * V);
        t += count;
        ck_assert_int_eq(rt_session_count(session), t);
    }
}

/* longrope uses one theta up to the original length and another beyond: the logits of a piece are
 * those of the text up to its end. */
static void expect_law(const rt_transformer_options *o, const char *name)
{
    static real expected[2][T * V], got[T * V];
    const rt_frequency_options *frequencies = &o->position.frequencies;
    const bool changes = frequencies->scaling == RT_SCALING_LONGROPE;
    open_session(o);
    whole(expected[0], model, changes ? frequencies->original_len : T);
    whole(expected[1], model, T);
    for (int way = 0; way < WAYS; way++) {
        feed_all(got, way);
        for (int t = 0, n = 0, count; t < T; n++, t += count) {
            count = next_piece(way, n, t);
            const real *all = expected[!changes || t + count > frequencies->original_len];
            expect_same(got + t * V, all + t * V, count, name, way);
        }
    }
}

SAMPLED_ROWS(a_text_in_pieces_has_the_logits_of_the_whole, 0, ROWS + KINDS, 7)
{
    expect_of_all(row_at(_i), expect_law);
}

/* Reads some tokens at once and the others one by one, by itself and with a crew, which is called
 * that often in a layer. */
static void expect_same_bits(const char *words, int at_once, int count, int rounds_of_layer)
{
    static real expected[T * V], got[T * V];
    const rt_transformer_options o = model_of(words);
    int rounds = 0;
    const rt_threads crew = {run_backwards, &rounds};
    open_session(&o);
    for (int way = 0; way < 2; way++) {
        real *logits = way ? got : expected;
        rt_session_set_threads(session, way ? &crew : NULL);
        keep(0);
        expect_ok(rt_session_feed(session, text, at_once, at_once, logits));
        for (int t = at_once; t < count; t++)
            expect_ok(rt_session_feed(session, text + t, 1, 1, logits + t * V));
    }
    ck_assert_int_eq(rounds, rounds_of_layer * o.layers);
    ck_assert(!memcmp(got, expected, (size_t)count * V * sizeof *got));
    whole(expected, model, count);
    expect_same(got, expected, count, words, 0);
}

/* A weight is cut, for ten tokens, and for a prompt if that is as few rows; one of more has its
 * heads read in parts. */
TEST(splitting_products_among_threads_changes_no_bit)
{
    expect_same_bits("model.ffn_dim=2100", 10, 20, 11);
    expect_same_bits("model.ffn_dim=2100", 20, 30, 1 + 10);
}

/* A piece of 256 tokens: two weights in panels, and heads; the tokens behind it have one weight in
 * parts, and heads that read many keys. */
TEST(reading_a_prompt_with_several_threads_changes_no_bit)
{
    expect_same_bits("model.ffn_dim=2100 model.kv_heads=2", T, T, 3 + 2);
    expect_same_bits("model.ffn_dim=2100 model.kv_heads=2", T - 4, T, 3 + 2 + 4 * 2);
}

TEST_ROWS(dynamic_scaling_gives_a_text_in_pieces_the_logits_of_the_whole, RT_KIND_ROFORMER,
          RT_KIND_DECODER + 1)
{
    static real expected[T * V], got[T * V];
    rt_transformer_options o = model_of(SCALED "dynamic position.scale=2");
    o.kind = (rt_model_kind)_i;
    open_session(&o);
    for (int way = 1; way < 3; way++) {
        feed_all(got, way);
        for (int t = 0, n = 0, count; t < T; n++, t += count) {
            count = next_piece(way, n, t);
            whole(expected, model, t + count);
            expect_same(got + t * V, expected + t * V, count, "dynamic", way);
        }
    }
    for (int kept = 60; kept < T; kept += 70) { /* one below the original length, others beyond */
        keep(kept);
        expect_ok(rt_session_feed(session, text + kept, 1, 1, got));
        whole(expected, model, kept + 1);
        expect_same(got, expected + kept * V, 1, "dynamic cut back", kept);
        expect_ok(rt_session_feed(session, text + kept + 1, T - kept - 1, 0, NULL));
    }
}

TEST_ROWS(a_truncated_session_continues_as_if_it_had_ended_there, 0, 2)
{
    static real expected[T * V], got[T * V];
    const rt_transformer_options o = model_of(_i ? "model.window=30" : "");
    int32_t other[T];
    open_model(&o);
    session = new_session(model, T);
    for (int t = 0; t < T; t++)
        other[t] = t < 20 ? text[t] : (text[t] + 1) % V;
    whole(expected, model, T);
    expect_ok(rt_session_feed(session, other, 30, 0, NULL));
    keep(20);
    ck_assert_int_eq(rt_session_count(session), 20);
    expect_ok(rt_session_feed(session, text + 20, T - 20, T - 20, got));
    expect_same(got, expected + 20 * V, T - 20, "after 20 tokens", _i);
    for (int t = T - 1; t >= 0 && _i; t--)
        if (rt_session_keep(session, t).code) { /* a window forgets, and says so */
            ck_assert_int_lt(t, T - 1);
            ck_assert_int_gt(t, 0);
            break;
        }
    ck_assert_int_eq(rt_session_keep(session, T + 1).code, RT_ARGUMENT);
    ck_assert_int_eq(rt_session_keep(session, -1).code, RT_ARGUMENT);
}

TEST(sessions_of_linear_attention_cannot_be_truncated)
{
    const rt_transformer_options o = model_of("model.attention=linear_elu");
    open_session(&o);
    expect_ok(rt_session_feed(session, text, 9, 0, NULL));
    ck_assert_int_eq(rt_session_keep(session, 5).code, RT_ARGUMENT);
    ck_assert_int_eq(rt_session_count(session), 9);
    keep(9);
    keep(0);
    ck_assert_int_eq(rt_session_count(session), 0);
}

/* After a first text, a second of the same length finds all memory there; a window and linear
 * attention find it after a short one. */
TEST_ROWS(a_second_text_allocates_no_memory, 0, 3)
{
    static const char *const models[] = {DECODER, DECODER "model.window=10",
                                         DECODER "model.attention=linear_elu"};
    const rt_transformer_options o = model_of(models[_i]);
    real logits[V];
    open_session(&o);
    for (int t = 0; t < (_i ? 40 : T); t++)
        expect_ok(rt_session_feed(session, text + t, 1, 1, logits));
    if (!_i)
        keep(0);
    const size_t before = rt_memory_requests();
    for (int t = 0; t < (_i ? 10 : 1) * T; t++)
        expect_ok(rt_session_feed(session, text + t % T, 1, 1, logits));
    ck_assert_uint_eq(rt_memory_requests(), before);
}

static double bytes_held(const rt_kv_cache *c)
{
    double numbers = 0;
    for (int l = 0; l < c->layer_count; l++)
        numbers += 2.0 * c->layers[l].capacity * (double)c->row + (double)c->state_size;
    return numbers * sizeof(real);
}

/* The cache never exceeds the estimate, and at the end has at least half of it, since memory
 * doubles as it grows. The sums of linear attention are allocated at the start. */
TEST_ROWS(a_cache_stays_within_its_memory_estimate, 0, 18)
{
    static const int most_at_once[] = {1, 7, 64};
    static const char *const models[] = {DECODER,
                                         DECODER "model.kv_heads=2",
                                         DECODER "model.window=1",
                                         DECODER "model.window=10",
                                         DECODER "model.window=100",
                                         DECODER "model.attention=linear_elu"};
    const int at_once = most_at_once[_i / ROWS(models)];
    rt_transformer_options o = model_of(models[_i % ROWS(models)]);
    rt_transformer_resolve(&o);
    rt_kv_cache cache, *const caches[] = {&cache};
    open_model(&o);
    rt_graph *g = new_graph();
    rt_graph_record(g, false);
    expect_ok(rt_kv_cache_init(&cache, &o));
    while (cache.count < T) {
        const int left = T - cache.count, count = left < at_once ? left : at_once;
        const rt_transformer_input in =
            INPUT(.B = 1, .T = count, .ids = text + cache.count, .caches = caches);
        rt_graph_clear(g);
        cache.length = cache.count + count;
        ck_assert(rt_transformer_encode(model, g, &in) != NULL);
        cache.count += count;
        const double foreseen = rt_kv_cache_bytes(&o, cache.count, at_once);
        ck_assert_msg(bytes_held(&cache) <= foreseen,
                      "%s, %d at once: %g bytes of %d tokens, %g foreseen",
                      models[_i % ROWS(models)], at_once, bytes_held(&cache), cache.count,
                      foreseen);
    }
    ck_assert_double_ge(bytes_held(&cache) * (o.attention ? 1 : 2),
                        rt_kv_cache_bytes(&o, T, at_once));
    rt_kv_cache_free(&cache);
}

TEST_ROWS(a_failed_request_empties_the_session, 0, 4)
{
    static const char *const models[] = {DECODER, DECODER "position.kind=sinusoidal model.window=5",
                                         DECODER "model.attention=linear_softmax",
                                         DECODER LONGROPE "position.base=100"};
    const rt_transformer_options o = model_of(models[_i]);
    static real expected[T * V], got[V];
    rt_code code = RT_MEMORY;
    open_model(&o);
    whole(expected, model, T);
    FOR_EACH_REFUSAL(code, 6)
    {
        code = rt_session_new(&session, model, 0).code;
        if (!code)
            code = rt_session_feed(session, text, 50, 1, got).code;
        if (!code)
            code = rt_session_feed(session, text + 50, T - 50, 1, got).code;
        rt_memory_fail_at(0);
        if (code && session) {
            ck_assert_int_eq(rt_session_count(session), 0);
            expect_ok(rt_session_feed(session, text, T, 1, got));
            expect_same(got, expected + (T - 1) * V, 1, models[_i], (int)nth_refusal);
        }
        rt_session_free(session);
    }
    ck_assert_int_eq(code, RT_OK);
}

TEST(a_failed_request_truncates_all_layers_at_the_same_token)
{
    enum { READ = T - 20 };
    const rt_transformer_options o = model_of(DECODER "model.window=40");
    static real expected[T * V], got[V];
    int cuts = 0;
    open_model(&o);
    whole(expected, model, T);
    for (size_t n = 1; n < 12; n++) {
        session = new_session(model, 0);
        expect_ok(rt_session_feed(session, text, 60, 0, NULL));
        rt_memory_fail_at(n);
        const rt_status status = rt_session_feed(session, text + 60, 200, 0, NULL);
        rt_memory_fail_at(0);
        keep(0);
        for (int t = 0; status.code && t < READ; t++)
            expect_ok(rt_session_feed(session, text + t, 1, 1, got));
        for (int t = READ - 1; t >= 0 && status.code && !rt_session_keep(session, t).code;
             t--, cuts++) {
            expect_ok(rt_session_feed(session, text + t, 1, 1, got));
            expect_same(got, expected + t * V, 1, "window", t);
        }
    }
    ck_assert_int_gt(cuts, 0);
}

TEST(tokens_and_lengths_out_of_range_are_refused_and_change_nothing)
{
    rt_transformer_options o = model_of("position.kind=learned");
    static real expected[T * V], got[V];
    const int32_t bad[] = {3, V, -1};
    rt_session *none;
    open_session(&o);
    whole(expected, model, T);
    expect_refusal(rt_session_new(&none, model, T + 1),
                   "the model has positions for 270 tokens; got 271");
    ck_assert_ptr_null(none);
    expect_refusal(rt_session_new(&none, model, -1), "got -1");
    ck_assert_int_eq(rt_session_capacity(session), T);
    feed(100, NULL);
    expect_refusal(rt_session_feed(session, bad, 2, 0, NULL),
                   "token 1 is 41; the model has 0 to 40");
    expect_refusal(rt_session_feed(session, bad + 2, 1, 0, NULL), "token 0 is -1");
    expect_refusal(rt_session_feed(session, text, 0, 0, NULL), "at least one token");
    expect_refusal(rt_session_feed(session, text, 2, 3, got), "got 2 and 3");
    expect_refusal(rt_session_feed(session, text, T - 99, 0, NULL),
                   "271 tokens; there is room for 270");
    ck_assert_int_eq(rt_session_count(session), 100);
    expect_ok(rt_session_feed(session, text + 100, T - 100, 1, got));
    expect_same(got, expected + (T - 1) * V, 1, "after refusals", 0);
    o.position.axes = 2;
    expect_refusal(rt_session_new(&none, make(&o), 0), "positions with one coordinate");
    o.causal = false;
    expect_refusal(rt_session_new(&none, make(&o), 0), "a causal model");
}

/* A backward cannot reach cached keys, and a cache has no padding. */
TEST(keys_are_cached_only_without_recording_and_padding)
{
    rt_transformer_options o = model_of("");
    rt_transformer_resolve(&o);
    const uint8_t mask[3] = {1, 1, 1};
    const int32_t zeros[6] = {0};
    rt_kv_cache cache;
    open_model(&o);
    rt_graph *g = new_graph();
    expect_ok(rt_kv_cache_init(&cache, &o));
    for (int fault = 0; fault < 4; fault++) {
        rt_kv_cache *const caches[] = {&cache};
        const rt_transformer_input in =
            INPUT(.B = 1, .T = 3, .ids = zeros, .key_mask = fault == 2 ? mask : NULL,
                  .caches = caches);
        cache.layer_count = o.layers + (fault == 1);
        rt_graph_clear(g);
        rt_graph_record(g, fault == 0);
        ck_assert((rt_transformer_encode(model, g, &in) != NULL) == (fault == 3));
        if (fault < 3)
            expect_refusal(rt_graph_status(g), "[transformer] a KV cache needs a causal model");
    }
    ck_assert_int_eq(cache.layer_count, o.layers);
    rt_kv_cache_free(&cache);
}
