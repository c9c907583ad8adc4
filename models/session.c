#include "models/session.h"

#include "core/memory.h"
#include "models/kv_cache.h"
#include "ops/engine.h"

#include <string.h>

/* Tokens that are read at once: more are hardly faster, and take memory in every layer. Maximum
 * length of a text. */
enum { CHUNK = 256, MOST_TOKENS = 1 << 29 };

struct rt_session {
    rt_transformer *model;
    rt_graph *g;
    rt_kv_cache cache;
    int capacity;
    int regime;   /* rt_frequencies_regime of the cached tokens */
    int32_t *ids; /* with longrope and dynamic: all tokens read */
    size_t id_capacity;
    bool again; /* the cached tokens must be read again, together with the new ones */
};

void rt_session_set_threads(rt_session *s, const rt_threads *threads)
{
    rt_graph_set_threads(s->g, threads);
}

rt_status rt_session_new(rt_session **session_new, rt_transformer *model, int capacity)
{
    const rt_transformer_options *o = &model->options;
    const int most = rt_transformer_capacity(o);
    *session_new = NULL;
    if (!o->causal || o->head != RT_HEAD_LM)
        return rt_error(RT_ARGUMENT, "a session needs a causal model with an lm head");
    if (o->position.axes > 1)
        return rt_error(RT_ARGUMENT, "a session needs positions with one coordinate "
                                     "(position.axes = 1)");
    if (capacity < 0 || capacity > MOST_TOKENS)
        return rt_error(RT_ARGUMENT, "a session can have from 0 to %d tokens; got %d", MOST_TOKENS,
                        capacity);
    if (most && capacity > most)
        return rt_error(RT_ARGUMENT, "the model has positions for %d tokens; got %d", most,
                        capacity);
    rt_session *s = rt_alloc(1, sizeof *s);
    RT_TRY(rt_allocated(s, "a session"));
    s->model = model;
    s->capacity = capacity ? capacity : most && most < MOST_TOKENS ? most : MOST_TOKENS;
    s->g = rt_graph_new();
    const rt_status status = s->g ? rt_kv_cache_init(&s->cache, o) : rt_out_of_memory("a session");
    if (status.code)
        rt_session_free(s);
    else
        *session_new = s;
    return status;
}

void rt_session_free(rt_session *s)
{
    if (!s)
        return;
    rt_kv_cache_free(&s->cache);
    rt_graph_free(s->g);
    rt_free(s->ids);
    rt_free(s);
}

double rt_session_bytes(const rt_transformer *model, int tokens)
{
    return rt_kv_cache_bytes(&model->options, tokens, CHUNK);
}

int rt_session_count(const rt_session *s)
{
    return s->cache.count;
}

int rt_session_capacity(const rt_session *s)
{
    return s->capacity;
}

/* Reads tokens and computes the logits of the last `wanted` of them. */
static rt_status read_all(rt_session *s, const int32_t *ids, int count, int wanted, real *logits)
{
    rt_kv_cache *cache = &s->cache;
    for (int start = 0; start < count; start += CHUNK) {
        const int T = count - start < CHUNK ? count - start : CHUNK;
        const int unwanted = count - wanted - start;
        const int wanted_here = unwanted <= 0 ? T : unwanted < T ? T - unwanted : 0;
        const rt_transformer_input in = {
            .B = 1, .T = T, .ids = ids + start, .padding_id = RT_NO_PADDING, .caches = &cache};
        rt_graph_clear(s->g);
        rt_graph_record(s->g, false);
        rt_tensor *hidden = rt_transformer_encode(s->model, s->g, &in);
        int32_t *rows =
            wanted_here ? rt_graph_memory(s->g, (size_t)wanted_here, sizeof *rows) : NULL;
        for (int i = 0; rows && i < wanted_here; i++)
            rows[i] = T - wanted_here + i;
        if (rows) {
            hidden = rt_reshape(s->g, hidden, RT_SHAPE_OF(T, s->model->options.dim));
            hidden = rt_embedding(s->g, hidden, rows, RT_SHAPE_OF(wanted_here), RT_NO_PADDING);
            const rt_tensor *found = rt_transformer_logits(s->model, s->g, hidden);
            if (found) {
                memcpy(logits, found->data, rt_size(found) * sizeof *logits);
                logits += rt_size(found);
            }
        }
        cache->count += T;
        RT_TRY(rt_engine_graph_status(s->g));
    }
    return rt_ok();
}

static rt_status check_tokens(const rt_session *s, const int32_t *ids, int count, int wanted)
{
    const int V = s->model->options.vocab, left = s->capacity - s->cache.count;
    if (count < 1 || wanted < 0 || wanted > count)
        return rt_error(RT_ARGUMENT,
                        "a session reads at least one token, and returns logits of at most as "
                        "many; got %d and %d",
                        count, wanted);
    if (count > left)
        return rt_error(RT_ARGUMENT, "the text would have %lld tokens; there is room for %d",
                        (long long)s->cache.count + count, s->capacity);
    for (int t = 0; t < count; t++)
        if (ids[t] < 0 || ids[t] >= V)
            return rt_error(RT_ARGUMENT, "token %d is %d; the model has 0 to %d", t, (int)ids[t],
                            V - 1);
    return rt_ok();
}

