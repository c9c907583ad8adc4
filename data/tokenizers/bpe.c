/* Byte-pair encoding of a text. */

#include "data/tokenizers/bpe.h"

#include "core/memory.h"
#include "data/tokenizers/characters.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

/* A part of a word under way; parts that were joined to the one on their left have RT_NO_ID. */
typedef struct symbol {
    int32_t id;
    int32_t left, right; /* places; -1 at the ends */
} symbol;

/* Two neighbours that had a merge when they were put here. */
typedef struct waiting {
    int32_t rank, place, joined;
} waiting;

/* A short word and its ids. Where two have the same slot, the later one stays. */
enum { SHORT_WORD = 22, SHORT_IDS = 10 };
enum { LEAST_SLOTS = 1 << 9, MOST_SLOTS = 1 << 16, BYTES_A_SLOT = 16 };
typedef struct slot {
    uint8_t size, count;
    char word[SHORT_WORD];
    int32_t ids[SHORT_IDS];
} slot;

/* The words of one text as ids, one after the other: merging, and a memory of the words that came
 * before. A word of n bytes costs n log n at most. */
typedef struct bpe_words {
    const rt_vocabulary *v;
    rt_id_taker *take;
    void *context;
    rt_unknown *unknown;
    slot *slots;         /* NULL: of a short text no words are kept */
    uint32_t slot_count; /* a power of two */
    symbol *symbols;
    waiting *heap; /* the first of ranks, and then of places, on top */
    size_t heap_count;
    size_t room; /* bytes of the longest word that there is memory for */
} bpe_words;

/* ---- a text of `bytes` bytes ---- */

static rt_status bpe_words_new(bpe_words **words_new, const rt_vocabulary *v, size_t bytes,
                               rt_id_taker *take, void *context, rt_unknown *unknown)
{
    bpe_words *w = rt_alloc(1, sizeof *w);
    *words_new = w;
    if (!w)
        return rt_out_of_memory("the ids of a text");
    *w = (bpe_words){.v = v, .take = take, .context = context, .unknown = unknown};
    if (bytes < (size_t)LEAST_SLOTS * BYTES_A_SLOT)
        return rt_ok();
    w->slot_count = LEAST_SLOTS;
    while (w->slot_count < MOST_SLOTS && w->slot_count < bytes / BYTES_A_SLOT)
        w->slot_count *= 2;
    w->slots = rt_alloc(w->slot_count, sizeof *w->slots);
    return w->slots ? rt_ok() : rt_out_of_memory("the ids of a text");
}

static void bpe_words_free(bpe_words *words)
{
    if (!words)
        return;
    rt_free(words->slots);
    rt_free(words->symbols);
    rt_free(words->heap);
    rt_free(words);
}

static void bpe_take(bpe_words *words, int32_t id)
{
    words->take(words->context, id);
}

/* ---- merging ---- */

/* At most n - 1 pairs of n bytes wait at first, and each of at most n - 1 joins removes one and
 * adds two: the heap never has 2 n. */
static bool make_room(bpe_words *w, size_t bytes)
{
    if (bytes <= w->room)
        return true;
    const size_t room = bytes + bytes / 2 + 64;
    rt_free(w->symbols);
    rt_free(w->heap);
    w->room = 0;
    w->symbols = rt_alloc_unset(room, sizeof *w->symbols);
    w->heap = rt_alloc_unset(2 * room, sizeof *w->heap);
    if (w->symbols && w->heap)
        w->room = room;
    return w->room != 0;
}

static const rt_pair *find_merge(const bpe_words *w, const symbol *s)
{
    if (s->right < 0)
        return NULL;
    return rt_pairs_find(&w->v->bpe->merges, s->id, w->symbols[s->right].id);
}

static bool is_before(waiting a, waiting b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.place < b.place;
}

