#include "data/tokenizers/wordpiece.h"

#include "core/memory.h"
#include "data/tokenizers/simple_tokens.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char rt_piece_inside[] = "##";

enum { BYTES = 256 };

typedef struct piece {
    const char *text; /* of the vocabulary */
    int32_t id;
} piece;

/* Pieces that begin alike are neighbours in the order of bytes, so that a longer and longer part
 * of a word is looked for in a smaller and smaller part of the list. */
typedef struct part {
    int32_t low, high; /* from low to high - 1 */
} part;

struct rt_pieces {
    int32_t count;
    piece *sorted;
    part first[BYTES];  /* those that begin with a byte */
    part inside[BYTES]; /* those that begin with ## and a byte */
};

/* ---- reading ---- */

static int by_text(const void *a, const void *b)
{
    const piece *p = a, *q = b;
    const int order = strcmp(p->text, q->text);
    return order ? order : (p->id > q->id) - (p->id < q->id);
}

/* At level residue blanks end what is unknown: a token has none. */
static bool has_blank(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] <= ' ')
            return true;
    return false;
}

static rt_status check_line(const char *name, int32_t line, const unsigned char *bytes, size_t size)
{
    int32_t character;
    if (!size)
        return rt_error(RT_DATA, "%s:%" PRId32 ": the line is empty", name, line);
    if (line == 1 && size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3))
        return rt_error(RT_DATA, "%s:1: begins with a byte order mark, which is no part of a token",
                        name);
    if (bytes[size - 1] == '\r')
        return rt_error(RT_DATA,
                        "%s:%" PRId32 ": ends with a return; lines end with a newline alone", name,
                        line);
    for (size_t at = 0, step; at < size; at += step) {
        if (!bytes[at])
            return rt_error(RT_DATA, "%s:%" PRId32 ": holds a NUL, which is not text", name, line);
        step = rt_utf8_read(bytes + at, size - at, &character);
        if (!step)
            return rt_error(RT_DATA, "%s:%" PRId32 ": byte 0x%02x is not UTF-8", name, line,
                            bytes[at]);
    }
    return rt_ok();
}

static rt_status count_lines(rt_vocabulary *v, const char *name, const unsigned char *bytes,
                             size_t size)
{
    size_t lines = 0;
    for (const unsigned char *at = bytes; at; lines++) {
        at = memchr(at, '\n', size - (size_t)(at - bytes));
        if (at && ++at == bytes + size)
            at = NULL;
    }
    if (lines > RT_PIECES_LIMIT)
        return rt_error(RT_DATA, "%s:%d: a vocabulary can have up to %d lines", name,
                        RT_PIECES_LIMIT + 1, RT_PIECES_LIMIT);
    v->count = (int)lines;
    return rt_ok();
}

/* Lines become strings. */
static rt_status split(rt_vocabulary *v, const char *name, const unsigned char *bytes, size_t size)
{
    size_t at = 0;
    memcpy(v->text, bytes, size);
    v->newline_at_end = bytes[size - 1] == '\n';
    for (int32_t id = 0; id < v->count; id++) {
        const unsigned char *newline = memchr(bytes + at, '\n', size - at);
        const size_t end = newline ? (size_t)(newline - bytes) : size;
        rt_status status = check_line(name, id + 1, bytes + at, end - at);
        if (!status.code && v->level == RT_LEVEL_RESIDUE && has_blank(bytes + at, end - at))
            status = rt_error(RT_DATA, "%s:%" PRId32 ": has a blank; a token of ESM has none", name,
                              id + 1);
        if (status.code)
            return status;
        v->text[end] = '\0';
        v->starts[id] = (uint32_t)at;
        at = end + 1;
    }
    v->starts[v->count] = (uint32_t)at;
    return rt_ok();
}

