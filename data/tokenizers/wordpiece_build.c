#include "data/tokenizers/wordpiece.h"

#include "core/memory.h"
#include "data/tokenizers/simple_tokens.h"

#include <assert.h>
#include <string.h>

/* ---- what is being built ---- */

/* One place where a pair may stand; the pair's other places are reached through `next`. */
typedef struct place {
    int32_t word;
    int32_t next; /* 0: none */
} place;

typedef struct pair {
    int32_t left, right; /* pieces */
    int32_t places;      /* the first; 0: none */
    int32_t grown;       /* the last join that made it more frequent */
    int64_t count;
} pair;

/* Count of a pair when it was put into the heap; a pair whose count has changed is put there anew.
 */
typedef struct waiting {
    int64_t count;
    int32_t pair;
} waiting;

typedef struct building {
    const rt_word_counts *from;
    rt_byte_map pieces; /* their numbers are the ids */
    int32_t *symbols;   /* the pieces of all words, one word after the other */
    size_t *starts;     /* of each word there */
    uint8_t *lengths;   /* pieces of each word */
    size_t symbol_count;
    rt_byte_map numbers; /* of pairs */
    pair *pairs;
    place *places; /* from 1 */
    int32_t place_count;
    waiting *heap; /* the most frequent on top */
    size_t heap_count, heap_capacity;
    int32_t *grown; /* pairs that a join has made more frequent */
    int32_t grown_count;
    int32_t joins;
    bool failed; /* the heap is exhausted */
} building;

static int32_t add_piece(building *b, const char *inside, const char *text, size_t size)
{
    char piece[RT_PIECE_INSIDE_SIZE + RT_WORD_BYTES];
    const size_t skip = strlen(inside);
    memcpy(piece, inside, skip);
    memcpy(piece + skip, text, size);
    const int32_t id = rt_byte_map_add(&b->pieces, piece, skip + size);
    b->failed |= id < 0;
    return id;
}

/* ---- characters ---- */

enum { CODE_POINTS = 0x110000, ANYWHERE = 1, INSIDE = 2 };

static void find_characters(const building *b, uint8_t *where)
{
    for (int32_t w = 0; w < b->from->words.count; w++) {
        size_t size, step;
        const unsigned char *word =
            (const unsigned char *)rt_byte_map_at(&b->from->words, w, &size);
        for (size_t at = 0; at < size; at += step) {
            int32_t c = 0;
            step = rt_utf8_read(word + at, size - at, &c);
            where[c] |= at ? ANYWHERE | INSIDE : ANYWHERE;
        }
    }
}

static void add_characters(building *b, const uint8_t *where, int which, const char *inside)
{
    for (int32_t c = 0; c < CODE_POINTS && !b->failed; c++) {
        char text[RT_UTF8_SIZE];
        if (where[c] & which)
            add_piece(b, inside, text, rt_utf8_write(c, text));
    }
}

static void add_first_pieces(building *b)
{
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    uint8_t *where = rt_alloc(CODE_POINTS, sizeof *where);
    b->failed = !where;
    for (size_t i = 0; i < sizeof special / sizeof *special && !b->failed; i++)
        add_piece(b, "", special[i], strlen(special[i]));
    if (!b->failed) {
        find_characters(b, where);
        add_characters(b, where, ANYWHERE, "");
        add_characters(b, where, INSIDE, rt_piece_inside);
    }
    rt_free(where);
}

/* ---- words as pieces ---- */

static size_t count_symbols(const rt_word_counts *from)
{
    size_t count = 0, size;
    for (int32_t w = 0; w < from->words.count; w++) {
        const char *word = rt_byte_map_at(&from->words, w, &size);
        count += rt_utf8_count((const unsigned char *)word, size);
    }
    return count;
}

/* A word of n pieces has n - 1 pairs, and is joined at most n - 1 times, with two new pairs each
 * time: so many places there are at most, and no more pairs. Memory that is not needed in the end
 * is never touched. */
static bool make_room(building *b)
{
    const size_t words = (size_t)b->from->words.count, most = 3 * b->symbol_count + 1;
    b->symbols = rt_alloc_unset(b->symbol_count, sizeof *b->symbols);
    b->starts = rt_alloc_unset(words, sizeof *b->starts);
    b->lengths = rt_alloc_unset(words, sizeof *b->lengths);
    b->pairs = rt_alloc_unset(most, sizeof *b->pairs);
    b->places = rt_alloc_unset(most, sizeof *b->places);
    b->grown = rt_alloc_unset(most, sizeof *b->grown);
    return b->symbols && b->starts && b->lengths && b->pairs && b->places && b->grown;
}

