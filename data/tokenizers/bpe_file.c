/* Parses a tokenizer.json with byte-level BPE: its merges, and its model. */

#include "data/tokenizers/bpe_file.h"

#include "core/memory.h"
#include "data/tokenizers/simple_tokens.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The two pieces of a merge, as lists of two or as texts with a space between. */
typedef struct sides {
    const char *left, *right;
    size_t left_size, right_size;
} sides;

static bool find_sides(const json_t *merge, sides *s)
{
    const char *text = json_string_value(merge);
    const char *space = text ? strchr(text, ' ') : NULL;
    if (text && (!space || strchr(space + 1, ' ')))
        return false;
    s->left = text ? text : json_string_value(json_array_get(merge, 0));
    s->right = text ? space + 1 : json_string_value(json_array_get(merge, 1));
    if (!s->left || !s->right || (!text && json_array_size(merge) != 2))
        return false;
    s->left_size = text ? (size_t)(space - text) : strlen(s->left);
    s->right_size = strlen(s->right);
    return true;
}

/* Room for the pieces of a merge. */
typedef struct room {
    char *text;
    size_t size;
} room;

static rt_status find_id(const rt_bpe_reading *r, size_t number, const char *piece, int32_t *id)
{
    char word[RT_WORD_NAME_SIZE];
    const json_t *found = json_object_get(r->vocab, piece);
    *id = found ? (int32_t)json_integer_value(found) : 0;
    return found ? rt_ok()
                 : rt_error(RT_DATA, "%s: model.merges[%zu]: %s is not in model.vocab", r->name,
                            number, rt_word_name(piece, strlen(piece), word));
}

static rt_status read_merge(const rt_bpe_reading *r, size_t number, const sides *s, room *to,
                            rt_merge *merge)
{
    const size_t size = s->left_size + s->right_size + 1;
    if (size > to->size) {
        rt_free(to->text);
        to->size = 2 * size;
        to->text = rt_alloc_unset(to->size, 1);
    }
    if (!to->text)
        return rt_out_of_memory("a vocabulary");
    merge->rank = (int32_t)number;
    memcpy(to->text, s->left, s->left_size);
    to->text[s->left_size] = '\0';
    rt_status status = find_id(r, number, to->text, &merge->left);
    memcpy(to->text + s->left_size, s->right, s->right_size + 1);
    if (!status.code)
        status = find_id(r, number, to->text + s->left_size, &merge->right);
    return status.code ? status : find_id(r, number, to->text, &merge->joined);
}

/* The heading of a merges.txt may stand in the list, and has no rank. */
static bool is_heading(const json_t *merge)
{
    const char *text = json_string_value(merge);
    return text && !strncmp(text, "#version", 8);
}

static rt_status read_list(const rt_bpe_reading *r, const json_t *found, rt_merges *merges)
{
    room to = {NULL, 0};
    const json_t *merge;
    size_t i;
    rt_status status = rt_ok();
    json_array_foreach(found, i, merge)
    {
        sides s;
        if (is_heading(merge))
            continue;
        if (find_sides(merge, &s))
            status = read_merge(r, i, &s, &to, &merges->list[merges->count++]);
        else
            status = rt_error(RT_DATA,
                              "%s: model.merges[%zu] must be two pieces, as a list or with a "
                              "space between",
                              r->name, i);
        if (status.code)
            break;
    }
    rt_free(to.text);
    return status;
}

rt_status rt_bpe_read_merges(rt_bpe_reading *r)
{
    const json_t *found = json_object_get(json_object_get(r->json, "model"), "merges");
    rt_merges *merges = &r->v->bpe->merges;
    if (!json_is_array(found))
        return rt_error(RT_DATA, "%s: model.merges must be a list", r->name);
    merges->list = rt_alloc(json_array_size(found), sizeof *merges->list);
    if (!merges->list)
        return rt_out_of_memory("a vocabulary");
    rt_status status = read_list(r, found, merges);
    if (!status.code && !rt_merges_complete(merges))
        status = rt_out_of_memory("a vocabulary");
    return status;
}

/* ---- bytes ---- */

enum { BYTES = RT_BPE_BYTE_COUNT };