/* The part of a list whose pieces have a byte at an offset; they are alike before it. */
static part narrow(const piece *sorted, part in, size_t offset, unsigned byte)
{
    part found = in;
    for (int32_t count = in.high - in.low; count > 0;) { /* the first that is not less */
        const int32_t half = count / 2;
        if ((unsigned char)sorted[found.low + half].text[offset] < byte) {
            found.low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    found.high = found.low;
    for (int32_t count = in.high - found.low; count > 0;) { /* the first that is more */
        const int32_t half = count / 2;
        if ((unsigned char)sorted[found.high + half].text[offset] <= byte) {
            found.high += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return found;
}

static void index_first_bytes(rt_pieces *p)
{
    part inside = {0, p->count};
    for (size_t i = 0; i < RT_PIECE_INSIDE_SIZE; i++)
        inside = narrow(p->sorted, inside, i, (unsigned char)rt_piece_inside[i]);
    for (unsigned byte = 0; byte < BYTES; byte++) {
        p->first[byte] = narrow(p->sorted, (part){0, p->count}, 0, byte);
        p->inside[byte] = narrow(p->sorted, inside, RT_PIECE_INSIDE_SIZE, byte);
    }
}

static rt_status sort(rt_vocabulary *v, const char *name)
{
    rt_pieces *p = v->pieces;
    char word[RT_WORD_NAME_SIZE];
    p->count = v->count;
    for (int32_t id = 0; id < p->count; id++)
        p->sorted[id] = (piece){v->text + v->starts[id], id};
    qsort(p->sorted, (size_t)p->count, sizeof *p->sorted, by_text);
    for (int32_t i = 1; i < p->count; i++) {
        const piece *a = &p->sorted[i - 1], *b = &p->sorted[i];
        if (!strcmp(a->text, b->text))
            return rt_error(RT_DATA, "%s:%" PRId32 ": %s is in line %" PRId32 " already", name,
                            b->id + 1, rt_word_name(b->text, strlen(b->text), word), a->id + 1);
    }
    index_first_bytes(p);
    return rt_ok();
}

static rt_status find_special(rt_vocabulary *v, const char *name)
{
    const rt_pieces *p = v->pieces;
    for (int i = 0; i < RT_SPECIAL_TOKENS; i++) {
        const piece wanted = {rt_special_token(v->level, i), 0};
        part in = {0, p->count};
        for (size_t at = 0; at <= strlen(wanted.text); at++)
            in = narrow(p->sorted, in, at, (unsigned char)wanted.text[at]);
        if (in.low == in.high)
            return rt_error(RT_DATA, "%s: has no line %s", name, wanted.text);
        *rt_special_id(&v->special, i) = p->sorted[in.low].id;
    }
    return v->count > RT_SPECIAL_TOKENS
               ? rt_ok()
               : rt_error(RT_DATA, "%s: has no token beside the special ones", name);
}

rt_status rt_pieces_read(rt_vocabulary *v, const char *name, const unsigned char *bytes,
                         size_t size)
{
    if (!size || size >= UINT32_MAX)
        return rt_error(RT_DATA, size ? "%s: has more than 4 GB" : "%s: is empty", name);
    rt_status status = count_lines(v, name, bytes, size);
    if (status.code)
        return status;
    v->text = rt_alloc(size + 1, 1);
    v->starts = rt_alloc((size_t)v->count + 1, sizeof *v->starts);
    v->pieces = rt_alloc(1, sizeof *v->pieces);
    if (v->pieces)
        v->pieces->sorted = rt_alloc((size_t)v->count, sizeof *v->pieces->sorted);
    if (!v->text || !v->starts || !v->pieces || !v->pieces->sorted)
        return rt_out_of_memory("a vocabulary");
    status = split(v, name, bytes, size);
    if (!status.code)
        status = sort(v, name);
    return status.code ? status : find_special(v, name);
}

void rt_pieces_free(rt_pieces *pieces)
{
    if (!pieces)
        return;
    rt_free(pieces->sorted);
    rt_free(pieces);
}

/* ---- cutting ---- */

size_t rt_pieces_longest(const rt_pieces *p, bool inside, const char *text, size_t bytes,
                         int32_t *id)
{
    const unsigned char *at = (const unsigned char *)text;
    const size_t skip = inside ? RT_PIECE_INSIDE_SIZE : 0;
    part in = inside ? p->inside[*at] : p->first[*at];
    size_t found = 0;
    for (size_t size = 1; in.low < in.high; size++) {
        if (!p->sorted[in.low].text[skip + size]) { /* the shortest comes first */
            found = size;
            *id = p->sorted[in.low].id;
        }
        if (size == bytes || !at[size])
            break;
        in = narrow(p->sorted, in, skip + size, at[size]);
    }
    return found;
}

int rt_pieces_cut(const rt_pieces *pieces, const rt_word *word, int32_t ids[RT_WORD_CHARACTERS])
{
    int count = 0;
    if (word->too_long)
        return 0;
    for (size_t at = 0, size; at < word->size; at += size) {
        size = rt_pieces_longest(pieces, at > 0, word->bytes + at, word->size - at, &ids[count]);
        if (!size)
            return 0;
        count++;
    }
    return count;
}
