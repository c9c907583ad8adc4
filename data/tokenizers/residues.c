#include "data/tokenizers/residues.h"

#include "data/tokenizers/pretokenize.h"
#include "data/tokenizers/simple_tokens.h"
#include "data/tokenizers/wordpiece.h"

/* What separates words for str.split() of Python: beside blanks U+001C to U+001F. */
static bool separates(int32_t c)
{
    return rt_is_blank(c) || (c >= 0x1c && c <= 0x1f);
}

/* The longest token that is taken for one; its bytes, 0 if there is none. */
static size_t longest(const rt_vocabulary *v, const unsigned char *text, size_t bytes, bool special,
                      int32_t *id)
{
    size_t size = rt_pieces_longest(v->pieces, false, (const char *)text, bytes, id);
    while (size && !special && !rt_vocabulary_is_ordinary(v, *id))
        size = size > 1 ? rt_pieces_longest(v->pieces, false, (const char *)text, size - 1, id) : 0;
    return size;
}

rt_status rt_residues_encode(const rt_vocabulary *v, const unsigned char *text, size_t from,
                             size_t to, bool special, rt_id_taker *take, void *context,
                             rt_unknown *unknown)
{
    bool goes_on = false; /* an unknown word */
    for (size_t at = from, size; at < to; at += size) {
        int32_t id = v->special.unknown, c = 0;
        size = longest(v, text + at, to - at, special, &id);
        if (size) {
            take(context, id);
            goes_on = false;
            continue;
        }
        size = rt_utf8_read(text + at, to - at, &c);
        if (!size)
            return rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu is not UTF-8", text[at], at);
        const bool begins = !separates(c) && !goes_on;
        goes_on = !separates(c);
        if (!begins)
            continue;
        take(context, v->special.unknown);
        if (!unknown->count++) {
            unknown->at = at;
            rt_character_name(c, unknown->name);
        }
    }
    return rt_ok();
}
