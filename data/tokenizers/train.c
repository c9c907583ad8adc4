#include "data/tokenizers/train.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/pieces.h"
#include "data/tokenizers/tokens.h"
#include "data/tokenizers/words.h"
#include "util/json.h"
#include "util/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool count_word(rt_word_part *part, const void *word, size_t size, int64_t times)
{
    const int32_t before = part->words.count;
    const int32_t number = rt_byte_map_add(&part->words, word, size);
    if (number < 0 ||
        !rt_grow(&part->counts, &part->capacity, (size_t)number + 1, sizeof *part->counts))
        return false;
    part->counts[number] = number < before ? part->counts[number] + times : times;
    return true;
}

/* Returns the bytes of the first line, newline included. */
static size_t line_size(const unsigned char *text, size_t bytes)
{
    const unsigned char *end = memchr(text, '\n', bytes);
    return end ? (size_t)(end - text) + 1 : bytes;
}

/* Counts the words of the lines of a part. */
static void count_part(void *counts_, int number, void *scratch)
{
    rt_word_counts *counts = counts_;
    rt_word_part *part = counts->part + number;
    (void)scratch;
    rt_words words = {.text = part->text, .bytes = part->bytes, .lowercase = counts->lowercase};
    rt_word word;
    bool counted = true;
    while (counts->wordpiece && counted && rt_words_next(&words, &word))
        counted = word.too_long || count_word(part, word.bytes, word.size, 1);
    for (size_t at = 0, end; !counts->wordpiece && counted && at < part->bytes;) {
        end = at + line_size(part->text + at, part->bytes - at);
        for (size_t size; counted && at < end; at += size) {
            size = rt_pretokenizer_next(RT_PRETOKENIZER_GPT2, part->text + at, end - at);
            counted = count_word(part, part->text + at, size, 1);
        }
    }
    part->failed = !counted;
}

enum { PORTION = 1 << 21 }; /* bytes, extended to the end of a line */

rt_status rt_word_counts_add(rt_word_counts *counts, const rt_threads *threads, const char *name,
                             const unsigned char *text, size_t bytes,
                             const rt_train_progress *progress)
{
    const size_t valid = rt_utf8_valid(text, bytes);
    rt_status status = rt_ok();
    if (valid < bytes)
        status = rt_utf8_error(counts->wordpiece ? "a vocabulary" : "a tokenizer", name,
                               text[valid], valid);
    for (size_t at = 0; at < bytes && !status.code;) {
        for (int i = 0; i < RT_WORD_PARTS; i++) {
            const size_t left = bytes - at, most = left < PORTION ? left : PORTION;
            const size_t more = most < left ? line_size(text + at + most, left - most) : 0;
            counts->part[i].text = text + at;
            counts->part[i].bytes = most + more;
            at += most + more;
        }
        if (threads)
            threads->run(threads->runner, count_part, counts, RT_WORD_PARTS, (rt_part_scratch){0});
        for (int i = 0; i < RT_WORD_PARTS; i++) {
            if (!threads)
                count_part(counts, i, NULL);
            if (counts->part[i].failed)
                status = rt_out_of_memory("the words of a text");
        }
        if (progress)
            progress->tell(progress->context, "bytes", (double)at, (double)bytes);
    }
    return status;
}

static void free_part(rt_word_part *part)
{
    rt_byte_map_free(&part->words);
    rt_free(part->counts);
    *part = (rt_word_part){0};
}

void rt_word_counts_free(rt_word_counts *counts)
{
    for (int i = 0; i < RT_WORD_PARTS; i++)
        free_part(counts->part + i);
}

typedef struct merge {
    int32_t left, right; /* ids */
} merge;

/* Element of the list of words that have a pair. */
typedef struct place {
    int32_t word;
    int32_t next; /* index of the next element; 0: none */
} place;

typedef struct training {
    const rt_word_part *from;
    bool wordpiece;
    rt_byte_map pieces; /* pieces as written to the file; their numbers are the ids */
    int32_t *symbols;   /* pieces of all words, one word after the other */
    size_t *starts;     /* index of each word in `symbols` */
    int32_t *lengths;   /* number of pieces of each word */
    rt_pairs pairs;
    int32_t step;   /* number of the merge, from 1; pairs start with step 0 */
    place *places;  /* element 0 is unused */
    rt_queue queue; /* pairs by their negative counts at insertion, each with its list of words */
    merge *fresh;   /* pairs that this step made more frequent */
    merge *merges;
    char *text; /* scratch memory for a piece */
    size_t place_count, fresh_count, merge_count;
    size_t place_capacity, fresh_capacity, merge_capacity, text_capacity;
    bool failed; /* memory is exhausted */
} training;

