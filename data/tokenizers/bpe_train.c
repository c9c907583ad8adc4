#include "data/tokenizers/bpe_train.h"

#include "core/memory.h"
#include "data/tokenizers/bpe_file.h"
#include "text/utf8.h"

#include <string.h>

enum { FIRST_CAPACITY = 1 << 12 };
#define NO_KEY UINT64_MAX

void rt_bpe_pairs_free(rt_bpe_pairs *pairs)
{
    rt_free(pairs->slots);
    *pairs = (rt_bpe_pairs){0};
}

/* The finalizer of SplitMix64 (Steele et al. 2014). */
static uint64_t hash(uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return key ^ key >> 31;
}

/* Returns the slot of a key, or the free slot where it belongs. */
static rt_bpe_pair *find(const rt_bpe_pairs *pairs, uint64_t key)
{
    const size_t mask = pairs->capacity - 1;
    size_t at = (size_t)hash(key) & mask;
    while (pairs->slots[at].key != key && pairs->slots[at].key != NO_KEY)
        at = (at + 1) & mask;
    return pairs->slots + at;
}

static bool grow(rt_bpe_pairs *pairs)
{
    rt_bpe_pairs larger = {.capacity = pairs->capacity ? 2 * pairs->capacity : FIRST_CAPACITY,
                           .count = pairs->count};
    larger.slots = rt_alloc_unset(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < larger.capacity; i++)
        larger.slots[i].key = NO_KEY;
    for (size_t i = 0; i < pairs->capacity; i++)
        if (pairs->slots[i].key != NO_KEY)
            *find(&larger, pairs->slots[i].key) = pairs->slots[i];
    rt_free(pairs->slots);
    *pairs = larger;
    return true;
}

rt_bpe_pair *rt_bpe_pairs_at(rt_bpe_pairs *pairs, uint64_t key)
{
    if (2 * pairs->count >= pairs->capacity && !grow(pairs))
        return NULL;
    rt_bpe_pair *pair = find(pairs, key);
    if (pair->key == NO_KEY) {
        *pair = (rt_bpe_pair){.key = key};
        pairs->count++;
    }
    return pair;
}

/* ---- training ---- */

/* A word that has a pair; the next one of a list is reached through `next`. */
typedef struct place {
    int32_t word;
    int32_t next; /* 0: none */
} place;

/* A pair, what it counted when it was put there, and the words that it was in. */
typedef struct waiting {
    int64_t count;
    uint64_t key;
    int32_t places;
} waiting;

/* A list that grows. */
typedef struct list {
    void *items;
    size_t count, capacity;
} list;

typedef struct training {
    const rt_word_counts *from;
    int specials;       /* number of special tokens */
    rt_byte_map tokens; /* as they are written in the file; their numbers are the ids */
    int32_t *symbols;   /* the tokens of all words, one word after the other */
    size_t *starts;     /* of each word there */
    int32_t *lengths;   /* tokens of each word */
    rt_bpe_pairs pairs;
    list places; /* place; the first is none */
    list heap;   /* waiting; the next one to be merged on top */
    list fresh;  /* uint64_t: keys of the pairs that this step has put into words */
    list merges; /* rt_bpe_merge */
    list text;   /* char: room for a token */
    bool failed; /* the heap is exhausted */
} training;

/* Room for `more` items behind those of a list; false when the heap is exhausted. */
static bool reserve(list *l, size_t more, size_t size)
{
    if (l->count + more <= l->capacity)
        return true;
    const size_t capacity = 2 * (l->count + more) + 64;
    void *larger = rt_alloc_unset(capacity, size);
    if (!larger)
        return false;
    if (l->items)
        memcpy(larger, l->items, l->count * size);
    rt_free(l->items);
    l->items = larger;
    l->capacity = capacity;
    return true;
}

/* ---- the most frequent pair ---- */

static bool is_before(waiting a, waiting b)
{
    return a.count != b.count ? a.count > b.count : a.key < b.key;
}

