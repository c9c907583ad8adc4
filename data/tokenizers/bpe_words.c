#include "data/tokenizers/bpe_words.h"

#include "core/memory.h"
#include "data/tokenizers/simple_tokens.h"

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

struct rt_bpe_words {
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
};

rt_status rt_bpe_words_new(rt_bpe_words **words_new, const rt_vocabulary *v, size_t bytes,
                           rt_id_taker *take, void *context, rt_unknown *unknown)
{
    rt_bpe_words *w = rt_alloc(1, sizeof *w);
    *words_new = w;
    if (!w)
        return rt_out_of_memory("the ids of a text");
    *w = (rt_bpe_words){.v = v, .take = take, .context = context, .unknown = unknown};
    if (bytes < (size_t)LEAST_SLOTS * BYTES_A_SLOT)
        return rt_ok();
    w->slot_count = LEAST_SLOTS;
    while (w->slot_count < MOST_SLOTS && w->slot_count < bytes / BYTES_A_SLOT)
        w->slot_count *= 2;
    w->slots = rt_alloc(w->slot_count, sizeof *w->slots);
    return w->slots ? rt_ok() : rt_out_of_memory("the ids of a text");
}

void rt_bpe_words_free(rt_bpe_words *words)
{
    if (!words)
        return;
    rt_free(words->slots);
    rt_free(words->symbols);
    rt_free(words->heap);
    rt_free(words);
}

void rt_bpe_take(rt_bpe_words *words, int32_t id)
{
    words->take(words->context, id);
}

/* ---- merging ---- */

/* Of n bytes at most n - 1 pairs wait at first, and each of at most n - 1 joins takes one away and
 * adds two: the heap never has 2 n. */
static bool make_room(rt_bpe_words *w, size_t bytes)
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

static const rt_merge *find_merge(const rt_bpe_words *w, const symbol *s)
{
    if (s->right < 0)
        return NULL;
    return rt_merges_find(&w->v->bpe->merges, s->id, w->symbols[s->right].id);
}

static bool is_before(waiting a, waiting b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.place < b.place;
}

static void push(rt_bpe_words *w, int32_t place)
{
    const rt_merge *m = find_merge(w, &w->symbols[place]);
    if (!m)
        return;
    const waiting new = {m->rank, place, m->joined};
    size_t at = w->heap_count++;
    for (; at && is_before(new, w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = new;
}

static waiting pop(rt_bpe_words *w)
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
static void join(rt_bpe_words *w, waiting top)
{
    symbol *s = &w->symbols[top.place];
    const rt_merge *m = s->id != RT_NO_ID ? find_merge(w, s) : NULL;
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

static void note_unknown(rt_bpe_words *w, unsigned char byte, size_t at)
{
    if (w->unknown->count++)
        return;
    w->unknown->at = at;
    rt_token_name(RT_LEVEL_BYTE, byte, w->unknown->name);
}

/* The bytes of a word as symbols; returns how many there are. */
static int32_t spell(rt_bpe_words *w, const unsigned char *word, size_t bytes, size_t at)
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
static int32_t merge(rt_bpe_words *w, const unsigned char *word, size_t bytes, size_t at)
{
    const int32_t count = spell(w, word, bytes, at);
    w->heap_count = 0;
    for (int32_t i = 0; i < count; i++)
        push(w, i);
    while (w->heap_count)
        join(w, pop(w));
    return count;
}

static int compare(const rt_vocabulary *v, int32_t id, const unsigned char *word, size_t bytes)
{
    const size_t size = v->starts[id + 1] - v->starts[id] - 1;
    const int order = memcmp(v->text + v->starts[id], word, size < bytes ? size : bytes);
    return order ? order : (size > bytes) - (size < bytes);
}

/* The piece that is a whole word, or RT_NO_ID. */
static int32_t find_piece(const rt_vocabulary *v, const unsigned char *word, size_t bytes)
{
    int low = 0, high = v->bpe->piece_count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int order = compare(v, v->bpe->pieces[middle], word, bytes);
        if (!order)
            return v->bpe->pieces[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return RT_NO_ID;
}

static slot *slot_of(rt_bpe_words *w, const unsigned char *word, size_t bytes)
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

static rt_status merge_word(rt_bpe_words *w, slot *kept, const unsigned char *word, size_t bytes,
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
            rt_bpe_take(w, w->symbols[i].id);
    if (kept && w->unknown->count == unknown)
        keep(kept, word, bytes, w->symbols, count);
    return rt_ok();
}

rt_status rt_bpe_word(rt_bpe_words *w, const unsigned char *word, size_t bytes, size_t at)
{
    slot *kept = slot_of(w, word, bytes);
    if (kept && kept->size == bytes && !memcmp(kept->word, word, bytes)) {
        for (int i = 0; i < kept->count; i++)
            rt_bpe_take(w, kept->ids[i]);
        return rt_ok();
    }
    const int32_t piece = w->v->bpe->ignore_merges ? find_piece(w->v, word, bytes) : RT_NO_ID;
    if (piece != RT_NO_ID) {
        rt_bpe_take(w, piece);
        return rt_ok();
    }
    return merge_word(w, kept, word, bytes, at);
}
