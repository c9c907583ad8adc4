/* Byte-level BPE: encoding a text. */

#include "data/tokenizers/bpe.h"

#include "core/memory.h"
#include "data/tokenizers/tokens.h"
#include "util/utf8.h"

#include <string.h>

/* Part of a word. A part that was joined to its left neighbour has RT_NO_ID. */
typedef struct symbol {
    int32_t id;
    int32_t left, right; /* indices of the neighbours; -1 at the ends */
} symbol;

/* Limits of the cache of words: the bytes of the shortest text that has a cache, the bytes of a
 * word, and the number of words. */
enum { LEAST_CACHED_TEXT = 1 << 13, MOST_CACHED_BYTES = 32, MOST_CACHED = 1 << 16 };

/* State of encoding a text, with a cache of its words. A word of n bytes takes O(n log n). */
typedef struct encoding {
    rt_token_output to;
    bool caches;
    rt_byte_map words; /* cached words */
    int32_t *ends;     /* (words.count): end of each word in `ids` */
    int32_t *ids;      /* ids of the cached words */
    size_t end_room, id_room;
    symbol *symbols;
    size_t symbol_room;
    rt_queue queue; /* neighbours with a merge, ordered by rank, then by position, and the piece
                       that the merge gives */
    char *spaced;   /* scratch memory: a space and a text */
    size_t spaced_room;
} encoding;

static const rt_pair *find_merge(const encoding *e, const symbol *s)
{
    if (s->right < 0)
        return NULL;
    return rt_pairs_find(&e->to.v->bpe->merges, s->id, e->symbols[s->right].id);
}

static void push(encoding *e, int32_t place)
{
    const rt_pair *m = find_merge(e, &e->symbols[place]);
    if (m)
        rt_queue_push(&e->queue, (rt_waiting){.first = m->rank, .left = place, .value = m->joined});
}

/* Joins a pair, unless it has changed. As in tokenizers, it is valid while the neighbours at its
 * position have a merge to the same piece, even by another rule. */
static void join(encoding *e, rt_waiting top)
{
    symbol *s = &e->symbols[top.left];
    const rt_pair *m = s->id != RT_NO_ID ? find_merge(e, s) : NULL;
    if (!m || m->joined != top.value)
        return;
    symbol *right = &e->symbols[s->right];
    s->id = top.value;
    right->id = RT_NO_ID;
    s->right = right->right;
    if (s->right >= 0)
        e->symbols[s->right].left = top.left;
    if (s->left >= 0)
        push(e, s->left);
    push(e, top.left);
}

/* Caches a merged word. Returns false if memory is exhausted. */
static bool cache_word(encoding *e, const unsigned char *word, size_t bytes, int32_t count)
{
    const int32_t number = e->words.count;
    int32_t end = number ? e->ends[number - 1] : 0;
    if (!rt_grow(&e->ends, &e->end_room, (size_t)number + 1, sizeof *e->ends) ||
        !rt_grow(&e->ids, &e->id_room, (size_t)(end + count), sizeof *e->ids))
        return false;
    for (int32_t i = 0; i < count; i++)
        if (e->symbols[i].id != RT_NO_ID)
            e->ids[end++] = e->symbols[i].id;
    e->ends[number] = end;
    return rt_byte_map_add(&e->words, word, bytes) >= 0;
}

/* Merges the bytes of a word, outputs its ids and caches them. A word with unknown bytes is not
 * cached, because each occurrence is counted. */
static rt_status merge_word(encoding *e, const unsigned char *word, size_t bytes, size_t at)
{
    const rt_bpe *bpe = e->to.v->bpe;
    const size_t unknown = e->to.unknown->count;
    int32_t count = 0; /* of symbols */
    bool fuses = false;
    if (bytes > INT32_MAX / 4)
        return rt_error(RT_ARGUMENT, "a word can have up to %d bytes; that at byte %zu has %zu",
                        INT32_MAX / 4, at, bytes);
    if (!rt_grow(&e->symbols, &e->symbol_room, bytes, sizeof *e->symbols))
        return rt_out_of_memory("the ids of a word");
    symbol *symbols = e->symbols;
    for (size_t i = 0; i < bytes; i++) {
        int32_t id = bpe->bytes[word[i]];
        const bool known = id != RT_NO_ID;
        if (!known && rt_unknown_count(e->to.unknown, at + i))
            rt_byte_name(word[i], e->to.unknown->name);
        if (!known)
            id = fuses ? RT_NO_ID : bpe->unknown;
        fuses = !known && bpe->fuses_unknown;
        if (id == RT_NO_ID)
            continue;
        symbols[count] = (symbol){id, count - 1, count + 1};
        count++;
    }
    if (count)
        symbols[count - 1].right = -1;

    for (int32_t i = 0; i < count; i++)
        push(e, i);
    while (e->queue.count)
        join(e, rt_queue_pop(&e->queue));
    RT_TRY(rt_allocated(!e->queue.failed, "the ids of a word"));
    for (int32_t i = 0; i < count; i++)
        if (symbols[i].id != RT_NO_ID)
            e->to.take(e->to.context, symbols[i].id);
    const bool caches = e->caches && bytes <= MOST_CACHED_BYTES && e->words.count < MOST_CACHED &&
                        e->to.unknown->count == unknown;
    return rt_allocated(!caches || cache_word(e, word, bytes, count), "the ids of a word");
}

