#ifndef ROTOR_MODELS_SESSION_H
#define ROTOR_MODELS_SESSION_H

/* A session: a causal language model reads the tokens of one text as they arrive, and returns the
 * logits of the next token. A KV cache (kv_cache.h) holds the keys and values of earlier tokens, so
 * that one more token costs one row. Many tokens at once are read in pieces, so that only the KV
 * cache grows with the text.
 *
 * The logits equal those of rt_transformer_encode over the whole text, up to rounding (1e-12 in
 * double), for any cut of the text. If theta depends on the length, the session reads the whole
 * text again when theta changes: with longrope when the text grows beyond the original length, with
 * `dynamic` at every call beyond it. A token then costs as much as the whole text.
 *
 * The model is borrowed, and its parameters must not change while the cache holds tokens. Both
 * belong to one thread at a time; a model can have several sessions.
 */

#include "models/transformer.h"

typedef struct rt_session rt_session;

/* Creates a session. `capacity` is the maximum length of the text in tokens; 0 =
 * rt_transformer_capacity, or 2^29 if that is 0. RT_ARGUMENT if the model is not causal, has no lm
 * head, has positions with two coordinates, or has positions for fewer tokens. */
rt_status rt_session_new(rt_session **session_new, rt_transformer *model,
                         int capacity) RT_MUST_CHECK;
void rt_session_free(rt_session *session);

/* Sets the threads for large ops; NULL: the calling thread. Results are bitwise identical. */
void rt_session_set_threads(rt_session *session, const rt_threads *threads);

/* Appends tokens to the text and computes the logits of the last `wanted` of them:
 *
 *   ids     (count), each 0 ... V-1, count > 0
 *   logits  (wanted, V); wanted may be 0
 *
 * RT_ARGUMENT, without reading a token, if an id is out of range or the text would exceed the
 * capacity. RT_MEMORY: the session is then empty. */
rt_status rt_session_feed(rt_session *session, const int32_t *ids, int count, int wanted,
                          real *logits) RT_MUST_CHECK;

/* Appends one token to each of several texts, which may have different lengths, and computes the
 * logits of each. They equal those of rt_session_feed up to rounding, but every weight is read from
 * memory once for all texts.
 *
 *   sessions  (count), of one model, all different
 *   ids       (count), one for each
 *   logits    (count, V)
 *
 * Uses the threads of the first session, but those of each session that is read again. RT_ARGUMENT
 * as rt_session_feed, with the number of the session. RT_MEMORY: all sessions are then empty. */
rt_status rt_session_feed_each(rt_session *const *sessions, int count, const int32_t *ids,
                               real *logits) RT_MUST_CHECK;

/* Removes all tokens but the first `count`. RT_ARGUMENT if there are fewer, or if the cache has
 * dropped keys that the next token would see: linear attention and encodings that depend on
 * content can only remove all tokens or none, a window only as far back as it still sees. */
rt_status rt_session_keep(rt_session *session, int count) RT_MUST_CHECK;

/* Returns the maximum size in bytes of the KV cache of a session for a text of `tokens` tokens. */
double rt_session_bytes(const rt_transformer *model, int tokens);

/* Returns the number of tokens read, and its maximum. */
int rt_session_count(const rt_session *session);
int rt_session_capacity(const rt_session *session);

#endif
