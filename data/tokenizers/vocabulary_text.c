/* Texts to ids and back. */

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/residues.h"
#include "data/tokenizers/simple_tokens.h"
#include "data/tokenizers/wordpiece.h"

#include <limits.h>
#include <string.h>

/* ---- what a vocabulary lacks ---- */

void rt_unknown_add(rt_unknown *whole, const rt_unknown *part, size_t before)
{
    const size_t count = whole->count + part->count;
    if (part->count && !whole->count) {
        *whole = *part;
        whole->at += before;
    }
    whole->count = count;
}

rt_status rt_vocabulary_check(const rt_vocabulary *vocabulary, const char *name,
                              const unsigned char *text, size_t bytes)
{
    return rt_level_check(vocabulary->level, name, text, bytes);
}

/* ---- encoding ---- */

typedef struct encoding {
    const rt_vocabulary *v;
    rt_id_taker *take;
    void *context;
    rt_unknown *unknown;
} encoding;

static rt_status encode_characters(const encoding *e, const unsigned char *text, size_t from,
                                   size_t to)
{
    const rt_vocabulary *v = e->v;
    int32_t character = 0;
    size_t size;
    for (size_t at = from; at < to; at += size) {
        size = rt_token_read(v->level, text + at, to - at, &character);
        if (!size)
            return rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu is not UTF-8", text[at], at);
        const int32_t id = v->ids[character];
        if (id == v->special.unknown && !e->unknown->count++) {
            e->unknown->at = at;
            rt_token_name(v->level, character, e->unknown->name);
        }
        e->take(e->context, id);
    }
    return rt_ok();
}

static void encode_word(const encoding *e, const rt_word *word, size_t from)
{
    int32_t ids[RT_WORD_CHARACTERS];
    const int count = rt_pieces_cut(e->v->pieces, word, ids);
    for (int i = 0; i < count; i++)
        e->take(e->context, ids[i]);
    if (count)
        return;
    e->take(e->context, e->v->special.unknown);
    if (!e->unknown->count++) {
        e->unknown->at = from + word->at;
        rt_word_name(word->bytes, word->size, e->unknown->name);
    }
}

static rt_status encode_words(const encoding *e, const unsigned char *text, size_t from, size_t to)
{
    int32_t character = 0;
    for (size_t at = from, size; at < to; at += size) {
        size = rt_utf8_read(text + at, to - at, &character);
        if (!size)
            return rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu is not UTF-8", text[at], at);
    }
    rt_words words = {.text = text + from, .bytes = to - from, .lowercase = e->v->lowercase};
    rt_word word;
    while (rt_words_next(&words, &word))
        encode_word(e, &word, from);
    return rt_ok();
}

/* The bytes from `from` to `to` of a text; positions in messages are those of the text. */
static rt_status encode_part(const encoding *e, const unsigned char *text, size_t from, size_t to)
{
    if (!e->v->count)
        return rt_error(RT_ARGUMENT, "the vocabulary has no ids");
    if (e->v->bpe)
        return rt_bpe_encode(e->v, text, from, to, false, e->take, e->context, e->unknown);
    if (e->v->level == RT_LEVEL_RESIDUE)
        return rt_residues_encode(e->v, text, from, to, false, e->take, e->context, e->unknown);
    return e->v->pieces ? encode_words(e, text, from, to) : encode_characters(e, text, from, to);
}

size_t rt_vocabulary_most_ids(const rt_vocabulary *vocabulary, size_t bytes)
{
    return vocabulary->bpe ? rt_bpe_most_ids(vocabulary->bpe, bytes) : bytes;
}

int rt_vocabulary_most_bytes(const rt_vocabulary *vocabulary)
{
    return INT_MAX / (int)rt_vocabulary_most_ids(vocabulary, 1);
}

/* Where the next special token of a text is, or its end; *size is that of the token, 0 there. */
static size_t find_special(const rt_vocabulary *v, const char *text, size_t from, size_t bytes,
                           size_t *size, int32_t *id)
{
    rt_special_ids special = v->special;
    const char *at = text + from, *end = text + bytes;
    for (; (at = memchr(at, '[', (size_t)(end - at))); at++)
        for (int i = 0; i < RT_SPECIAL_TOKENS; i++) {
            const char *token = rt_special_token(v->level, i);
            *id = *rt_special_id(&special, i);
            *size = strlen(token);
            if (*id != RT_NO_ID && (size_t)(end - at) >= *size && !memcmp(at, token, *size))
                return (size_t)(at - text);
        }
    *size = 0;
    return bytes;
}