/* Reserves `count` elements of a list; sets `failed` and keeps the list if memory is exhausted. */
#define RESERVE(t, list, count, capacity)                                                          \
    ((t)->failed |= !rt_grow(&(t)->list, &(t)->capacity, (count), sizeof *(t)->list))

/* Compares WordPiece pieces by their texts. */
static int compare_texts(const void *training_, int32_t a, int32_t b)
{
    const training *t = training_;
    size_t size;
    const char *text = rt_byte_map_at(&t->pieces, a, &size);
    return strcmp(text, rt_byte_map_at(&t->pieces, b, &size));
}

/* Removes the most frequent pair from the queue. Returns false if there is none. */
static bool take_most_frequent(training *t, rt_waiting *top)
{
    while (t->queue.count && !t->failed && !t->queue.failed) {
        *top = rt_queue_pop(&t->queue);
        const rt_pair *pair = rt_pairs_find(&t->pairs, top->left, top->right);
        if (t->wordpiece)
            top->value = pair->places;
        if (pair->count == -top->first)
            return pair->count > 0;
        top->first = -pair->count;
        rt_queue_push(&t->queue, *top);
    }
    return false;
}

static void count_pair(training *t, int32_t left, int32_t right, int32_t word, int sign)
{
    rt_pair *pair = rt_pairs_at(&t->pairs, left, right);
    t->failed |= !pair;
    RESERVE(t, places, t->place_count + 1, place_capacity);
    RESERVE(t, fresh, t->fresh_count + 1, fresh_capacity);
    if (t->failed)
        return;
    pair->count += sign * t->from->counts[word];
    if (sign < 0)
        return;
    if (pair->step != t->step)
        t->fresh[t->fresh_count++] = (merge){left, right};
    pair->step = t->step;
    if (pair->places && t->places[pair->places].word == word)
        return;
    t->places[t->place_count] = (place){word, pair->places};
    pair->places = (int32_t)t->place_count++;
}

/* Queues the pairs that this step made more frequent. As in tokenizers, a pair of a byte-level BPE
 * that is queued twice is merged separately in the words of each step. */
static void push_fresh(training *t)
{
    for (size_t i = 0; i < t->fresh_count && !t->failed; i++) {
        rt_pair *pair = rt_pairs_at(&t->pairs, t->fresh[i].left, t->fresh[i].right);
        t->failed |= !pair;
        if (t->failed)
            return;
        if (pair->count > 0)
            rt_queue_push(&t->queue,
                          (rt_waiting){-pair->count, pair->left, pair->right, pair->places});
        if (!t->wordpiece)
            pair->places = 0;
    }
    t->fresh_count = 0;
    t->step++;
}

/* Merges a pair at all its positions in a word, from left to right. As in tokenizers, the count of
 * the pair itself stays unchanged for byte-level BPE. */
static void merge_in_word(training *t, merge m, int32_t joined, int32_t word)
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
        if (t->wordpiece)
            count_pair(t, m.left, m.right, word, -1);
        if (to) {
            count_pair(t, s[to - 1], m.left, word, -1);
            count_pair(t, s[to - 1], joined, word, 1);
        }
        if (i + 1 < length) {
            count_pair(t, m.right, s[i + 1], word, -1);
            count_pair(t, joined, s[i + 1], word, 1);
        }
        s[to++] = joined;
    }
    t->lengths[word] = to;
}

/* Merges a pair: adds the piece that it forms, unless that exists. The right piece of WordPiece is
 * inside a word and loses its ##. */
static void merge_pair(training *t, rt_waiting top)
{
    const merge m = {top.left, top.right};
    const size_t skip = t->wordpiece ? RT_PIECE_INSIDE_SIZE : 0;
    size_t size, more;
    const char *left = rt_byte_map_at(&t->pieces, m.left, &size);
    const char *right = rt_byte_map_at(&t->pieces, m.right, &more);
    RESERVE(t, text, size + more, text_capacity);
    RESERVE(t, merges, t->merge_count + 1, merge_capacity);
    if (t->failed)
        return;
    memcpy(t->text, left, size);
    memcpy(t->text + size, right + skip, more - skip);
    const int32_t joined = rt_byte_map_add(&t->pieces, t->text, size + more - skip);
    t->failed = joined < 0;
    t->merges[t->merge_count++] = m;
    for (int32_t at = top.value, next; at && !t->failed; at = next) {
        next = t->places[at].next;
        merge_in_word(t, m, joined, t->places[at].word);
    }
    assert(!t->wordpiece || t->failed || !rt_pairs_find(&t->pairs, m.left, m.right)->count);
    push_fresh(t);
}

enum { ANYWHERE = 1, INSIDE = 2 };

/* Reads the first character of a word. Returns its bytes. */
static size_t read_unit(const training *t, const unsigned char *word, size_t size, int32_t *c)
{
    if (t->wordpiece)
        return rt_utf8_read(word, size, c);
    *c = rt_bpe_character_of(*word);
    return 1;
}

