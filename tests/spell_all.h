#ifndef ROTOR_TESTS_SPELL_ALL_H
#define ROTOR_TESTS_SPELL_ALL_H

#include "data/tokenizers/vocabulary.h"

#include <stdio.h>

/* The zero-terminated text of ids, which the caller frees with free. */
static inline char *spell_all(const rt_vocabulary *v, const int32_t *ids, int count, size_t *bytes)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, bytes);
    for (int i = 0; to && i < count; i++) {
        const rt_spelling s = rt_vocabulary_spell(v, ids[i]);
        if (s.space && ftell(to) > 0)
            fputc(' ', to);
        fwrite(s.bytes, 1, s.size, to);
    }
    return to && !fclose(to) ? text : NULL;
}

#endif
