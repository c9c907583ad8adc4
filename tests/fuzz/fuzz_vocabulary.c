/* A vocab.txt of any bytes is read, or refused with a line. A vocabulary that was read is written
 * and read back as the same. Each token is encoded as its id, and pieces cut the file itself into
 * words. */

#include "fuzz_vocabulary.h"

static void encode_tokens(const rt_vocabulary *v)
{
    for (int rank = 0; rank < v->ordinary_count; rank++) {
        const int32_t id = v->ordinary[rank];
        int32_t ids[4]; /* a token has up to four bytes */
        int count = 0;
        rt_unknown unknown = {0};
        size_t size;
        const char *token = rt_vocabulary_decode(v, id, &size);
        must(token && !rt_vocabulary_encode(v, token, size, false, ids, &count, &unknown).code);
        must(count == 1 && *ids == id && !unknown.count);
    }
}

FUZZ(vocabulary)
{
    static const rt_vocabulary_kind kinds[] = {{.level = RT_LEVEL_BYTE},
                                               {.level = RT_LEVEL_CHAR},
                                               {.level = RT_LEVEL_WORDPIECE},
                                               {.level = RT_LEVEL_WORDPIECE, .lowercase = true},
                                               {.level = RT_LEVEL_RESIDUE}};
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
        rt_vocabulary *v = read_or_refuse(kinds[n], "vocab.txt", bytes, size);
        if (!v)
            continue;
        read_again(v);
        for (int special = 0; special < 2 && v->pieces; special++) { /* what was read is UTF-8 */
            encoded e = encode(v, (const char *)bytes, size, special, size);
            must(!e.status.code);
            free_encoded(&e);
        }
        if (!v->pieces)
            encode_tokens(v);
        rt_vocabulary_free(v);
    }
    return 0;
}