bool rt_bpe_bytes(const char *text, char *bytes, size_t *size)
{
    const size_t length = strlen(text);
    *size = 0;
    for (size_t at = 0, step; at < length; at += step) {
        int32_t c = 0;
        step = rt_utf8_read((const unsigned char *)text + at, length - at, &c);
        const int32_t byte = step ? rt_bpe_byte_of(c) : -1;
        if (byte < 0)
            return false;
        bytes[(*size)++] = (char)byte;
    }
    return true;
}

/* ---- pieces ---- */

/* A piece by its id, so that they can be laid out in that order. */
static rt_status find_count(rt_bpe_reading *r)
{
    const char *piece;
    json_t *id;
    char word[RT_WORD_NAME_SIZE];
    int32_t count = 0;
    json_object_foreach(r->vocab, piece, id)
    {
        const json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
        if (value < 0 || value >= RT_BPE_LIMIT)
            return rt_error(RT_DATA, "%s: model.vocab: the id of %s must be from 0 to %d", r->name,
                            rt_word_name(piece, strlen(piece), word), RT_BPE_LIMIT - 1);
        count = value >= count ? (int32_t)value + 1 : count;
    }
    const json_t *token;
    size_t i;
    json_array_foreach(json_object_get(r->json, "added_tokens"), i, token)
    {
        const json_t *number = json_object_get(token, "id");
        const json_int_t value = json_is_integer(number) ? json_integer_value(number) : -1;
        if (value < 0 || value >= RT_BPE_LIMIT)
            return rt_error(RT_DATA, "%s: added_tokens[%zu].id must be from 0 to %d", r->name, i,
                            RT_BPE_LIMIT - 1);
        count = value >= count ? (int32_t)value + 1 : count;
    }
    r->v->count = count;
    return count ? rt_ok() : rt_error(RT_DATA, "%s: model.vocab has no piece", r->name);
}

static bool make_room(rt_vocabulary *v)
{
    rt_bpe *bpe = v->bpe;
    const size_t count = (size_t)v->count;
    v->starts = rt_alloc(count + 1, sizeof *v->starts);
    bpe->kinds = rt_alloc(count, sizeof *bpe->kinds);
    bpe->ordinary = rt_alloc(count, sizeof *bpe->ordinary);
    bpe->pieces = rt_alloc(count, sizeof *bpe->pieces);
    return v->starts && bpe->kinds && bpe->ordinary && bpe->pieces;
}

/* Lists the text of each id in the file; NULL: there is no such id. */
static rt_status sort_by_id(const rt_bpe_reading *r, const char **texts)
{
    const char *piece, *content;
    json_t *id, *token;
    size_t i;
    char word[RT_WORD_NAME_SIZE];
    json_object_foreach(r->vocab, piece, id)
    {
        const json_int_t at = json_integer_value(id);
        if (texts[at])
            return rt_error(RT_DATA, "%s: model.vocab: the id %d is that of two pieces, one is %s",
                            r->name, (int)at, rt_word_name(piece, strlen(piece), word));
        texts[at] = piece;
    }
    json_array_foreach(json_object_get(r->json, "added_tokens"), i, token)
    {
        const json_int_t at = json_integer_value(json_object_get(token, "id"));
        content = json_string_value(json_object_get(token, "content"));
        if (!content || !*content || strlen(content) > RT_ADDED_TOKEN_SIZE)
            return rt_error(RT_DATA,
                            "%s: added_tokens[%zu].content must be a text of 1 to %d bytes",
                            r->name, i, RT_ADDED_TOKEN_SIZE);
        if (texts[at] && strcmp(texts[at], content) != 0)
            return rt_error(RT_DATA, "%s: added_tokens[%zu]: its id %d is that of %s too", r->name,
                            i, (int)at, rt_word_name(texts[at], strlen(texts[at]), word));
        texts[at] = content;
    }
    return rt_ok();
}

