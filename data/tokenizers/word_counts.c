#include "data/tokenizers/word_counts.h"

#include "core/memory.h"
#include "data/tokenizers/simple_tokens.h"
#include "data/tokenizers/words.h"

#include <string.h>

void rt_word_counts_free(rt_word_counts *counts)
{
    rt_byte_map_free(&counts->words);
    rt_free(counts->counts);
    counts->counts = NULL;
    counts->capacity = 0;
}

static bool has_room(rt_word_counts *c, int32_t number)
{
    if (number < c->capacity)
        return true;
    const int32_t capacity = number < INT32_MAX / 2 ? 2 * number + 64 : INT32_MAX;
    int64_t *larger = rt_alloc((size_t)capacity, sizeof *larger);
    if (!larger)
        return false;
    if (c->capacity)
        memcpy(larger, c->counts, (size_t)c->capacity * sizeof *larger);
    rt_free(c->counts);
    c->counts = larger;
    c->capacity = capacity;
    return true;
}

int32_t rt_word_counts_more(rt_word_counts *counts, const void *word, size_t size, int64_t times)
{
    const int32_t number = rt_byte_map_add(&counts->words, word, size);
    if (number < 0 || !has_room(counts, number))
        return -1;
    counts->counts[number] += times;
    return number;
}

rt_status rt_word_counts_add(rt_word_counts *counts, const char *name, const unsigned char *text,
                             size_t bytes)
{
    rt_words words = {.text = text, .bytes = bytes, .lowercase = counts->lowercase};
    rt_word word;
    rt_status status = rt_utf8_check("a vocabulary", name, text, bytes);
    while (!status.code && rt_words_next(&words, &word)) {
        if (word.too_long)
            continue;
        if (rt_word_counts_more(counts, word.bytes, word.size, 1) < 0)
            status = rt_out_of_memory("the words of a text");
    }
    return status;
}
