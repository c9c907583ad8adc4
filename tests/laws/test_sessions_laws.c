/* Texts that are fed together have the logits of each text alone. */

#include "sessions.h"

enum { TEXTS = 4, STEPS = 24, STARTS = 3 };

/* Tokens that each text has before the first step: of other lengths, none yet, and around the
 * original length of the scalings, 60, and the widest window. */
static const int starts[STARTS][TEXTS] = {{5, 70, 1, 40}, {0, 30, 0, 58}, {59, 60, 20, 61}};

/* Feeds a session its own part of the text. */
static void begin(rt_session *s, int first, int count)
{
    expect_ok(rt_session_keep(s, 0));
    if (count)
        expect_ok(rt_session_feed(s, text + first, count, 0, NULL));
}

/* Text 1 ends on the way, as one that has come to its end. */
static void expect_law(const rt_transformer_options *o, const char *name)
{
    static real expected[TEXTS * V], got[TEXTS * V];
    int32_t next[TEXTS];
    open_model(o);
    rt_session *alone[TEXTS], *together[TEXTS];
    for (int i = 0; i < TEXTS; i++) {
        alone[i] = new_session(model, 0);
        together[i] = new_session(model, 0);
    }
    for (int start = 0; start < STARTS; start++) {
        for (int i = 0; i < TEXTS; i++) {
            begin(alone[i], i, starts[start][i]);
            begin(together[i], i, starts[start][i]);
        }
        rt_session *going[TEXTS];
        memcpy(going, together, sizeof going);
        for (int n = 0, count = TEXTS; n < STEPS; n++) {
            if (n == STEPS / 2) {
                going[1] = going[TEXTS - 1];
                count--;
            }
            for (int i = 0; i < count; i++) {
                const int going_on = n >= STEPS / 2 && i == 1 ? TEXTS - 1 : i;
                next[i] = text[going_on + starts[start][going_on] + n];
                expect_ok(rt_session_feed(alone[going_on], next + i, 1, 1, expected + i * V));
            }
            expect_ok(rt_session_feed_each(going, count, next, got));
            expect_same(got, expected, count, name, start);
        }
        for (int i = 0; i < TEXTS; i++)
            ck_assert_int_eq(rt_session_count(together[i]),
                             starts[start][i] + (i == 1 ? STEPS / 2 : STEPS));
    }
}

SAMPLED_ROWS(texts_fed_together_have_the_logits_of_each_alone, 0, ROWS + KINDS, 7)
{
    expect_of_all(row_at(_i), expect_law);
}

TEST(texts_fed_together_have_dynamic_scalings_of_their_own)
{
    const rt_transformer_options o = model_of(DECODER SCALED "dynamic position.scale=2");
    expect_law(&o, "dynamic");
}

TEST(steps_of_several_texts_take_no_memory)
{
    const rt_transformer_options o = model_of(DECODER "model.window=10");
    real logits[2 * V];
    open_model(&o);
    rt_session *s[2] = {new_session(model, 0), new_session(model, 0)};
    begin(s[0], 0, 3);
    for (int n = 0; n < 40; n++)
        expect_ok(rt_session_feed_each(s, 2, text + n, logits));
    const size_t before = rt_memory_requests();
    for (int n = 0; n < 100; n++)
        expect_ok(rt_session_feed_each(s, 2, text + n, logits));
    ck_assert_uint_eq(rt_memory_requests(), before);
}

static void begin_three(rt_session *s[3])
{
    for (int i = 0; i < 3; i++) {
        s[i] = new_session(model, 0);
        begin(s[i], 0, 55 + i);
    }
}

static rt_status go_on(rt_session *s[3], real *logits)
{
    rt_status status = rt_ok();
    for (int k = 0; k < 80 && !status.code; k++)
        status = rt_session_feed_each(s, 3, text + k, logits);
    return status;
}

TEST_ROWS(a_failed_request_empties_all_sessions, 0, 3)
{
    static const char *const models[] = {DECODER, DECODER "position.kind=sinusoidal",
                                         DECODER LONGROPE "position.base=100"};
    const rt_transformer_options o = model_of(models[_i]);
    real expected[3 * V], got[3 * V];
    rt_session *s[3];
    rt_code code = RT_MEMORY;
    open_model(&o);
    begin_three(s);
    expect_ok(go_on(s, expected));
    FOR_EACH_REFUSAL(code, 4)
    {
        rt_memory_fail_at(0);
        begin_three(s);
        rt_memory_fail_at(nth_refusal);
        code = go_on(s, got).code;
        rt_memory_fail_at(0);
        for (int i = 0; i < 3 && code; i++) {
            ck_assert_int_eq(rt_session_count(s[i]), 0);
            begin(s[i], 0, 55 + i);
        }
        if (code)
            expect_ok(go_on(s, got));
        expect_same(got, expected, 3, models[_i], (int)nth_refusal);
    }
    ck_assert_int_eq(code, RT_OK);
}

TEST(sessions_that_cannot_be_fed_together_are_refused_and_unchanged)
{
    const rt_transformer_options o = model_of("position.kind=learned");
    real logits[2 * V];
    const int32_t bad[] = {3, V};
    open_model(&o);
    rt_transformer *other = make(&o);
    rt_session *a = new_session(model, 0), *b = new_session(model, 0), *c = new_session(other, 0);
    begin(a, 0, 10);
    begin(b, 0, T - 1);
    expect_refusal(rt_session_feed_each((rt_session *[]){a, b}, 0, text, logits), "at least one");
    expect_refusal(rt_session_feed_each((rt_session *[]){a, a}, 2, text, logits),
                   "sessions 0 and 1 are the same");
    expect_refusal(rt_session_feed_each((rt_session *[]){a, c}, 2, text, logits),
                   "session 1 has another model than session 0");
    expect_refusal(rt_session_feed_each((rt_session *[]){a, b}, 2, bad, logits),
                   "session 1: token 0 is 41; the model has 0 to 40");
    expect_ok(rt_session_feed_each((rt_session *[]){a, b}, 2, text, logits));
    expect_refusal(rt_session_feed_each((rt_session *[]){a, b}, 2, text, logits),
                   "session 1: the text would have 271 tokens; there is room for 270");
    ck_assert_int_eq(rt_session_count(a), 11);
    ck_assert_int_eq(rt_session_count(b), T);
}
