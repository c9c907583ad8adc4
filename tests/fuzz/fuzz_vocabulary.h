#ifndef ROTOR_TESTS_FUZZ_VOCABULARY_H
#define ROTOR_TESTS_FUZZ_VOCABULARY_H

/* Properties of every vocabulary that was read. */

#include "fuzz.h"

#include "core/memory.h"
#include "data/tokenizers/vocabulary.h"
#include "spell_all.h"

/* Reads a vocabulary, NULL if it is refused. */
static inline rt_vocabulary *read_or_refuse(rt_vocabulary_kind kind, const char *name,
                                            const uint8_t *bytes, size_t size)
{
    rt_vocabulary *v;
    const rt_status status = rt_vocabulary_read(&v, kind, name, bytes, size);
    must((status.code == RT_OK) == (v != NULL) && (!status.code || status.code == RT_DATA));
    return v;
}

/* Writes a vocabulary, and reads the same. */
static inline void read_again(const rt_vocabulary *v)
{
    rt_vocabulary *again;
    char *text;
    must(!rt_vocabulary_write(v, &text).code);
    must(!rt_vocabulary_read(&again, rt_vocabulary_kind_of(v), "again", (const uint8_t *)text,
                             strlen(text))
              .code);
    must(rt_vocabularies_equal(v, again));
    rt_vocabulary_free(again);
    rt_free(text);
}

/* Ids of a text, and the text of these ids. */
typedef struct encoded {
    rt_status status;
    int32_t *ids;
    int count;
    rt_unknown unknown;
    char *text;
    size_t size;
} encoded;

/* Encodes a text into at most so many ids, and decodes them; free_encoded frees both. */
static inline encoded encode(const rt_vocabulary *v, const char *text, size_t size, bool special,
                             size_t most)
{
    encoded e = {.ids = malloc((most + 1) * sizeof *e.ids)};
    e.status = rt_vocabulary_encode(v, text, size, special, e.ids, &e.count, &e.unknown);
    must((size_t)e.count <= most);
    for (int i = 0; i < e.count; i++)
        must(e.ids[i] >= 0 && e.ids[i] < v->count);
    e.text = spell_all(v, e.ids, e.count, &e.size);
    must(e.text != NULL);
    return e;
}

static inline void free_encoded(encoded *e)
{
    free(e->text);
    free(e->ids);
}

#endif