static void push(training *t, waiting new)
{
    t->failed |= !reserve(&t->heap, 1, sizeof new);
    if (t->failed)
        return;
    waiting *heap = t->heap.items;
    size_t at = t->heap.count++;
    for (; at && is_before(new, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = new;
}

static waiting pop(training *t)
{
    waiting *heap = t->heap.items;
    const waiting top = heap[0], last = heap[--t->heap.count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < t->heap.count) {
        if (child + 1 < t->heap.count && is_before(heap[child + 1], heap[child]))
            child++;
        if (!is_before(heap[child], last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* The pair that is to be merged; false if none is left. */
static bool take_most_frequent(training *t, waiting *top)
{
    while (t->heap.count && !t->failed) {
        *top = pop(t);
        const rt_bpe_pair *pair = rt_bpe_pairs_at(&t->pairs, top->key);
        if (!pair)
            break;
        if (pair->count == top->count)
            return top->count > 0;
        top->count = pair->count;
        push(t, *top);
    }
    return false;
}

/* ---- counting pairs ---- */

static void count_pair(training *t, int32_t left, int32_t right, int32_t word, int sign)
{
    rt_bpe_pair *pair = rt_bpe_pairs_at(&t->pairs, rt_bpe_key(left, right));
    t->failed |=
        !pair || !reserve(&t->places, 1, sizeof(place)) || !reserve(&t->fresh, 1, sizeof pair->key);
    if (t->failed)
        return;
    place *places = t->places.items;
    pair->count += sign * t->from->counts[word];
    if (sign < 0 || (pair->places && places[pair->places].word == word))
        return;
    if (!pair->places)
        ((uint64_t *)t->fresh.items)[t->fresh.count++] = pair->key;
    places[t->places.count] = (place){word, pair->places};
    pair->places = (int32_t)t->places.count++;
}

/* Lets the pairs wait that words have got. */
static void push_fresh(training *t)
{
    const uint64_t *keys = t->fresh.items;
    for (size_t i = 0; i < t->fresh.count && !t->failed; i++) {
        rt_bpe_pair *pair = rt_bpe_pairs_at(&t->pairs, keys[i]);
        t->failed |= !pair;
        if (t->failed)
            return;
        if (pair->count > 0)
            push(t, (waiting){pair->count, pair->key, pair->places});
        pair->places = 0;
    }
    t->fresh.count = 0;
}

/* ---- merging ---- */

/* The id of the token that two tokens make, which may have been made of others before. */
static int32_t join_tokens(training *t, int32_t left, int32_t right)
{
    size_t size, more;
    rt_byte_map_at(&t->tokens, left, &size);
    rt_byte_map_at(&t->tokens, right, &more);
    if (!reserve(&t->text, size + more, 1))
        return -1;
    char *text = t->text.items;
    memcpy(text, rt_byte_map_at(&t->tokens, left, &size), size);
    memcpy(text + size, rt_byte_map_at(&t->tokens, right, &more), more);
    return rt_byte_map_add(&t->tokens, text, size + more);
}

/* Merges a pair wherever it stands in a word, from left to right. Its own count stays as it is: it
 * has been merged everywhere, and never waits again. */
static void merge_in_word(training *t, rt_bpe_merge m, int32_t word)
{
    int32_t *s = t->symbols + t->starts[word];
    const int32_t length = t->lengths[word];
    int32_t to = 0;
    for (int32_t i = 0; i < length; i++) {
        if (s[i] != m.left || i + 1 == length || s[i + 1] != m.right) {
            s[to++] = s[i];
            continue;
        }
        i++;
        if (to) {
            count_pair(t, s[to - 1], m.left, word, -1);
            count_pair(t, s[to - 1], m.made, word, 1);
        }
        if (i + 1 < length) {
            count_pair(t, m.right, s[i + 1], word, -1);
            count_pair(t, m.made, s[i + 1], word, 1);
        }
        s[to++] = m.made;
    }
    t->lengths[word] = to;
}

static void merge(training *t, waiting top)
{
    rt_bpe_merge m = {.left = (int32_t)(top.key >> 32), .right = (int32_t)(top.key & UINT32_MAX)};
    m.made = join_tokens(t, m.left, m.right);
    t->failed |= m.made < 0 || !reserve(&t->merges, 1, sizeof m);
    if (t->failed)
        return;
    ((rt_bpe_merge *)t->merges.items)[t->merges.count++] = m;
    for (int32_t at = top.places, next; at && !t->failed; at = next) {
        const place here = ((place *)t->places.items)[at];
        next = here.next;
        merge_in_word(t, m, here.word);
    }
    push_fresh(t);
}

/* ---- words as bytes ---- */

static size_t count_symbols(const rt_word_counts *from)
{
    size_t count = 0, size, step;
    unsigned char byte;
    for (int32_t w = 0; w < from->words.count; w++) {
        const char *word = rt_byte_map_at(&from->words, w, &size);
        for (size_t at = 0; at < size; at += step, count++)
            step = rt_bpe_unescape(word + at, &byte);
    }
    return count;
}

static void spell_words(training *t, const int32_t *ids)
{
    size_t to = 0, size;
    unsigned char byte;
    for (int32_t w = 0; w < t->from->words.count; w++) {
        const char *word = rt_byte_map_at(&t->from->words, w, &size);
        t->starts[w] = to;
        for (size_t at = 0; at < size; to++) {
            at += rt_bpe_unescape(word + at, &byte);
            t->symbols[to] = ids[byte];
        }
        t->lengths[w] = (int32_t)(to - t->starts[w]);
    }
}

static void count_all_pairs(training *t)
{
    for (int32_t w = 0; w < t->from->words.count && !t->failed; w++) {
        const int32_t *s = t->symbols + t->starts[w];
        for (int32_t i = 0; i + 1 < t->lengths[w]; i++)
            count_pair(t, s[i], s[i + 1], w, 1);
    }
    push_fresh(t);
}

/* The tokens that there are before any merge, and the ids of bytes. */
static void add_first_tokens(training *t, int32_t *ids)
{
    for (int i = 0; i < t->specials; i++)
        t->failed |=
            rt_byte_map_add(&t->tokens, rt_bpe_specials[i], strlen(rt_bpe_specials[i])) < 0;
    for (int32_t c = 0; c < 2 * RT_BPE_BYTE_COUNT && !t->failed; c++) {
        char text[RT_UTF8_SIZE];
        const int32_t byte = rt_bpe_byte_of(c);
        if (byte < 0)
            continue;
        ids[byte] = rt_byte_map_add(&t->tokens, text, rt_utf8_write(c, text));
        t->failed |= ids[byte] < 0;
    }
}

/* ---- all of it ---- */

static rt_status begin(training *t)
{
    const size_t words = (size_t)t->from->words.count, symbols = count_symbols(t->from);
    int32_t ids[RT_BPE_BYTE_COUNT];
    if (symbols > INT32_MAX / 4)
        return rt_error(RT_DATA,
                        "the different words of a text can have up to %d bytes; they have %zu",
                        INT32_MAX / 4, symbols);
    t->symbols = rt_alloc_unset(symbols, sizeof *t->symbols);
    t->starts = rt_alloc_unset(words, sizeof *t->starts);
    t->lengths = rt_alloc_unset(words, sizeof *t->lengths);
    t->failed = !t->symbols || !t->starts || !t->lengths;
    if (!t->failed)
        add_first_tokens(t, ids);
    if (!t->failed) {
        spell_words(t, ids);
        count_all_pairs(t);
    }
    return rt_ok();
}

static rt_status run(training *t, int size, const rt_bpe_progress *progress)
{
    enum { OFTEN = 256 };
    waiting top;
    rt_status status = begin(t);
    while (!status.code && t->tokens.count < size && take_most_frequent(t, &top)) {
        merge(t, top);
        if (progress && t->merges.count % OFTEN == 0)
            progress->tell(progress->context, "tokens", t->tokens.count, size);
    }
    if (!status.code && t->failed)
        status = rt_out_of_memory("a tokenizer");
    return status;
}

static void free_all(training *t)
{
    rt_byte_map_free(&t->tokens);
    rt_bpe_pairs_free(&t->pairs);
    rt_free(t->symbols);
    rt_free(t->starts);
    rt_free(t->lengths);
    rt_free(t->places.items);
    rt_free(t->heap.items);
    rt_free(t->fresh.items);
    rt_free(t->merges.items);
    rt_free(t->text.items);
}

rt_status rt_bpe_train(const rt_word_counts *words, int size, bool mask,
                       const rt_bpe_progress *progress, char **text_new, int *ids)
{
    training t = {.from = words, .specials = mask ? 2 : 1, .places.count = 1};
    *text_new = NULL;
    *ids = 0;
    if (!words->words.count)
        return rt_error(RT_DATA, "the texts have no word to train a tokenizer on");
    rt_status status = run(&t, size, progress);
    if (!status.code) {
        *ids = (int)t.tokens.count;
        *text_new = rt_bpe_write(&t.tokens, t.specials, t.merges.items, t.merges.count);
        status = *text_new ? rt_ok() : rt_out_of_memory("a tokenizer");
    }
    free_all(&t);
    return status;
}