/* Encodes a word, which begins at byte `at` of the text. */
static rt_status encode_word(encoding *e, const unsigned char *word, size_t bytes, size_t at)
{
    const int32_t known = rt_byte_map_find(&e->words, word, bytes);
    if (known >= 0) {
        for (int32_t i = known ? e->ends[known - 1] : 0; i < e->ends[known]; i++)
            e->to.take(e->to.context, e->ids[i]);
        return rt_ok();
    }
    const int32_t piece = rt_byte_map_find(&e->to.v->bpe->pieces, word, bytes);
    if (piece >= 0) {
        e->to.take(e->to.context, e->to.v->bpe->piece_ids[piece]);
        return rt_ok();
    }
    return merge_word(e, word, bytes, at);
}

void rt_bpe_free(rt_bpe *bpe)
{
    if (!bpe)
        return;
    rt_pairs_free(&bpe->merges);
    rt_byte_map_free(&bpe->pieces);
    rt_free(bpe->piece_ids);
    for (rt_added_tokens *tokens = bpe->added; tokens < bpe->added + RT_STAGES; tokens++) {
        for (int i = 0; i < tokens->count; i++)
            rt_free(tokens->list[i].text);
        rt_free(tokens->list);
        rt_free(tokens->pieces.sorted);
    }
    rt_free(bpe);
}

static bool tokens_equal(const rt_added_tokens *a, const rt_added_tokens *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        const rt_added_token *p = a->list + a->pieces.sorted[i].id;
        const rt_added_token *q = b->list + b->pieces.sorted[i].id;
        if (p->size != q->size || memcmp(p->text, q->text, p->size) || p->id != q->id ||
            p->special != q->special || p->takes_left != q->takes_left ||
            p->takes_right != q->takes_right)
            return false;
    }
    return true;
}

bool rt_bpe_equal(const rt_bpe *a, const rt_bpe *b)
{
    if (a->cut_count != b->cut_count || a->space_before != b->space_before ||
        memcmp(a->cuts, b->cuts, (size_t)a->cut_count * sizeof *a->cuts) != 0 ||
        a->form != b->form || a->ignore_merges != b->ignore_merges ||
        a->fuses_unknown != b->fuses_unknown || a->unknown != b->unknown ||
        memcmp(a->bytes, b->bytes, sizeof a->bytes) != 0 || a->merges.count != b->merges.count)
        return false;
    for (int32_t i = 0; i < a->merges.count; i++) {
        const rt_pair *p = a->merges.list + i;
        const rt_pair *q = rt_pairs_find(&b->merges, p->left, p->right);
        if (!q || q->rank != p->rank || q->joined != p->joined)
            return false;
    }
    return tokens_equal(&a->added[RT_AS_IS], &b->added[RT_AS_IS]) &&
           tokens_equal(&a->added[RT_COMPOSED], &b->added[RT_COMPOSED]);
}

rt_found_token rt_found_token_with_blanks(rt_found_token found, const unsigned char *text,
                                          size_t bytes, size_t before)
{
    int32_t c = 0;
    while (found.token->takes_left && found.start > before) {
        size_t start = found.start - 1;
        while (start > before && (text[start] & 0xc0) == 0x80)
            start--;
        if (!rt_utf8_read(text + start, found.start - start, &c) || !rt_is_blank(c))
            break;
        found.start = start;
    }
    while (found.token->takes_right && found.end < bytes) {
        const size_t size = rt_utf8_read(text + found.end, bytes - found.end, &c);
        if (!size || !rt_is_blank(c))
            break;
        found.end += size;
    }
    return found;
}

/* Finds the next token of a UTF-8 text from *at on, and moves *at behind it. Without `special`,
 * special tokens are text, in which no other token is matched. `before` is the end of the previous
 * match. *at and `before` start at 0. */
