#include "data/tokenizers/characters_seen.h"

#include "core/memory.h"
#include "data/tokenizers/simple_tokens.h"

#include <assert.h>

bool rt_characters_seen_open(rt_characters_seen *seen)
{
    seen->count = 0;
    seen->occurs = rt_alloc((size_t)rt_token_limit(RT_LEVEL_CHAR), sizeof *seen->occurs);
    return seen->occurs != NULL;
}

void rt_characters_seen_close(rt_characters_seen *seen)
{
    rt_free(seen->occurs);
}

void rt_characters_seen_add(void *context, const unsigned char *text, size_t bytes)
{
    rt_characters_seen *seen = context;
    int32_t character = 0;
    size_t size;
    for (size_t at = 0; at < bytes; at += size) {
        size = rt_token_read(RT_LEVEL_CHAR, text + at, bytes - at, &character);
        assert(size);
        seen->count += !seen->occurs[character];
        seen->occurs[character] = true;
    }
}

rt_status rt_characters_seen_vocabulary(rt_vocabulary **vocabulary_new, const char *name,
                                        const rt_characters_seen *seen)
{
    const int32_t limit = rt_token_limit(RT_LEVEL_CHAR);
    *vocabulary_new = NULL;
    if (seen->count > RT_CHARACTERS_LIMIT)
        return rt_error(RT_DATA, "%s: a text can have up to %d different characters; it has %d",
                        name, RT_CHARACTERS_LIMIT, seen->count);
    int32_t *characters = rt_alloc((size_t)seen->count, sizeof *characters);
    if (!characters)
        return rt_out_of_memory("a vocabulary");
    for (int32_t character = 0, rank = 0; character < limit; character++)
        if (seen->occurs[character])
            characters[rank++] = character;
    rt_status status =
        rt_vocabulary_of_characters(vocabulary_new, RT_LEVEL_CHAR, characters, seen->count);
    rt_free(characters);
    return status;
}

rt_status rt_vocabulary_of_text(rt_vocabulary **vocabulary_new, const char *name,
                                const unsigned char *text, size_t bytes)
{
    rt_characters_seen seen;
    *vocabulary_new = NULL;
    if (!rt_characters_seen_open(&seen))
        return rt_out_of_memory("a vocabulary");
    rt_characters_seen_add(&seen, text, bytes);
    rt_status status = rt_characters_seen_vocabulary(vocabulary_new, name, &seen);
    rt_characters_seen_close(&seen);
    return status;
}