static void spell_words(building *b)
{
    size_t to = 0;
    for (int32_t w = 0; w < b->from->words.count && !b->failed; w++) {
        size_t size, step;
        int32_t c;
        const char *word = rt_byte_map_at(&b->from->words, w, &size);
        b->starts[w] = to;
        for (size_t at = 0; at < size; at += step) {
            step = rt_utf8_read((const unsigned char *)word + at, size - at, &c);
            b->symbols[to++] = add_piece(b, at ? rt_piece_inside : "", word + at, step);
        }
        b->lengths[w] = (uint8_t)(to - b->starts[w]);
    }
}

/* ---- the most frequent pair ---- */

static int compare_pieces(const building *b, int32_t left, int32_t right)
{
    size_t size;
    const char *a = rt_byte_map_at(&b->pieces, left, &size);
    return left == right ? 0 : strcmp(a, rt_byte_map_at(&b->pieces, right, &size));
}

/* Returns whether a is joined before b. */
static bool is_before(const building *b, waiting x, waiting y)
{
    const pair *p = &b->pairs[x.pair], *q = &b->pairs[y.pair];
    if (x.count != y.count)
        return x.count > y.count;
    const int left = compare_pieces(b, p->left, q->left);
    return left ? left < 0 : compare_pieces(b, p->right, q->right) < 0;
}

static void push(building *b, int32_t number)
{
    const waiting new = {b->pairs[number].count, number};
    if (b->heap_count == b->heap_capacity) {
        const size_t capacity = 2 * b->heap_capacity + 1024;
        waiting *larger = rt_alloc_unset(capacity, sizeof *larger);
        b->failed |= !larger;
        if (!larger)
            return;
        if (b->heap_count)
            memcpy(larger, b->heap, b->heap_count * sizeof *larger);
        rt_free(b->heap);
        b->heap = larger;
        b->heap_capacity = capacity;
    }
    size_t at = b->heap_count++;
    for (; at && is_before(b, new, b->heap[(at - 1) / 2]); at = (at - 1) / 2)
        b->heap[at] = b->heap[(at - 1) / 2];
    b->heap[at] = new;
}

static waiting pop(building *b)
{
    const waiting top = b->heap[0], last = b->heap[--b->heap_count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < b->heap_count) {
        if (child + 1 < b->heap_count && is_before(b, b->heap[child + 1], b->heap[child]))
            child++;
        if (!is_before(b, b->heap[child], last))
            break;
        b->heap[at] = b->heap[child];
        at = child;
    }
    b->heap[at] = last;
    return top;
}

/* The pair that is to be joined; -1 if no pair is left. */
static int32_t most_frequent(building *b)
{
    while (b->heap_count && !b->failed) {
        const waiting top = pop(b);
        if (!b->pairs[top.pair].count)
            continue;
        if (b->pairs[top.pair].count == top.count)
            return top.pair;
        push(b, top.pair);
    }
    return -1;
}

/* ---- joining ---- */

static int32_t find_pair(building *b, int32_t left, int32_t right)
{
    const int32_t key[2] = {left, right}, before = b->numbers.count;
    const int32_t number = rt_byte_map_add(&b->numbers, key, sizeof key);
    b->failed |= number < 0;
    if (number == before)
        b->pairs[number] = (pair){.left = left, .right = right, .grown = -1};
    return number;
}

static void count_more(building *b, int32_t left, int32_t right, int32_t word)
{
    const int32_t number = find_pair(b, left, right);
    if (number < 0)
        return;
    pair *p = &b->pairs[number];
    p->count += b->from->counts[word];
    if (!p->places || b->places[p->places].word != word) {
        b->places[++b->place_count] = (place){word, p->places};
        p->places = b->place_count;
    }
    if (p->grown != b->joins) {
        p->grown = b->joins;
        b->grown[b->grown_count++] = number;
    }
}

static void count_less(building *b, int32_t left, int32_t right, int32_t word)
{
    const int32_t number = find_pair(b, left, right);
    if (number >= 0)
        b->pairs[number].count -= b->from->counts[word];
}

