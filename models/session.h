#ifndef ROTOR_MODELS_SESSION_H
#define ROTOR_MODELS_SESSION_H

/* A session: a causal language model reads the tokens of one text as they come, and returns the
 * logits of the next token. A KV cache (kv_cache.h) holds the keys and values of earlier tokens,
 * so that one more token costs one row. Many tokens at once are read in pieces, so that only the
 * KV cache grows with the text.
 *
 * The logits are those of rt_transformer_encode over the whole text, to rounding (1e-12 in double),
 * however the text was cut. Where theta depends on the length, the session reads the text once more
 * when theta changes: with longrope when the text grows beyond the original length, with `dynamic`
 * at every call beyond it. A token then costs as much as the whole text.
 *
 * The model is borrowed, and its parameters must not change while the cache holds tokens. Both
 * belong to one thread at a time; a model can have several sessions.
 */

#include "models/transformer.h"

typedef struct rt_session rt_session;

/* `capacity` is the most tokens that the text can have; 0 = as many as the model has positions for,
 * rt_transformer_capacity. RT_ARGUMENT if the model is not causal or has no lm head, or positions
 * for fewer. */
rt_status rt_session_new(rt_session **session_new, rt_transformer *model,
                         int capacity) RT_MUST_CHECK;
void rt_session_free(rt_session *session);

/* The threads that multiply by the weights from now on; NULL: the calling thread. Results are
 * bitwise identical either way. */
void rt_session_set_crew(rt_session *session, const rt_crew *crew);

/* Reads tokens behind those read before, and leaves the logits of the last `wanted` of them:
 *
 *   ids     (count), each 0 ... V-1, count > 0
 *   logits  (wanted, V); wanted may be 0
 *
 * RT_ARGUMENT if an id is none of the model's or the text would be longer than the capacity: then
 * nothing was read. RT_MEMORY: then the session is empty. */
rt_status rt_session_feed(rt_session *session, const int32_t *ids, int count, int wanted,
                          real *logits) RT_MUST_CHECK;

/* Reads one token more of each of several texts, which may have different lengths, and leaves the
 * logits of each: what rt_session_feed gives for each alone, to rounding, but every weight is read
 * from memory once for all of them.
 *
 *   sessions  (count), of one model, no two the same
 *   ids       (count), one for each
 *   logits    (count, V)
 *
 * The crew is that of the first. RT_ARGUMENT as rt_session_feed, with the number of the session:
 * then nothing was read. RT_MEMORY: then all of them are empty. */
rt_status rt_session_feed_each(rt_session *const *sessions, int count, const int32_t *ids,
                               real *logits) RT_MUST_CHECK;

/* Forgets all tokens but the first `count`. RT_ARGUMENT if there are fewer, or if the cache
 * has dropped what the next token would see: linear attention can forget all tokens or none, a
 * window can go back only as far as it still sees. */
rt_status rt_session_keep(rt_session *session, int count) RT_MUST_CHECK;

/* The most bytes that the KV cache of a session takes for a text of `tokens` tokens. */
double rt_session_bytes(const rt_transformer *model, int tokens);

/* Tokens read, and the most that there can be. */
int rt_session_count(const rt_session *session);
int rt_session_capacity(const rt_session *session);

#endif
