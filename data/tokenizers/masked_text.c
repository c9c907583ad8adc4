#include "data/tokenizers/masked_text.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"

#include <string.h>

rt_mask_place rt_mask_find(const rt_vocabulary *vocabulary, const char *text)
{
    static const char word[] = "[MASK]";
    const int32_t id = vocabulary->special.mask;
    if (id == RT_NO_ID)
        return (rt_mask_place){NULL, 0};
    const rt_spelling own = rt_vocabulary_spell(vocabulary, id);
    for (; *text; text++) {
        if (own.size && !strncmp(text, own.bytes, own.size))
            return (rt_mask_place){text, own.size};
        if (!strncmp(text, word, sizeof word - 1))
            return (rt_mask_place){text, sizeof word - 1};
    }
    return (rt_mask_place){NULL, 0};
}

/* Extends a mask by the blanks that belong to it. The tokenizer may define them; otherwise, at
 * level bpe, it is the blank before the mask, since pieces begin with theirs. */
static void take_blanks(rt_found_token *mask, const rt_vocabulary *v, const char *text,
                        size_t bytes, size_t before)
{
    mask->token = v->bpe ? rt_bpe_added(v->bpe, NULL, v->special.mask) : NULL;
    if (mask->token && (mask->token->takes_left || mask->token->takes_right))
        *mask = rt_found_token_with_blanks(*mask, (const unsigned char *)text, bytes, before);
    else
        mask->start -= v->bpe && mask->start > before && text[mask->start - 1] == ' ';
}

/* Appends the ids of bytes from ... to - 1 of a text, which have no mask. */
static rt_status encode_part(const rt_vocabulary *v, bool special, const char *text, size_t from,
                             size_t to, int32_t *ids, int *count, rt_unknown *unknown)
{
    rt_unknown here;
    int added;
    if (from == to)
        return rt_ok();
    const rt_status status =
        rt_vocabulary_encode(v, text + from, to - from, special, ids + *count, &added, &here);
    rt_unknown_add(unknown, &here, from);
    *count += added;
    return status;
}

rt_status rt_masked_text_encode(const rt_vocabulary *v, bool begins, bool special, const char *text,
                                int32_t **ids_new, int *count, int *masks, rt_unknown *unknown)
{
    const bool masked = masks != NULL;
    const size_t bytes = strlen(text);
    const int limit = rt_vocabulary_most_bytes(v) - masked;
    rt_status status = rt_ok();
    *ids_new = NULL;
    *count = 0;
    if (masked)
        *masks = 0;
    *unknown = (rt_unknown){0};
    if (bytes > (size_t)limit)
        return rt_error(RT_ARGUMENT, "a text can have up to %d bytes; got %zu", limit, bytes);
    int32_t *ids = rt_alloc_unset(rt_vocabulary_most_ids(v, bytes) + masked, sizeof *ids);
    RT_TRY(rt_allocated(ids, "the ids of a text"));
    if (begins)
        ids[(*count)++] = v->special.cls;
    size_t at = 0;
    for (bool more = true; more && !status.code;) {
        const rt_mask_place found = masked ? rt_mask_find(v, text + at) : (rt_mask_place){NULL, 0};
        rt_found_token mask = {NULL, bytes, bytes};
        more = found.at != NULL;
        if (more) {
            mask.start = (size_t)(found.at - text);
            mask.end = mask.start + found.size;
            take_blanks(&mask, v, text, bytes, at);
        }
        status = encode_part(v, special, text, at, mask.start, ids, count, unknown);
        if (more && !status.code) {
            ids[(*count)++] = v->special.mask;
            ++*masks;
        }
        at = mask.end;
    }
    if (masked && !status.code && !*count)
        status = rt_error(RT_ARGUMENT,
                          "the text is empty, and the model has no token that begins a text");
    if (status.code) {
        rt_free(ids);
        *count = 0;
        return status;
    }
    *ids_new = ids;
    return status;
}