/* Joins a pair wherever it stands in a word, from left to right. */
static void join_in_word(building *b, int32_t left, int32_t right, int32_t joined, int32_t word)
{
    int32_t *s = b->symbols + b->starts[word];
    for (int i = 0; i + 1 < b->lengths[word] && !b->failed; i++) {
        if (s[i] != left || s[i + 1] != right)
            continue;
        const int after = b->lengths[word] - i - 2;
        count_less(b, left, right, word);
        if (i)
            count_less(b, s[i - 1], left, word);
        if (after)
            count_less(b, right, s[i + 2], word);
        s[i] = joined;
        memmove(s + i + 1, s + i + 2, (size_t)after * sizeof *s);
        b->lengths[word]--;
        if (i)
            count_more(b, s[i - 1], joined, word);
        if (after)
            count_more(b, joined, s[i + 1], word);
    }
}

static void push_grown(building *b)
{
    for (int32_t i = 0; i < b->grown_count && !b->failed; i++)
        push(b, b->grown[i]);
    b->grown_count = 0;
}

/* The piece of a pair: the right one is within a word, and loses its ##. */
static int32_t join_pieces(building *b, pair p)
{
    char text[2 * RT_WORD_BYTES];
    size_t size, more;
    const char *left = rt_byte_map_at(&b->pieces, p.left, &size);
    const char *right = rt_byte_map_at(&b->pieces, p.right, &more) + RT_PIECE_INSIDE_SIZE;
    more -= RT_PIECE_INSIDE_SIZE;
    memcpy(text, left, size);
    memcpy(text + size, right, more);
    const int32_t id = rt_byte_map_add(&b->pieces, text, size + more);
    b->failed |= id < 0;
    return id;
}

static void join(building *b, int32_t number)
{
    const pair p = b->pairs[number];
    const int32_t joined = join_pieces(b, p);
    b->joins++;
    for (int32_t at = p.places; at && !b->failed; at = b->places[at].next)
        join_in_word(b, p.left, p.right, joined, b->places[at].word);
    assert(b->failed || !b->pairs[number].count);
    push_grown(b);
}

static void count_pairs(building *b)
{
    for (int32_t w = 0; w < b->from->words.count && !b->failed; w++) {
        const int32_t *s = b->symbols + b->starts[w];
        for (int i = 0; i + 1 < b->lengths[w] && !b->failed; i++)
            count_more(b, s[i], s[i + 1], w);
    }
    push_grown(b);
}

/* ---- all of it ---- */

static rt_status check(const building *b, int size)
{
    if (b->failed)
        return rt_out_of_memory("a vocabulary");
    if (b->pieces.count > size)
        return rt_error(RT_CONFIG,
                        "a vocabulary of these texts needs at least %d lines, for the special "
                        "tokens and every character; got %d",
                        (int)b->pieces.count, size);
    return rt_ok();
}

static rt_status build(building *b, int size)
{
    rt_status status = rt_ok();
    add_first_pieces(b);
    status = check(b, size);
    if (status.code)
        return status;
    b->symbol_count = count_symbols(b->from);
    if (b->symbol_count > INT32_MAX / 4)
        return rt_error(RT_DATA,
                        "the different words of a text can have up to %d characters; "
                        "they have %zu",
                        INT32_MAX / 4, b->symbol_count);
    b->failed = !make_room(b);
    if (!b->failed) {
        spell_words(b);
        count_pairs(b);
    }
    for (int32_t number; !b->failed && b->pieces.count < size && (number = most_frequent(b)) >= 0;)
        join(b, number);
    return check(b, size);
}

static rt_status write(const building *b, char **text_new)
{
    const size_t size = b->pieces.starts[b->pieces.count];
    *text_new = rt_alloc(size + 1, 1);
    if (!*text_new)
        return rt_out_of_memory("a vocabulary");
    memcpy(*text_new, b->pieces.bytes, size);
    for (int32_t id = 0; id < b->pieces.count; id++)
        (*text_new)[b->pieces.starts[id + 1] - 1] = '\n';
    return rt_ok();
}

rt_status rt_wordpiece_build(const rt_word_counts *counts, int size, char **text_new, int *lines)
{
    building b = {.from = counts};
    *text_new = NULL;
    *lines = 0;
    if (!counts->words.count)
        return rt_error(
            RT_DATA, "the texts have no word of up to 100 characters to build a vocabulary from");
    rt_status status = build(&b, size);
    if (!status.code)
        status = write(&b, text_new);
    if (!status.code)
        *lines = (int)b.pieces.count;
    rt_byte_map_free(&b.pieces);
    rt_byte_map_free(&b.numbers);
    rt_free(b.symbols);
    rt_free(b.starts);
    rt_free(b.lengths);
    rt_free(b.pairs);
    rt_free(b.places);
    rt_free(b.grown);
    rt_free(b.heap);
    return status;
}
