/* A vocab.txt of any bytes is read, or refused with a line. What was read is written as a file that
 * is read as the same; each token is encoded as its id, and pieces cut the file itself into words.
 */

#include "fuzz.h"

#include "core/memory.h"
#include "data/tokenizers/vocabulary.h"

#include <stdlib.h>
#include <string.h>

static void read_again(const rt_vocabulary *v)
{
    const rt_vocabulary_kind kind = rt_vocabulary_kind_of(v);
    rt_vocabulary *again;
    char *text;
    if (rt_vocabulary_write(v, &text).code ||
        rt_vocabulary_read(&again, kind, "again", (const unsigned char *)text, strlen(text)).code ||
        !rt_vocabularies_equal(v, again))
        abort();
    rt_vocabulary_free(again);
    rt_free(text);
}

static void encode_tokens(const rt_vocabulary *v)
{
    for (int rank = 0; rank < rt_vocabulary_ordinary_tokens(v); rank++) {
        const int32_t id = rt_vocabulary_ordinary_token(v, rank);
        int32_t ids[4]; /* a token has up to four bytes */
        int count;
        rt_unknown unknown;
        size_t size;
        const char *token = rt_vocabulary_decode(v, id, &size);
        if (!token || rt_vocabulary_encode(v, token, size, ids, &count, &unknown).code ||
            count != 1 || *ids != id || unknown.count)
            abort();
    }
}

/* The file was read, so it is UTF-8. */
static void encode_text(const rt_vocabulary *v, const char *text, size_t size, bool special)
{
    int32_t *ids = malloc(size * sizeof *ids);
    char *back;
    int count;
    size_t bytes;
    rt_unknown unknown;
    rt_status status = special ? rt_vocabulary_encode_special(v, text, size, ids, &count, &unknown)
                               : rt_vocabulary_encode(v, text, size, ids, &count, &unknown);
    if (status.code || (size_t)count > size)
        abort();
    for (int i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= v->count)
            abort();
    if (rt_vocabulary_decode_all(v, ids, count, &back, &bytes).code)
        abort();
    rt_free(back);
    free(ids);
}

FUZZ(vocabulary)
{
    static const rt_vocabulary_kind kinds[] = {{.level = RT_LEVEL_BYTE},
                                               {.level = RT_LEVEL_CHAR},
                                               {.level = RT_LEVEL_WORDPIECE},
                                               {.level = RT_LEVEL_WORDPIECE, .lowercase = true},
                                               {.level = RT_LEVEL_RESIDUE}};
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
        rt_vocabulary *v;
        rt_status status = rt_vocabulary_read(&v, kinds[n], "vocab.txt", bytes, size);
        if ((status.code == RT_OK) != (v != NULL) || (status.code && status.code != RT_DATA))
            abort();
        if (!v)
            continue;
        read_again(v);
        if (v->pieces) {
            encode_text(v, (const char *)bytes, size, false);
            encode_text(v, (const char *)bytes, size, true);
        } else {
            encode_tokens(v);
        }
        rt_vocabulary_free(v);
    }
    return 0;
}
