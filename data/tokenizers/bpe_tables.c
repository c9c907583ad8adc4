/* The added tokens of a byte-level BPE. */

#include "data/tokenizers/bpe.h"

#include "core/memory.h"
#include "data/tokenizers/words.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

void rt_added_tokens_free(rt_added_tokens *tokens)
{
    rt_free(tokens->list);
    rt_free(tokens->text);
    *tokens = (rt_added_tokens){.count = 0};
}

static int by_text(const void *a, const void *b)
{
    const rt_added_token *p = a, *q = b;
    const size_t size = p->size < q->size ? p->size : q->size;
    const int order = memcmp(p->text, q->text, size);
    return order ? order : (p->size > q->size) - (p->size < q->size);
}

const char *rt_added_tokens_complete(rt_added_tokens *tokens)
{
    size_t size = 1, used = 0;
    if (tokens->count)
        qsort(tokens->list, (size_t)tokens->count, sizeof *tokens->list, by_text);
    for (int i = 0; i < tokens->count; i++) {
        size += tokens->list[i].size + 1;
        if (i && !by_text(&tokens->list[i - 1], &tokens->list[i]))
            return tokens->list[i].text;
    }
    tokens->text = rt_alloc(size, 1);
    if (!tokens->text)
        return "";
    for (int i = 0; i < tokens->count; i++) {
        rt_added_token *t = &tokens->list[i];
        memcpy(tokens->text + used, t->text, t->size);
        t->text = tokens->text + used;
        tokens->begins[(unsigned char)*t->text] = true;
        used += t->size + 1;
    }
    return NULL;
}

/* ---- finding ---- */

/* The first token from `low` on that is not below one with that byte at an offset; all between low
 * and high are alike before it. */
static int first_from(const rt_added_tokens *tokens, int low, int high, size_t offset, int byte)
{
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const rt_added_token *t = &tokens->list[middle];
        if (offset >= t->size || (unsigned char)t->text[offset] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The longest token that stands at the beginning of a text. */
static const rt_added_token *longest(const rt_added_tokens *tokens, const unsigned char *text,
                                     size_t bytes)
{
    const rt_added_token *found = NULL;
    int low = 0, high = tokens->count;
    for (size_t size = 0; size < bytes && low < high; size++) {
        low = first_from(tokens, low, high, size, text[size]);
        high = first_from(tokens, low, high, size, text[size] + 1);
        if (low < high && tokens->list[low].size == size + 1) /* the shortest comes first */
            found = &tokens->list[low];
    }
    return found;
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
        const rt_added_token *token =
            tokens->begins[text[start]] ? longest(tokens, text + start, bytes - start) : NULL;
        *at += token ? token->size : 1;
        if (!token || (token->special && !special))
            continue;
        const rt_found_token found = {token, start, *at};
        return rt_found_token_with_blanks(found, text, bytes, before);
    }
    return (rt_found_token){NULL, bytes, bytes};
}