/* A token that was added may have characters that stand for no byte: it is written as it is. */
static rt_status write_text(rt_bpe_reading *r, int32_t id, const char *text, bool added)
{
    rt_vocabulary *v = r->v;
    char word[RT_WORD_NAME_SIZE], *to = v->text + v->starts[id];
    size_t size = 0;
    const bool bytes = text && rt_bpe_bytes(text, to, &size);
    if (text && !bytes && !added)
        return rt_error(RT_DATA, "%s: model.vocab: %s is no byte-level text", r->name,
                        rt_word_name(text, strlen(text), word));
    if (text && !bytes)
        memcpy(to, text, size = strlen(text));
    if (text && bytes && !size)
        return rt_error(RT_DATA, "%s: model.vocab: the piece of id %" PRId32 " is empty", r->name,
                        id);
    to[size] = '\0';
    v->starts[id + 1] = v->starts[id] + (uint32_t)size + 1;
    v->bpe->kinds[id] = text ? RT_BPE_ORDINARY : RT_BPE_NONE;
    if (bytes && json_object_get(r->vocab, text)) {
        v->bpe->pieces[v->bpe->piece_count++] = id;
        if (size == 1)
            v->bpe->bytes[(unsigned char)*to] = id;
    }
    return rt_ok();
}

static rt_status write_texts(rt_bpe_reading *r, const char **texts, const bool *added)
{
    size_t size = 1;
    rt_status status = rt_ok();
    for (int32_t id = 0; id < r->v->count; id++)
        size += (texts[id] ? strlen(texts[id]) : 0) + 1;
    r->v->text = rt_alloc(size, 1);
    if (!r->v->text)
        return rt_out_of_memory("a vocabulary");
    for (int32_t id = 0; id < r->v->count && !status.code; id++)
        status = write_text(r, id, texts[id], added[id]);
    return status;
}

rt_status rt_bpe_read_pieces(rt_bpe_reading *r)
{
    json_t *token;
    size_t i;
    rt_status status = find_count(r);
    if (status.code)
        return status;
    const char **texts = rt_alloc((size_t)r->v->count, sizeof *texts);
    bool *added = rt_alloc((size_t)r->v->count, sizeof *added);
    status =
        texts && added && make_room(r->v) ? sort_by_id(r, texts) : rt_out_of_memory("a vocabulary");
    if (!status.code) {
        for (int byte = 0; byte < BYTES; byte++)
            r->v->bpe->bytes[byte] = RT_NO_ID;
        json_array_foreach(json_object_get(r->json, "added_tokens"), i, token)
            added[json_integer_value(json_object_get(token, "id"))] = true;
        status = write_texts(r, texts, added);
    }
    rt_free(texts);
    rt_free(added);
    return status;
}

/* ---- the model ---- */

/* Refuses a key that changes how words are joined, unless its value is an empty text or 0. */
static rt_status expect_absent(const rt_bpe_reading *r, const json_t *model, const char *key)
{
    const json_t *found = json_object_get(model, key);
    const char *text = json_string_value(found);
    if (!found || json_is_null(found) || (text && !*text) ||
        (json_is_number(found) && json_number_value(found) == 0))
        return rt_ok();
    return rt_error(RT_DATA, "%s: model.%s must be null", r->name, key);
}

/* tokenizers minds an unk_token that is no piece only when it is needed; here a byte is left out
 * then, and counted. */
static rt_status read_unknown(rt_bpe_reading *r, const json_t *model)
{
    const json_t *found = json_object_get(model, "unk_token");
    const char *text = json_string_value(found);
    const json_t *id = text ? json_object_get(r->vocab, text) : NULL;
    r->v->bpe->unknown = json_is_integer(id) ? (int32_t)json_integer_value(id) : RT_NO_ID;
    return !found || json_is_null(found) || text
               ? rt_ok()
               : rt_error(RT_DATA, "%s: model.unk_token must be a piece or null", r->name);
}

static rt_status read_flags(rt_bpe_reading *r, const json_t *model)
{
    bool falls_back;
    rt_bpe *bpe = r->v->bpe;
    rt_status status = rt_bpe_flag(r, model, "model", "byte_fallback", false, &falls_back);
    if (!status.code && falls_back)
        status = rt_error(RT_DATA,
                          "%s: model.byte_fallback must be false: the pieces must be of bytes, as "
                          "those of ByteLevel are",
                          r->name);
    if (!status.code)
        status = rt_bpe_flag(r, model, "model", "fuse_unk", false, &bpe->fuses_unknown);
    if (!status.code)
        status = rt_bpe_flag(r, model, "model", "ignore_merges", false, &bpe->ignore_merges);
    return status;
}