static int32_t add_character(training *t, int32_t c, bool inside)
{
    char text[RT_PIECE_INSIDE_SIZE + RT_UTF8_SIZE];
    const size_t skip = inside ? RT_PIECE_INSIDE_SIZE : 0;
    memcpy(text, rt_piece_inside, RT_PIECE_INSIDE_SIZE);
    const int32_t id = rt_byte_map_add(&t->pieces, text, skip + rt_utf8_write(c, text + skip));
    t->failed |= id < 0;
    return id;
}

/* Special tokens; the index is the id. BPE: the token between texts and, optionally, the mask
 * token. */
static const char *const wordpiece_specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
static const char *const bpe_specials[] = {"<|endoftext|>", "[MASK]"};

/* Adds the special tokens, and the bytes or the characters of the words. */
static void add_first_pieces(training *t, bool mask)
{
    const rt_byte_map *words = &t->from->words;
    const int specials =
        t->wordpiece ? (int)(sizeof wordpiece_specials / sizeof *wordpiece_specials) : 1 + mask;
    RT_OWNED uint8_t *where = rt_alloc(RT_CODE_POINTS, sizeof *where);
    t->failed |= !where;
    for (int i = 0; i < specials && !t->failed; i++) {
        const char *text = t->wordpiece ? wordpiece_specials[i] : bpe_specials[i];
        t->failed |= rt_byte_map_add(&t->pieces, text, strlen(text)) < 0;
    }
    for (int byte = 0; where && byte < RT_BPE_BYTE_COUNT && !t->wordpiece; byte++)
        where[rt_bpe_character_of((unsigned char)byte)] = ANYWHERE;
    for (int32_t w = 0; where && w < words->count && t->wordpiece; w++) {
        size_t size;
        const char *word = rt_byte_map_at(words, w, &size);
        for (size_t at = 0, step; at < size; at += step) {
            int32_t c = 0;
            step = read_unit(t, (const unsigned char *)word + at, size - at, &c);
            where[c] |= at ? ANYWHERE | INSIDE : ANYWHERE;
        }
    }
    for (int inside = 0; inside < 2; inside++)
        for (int32_t c = 0; c < RT_CODE_POINTS && !t->failed; c++)
            if (where[c] & (inside ? INSIDE : ANYWHERE))
                add_character(t, c, inside);
}

static rt_status check(const training *t, int size)
{
    if (t->failed || t->queue.failed)
        return rt_out_of_memory(t->wordpiece ? "a vocabulary" : "a tokenizer");
    if (t->wordpiece && t->pieces.count > size)
        return rt_error(RT_CONFIG,
                        "a vocabulary of these texts needs at least %d lines, for the special "
                        "tokens and every character; got %d",
                        (int)t->pieces.count, size);
    return rt_ok();
}

/* Adds the first pieces, spells the words in them, and counts their pairs. */
static rt_status begin(training *t, int size, bool mask)
{
    const rt_byte_map *words = &t->from->words;
    const size_t count = (size_t)words->count;
    size_t symbols = 0, to = 0, bytes;
    for (int32_t w = 0; w < words->count; w++) {
        const char *word = rt_byte_map_at(words, w, &bytes);
        symbols += t->wordpiece ? rt_utf8_count((const unsigned char *)word, bytes) : bytes;
    }
    add_first_pieces(t, mask);
    RT_TRY(check(t, size));
    if (symbols > INT32_MAX / 4)
        return rt_error(RT_DATA,
                        "the different words of a text can have up to %d %s; they have %zu",
                        INT32_MAX / 4, t->wordpiece ? "characters" : "bytes", symbols);
    t->symbols = rt_alloc_unset(symbols, sizeof *t->symbols);
    t->starts = rt_alloc_unset(count, sizeof *t->starts);
    t->lengths = rt_alloc_unset(count, sizeof *t->lengths);
    t->failed = !t->symbols || !t->starts || !t->lengths;
    for (int32_t w = 0; w < words->count && !t->failed; w++) {
        const char *word = rt_byte_map_at(words, w, &bytes);
        t->starts[w] = to;
        for (size_t at = 0, step; at < bytes; at += step) {
            int32_t c = 0;
            step = read_unit(t, (const unsigned char *)word + at, bytes - at, &c);
            t->symbols[to++] = add_character(t, c, t->wordpiece && at);
        }
        t->lengths[w] = (int32_t)(to - t->starts[w]);
        for (size_t i = t->starts[w]; i + 1 < to && !t->failed; i++)
            count_pair(t, t->symbols[i], t->symbols[i + 1], w, 1);
    }
    push_fresh(t);
    return check(t, size);
}

