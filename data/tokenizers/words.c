#include "data/tokenizers/words.h"

#include "core/memory.h"
#include "data/tokenizers/characters.h"
#include "data/tokenizers/simple_tokens.h"

#include <assert.h>
#include <string.h>

/* A word under way. Characters that do not fit are counted alone. */
typedef struct letters {
    int32_t list[RT_WORD_CHARACTERS];
    int count;
    int fixed; /* those that nothing that follows comes before */
} letters;

static void add(letters *l, int32_t c)
{
    if (l->count < RT_WORD_CHARACTERS)
        l->list[l->count] = c;
    if (l->count <= RT_WORD_CHARACTERS)
        l->count++;
}

/* In the order of NFD: by combining class between characters of class 0. */
static void add_in_order(letters *l, int32_t c)
{
    const int combining = rt_character_combining(c);
    int to = l->count;
    add(l, c);
    if (!combining || to >= RT_WORD_CHARACTERS)
        return;
    for (; to > l->fixed && rt_character_combining(l->list[to - 1]) > combining; to--)
        l->list[to] = l->list[to - 1];
    l->list[to] = c;
}

/* What is left of a character without its accents. A mark of class 0 parts those around it even
 * though it goes; the other marks have no part in the order of those that stay. */
static void add_lower(letters *l, int32_t c)
{
    int32_t parts[RT_DECOMPOSITION_SIZE];
    const int count = rt_character_decompose(c, parts);
    for (int i = 0; i < count; i++)
        if (rt_character_of(parts[i]) != RT_CHARACTER_MARK)
            add_in_order(l, rt_character_lower(parts[i]));
        else if (!rt_character_combining(parts[i]))
            l->fixed = l->count;
}

static bool finish(letters *l, rt_word *word)
{
    word->too_long = l->count > RT_WORD_CHARACTERS;
    word->size = 0;
    if (word->too_long)
        l->count = RT_WORD_CHARACTERS;
    for (int i = 0; i < l->count; i++) {
        const int32_t c = l->list[i];
        if (c < 0x80)
            word->bytes[word->size++] = (char)c;
        else
            word->size += rt_utf8_write(c, word->bytes + word->size);
    }
    word->bytes[word->size] = '\0';
    return l->count > 0;
}

/* Of a character that decomposes the first part tells: one that is punctuation has only marks
 * behind it, as in U+2260, an equals sign with a stroke. */
static rt_character kind_of(int32_t c, bool lowercase)
{
    int32_t parts[RT_DECOMPOSITION_SIZE];
    const rt_character kind = rt_character_of(c);
    if (c < 0x80 || !lowercase || kind != RT_CHARACTER_LETTER)
        return kind;
    rt_character_decompose(c, parts);
    return rt_character_of(parts[0]);
}

static size_t read_character(const rt_words *w, int32_t *c)
{
    *c = w->text[w->at];
    if (*c < 0x80)
        return 1;
    const size_t size = rt_utf8_read(w->text + w->at, w->bytes - w->at, c);
    assert(size);
    return size;
}

bool rt_words_next(rt_words *w, rt_word *word)
{
    letters l;
    l.count = 0;
    l.fixed = 0;
    while (w->at < w->bytes) {
        int32_t c;
        const size_t size = read_character(w, &c);
        const rt_character kind = kind_of(c, w->lowercase);
        const bool alone = kind == RT_CHARACTER_ALONE;
        if (l.count && (alone || kind == RT_CHARACTER_SPACE))
            break;
        if (!l.count)
            word->at = w->at;
        w->at += size;
        if (kind == RT_CHARACTER_SPACE || kind == RT_CHARACTER_NONE)
            continue;
        if (w->lowercase)
            add_lower(&l, c);
        else
            add(&l, c);
        if (alone)
            break;
    }
    return finish(&l, word);
}

/* ---- counting words ---- */

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
