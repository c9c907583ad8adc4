#include "data/tokenizers/vocabulary.h"

#include "data/tokenizers/bpe.h"
#include "data/tokenizers/pieces.h"
#include "data/tokenizers/tokens.h"
#include "data/tokenizers/words.h"

#include <limits.h>
#include <math.h>
#include <string.h>

const char *const rt_level_words[] = {RT_LEVELS(RT_CHOICE_WORD) NULL};

const char *rt_token_name(rt_level level, int32_t token, char name[RT_WORD_NAME_SIZE])
{
    return level == RT_LEVEL_CHAR ? rt_character_name(token, name) : rt_byte_name(token, name);
}

rt_token_words rt_words_for_tokens(rt_level level)
{
    static const rt_token_words words[] = {
        [RT_LEVEL_BYTE] = {"byte", "bytes", "bytes"},
        [RT_LEVEL_CHAR] = {"character", "characters", "characters"},
        [RT_LEVEL_WORDPIECE] = {"word piece", "word pieces", "words"},
        [RT_LEVEL_BPE] = {"piece", "pieces", "bytes"},
        [RT_LEVEL_RESIDUE] = {"residue", "residues", "words"},
    };
    return words[level];
}

rt_status rt_level_error(rt_level level, const char *path, unsigned char byte, size_t offset)
{
#define KEY(value, word) "data.level = " word,
    static const char *const keys[] = {RT_LEVELS(KEY)};
#undef KEY
    return rt_utf8_error(keys[level], path, byte, offset);
}

const rt_special_ids rt_default_special_ids = {RT_ID_PAD, RT_ID_CLS, RT_ID_MASK, RT_ID_SEP,
                                               RT_NO_ID};

const char *rt_special_token(rt_level level, int i)
{
    static const char *const of_texts[RT_SPECIAL_TOKENS] = {"[PAD]", "[CLS]", "[MASK]", "[SEP]",
                                                            "[UNK]"};
    static const char *const of_proteins[RT_SPECIAL_TOKENS] = {"<pad>", "<cls>", "<mask>", "<eos>",
                                                               "<unk>"};
    return level == RT_LEVEL_RESIDUE ? of_proteins[i] : of_texts[i];
}

bool rt_vocabulary_pads(const rt_special_ids *ids)
{
    return ids->pad != RT_NO_ID && ids->pad != ids->cls && ids->pad != ids->sep;
}

int32_t *rt_special_id(rt_special_ids *ids, int i)
{
    int32_t *const all[RT_SPECIAL_TOKENS] = {&ids->pad, &ids->cls, &ids->mask, &ids->sep,
                                             &ids->unknown};
    return all[i];
}

bool rt_vocabularies_equal(const rt_vocabulary *a, const rt_vocabulary *b)
{
    if (!a || !b)
        return a == b;
    if (a->level != b->level || a->lowercase != b->lowercase || a->count != b->count)
        return false;
    if (!a->count)
        return true;
    const size_t count = (size_t)a->count;
    if (memcmp(a->starts, b->starts, (count + 1) * sizeof *a->starts) != 0 ||
        memcmp(a->text, b->text, a->starts[count]) != 0 || memcmp(a->kinds, b->kinds, count) != 0)
        return false;
    return !a->bpe ||
           (!memcmp(&a->special, &b->special, sizeof a->special) && rt_bpe_equal(a->bpe, b->bpe));
}

rt_text_frame rt_vocabulary_frame(const rt_vocabulary *v)
{
    const rt_bpe *bpe = v->bpe;
    const bool framed = bpe && (bpe->first != RT_NO_ID || bpe->last != RT_NO_ID);
    return framed ? (rt_text_frame){bpe->first, bpe->last}
                  : (rt_text_frame){v->special.cls, v->special.sep};
}

bool rt_vocabulary_is_ordinary(const rt_vocabulary *vocabulary, int32_t id)
{
    return id >= 0 && id < vocabulary->count && vocabulary->kinds[id] == RT_TOKEN_ORDINARY;
}

