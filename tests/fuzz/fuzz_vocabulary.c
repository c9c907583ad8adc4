/* A vocab.txt of any bytes is read, or refused with a line. What was read is written as a file that
 * is read as the same, and each of its units is encoded as its id. */

#include "fuzz.h"

#include "core/memory.h"
#include "data/vocabulary.h"

#include <stdlib.h>
#include <string.h>

static void read_again(const rt_vocabulary *v)
{
    rt_vocabulary *again;
    char *text;
    if (rt_vocabulary_write(v, &text).code ||
        rt_vocabulary_read(&again, v->level, v->alphabet, "again", (const unsigned char *)text,
                           strlen(text))
            .code ||
        !rt_vocabularies_equal(v, again))
        abort();
    rt_vocabulary_free(again);
    rt_free(text);
}

static void encode_units(const rt_vocabulary *v)
{
    for (int rank = 0; rank < rt_vocabulary_units(v); rank++) {
        const int32_t id = rt_vocabulary_unit(v, rank);
        int32_t ids[4]; /* a unit has up to four bytes */
        int count;
        rt_unknown unknown;
        size_t size;
        const char *unit = rt_vocabulary_decode(v, id, &size);
        if (!unit || rt_vocabulary_encode(v, unit, size, ids, &count, &unknown).code ||
            count != 1 || *ids != id || unknown.count)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    for (int n = 0; n < 4; n++) {
        rt_vocabulary *v;
        rt_status status = rt_vocabulary_read(&v, n % 2 ? RT_LEVEL_CHAR : RT_LEVEL_BYTE, n / 2,
                                              "vocab.txt", bytes, size);
        if ((status.code == RT_OK) != (v != NULL) || (status.code && status.code != RT_DATA))
            abort();
        if (!v)
            continue;
        read_again(v);
        encode_units(v);
        rt_vocabulary_free(v);
    }
    return 0;
}
