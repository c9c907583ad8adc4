/* The added tokens of a byte-level BPE. */

#include "data/tokenizers/bpe.h"

#include "core/memory.h"

#include <utf8proc.h>

void rt_added_tokens_free(rt_added_tokens *tokens)
{
    for (int i = 0; i < tokens->count; i++)
        rt_free(tokens->list[i].text);
    rt_free(tokens->list);
    rt_free(tokens->pieces.sorted);
    *tokens = (rt_added_tokens){.count = 0};
}

const char *rt_added_tokens_sort(rt_added_tokens *tokens)
{
    if (!rt_pieces_allocate(&tokens->pieces, tokens->count))
        return "";
    for (int i = 0; i < tokens->count; i++)
        tokens->pieces.sorted[i] = (rt_piece){tokens->list[i].text, i};
    const rt_piece *twice = rt_pieces_sort(&tokens->pieces);
    return twice ? twice->text : NULL;
}

static size_t blanks_before(const unsigned char *text, size_t least, size_t at)
{
    while (at > least) {
        size_t start = at - 1;
        int32_t c = 0;
        while (start > least && (text[start] & 0xc0) == 0x80)
            start--;
        utf8proc_iterate(text + start, (utf8proc_ssize_t)(at - start), &c);
        if (!rt_is_blank(c))
            break;
        at = start;
    }
    return at;
}

static size_t blanks_behind(const unsigned char *text, size_t at, size_t bytes)
{
    while (at < bytes) {
        int32_t c = 0;
        const utf8proc_ssize_t size =
            utf8proc_iterate(text + at, (utf8proc_ssize_t)(bytes - at), &c);
        if (size <= 0 || !rt_is_blank(c))
            break;
        at += (size_t)size;
    }
    return at;
}

rt_found_token rt_found_token_with_blanks(rt_found_token found, const unsigned char *text,
                                          size_t bytes, size_t before)
{
    if (found.token->takes_left)
        found.start = blanks_before(text, before < found.start ? before : found.start, found.start);
    if (found.token->takes_right)
        found.end = blanks_behind(text, found.end, bytes);
    return found;
}

rt_found_token rt_added_tokens_next(const rt_added_tokens *tokens, const unsigned char *text,
                                    size_t bytes, bool special, size_t before, size_t *at)
{
    while (tokens->count && *at < bytes) {
        const size_t start = *at;
        const rt_piece_range first = tokens->pieces.first[false][text[start]];
        int32_t number = 0;
        const rt_added_token *token =
            first.low < first.high &&
                    rt_pieces_longest(&tokens->pieces, false, text + start, bytes - start, &number)
                ? tokens->list + number
                : NULL;
        *at += token ? token->size : 1;
        if (!token || (token->special && !special))
            continue;
        const rt_found_token found = {token, start, *at};
        return rt_found_token_with_blanks(found, text, bytes, before);
    }
    return (rt_found_token){NULL, bytes, bytes};
}
