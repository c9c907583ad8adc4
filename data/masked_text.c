#include "data/masked_text.h"

#include "core/memory.h"

#include <limits.h>
#include <string.h>

/* Pieces of level bpe have the blank before them, and a mask stands for a whole one. */
static size_t size_before_mask(const rt_vocabulary *vocabulary, const char *part, size_t size)
{
    return vocabulary->level == RT_LEVEL_BPE && size && part[size - 1] == ' ' ? size - 1 : size;
}

/* The ids of a part that holds no mask. */
static rt_status encode_part(const rt_vocabulary *vocabulary, const char *part, size_t size,
                             size_t before, int32_t *ids, int *count, rt_unknown *unknown)
{
    rt_unknown here = {0};
    *count = 0;
    if (!size)
        return rt_ok();
    rt_status status = rt_vocabulary_encode(vocabulary, part, size, ids, count, &here);
    rt_unknown_add(unknown, &here, before);
    return status;
}

/* Behind the ids that there are. */
static rt_status encode(const rt_vocabulary *vocabulary, const char *text, int32_t *ids, int *count,
                        int *masks, rt_unknown *unknown)
{
    const char *rest = text;
    rt_status status = rt_ok();
    while (rest && !status.code) {
        const char *found =
            vocabulary->special.mask != RT_NO_ID ? strstr(rest, RT_MASK_WORD) : NULL;
        int added;
        const size_t size =
            found ? size_before_mask(vocabulary, rest, (size_t)(found - rest)) : strlen(rest);
        status = encode_part(vocabulary, rest, size, (size_t)(rest - text), ids + *count, &added,
                             unknown);
        *count += added;
        if (found && !status.code) {
            ids[(*count)++] = vocabulary->special.mask;
            ++*masks;
        }
        rest = found ? found + strlen(RT_MASK_WORD) : NULL;
    }
    return status;
}

rt_status rt_masked_text_encode(const rt_vocabulary *vocabulary, bool begins, const char *text,
                                int32_t **ids_new, int *count, int *masks, rt_unknown *unknown)
{
    const size_t bytes = strlen(text);
    *ids_new = NULL;
    *count = *masks = 0;
    *unknown = (rt_unknown){0};
    const int limit = rt_vocabulary_most_bytes(vocabulary) - 1;
    if (bytes > (size_t)limit)
        return rt_error(RT_ARGUMENT, "a text can have up to %d bytes; got %zu", limit, bytes);
    int32_t *ids = rt_alloc_unset(rt_vocabulary_most_ids(vocabulary, bytes) + 1, sizeof *ids);
    if (!ids)
        return rt_out_of_memory("the ids of a text");
    if (begins)
        ids[(*count)++] = vocabulary->special.cls;
    rt_status status = encode(vocabulary, text, ids, count, masks, unknown);
    if (!status.code && !*count)
        status = rt_error(RT_ARGUMENT,
                          "the text is empty, and the model has no token that begins a text");
    if (status.code)
        rt_free(ids);
    else
        *ids_new = ids;
    return status;
}
