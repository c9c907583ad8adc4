#include "data/tokenizers/vocabulary.h"

#include "core/memory.h"
#include "data/batch.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/simple_tokens.h"
#include "data/tokenizers/wordpiece.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BYTES = 256 };

/* ---- making ---- */

/* What each id is written as. */
static bool write_texts(rt_vocabulary *v, int first)
{
    v->text = rt_alloc((size_t)v->count, RT_UTF8_SIZE);
    v->starts = rt_alloc((size_t)v->count + 1, sizeof *v->starts);
    if (!v->text || !v->starts)
        return false;
    for (int id = 0; id < v->count; id++) {
        char *to = v->text + v->starts[id];
        size_t size;
        if (id < first) {
            size = strlen(rt_special_token(v->level, id));
            memcpy(to, rt_special_token(v->level, id), size + 1);
        } else {
            size = rt_token_write(v->level, v->characters[id], to);
        }
        v->starts[id + 1] = v->starts[id] + (uint32_t)size + 1;
    }
    return true;
}

rt_status rt_vocabulary_of_characters(rt_vocabulary **vocabulary_new, rt_level level,
                                      const int32_t *characters, int count)
{
    const bool has_unknown = level == RT_LEVEL_CHAR;
    const int first = RT_FIRST_SYMBOL + has_unknown;
    const int32_t limit = rt_token_limit(level);
    *vocabulary_new = NULL;
    rt_vocabulary *v = rt_alloc(1, sizeof *v);
    if (!v)
        return rt_out_of_memory("a vocabulary");
    v->level = level;
    v->count = first + count;
    v->special = rt_default_special_ids;
    if (has_unknown)
        v->special.unknown = RT_FIRST_SYMBOL;
    v->characters = rt_alloc((size_t)v->count, sizeof *v->characters);
    v->ids = rt_alloc((size_t)limit, sizeof *v->ids);
    if (!v->characters || !v->ids) {
        rt_vocabulary_free(v);
        return rt_out_of_memory("a vocabulary");
    }
    for (int32_t character = 0; character < limit; character++)
        v->ids[character] = v->special.unknown;
    for (int id = 0; id < v->count; id++)
        v->characters[id] = id < first ? RT_NO_CHARACTER : characters[id - first];
    for (int id = first; id < v->count; id++)
        v->ids[v->characters[id]] = id;
    if (!write_texts(v, first)) {
        rt_vocabulary_free(v);
        return rt_out_of_memory("a vocabulary");
    }
    *vocabulary_new = v;
    return rt_ok();
}

void rt_vocabulary_free(rt_vocabulary *vocabulary)
{
    if (!vocabulary || (vocabulary->level == RT_LEVEL_BYTE && !vocabulary->count))
        return;
    rt_pieces_free(vocabulary->pieces);
    rt_bpe_free(vocabulary->bpe);
    rt_free(vocabulary->text);
    rt_free(vocabulary->starts);
    rt_free(vocabulary->characters);
    rt_free(vocabulary->ids);
    rt_free(vocabulary);
}

rt_status rt_vocabulary_of_bytes(rt_vocabulary **vocabulary_new)
{
    int32_t all[BYTES];
    for (int32_t byte = 0; byte < BYTES; byte++)
        all[byte] = byte;
    return rt_vocabulary_of_characters(vocabulary_new, RT_LEVEL_BYTE, all, BYTES);
}

/* ---- its ids ---- */

bool rt_vocabularies_equal(const rt_vocabulary *a, const rt_vocabulary *b)
{
    if (!a || !b)
        return a == b;
    if (a->level != b->level || a->lowercase != b->lowercase || a->count != b->count)
        return false;
    if (!a->count)
        return true;
    if (a->characters)
        return !memcmp(a->characters, b->characters, (size_t)a->count * sizeof *a->characters);
    if (a->starts[a->count] != b->starts[b->count] ||
        memcmp(a->text, b->text, a->starts[a->count]) != 0)
        return false;
    return !a->bpe || (!memcmp(&a->special, &b->special, sizeof a->special) &&
                       !memcmp(a->starts, b->starts, (size_t)a->count * sizeof *a->starts) &&
                       rt_bpe_equal(a->bpe, b->bpe, a->count));
}

static bool is_special(const rt_vocabulary *v, int32_t id)
{
    const rt_special_ids *s = &v->special;
    return id == s->pad || id == s->cls || id == s->mask || id == s->sep || id == s->unknown;
}

bool rt_vocabulary_is_ordinary(const rt_vocabulary *vocabulary, int32_t id)
{
    if (id < 0 || id >= vocabulary->count)
        return false;
    return vocabulary->bpe ? vocabulary->bpe->kinds[id] == RT_BPE_ORDINARY
                           : !is_special(vocabulary, id);
}

bool rt_vocabulary_is_end(const rt_vocabulary *vocabulary, int32_t id)
{
    const rt_end_ids *ends = &vocabulary->ends;
    for (int i = 0; i < ends->count; i++)
        if (ends->ids[i] == id)
            return true;
    return false;
}

void rt_vocabulary_mask_logits(const rt_vocabulary *vocabulary, bool ends, real *logits)
{
    for (int32_t id = 0; id < vocabulary->count; id++)
        if (!rt_vocabulary_is_ordinary(vocabulary, id) &&
            !(ends && rt_vocabulary_is_end(vocabulary, id)))
            logits[id] = (real)-INFINITY;
}

int rt_vocabulary_ordinary_tokens(const rt_vocabulary *vocabulary)
{
    if (vocabulary->bpe)
        return vocabulary->bpe->ordinary_count;
    return vocabulary->count - RT_SPECIAL_TOKENS + (vocabulary->special.unknown == RT_NO_ID);
}

/* Each special token at or below the id that the rank would have without them moves it up; those
 * that it moves past are looked at again. */
int32_t rt_vocabulary_ordinary_token(const rt_vocabulary *vocabulary, int rank)
{
    rt_special_ids special = vocabulary->special;
    int32_t id = rank, before = -1;
    if (vocabulary->bpe)
        return vocabulary->bpe->ordinary[rank];
    while (id != before) {
        before = id;
        id = rank;
        for (int i = 0; i < RT_SPECIAL_TOKENS; i++) {
            const int32_t token = *rt_special_id(&special, i);
            id += token != RT_NO_ID && token <= before;
        }
    }
    return id;
}