static rt_status find_model(rt_bpe_reading *r, const json_t **model)
{
    char word[RT_WORD_NAME_SIZE];
    *model = json_object_get(r->json, "model");
    const char *type = rt_bpe_type(*model);
    r->vocab = json_object_get(*model, "vocab");
    if (*type && strcmp(type, "BPE") != 0)
        return rt_error(RT_DATA, "%s: model.type is %s; 'BPE' is read", r->name,
                        rt_word_name(type, strlen(type), word));
    if (!json_is_object(r->vocab))
        return rt_error(RT_DATA, "%s: model.vocab must be an object", r->name);
    return rt_ok();
}

static rt_status read_model(rt_bpe_reading *r)
{
    static const char *const absent[] = {"dropout", "continuing_subword_prefix",
                                         "end_of_word_suffix"};
    const json_t *model;
    rt_status status = find_model(r, &model);
    for (size_t i = 0; i < sizeof absent / sizeof *absent && !status.code; i++)
        status = expect_absent(r, model, absent[i]);
    if (!status.code)
        status = read_flags(r, model);
    if (!status.code)
        status = rt_bpe_read_parts(r);
    if (!status.code)
        status = rt_bpe_read_pieces(r);
    if (!status.code)
        status = read_unknown(r, model);
    return status.code ? status : rt_bpe_read_merges(r);
}

/* ---- the file ---- */

/* A piece and its bytes. */
typedef struct piece {
    const char *bytes;
    size_t size;
    int32_t id;
} piece;

static int by_bytes(const void *a, const void *b)
{
    const piece *p = a, *q = b;
    const int order = memcmp(p->bytes, q->bytes, p->size < q->size ? p->size : q->size);
    return order ? order : (p->size > q->size) - (p->size < q->size);
}

/* Sorts the pieces by their text, for the search of words. */
static rt_status sort_pieces(const rt_vocabulary *v)
{
    rt_bpe *bpe = v->bpe;
    if (!bpe->ignore_merges)
        return rt_ok();
    piece *pieces = rt_alloc((size_t)bpe->piece_count, sizeof *pieces);
    if (!pieces)
        return rt_out_of_memory("a vocabulary");
    for (int i = 0; i < bpe->piece_count; i++) {
        const int32_t id = bpe->pieces[i];
        pieces[i] = (piece){v->text + v->starts[id], v->starts[id + 1] - v->starts[id] - 1, id};
    }
    if (bpe->piece_count)
        qsort(pieces, (size_t)bpe->piece_count, sizeof *pieces, by_bytes);
    for (int i = 0; i < bpe->piece_count; i++)
        bpe->pieces[i] = pieces[i].id;
    rt_free(pieces);
    return rt_ok();
}

static rt_status take_apart(rt_bpe_reading *r, char *bytes, size_t size)
{
    json_t *json;
    rt_status status = rt_json_parse(&json, RT_BPE_VALUES, r->name, bytes, size);
    r->json = json;
    if (!status.code)
        status = read_model(r);
    if (!status.code)
        status = rt_bpe_read_tokens(r);
    if (!status.code)
        status = sort_pieces(r->v);
    json_decref(json);
    return status;
}

rt_status rt_bpe_read(rt_vocabulary *v, const char *name, const unsigned char *bytes, size_t size)
{
    rt_bpe_reading r = {.v = v, .name = name};
    if (size > RT_BPE_BYTES)
        return rt_error(RT_DATA, "%s: a tokenizer.json can have up to %d bytes; it has %zu", name,
                        RT_BPE_BYTES, size);
    v->bpe = rt_alloc(1, sizeof *v->bpe);
    char *copy = rt_alloc_unset(size + 1, 1);
    if (v->bpe)
        v->bpe->file = rt_alloc(size + 1, 1);
    rt_status status = v->bpe && copy && v->bpe->file ? rt_ok() : rt_out_of_memory("a vocabulary");
    if (!status.code) {
        memcpy(copy, bytes, size);
        memcpy(v->bpe->file, bytes, size);
        status = take_apart(&r, copy, size);
    }
    rt_free(copy);
    return status;
}