static rt_found_token next_added_token(const rt_added_tokens *tokens, const unsigned char *text,
                                       size_t bytes, bool special, size_t before, size_t *at)
{
    while (tokens->count && *at < bytes) {
        const size_t start = *at;
        const rt_piece_range first = tokens->pieces.first[false][text[start]];
        int32_t number = 0;
        const rt_added_token *token =
            first.low < first.high &&
                    rt_pieces_longest(&tokens->pieces, false, text + start, bytes - start, &number)
                ? tokens->list + number
                : NULL;
        *at += token ? token->size : 1;
        if (!token || (token->special && !special))
            continue;
        const rt_found_token found = {token, start, *at};
        return rt_found_token_with_blanks(found, text, bytes, before);
    }
    return (rt_found_token){NULL, bytes, bytes};
}

/* Compares the stored text, in which characters may be replaced by the bytes they represent. */
const rt_added_token *rt_bpe_added(const rt_bpe *bpe, const char *text, int32_t id)
{
    for (int stage = 0; stage < RT_STAGES; stage++)
        for (int i = 0; i < bpe->added[stage].count; i++) {
            const rt_added_token *token = bpe->added[stage].list + i;
            if (text ? token->size == strlen(text) && !memcmp(token->text, text, token->size)
                     : token->id == id)
                return token;
        }
    return NULL;
}

size_t rt_bpe_most_ids(const rt_bpe *bpe, size_t bytes)
{
    const size_t factor = rt_normal_form_growth(bpe->form) * (bpe->space_before >= 0 ? 2 : 1);
    return bytes <= SIZE_MAX / factor ? bytes * factor : SIZE_MAX;
}

/* Splits a text by the cuts from `number` on. `at` is the offset of the text, or of the part it was
 * made from. */
static rt_status cut(encoding *e, int number, const unsigned char *text, size_t bytes, size_t at)
{
    const rt_bpe *bpe = e->to.v->bpe;
    if (number == bpe->space_before && *text != ' ') {
        if (!rt_grow(&e->spaced, &e->spaced_room, bytes + 1, 1))
            return rt_out_of_memory("the ids of a text");
        e->spaced[0] = ' ';
        memcpy(e->spaced + 1, text, bytes);
        return cut(e, number, (unsigned char *)e->spaced, bytes + 1, at);
    }
    if (number == bpe->cut_count)
        return encode_word(e, text, bytes, at);
    for (size_t done = 0, size; done < bytes; done += size) {
        size = rt_pretokenizer_next(bpe->cuts[number], text + done, bytes - done);
        RT_TRY(cut(e, number + 1, text + done, size, at + done));
    }
    return rt_ok();
}

/* Matches the added tokens of a stage and encodes the text between them. Like tokenizers, drops a
 * token that takes the blanks before it and lies in those that the previous one took. */
static rt_status split(encoding *e, int stage, const unsigned char *text, size_t bytes, size_t at)
{
    const rt_bpe *bpe = e->to.v->bpe;
    size_t done = 0, place = 0;
    rt_status status = rt_ok();
    for (bool more = true; more && !status.code;) {
        const rt_found_token found =
            next_added_token(&bpe->added[stage], text, bytes, e->to.special, done, &place);
        const unsigned char *part = text + done; /* up to the token */
        RT_OWNED unsigned char *composed = NULL;
        size_t size = found.start > done ? found.start - done : 0;
        more = found.token != NULL;
        if (stage == RT_AS_IS && !rt_normal_form_is_plain(bpe->form, part, size))
            status = rt_normal_form(bpe->form, &composed, &size, part, size);
        if (size && !status.code)
            status = stage == RT_COMPOSED
                         ? cut(e, 0, part, size, at + done)
                         : split(e, RT_COMPOSED, composed ? composed : part, size, at + done);
        if (more && !status.code && !(found.token->takes_left && found.end <= done))
            e->to.take(e->to.context, found.token->id);
        done = found.end;
    }
    return status;
}

rt_status rt_bpe_encode(const rt_token_output *given, const unsigned char *text, size_t from,
                        size_t to)
{
    encoding e = {.to = *given};
    e.caches = to - from >= LEAST_CACHED_TEXT;
    const rt_status status = split(&e, RT_AS_IS, text + from, to - from, from);
    rt_byte_map_free(&e.words);
    rt_free(e.ends);
    rt_free(e.ids);
    rt_free(e.symbols);
    rt_free(e.queue.list);
    rt_free(e.spaced);
    return status;
}