bool rt_vocabulary_list_ordinary(rt_vocabulary *v)
{
    v->ordinary_count = 0;
    for (int32_t id = 0; id < v->count; id++)
        if (v->kinds[id] == RT_TOKEN_ORDINARY)
            v->ordinary[v->ordinary_count++] = id;
    return v->ordinary_count > 0;
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

void rt_unknown_add(rt_unknown *whole, const rt_unknown *part, size_t before)
{
    const size_t count = whole->count + part->count;
    if (part->count && !whole->count) {
        *whole = *part;
        whole->at += before;
    }
    whole->count = count;
}

static rt_status not_utf8(const unsigned char *text, size_t at)
{
    return rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu is not UTF-8", text[at], at);
}

/* Returns whether str.split() of Python splits at a character: blanks and U+001C to U+001F. Level
 * residue follows EsmTokenizer of Hugging Face (Lin et al. 2022, ESM-2). */
static bool separates(int32_t c)
{
    return rt_is_blank(c) || (c >= 0x1c && c <= 0x1f);
}

/* Encodes residues: the longest token at a position. Without `special`, special tokens are text. */
static void encode_residues(const rt_token_output *e, const unsigned char *text, size_t from,
                            size_t to)
{
    const rt_pieces *pieces = e->v->pieces;
    bool goes_on = false; /* inside an unknown word */
    for (size_t at = from, size; at < to; at += size) {
        int32_t id = e->v->special.unknown, c = 0;
        size = rt_pieces_longest(pieces, false, text + at, to - at, &id);
        while (size && !e->special && !rt_vocabulary_is_ordinary(e->v, id))
            size = size > 1 ? rt_pieces_longest(pieces, false, text + at, size - 1, &id) : 0;
        if (size) {
            e->take(e->context, id);
            goes_on = false;
            continue;
        }
        size = rt_utf8_read(text + at, to - at, &c);
        const bool begins = !separates(c) && !goes_on;
        goes_on = !separates(c);
        if (!begins)
            continue;
        e->take(e->context, e->v->special.unknown);
        if (rt_unknown_count(e->unknown, at))
            rt_character_name(c, e->unknown->name);
    }
}

static rt_status encode_characters(const rt_token_output *e, const unsigned char *text, size_t from,
                                   size_t to)
{
    const rt_vocabulary *v = e->v;
    for (size_t at = from, size; at < to; at += size) {
        int32_t character = text[at];
        size = v->level == RT_LEVEL_CHAR ? rt_utf8_read(text + at, to - at, &character) : 1;
        if (!size)
            return not_utf8(text, at);
        const int32_t id = v->ids[character];
        if (id == v->special.unknown && rt_unknown_count(e->unknown, at))
            rt_token_name(v->level, character, e->unknown->name);
        e->take(e->context, id);
    }
    return rt_ok();
}

/* Encodes bytes from ... to - 1 of a text; offsets in messages are those of the text. Parses
 * special tokens only at the levels bpe and residue. */
static rt_status encode_part(const rt_token_output *e, const unsigned char *text, size_t from,
                             size_t to)
{
    const rt_vocabulary *v = e->v;
    if (!v->count)
        return rt_error(RT_ARGUMENT, "the vocabulary has no ids");
    if (v->ids)
        return encode_characters(e, text, from, to);
    const size_t valid = rt_utf8_valid(text + from, to - from);
    if (from + valid < to)
        return not_utf8(text, from + valid);
    if (v->bpe)
        return rt_bpe_encode(e, text, from, to);
    if (v->level == RT_LEVEL_RESIDUE) {
        encode_residues(e, text, from, to);
        return rt_ok();
    }
    rt_words words = {.text = text + from, .bytes = to - from, .lowercase = v->lowercase};
    rt_word word;
    while (rt_words_next(&words, &word)) {
        int32_t ids[RT_WORD_CHARACTERS];
        const int count = rt_pieces_cut(v->pieces, &word, ids);
        for (int i = 0; i < count; i++)
            e->take(e->context, ids[i]);
        if (count)
            continue;
        e->take(e->context, v->special.unknown);
        if (rt_unknown_count(e->unknown, from + word.at))
            rt_word_name(word.bytes, word.size, e->unknown->name);
    }
    return rt_ok();
}

size_t rt_vocabulary_most_ids(const rt_vocabulary *vocabulary, size_t bytes)
{
    return vocabulary->bpe ? rt_bpe_most_ids(vocabulary->bpe, bytes) : bytes;
}

int rt_vocabulary_most_bytes(const rt_vocabulary *vocabulary)
{
    return INT_MAX / (int)rt_vocabulary_most_ids(vocabulary, 1);
}

/* Returns the offset of the next special token, or `bytes`. *size is the size of the token, 0 at
 * the end. */
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

/* Encodes a text of words or characters and parses special tokens. */
static rt_status encode_special(const rt_token_output *e, const char *text, size_t bytes)
{
    size_t size = 0;
    for (size_t from = 0, at; from < bytes; from = at + size) {
        int32_t id = RT_NO_ID;
        at = find_special(e->v, text, from, bytes, &size, &id);
        RT_TRY(encode_part(e, (const unsigned char *)text, from, at));
        if (size)
            e->take(e->context, id);
    }
    return rt_ok();
}

rt_status rt_vocabulary_encode_to(const rt_vocabulary *vocabulary, const char *text, size_t bytes,
                                  bool special, rt_id_taker *take, void *context,
                                  rt_unknown *unknown)
{
    const rt_token_output e = {vocabulary, special, take, context, unknown};
    const rt_level level = vocabulary->level;
    *unknown = (rt_unknown){0};
    return special && level != RT_LEVEL_BPE && level != RT_LEVEL_RESIDUE
               ? encode_special(&e, text, bytes)
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
                               bool special, int32_t *ids, int *count, rt_unknown *unknown)
{
    id_list list = {ids, count};
    *count = 0;
    return rt_vocabulary_encode_to(vocabulary, text, bytes, special, append, &list, unknown);
}

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