/* Returns the pieces as lines. */
static char *write_lines(const rt_byte_map *pieces)
{
    const size_t size = pieces->starts[pieces->count];
    char *text = rt_alloc(size + 1, 1);
    if (!text)
        return NULL;
    memcpy(text, pieces->bytes, size);
    for (int32_t id = 0; id < pieces->count; id++)
        text[pieces->starts[id + 1] - 1] = '\n';
    return text;
}

static json_t *byte_level(bool space)
{
    return json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", space,
                     "trim_offsets", 1, "use_regex", 1);
}

/* Returns a tokenizer.json with GPT-2's pattern, byte for byte as tokenizers 0.23 saves it. */
static char *write_tokenizer(const training *t, int specials)
{
    json_t *vocab = json_object(), *merges = json_array(), *added = json_array();
    bool failed = false;
    size_t size, more;
    for (int32_t id = 0; id < t->pieces.count; id++) {
        const char *text = rt_byte_map_at(&t->pieces, id, &size);
        failed |= json_object_set_new(vocab, text, json_integer(id)) != 0;
    }
    for (size_t i = 0; i < t->merge_count; i++) {
        const char *left = rt_byte_map_at(&t->pieces, t->merges[i].left, &size);
        const char *right = rt_byte_map_at(&t->pieces, t->merges[i].right, &more);
        failed |= json_array_append_new(merges, json_pack("[s,s]", left, right)) != 0;
    }
    for (int id = 0; id < specials; id++) {
        json_t *token =
            json_pack("{s:i,s:s,s:b,s:b,s:b,s:b,s:b}", "id", id, "content", bpe_specials[id],
                      "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1);
        failed |= json_array_append_new(added, token) != 0;
    }
    json_t *model =
        json_pack("{s:s,s:n,s:n,s:n,s:n,s:b,s:b,s:b,s:o,s:o}", "type", "BPE", "dropout",
                  "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0,
                  "byte_fallback", 0, "ignore_merges", 0, "vocab", vocab, "merges", merges);
    json_auto_t *whole =
        json_pack("{s:s,s:n,s:n,s:o,s:n,s:o,s:n,s:o,s:o}", "version", "1.0", "truncation",
                  "padding", "added_tokens", added, "normalizer", "pre_tokenizer",
                  byte_level(false), "post_processor", "decoder", byte_level(true), "model", model);
    char *dumped = whole && !failed ? json_dumps(whole, JSON_INDENT(2)) : NULL;
    char *text = dumped ? rt_copy_text(dumped) : NULL;
    free(dumped);
    return text;
}

static rt_status run(training *t, int size, bool mask, const rt_train_progress *progress,
                     char **text_new)
{
    enum { OFTEN = 256 };
    rt_waiting top;
    RT_TRY(begin(t, size, mask));
    while (t->pieces.count < size && take_most_frequent(t, &top)) {
        merge_pair(t, top);
        if (progress && t->merge_count % OFTEN == 0)
            progress->tell(progress->context, "tokens", t->pieces.count, size);
    }
    RT_TRY(check(t, size));
    *text_new = t->wordpiece ? write_lines(&t->pieces) : write_tokenizer(t, 1 + mask);
    t->failed = !*text_new;
    return check(t, size);
}

rt_status rt_tokenizer_train(rt_word_counts *counts, int size, bool mask,
                             const rt_train_progress *progress, char **text_new, int *ids)
{
    training t = {.from = counts->part,
                  .wordpiece = counts->wordpiece,
                  .step = 1,
                  .place_count = 1};
    if (t.wordpiece)
        t.queue = (rt_queue){.order = compare_texts, .context = &t};
    *text_new = NULL;
    *ids = 0;
    for (int i = 1; i < RT_WORD_PARTS; i++) { /* the first part gets the words of the others */
        rt_word_part *part = counts->part + i;
        for (int32_t n = 0; n < part->words.count; n++) {
            size_t length;
            const char *word = rt_byte_map_at(&part->words, n, &length);
            if (!count_word(counts->part, word, length, part->counts[n]))
                return rt_out_of_memory("the words of a text");
        }
        free_part(part);
    }
    if (!counts->part->words.count)
        return rt_error(RT_DATA, counts->wordpiece
                                     ? "the texts have no word of up to 100 characters to build a "
                                       "vocabulary from"
                                     : "the texts have no word to train a tokenizer on");
    const rt_status status = run(&t, size, mask, progress, text_new);
    if (!status.code)
        *ids = (int)t.pieces.count;
    rt_byte_map_free(&t.pieces);
    rt_pairs_free(&t.pairs);
    void *const blocks[] = {t.symbols,    t.starts, t.lengths, t.places,
                            t.queue.list, t.fresh,  t.merges,  t.text};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        rt_free(blocks[i]);
    return status;
}
