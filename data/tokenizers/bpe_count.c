#include "data/tokenizers/bpe_train.h"

#include "core/memory.h"
#include "data/tokenizers/words.h"
#include "text/utf8.h"

#include <string.h>

enum { ESCAPE = 1 };

size_t rt_bpe_unescape(const char *word, unsigned char *byte)
{
    const bool escaped = *word == ESCAPE;
    *byte = escaped ? (unsigned char)(word[1] - 1) : (unsigned char)*word;
    return escaped ? 2 : 1;
}

/* Returns the size of what is written to `to`, which has room for twice the word. */
static size_t escape(const unsigned char *word, size_t size, char *to)
{
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        if (word[i] <= ESCAPE)
            to[length++] = ESCAPE;
        to[length++] = (char)(word[i] + (word[i] <= ESCAPE));
    }
    return length;
}

/* ---- one part ---- */

/* A short word that came before, and its number. Where two have the same slot, the later stays. */
enum { SHORT_WORD = 23, SLOTS = 1 << 15 };
typedef struct slot {
    uint8_t size; /* 0: empty */
    char word[SHORT_WORD];
    int32_t number;
} slot;

/* Lines of a text to be counted. */
typedef struct portion {
    rt_word_counts *counts;
    slot *slots;
    const unsigned char *text;
    size_t bytes;
    bool failed; /* the heap is exhausted */
} portion;

static slot *slot_of(const portion *p, const unsigned char *word, size_t size)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    if (size > SHORT_WORD)
        return NULL;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ word[i]) * 16777619u;
    return p->slots + ((hash ^ hash >> 15) & (SLOTS - 1));
}

static bool needs_escape(const unsigned char *word, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (word[i] <= ESCAPE)
            return true;
    return false;
}

/* The number of a word after it was counted, or -1. */
static int32_t count_more(rt_word_counts *counts, const unsigned char *word, size_t size)
{
    if (!needs_escape(word, size))
        return rt_word_counts_more(counts, word, size, 1);
    char *escaped = rt_alloc_unset(size, 2);
    if (!escaped)
        return -1;
    const int32_t number = rt_word_counts_more(counts, escaped, escape(word, size, escaped), 1);
    rt_free(escaped);
    return number;
}

static void count_word(portion *p, const unsigned char *word, size_t size)
{
    slot *s = slot_of(p, word, size);
    if (s && s->size == size && !memcmp(s->word, word, size)) {
        p->counts->counts[s->number]++;
        return;
    }
    const int32_t number = count_more(p->counts, word, size);
    p->failed = number < 0;
    if (!s || p->failed)
        return;
    s->size = (uint8_t)size;
    memcpy(s->word, word, size);
    s->number = number;
}

/* The bytes of the first line, its newline included. */
static size_t line_size(const unsigned char *text, size_t bytes)
{
    const unsigned char *end = memchr(text, '\n', bytes);
    return end ? (size_t)(end - text) + 1 : bytes;
}

static void count_portion(void *context, int part, void *room)
{
    (void)room;
    portion *p = (portion *)context + part;
    size_t end;
    p->slots = p->bytes ? rt_alloc(SLOTS, sizeof *p->slots) : NULL;
    p->failed = p->bytes && !p->slots;
    for (size_t at = 0; at < p->bytes && !p->failed; at = end) {
        end = at + line_size(p->text + at, p->bytes - at);
        for (size_t size; at < end && !p->failed; at += size) {
            size = rt_pretokenizer_next(RT_PRETOKENIZER_GPT2, p->text + at, end - at);
            count_word(p, p->text + at, size);
        }
    }
    rt_free(p->slots);
}

/* ---- all of them ---- */

enum { PORTION = 1 << 21 }; /* bytes, and what is left of a line */

/* Counts as much of a text as all parts do at once; returns its bytes, or 0 when the heap is
 * exhausted. */
static size_t count_round(rt_bpe_counts *counts, const rt_crew *crew, const unsigned char *text,
                          size_t bytes)
{
    portion portions[RT_BPE_PARTS];
    bool failed = false;
    size_t at = 0;
    for (int i = 0; i < RT_BPE_PARTS; i++) {
        const size_t left = bytes - at, most = left < PORTION ? left : PORTION;
        const size_t size = most < left ? most + line_size(text + at + most, left - most) : most;
        portions[i] = (portion){.counts = counts->part + i, .text = text + at, .bytes = size};
        at += size;
    }
    crew->run(crew->threads, count_portion, portions, RT_BPE_PARTS, (rt_part_room){0});
    for (int i = 0; i < RT_BPE_PARTS; i++)
        failed |= portions[i].failed;
    return failed ? 0 : at;
}

rt_status rt_bpe_counts_add(rt_bpe_counts *counts, const rt_crew *crew, const char *name,
                            const unsigned char *text, size_t bytes,
                            const rt_bpe_progress *progress)
{
    rt_status status = rt_utf8_check("a tokenizer", name, text, bytes);
    for (size_t at = 0, done; at < bytes && !status.code; at += done) {
        done = count_round(counts, crew, text + at, bytes - at);
        if (!done)
            status = rt_out_of_memory("the words of a text");
        if (progress)
            progress->tell(progress->context, "bytes", (double)(at + done), (double)bytes);
    }
    return status;
}

rt_status rt_bpe_counts_join(rt_bpe_counts *counts)
{
    for (int i = 1; i < RT_BPE_PARTS; i++) {
        rt_word_counts *part = counts->part + i;
        for (int32_t n = 0; n < part->words.count; n++) {
            size_t size;
            const char *word = rt_byte_map_at(&part->words, n, &size);
            if (rt_word_counts_more(counts->part, word, size, part->counts[n]) < 0)
                return rt_out_of_memory("the words of a text");
        }
        rt_word_counts_free(part);
    }
    return rt_ok();
}

void rt_bpe_counts_free(rt_bpe_counts *counts)
{
    for (int i = 0; i < RT_BPE_PARTS; i++)
        rt_word_counts_free(counts->part + i);
}
