#include "data/tokenizers/words.h"

#include "data/tokenizers/characters.h"
#include "util/utf8.h"

#include <assert.h>

/* State of a word. Characters that do not fit are counted but not stored. */
typedef struct letters {
    int32_t list[RT_WORD_CHARACTERS];
    int count;
    int fixed; /* leading characters whose order is final */
} letters;

static void add(letters *l, int32_t c)
{
    if (l->count < RT_WORD_CHARACTERS)
        l->list[l->count] = c;
    if (l->count <= RT_WORD_CHARACTERS)
        l->count++;
}

/* Inserts a character in the order of NFD: by combining class between characters of class 0. */
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

/* Adds a character in lower case without accents. A dropped mark of class 0 still separates the
 * characters around it; other dropped marks do not affect the order. */
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

bool rt_words_next(rt_words *w, rt_word *word)
{
    letters l;
    l.count = 0;
    l.fixed = 0;
    while (w->at < w->bytes) {
        int32_t c = 0, parts[RT_DECOMPOSITION_SIZE];
        const size_t size = rt_utf8_read(w->text + w->at, w->bytes - w->at, &c);
        assert(size);
        rt_character kind = rt_character_of(c);
        /* In lower case a letter has the class of the first part of its decomposition: U+2260 (not
         * equal) decomposes to '=' and a mark, so it is punctuation. */
        if (c >= 0x80 && w->lowercase && kind == RT_CHARACTER_LETTER) {
            rt_character_decompose(c, parts);
            kind = rt_character_of(parts[0]);
        }
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

/* Position of a character in a text; size 0 at the end. */
typedef struct place {
    size_t at, size;
    int32_t c;
    rt_class is;
} place;

typedef struct text {
    const unsigned char *bytes;
    size_t size;
} text;

static place look(text t, size_t at)
{
    place p = {.at = at};
    if (at == t.size)
        return p;
    p.size = rt_utf8_read(t.bytes + at, t.size - at, &p.c);
    p.is = rt_class_of(p.c);
    return p;
}

static place next(text t, place p)
{
    return look(t, p.at + p.size);
}

/* Skips up to `most` characters of a class. */
static place skip(text t, place p, rt_class is, size_t most)
{
    for (; p.size && p.is == is && most; most--)
        p = next(t, p);
    return p;
}

static bool is_newline(place p)
{
    return p.size && (p.c == '\r' || p.c == '\n');
}

static int32_t lower(int32_t c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c == 0x17f ? 's' : c;
}

/* Returns the end of 's|'t|'re|'ve|'m|'ll|'d, 0 if it does not match. With any_case, U+017F also is
 * an s. */
static size_t contraction(text t, place p, bool any_case)
{
    if (p.c != '\'')
        return 0;
    const place a = next(t, p);
    const place b = a.size ? next(t, a) : a;
    const int32_t first = any_case ? lower(a.c) : a.c, second = any_case ? lower(b.c) : b.c;
    if (!a.size)
        return 0;
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return b.at;
    if (b.size && ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                   (first == 'l' && second == 'l')))
        return b.at + b.size;
    return 0;
}

/* Matches \s+(?!\S)|\s+: blanks without the last one, if another character follows and it is not
 * the only one. */
static size_t blanks(text t, place p)
{
    size_t last = p.at;
    while (p.size && p.is == RT_CLASS_BLANK) {
        last = p.at;
        p = next(t, p);
    }
    return p.size && last ? last : p.at;
}

static size_t cut_gpt2(text t, place p)
{
    const size_t all = SIZE_MAX, short_form = contraction(t, p, false);
    if (short_form)
        return short_form;
    const place after = p.c == ' ' ? next(t, p) : p;
    if (after.size && after.is != RT_CLASS_BLANK)
        return skip(t, after, after.is, all).at;
    return blanks(t, p);
}

static size_t cut_llama3(text t, place p, size_t numbers)
{
    const size_t all = SIZE_MAX, short_form = contraction(t, p, true);
    if (short_form)
        return short_form;
    const bool may_lead = p.is != RT_CLASS_LETTER && p.is != RT_CLASS_NUMBER && !is_newline(p);
    const place word = may_lead ? next(t, p) : p;
    if (word.size && word.is == RT_CLASS_LETTER)
        return skip(t, word, RT_CLASS_LETTER, all).at;
    if (p.is == RT_CLASS_NUMBER)
        return skip(t, p, RT_CLASS_NUMBER, numbers).at;
    place signs = p.c == ' ' ? word : p;
    if (signs.size && signs.is == RT_CLASS_OTHER) {
        for (signs = skip(t, signs, RT_CLASS_OTHER, all); is_newline(signs);)
            signs = next(t, signs);
        return signs.at;
    }
    size_t end = 0; /* \s*[\r\n]+ matches blanks up to their last newline */
    for (place b = p; b.size && b.is == RT_CLASS_BLANK; b = next(t, b))
        if (is_newline(b))
            end = b.at + b.size;
    return end ? end : blanks(t, p);
}

size_t rt_pretokenizer_next(rt_pretokenizer kind, const unsigned char *bytes, size_t size)
{
    const text t = {bytes, size};
    place p = look(t, 0);
    bool digit;
    switch (kind) {
    case RT_PRETOKENIZER_DIGITS:
    case RT_PRETOKENIZER_DIGIT:
        digit = rt_is_digit(p.c);
        do
            p = next(t, p);
        while (p.size && rt_is_digit(p.c) == digit && !(digit && kind == RT_PRETOKENIZER_DIGIT));
        return p.at;
    case RT_PRETOKENIZER_GPT2:
        return cut_gpt2(t, p);
    case RT_PRETOKENIZER_LLAMA3:
        return cut_llama3(t, p, 3);
    case RT_PRETOKENIZER_QWEN2:
        break;
    }
    return cut_llama3(t, p, 1);
}