/* Sets the regime for the length with the new tokens, and whether all tokens must be read again
 * because theta changes. */
static rt_status begin(rt_session *s, const int32_t *ids, int count)
{
    const rt_frequency_options *frequencies = &s->model->options.position.frequencies;
    const bool rereads =
        frequencies->scaling == RT_SCALING_LONGROPE || frequencies->scaling == RT_SCALING_DYNAMIC;
    const int length = s->cache.count + count, regime = rt_frequencies_regime(frequencies, length);
    if (rereads) {
        if (!rt_grow(&s->ids, &s->id_capacity, (size_t)length, sizeof *s->ids))
            return rt_out_of_memory("the tokens of a session");
        memcpy(s->ids + s->cache.count, ids, (size_t)count * sizeof *ids);
    }
    s->again = rereads && regime != s->regime && s->cache.count;
    if (s->again)
        rt_kv_cache_clear(&s->cache);
    s->regime = regime;
    s->cache.length = length;
    return rt_ok();
}

rt_status rt_session_feed(rt_session *s, const int32_t *ids, int count, int wanted, real *logits)
{
    RT_TRY(check_tokens(s, ids, count, wanted));
    rt_status status = begin(s, ids, count);
    if (!status.code)
        status = s->again ? read_all(s, s->ids, s->cache.length, wanted, logits)
                          : read_all(s, ids, count, wanted, logits);
    if (status.code)
        rt_kv_cache_drop(&s->cache);
    return status;
}

/* Reads one token for each text that is not read again, in the graph of the first session. */
static rt_status read_rows(rt_session *const *sessions, int count, const int32_t *ids, real *logits)
{
    rt_graph *g = sessions[0]->g;
    const size_t V = (size_t)sessions[0]->model->options.vocab;
    int rows = 0;
    rt_graph_clear(g);
    rt_graph_record(g, false);
    rt_kv_cache **caches = rt_graph_memory(g, (size_t)count, sizeof(rt_kv_cache *));
    int32_t *row_ids = rt_graph_memory(g, (size_t)count, sizeof *row_ids);
    for (int i = 0; caches && row_ids && i < count; i++)
        if (!sessions[i]->again) {
            caches[rows] = &sessions[i]->cache;
            row_ids[rows++] = ids[i];
        }
    if (!rows)
        return rt_graph_status(g);
    const rt_transformer_input in = {
        .B = rows, .T = 1, .ids = row_ids, .padding_id = RT_NO_PADDING, .caches = caches};
    const rt_tensor *found =
        rt_transformer_logits(sessions[0]->model, g,
                              rt_transformer_encode(sessions[0]->model, g, &in));
    const real *row = found ? found->data : NULL;
    for (int i = 0; row && i < count; i++)
        if (!sessions[i]->again) {
            memcpy(logits + (size_t)i * V, row, V * sizeof *row);
            sessions[i]->cache.count++;
            row += V;
        }
    return rt_engine_graph_status(g);
}

rt_status rt_session_feed_each(rt_session *const *sessions, int count, const int32_t *ids,
                               real *logits)
{
    rt_status status = rt_ok();
    if (count < 1)
        return rt_error(RT_ARGUMENT, "at least one session is needed; got %d", count);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++)
            if (sessions[k] == sessions[i])
                return rt_error(RT_ARGUMENT, "sessions %d and %d are the same", k, i);
        if (sessions[i]->model != sessions[0]->model)
            return rt_error(RT_ARGUMENT, "session %d has another model than session 0", i);
        status = check_tokens(sessions[i], ids + i, 1, 1);
        if (status.code)
            return rt_error(status.code, "session %d: %.900s", i, status.message);
    }
    const size_t V = (size_t)sessions[0]->model->options.vocab;
    for (int i = 0; i < count && !status.code; i++)
        status = begin(sessions[i], ids + i, 1);
    if (!status.code)
        status = read_rows(sessions, count, ids, logits);
    for (int i = 0; i < count && !status.code; i++) {
        rt_session *s = sessions[i];
        if (s->again)
            status = read_all(s, s->ids, s->cache.length, 1, logits + (size_t)i * V);
    }
    for (int i = 0; i < count && status.code; i++)
        rt_kv_cache_drop(&sessions[i]->cache);
    return status;
}

rt_status rt_session_keep(rt_session *s, int count)
{
    if (count < 0 || count > s->cache.count)
        return rt_error(RT_ARGUMENT, "the session has %d tokens; %d cannot be kept", s->cache.count,
                        count);
    if (count == s->cache.count)
        return rt_ok();
    if (!count) {
        rt_kv_cache_clear(&s->cache);
        return rt_ok();
    }
    if (s->cache.only_forward)
        return rt_error(RT_ARGUMENT,
                        "linear attention, and encodings that depend on content, store "
                        "only sums: keep all tokens or none");
    if (!rt_kv_cache_reaches(&s->cache, count))
        return rt_error(RT_ARGUMENT,
                        "cannot go back to %d tokens: the cache has dropped tokens that the next "
                        "one attends to",
                        count);
    s->cache.count = count;
    return rt_ok();
}