/* Encodes a text in which the special tokens are tokens. */
static rt_status encode_special(const encoding *e, const char *text, size_t bytes)
{
    rt_status status = rt_ok();
    size_t size = 0;
    if (e->v->bpe)
        return rt_bpe_encode(e->v, (const unsigned char *)text, 0, bytes, true, e->take, e->context,
                             e->unknown);
    if (e->v->level == RT_LEVEL_RESIDUE)
        return rt_residues_encode(e->v, (const unsigned char *)text, 0, bytes, true, e->take,
                                  e->context, e->unknown);
    for (size_t from = 0, at; from < bytes && !status.code; from = at + size) {
        int32_t id = RT_NO_ID;
        at = find_special(e->v, text, from, bytes, &size, &id);
        status = encode_part(e, (const unsigned char *)text, from, at);
        if (size && !status.code)
            e->take(e->context, id);
    }
    return status;
}

rt_status rt_vocabulary_encode_to(const rt_vocabulary *vocabulary, const char *text, size_t bytes,
                                  bool special, rt_id_taker *take, void *context,
                                  rt_unknown *unknown)
{
    const encoding e = {vocabulary, take, context, unknown};
    *unknown = (rt_unknown){0};
    return special ? encode_special(&e, text, bytes)
                   : encode_part(&e, (const unsigned char *)text, 0, bytes);
}

typedef struct id_list {
    int32_t *ids;
    int *count;
} id_list;

static void append(void *context, int32_t id)
{
    const id_list *list = context;
    list->ids[(*list->count)++] = id;
}

rt_status rt_vocabulary_encode(const rt_vocabulary *vocabulary, const char *text, size_t bytes,
                               int32_t *ids, int *count, rt_unknown *unknown)
{
    id_list list = {ids, count};
    *count = 0;
    return rt_vocabulary_encode_to(vocabulary, text, bytes, false, append, &list, unknown);
}

rt_status rt_vocabulary_encode_special(const rt_vocabulary *vocabulary, const char *text,
                                       size_t bytes, int32_t *ids, int *count, rt_unknown *unknown)
{
    id_list list = {ids, count};
    *count = 0;
    return rt_vocabulary_encode_to(vocabulary, text, bytes, true, append, &list, unknown);
}

/* ---- decoding ---- */

const char *rt_vocabulary_decode(const rt_vocabulary *vocabulary, int32_t id, size_t *size)
{
    *size = 0;
    if (!rt_vocabulary_is_ordinary(vocabulary, id))
        return NULL;
    *size = vocabulary->starts[id + 1] - vocabulary->starts[id] - 1;
    return vocabulary->text + vocabulary->starts[id];
}

rt_spelling rt_vocabulary_spell(const rt_vocabulary *vocabulary, int32_t id)
{
    if (id < 0 || id >= vocabulary->count)
        return (rt_spelling){"", 0, false};
    rt_spelling s = {vocabulary->text + vocabulary->starts[id],
                     vocabulary->starts[id + 1] - vocabulary->starts[id] - 1,
                     vocabulary->level == RT_LEVEL_WORDPIECE};
    if (s.space && s.size > RT_PIECE_INSIDE_SIZE &&
        !memcmp(s.bytes, rt_piece_inside, RT_PIECE_INSIDE_SIZE)) {
        s.bytes += RT_PIECE_INSIDE_SIZE;
        s.size -= RT_PIECE_INSIDE_SIZE;
        s.space = false;
    }
    return s;
}

int rt_vocabulary_bytes(const rt_vocabulary *vocabulary, int32_t id)
{
    const bool known =
        vocabulary->level != RT_LEVEL_WORDPIECE && rt_vocabulary_is_ordinary(vocabulary, id);
    return known ? (int)rt_vocabulary_spell(vocabulary, id).size : -1;
}

rt_status rt_vocabulary_decode_all(const rt_vocabulary *vocabulary, const int32_t *ids, int count,
                                   char **text_new, size_t *bytes)
{
    size_t size = 0;
    *bytes = 0;
    for (int i = 0; i < count; i++) {
        const size_t more = rt_vocabulary_spell(vocabulary, ids[i]).size + 1;
        size = more < SIZE_MAX - size ? size + more : SIZE_MAX;
    }
    char *at = *text_new = size < SIZE_MAX ? rt_alloc(size + 1, 1) : NULL;
    if (!at)
        return rt_out_of_memory("a text");
    for (int i = 0; i < count; i++) {
        const rt_spelling s = rt_vocabulary_spell(vocabulary, ids[i]);
        if (s.space && at > *text_new)
            *at++ = ' ';
        memcpy(at, s.bytes, s.size);
        at += s.size;
    }
    *bytes = (size_t)(at - *text_new);
    return rt_ok();
}