static void push(bpe_words *w, int32_t place)
{
    const rt_pair *m = find_merge(w, &w->symbols[place]);
    if (!m)
        return;
    const waiting new = {(int32_t)m->rank, place, m->joined};
    size_t at = w->heap_count++;
    for (; at && is_before(new, w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = new;
}

static waiting pop(bpe_words *w)
{
    const waiting top = w->heap[0], last = w->heap[--w->heap_count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < w->heap_count) {
        if (child + 1 < w->heap_count && is_before(w->heap[child + 1], w->heap[child]))
            child++;
        if (!is_before(w->heap[child], last))
            break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = last;
    return top;
}

/* Joins what waits, unless it is no longer there. As in tokenizers it is there as long as the two
 * neighbours at its place have a merge into the same piece, be it another merge. */
static void join(bpe_words *w, waiting top)
{
    symbol *s = &w->symbols[top.place];
    const rt_pair *m = s->id != RT_NO_ID ? find_merge(w, s) : NULL;
    if (!m || m->joined != top.joined)
        return;
    symbol *right = &w->symbols[s->right];
    s->id = top.joined;
    right->id = RT_NO_ID;
    s->right = right->right;
    if (s->right >= 0)
        w->symbols[s->right].left = top.place;
    if (s->left >= 0)
        push(w, s->left);
    push(w, top.place);
}

/* ---- words ---- */

static void note_unknown(bpe_words *w, unsigned char byte, size_t at)
{
    if (w->unknown->count++)
        return;
    w->unknown->at = at;
    if (byte >= ' ' && byte <= '~')
        rt_character_name(byte, w->unknown->name);
    else
        snprintf(w->unknown->name, sizeof w->unknown->name, "byte 0x%02x", byte);
}

/* The bytes of a word as symbols; returns how many there are. */
static int32_t spell(bpe_words *w, const unsigned char *word, size_t bytes, size_t at)
{
    const rt_bpe *bpe = w->v->bpe;
    int32_t count = 0;
    bool fuses = false;
    for (size_t i = 0; i < bytes; i++) {
        int32_t id = bpe->bytes[word[i]];
        const bool known = id != RT_NO_ID;
        if (!known) {
            note_unknown(w, word[i], at + i);
            id = fuses ? RT_NO_ID : bpe->unknown;
        }
        fuses = !known && bpe->fuses_unknown;
        if (id == RT_NO_ID)
            continue;
        w->symbols[count] = (symbol){id, count - 1, count + 1};
        count++;
    }
    if (count)
        w->symbols[count - 1].right = -1;
    return count;
}

/* Leaves the ids of a word in its symbols; returns the number of these. */
static int32_t merge(bpe_words *w, const unsigned char *word, size_t bytes, size_t at)
{
    const int32_t count = spell(w, word, bytes, at);
    w->heap_count = 0;
    for (int32_t i = 0; i < count; i++)
        push(w, i);
    while (w->heap_count)
        join(w, pop(w));
    return count;
}

static slot *slot_of(bpe_words *w, const unsigned char *word, size_t bytes)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    if (!w->slots || bytes > SHORT_WORD)
        return NULL;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ word[i]) * 16777619u;
    return w->slots + ((hash ^ hash >> 15) & (w->slot_count - 1));
}

/* Keeps a word that has been merged, unless it has bytes to be counted each time. */
static void keep(slot *kept, const unsigned char *word, size_t bytes, const symbol *symbols,
                 int32_t count)
{
    kept->size = kept->count = 0;
    for (int32_t i = 0; i < count; i++) {
        if (symbols[i].id == RT_NO_ID)
            continue;
        if (kept->count == SHORT_IDS)
            return;
        kept->ids[kept->count++] = symbols[i].id;
    }
    kept->size = (uint8_t)bytes;
    memcpy(kept->word, word, bytes);
}

static rt_status merge_word(bpe_words *w, slot *kept, const unsigned char *word, size_t bytes,
                            size_t at)
{
    const size_t unknown = w->unknown->count;
    if (bytes > INT32_MAX / 4)
        return rt_error(RT_ARGUMENT, "a word can have up to %d bytes; that at byte %zu has %zu",
                        INT32_MAX / 4, at, bytes);
    if (!make_room(w, bytes))
        return rt_out_of_memory("the ids of a word");
    const int32_t count = merge(w, word, bytes, at);
    for (int32_t i = 0; i < count; i++)
        if (w->symbols[i].id != RT_NO_ID)
            bpe_take(w, w->symbols[i].id);
    if (kept && w->unknown->count == unknown)
        keep(kept, word, bytes, w->symbols, count);
    return rt_ok();
}

/* Takes the ids of a word, which begins at byte `at` of the text. */
static rt_status bpe_word(bpe_words *w, const unsigned char *word, size_t bytes, size_t at)
{
    slot *kept = slot_of(w, word, bytes);
    if (kept && kept->size == bytes && !memcmp(kept->word, word, bytes)) {
        for (int i = 0; i < kept->count; i++)
            bpe_take(w, kept->ids[i]);
        return rt_ok();
    }
    const int32_t piece = rt_byte_map_find(&w->v->bpe->pieces, word, bytes);
    if (piece >= 0) {
        bpe_take(w, w->v->bpe->piece_ids[piece]);
        return rt_ok();
    }
    return merge_word(w, kept, word, bytes, at);
}

/* ---- the tokenizer ---- */

void rt_bpe_free(rt_bpe *bpe)
{
    if (!bpe)
        return;
    rt_pairs_free(&bpe->merges);
    rt_free(bpe->kinds);
    rt_free(bpe->ordinary);
    rt_byte_map_free(&bpe->pieces);
    rt_free(bpe->piece_ids);
    rt_added_tokens_free(&bpe->as_is);
    rt_added_tokens_free(&bpe->composed);
    rt_free(bpe->file);
    rt_free(bpe);
}

/* ---- sameness ---- */

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

static bool cuts_equal(const rt_bpe *a, const rt_bpe *b)
{
    if (a->cut_count != b->cut_count || a->space_before != b->space_before)
        return false;
    for (int i = 0; i < a->cut_count; i++)
        if (a->cuts[i] != b->cuts[i])
            return false;
    return true;
}

static bool merges_equal(const rt_bpe *a, const rt_bpe *b)
{
    if (a->merges.count != b->merges.count || memcmp(a->bytes, b->bytes, sizeof a->bytes) != 0)
        return false;
    for (size_t i = 0; i < a->merges.capacity; i++) {
        const rt_pair *p = a->merges.slots + i;
        const rt_pair *q = p->left < 0 ? p : rt_pairs_find(&b->merges, p->left, p->right);
        if (!q || q->rank != p->rank || q->joined != p->joined)
            return false;
    }
    return true;
}

bool rt_bpe_equal(const rt_bpe *a, const rt_bpe *b, int count)
{
    return cuts_equal(a, b) && a->form == b->form && a->ignore_merges == b->ignore_merges &&
           a->fuses_unknown == b->fuses_unknown && a->unknown == b->unknown &&
           !memcmp(a->kinds, b->kinds, (size_t)count) && merges_equal(a, b) &&
           tokens_equal(&a->as_is, &b->as_is) && tokens_equal(&a->composed, &b->composed);
}

/* ---- added tokens ---- */

/* Characters of it may stand for bytes, which it is spelled as. */
const rt_added_token *rt_bpe_added(const rt_bpe *bpe, const char *text, int32_t id)
{
    const rt_added_tokens *const lists[] = {&bpe->as_is, &bpe->composed};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (int i = 0; i < lists[l]->count; i++) {
            const rt_added_token *token = lists[l]->list + i;
            if (text ? token->size == strlen(text) && !memcmp(token->text, text, token->size)
                     : token->id == id)
                return token;
        }
    return NULL;
}

/* ---- encoding ---- */

size_t rt_bpe_most_ids(const rt_bpe *bpe, size_t bytes)
{
    const size_t factor = rt_normal_form_growth(bpe->form) * (bpe->space_before >= 0 ? 2 : 1);
    return bytes <= SIZE_MAX / factor ? bytes * factor : SIZE_MAX;
}

/* A text under way. `at` is where a piece of it begins in the text, or what it was made of. */
typedef struct encoding {
    const rt_bpe *bpe;
    bool special;
    bpe_words *words;
    char *spaced; /* room for a text behind a space */
    size_t room;
} encoding;

static rt_status cut(encoding *e, int number, const unsigned char *text, size_t bytes, size_t at);

/* A text that does not begin with a space gets one. */
static rt_status put_space(encoding *e, int number, const unsigned char *text, size_t bytes,
                           size_t at)
{
    if (bytes >= e->room) {
        rt_free(e->spaced);
        e->room = bytes + bytes / 2 + 64;
        e->spaced = rt_alloc_unset(e->room, 1);
        if (!e->spaced) {
            e->room = 0;
            return rt_out_of_memory("the ids of a text");
        }
    }
    e->spaced[0] = ' ';
    memcpy(e->spaced + 1, text, bytes);
    return cut(e, number, (unsigned char *)e->spaced, bytes + 1, at);
}

/* Cuts a text by the cuts from `number` on. */
static rt_status cut(encoding *e, int number, const unsigned char *text, size_t bytes, size_t at)
{
    const rt_bpe *bpe = e->bpe;
    rt_status status = rt_ok();
    if (number == bpe->space_before && *text != ' ')
        return put_space(e, number, text, bytes, at);
    if (number == bpe->cut_count)
        return bpe_word(e->words, text, bytes, at);
    for (size_t done = 0, size; done < bytes && !status.code; done += size) {
        size = rt_pretokenizer_next(bpe->cuts[number], text + done, bytes - done);
        status = cut(e, number + 1, text + done, size, at + done);
    }
    return status;
}

typedef rt_status rt_rest(encoding *e, const unsigned char *text, size_t bytes, size_t at);

/* Returns whether the previous match, with the blanks behind it up to `done`, covers this one.
 * tokenizers drops such a token if it takes the blanks before it. */
static bool is_covered(const rt_found_token *found, size_t done)
{
    return found->token->takes_left && found->end <= done;
}

/* Splits off tokens; what is between them goes on to `rest`. */
static rt_status split(encoding *e, const rt_added_tokens *tokens, rt_rest *rest,
                       const unsigned char *text, size_t bytes, size_t at)
{
    size_t done = 0, place = 0;
    rt_status status = rt_ok();
    for (bool more = true; more && !status.code;) {
        const rt_found_token found =
            rt_added_tokens_next(tokens, text, bytes, e->special, done, &place);
        more = found.token != NULL;
        if (found.start > done)
            status = rest(e, text + done, found.start - done, at + done);
        if (more && !status.code && !is_covered(&found, done))
            bpe_take(e->words, found.token->id);
        done = found.end;
    }
    return status;
}

static rt_status cut_all(encoding *e, const unsigned char *text, size_t bytes, size_t at)
{
    return cut(e, 0, text, bytes, at);
}

static rt_status split_composed(encoding *e, const unsigned char *text, size_t bytes, size_t at)
{
    return split(e, &e->bpe->composed, cut_all, text, bytes, at);
}

static rt_status compose(encoding *e, const unsigned char *text, size_t bytes, size_t at)
{
    unsigned char *composed = NULL;
    size_t size;
    if (rt_normal_form_is_plain(e->bpe->form, text, bytes))
        return split_composed(e, text, bytes, at);
    rt_status status = rt_normal_form(e->bpe->form, &composed, &size, text, bytes);
    if (!status.code)
        status = split_composed(e, composed, size, at);
    rt_free(composed);
    return status;
}

static rt_status check_text(const unsigned char *text, size_t from, size_t to)
{
    int32_t character;
    for (size_t at = from, size; at < to; at += size) {
        size = text[at] < 0x80 ? 1 : rt_utf8_read(text + at, to - at, &character);
        if (!size)
            return rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu is not UTF-8", text[at], at);
    }
    return rt_ok();
}

rt_status rt_bpe_encode(const rt_vocabulary *v, const unsigned char *text, size_t from, size_t to,
                        bool special, rt_id_taker *take, void *context, rt_unknown *unknown)
{
    encoding e = {.bpe = v->bpe, .special = special};
    rt_status status = check_text(text, from, to);
    if (status.code || from == to)
        return status;
    status = bpe_words_new(&e.words, v, to - from, take, context, unknown);
    if (!status.code)
        status = split(&e, &v->bpe->as_is, compose, text + from, to - from, from);
    bpe_words_free(e.words);
    rt_free(e.spaced);
    return status;
}
