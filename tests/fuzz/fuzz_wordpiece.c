/* Of a text of any bytes a vocabulary is made, or what is wrong with it is said. The vocabulary can
 * be read, and knows every word of the text that is not too long. With its case, a text that was
 * put together again has the same ids; in lower case a mark that parted two others is gone. */

#include "fuzz.h"

#include "core/memory.h"
#include "data/tokenizers/train.h"
#include "data/tokenizers/vocabulary.h"

#include <stdlib.h>
#include <string.h>

/* The ids of a text, which its caller frees. */
static int32_t *encode(const rt_vocabulary *v, const char *text, size_t size, int *count,
                       rt_unknown *unknown)
{
    int32_t *ids = malloc((size + 1) * sizeof *ids);
    if (!ids || rt_vocabulary_encode(v, text, size, ids, count, unknown).code ||
        (size_t)*count > size)
        abort();
    return ids;
}

static void use(const rt_vocabulary *v, const char *text, size_t size)
{
    char *back;
    size_t bytes;
    int count, again_count;
    rt_unknown unknown;
    int32_t *ids = encode(v, text, size, &count, &unknown);
    if (rt_vocabulary_decode_all(v, ids, count, &back, &bytes).code)
        abort();
    if (!unknown.count && !v->lowercase) {
        int32_t *again = encode(v, back, bytes, &again_count, &unknown);
        if (again_count != count || memcmp(again, ids, (size_t)count * sizeof *ids) != 0)
            abort();
        free(again);
    }
    if (unknown.count && size <= 100)
        abort(); /* no word is too long */
    rt_free(back);
    free(ids);
}

FUZZ(wordpiece)
{
    for (int n = 0; n < 6; n++) {
        const rt_vocabulary_kind kind = {.level = RT_LEVEL_WORDPIECE, .lowercase = n % 2};
        rt_word_counts counts = {.wordpiece = true, .lowercase = kind.lowercase};
        char *text = NULL;
        int lines;
        rt_vocabulary *v;
        rt_status status = rt_word_counts_add(&counts, NULL, "text", bytes, size, NULL);
        if (!status.code)
            status = rt_tokenizer_train(&counts, 20 * (n / 2 + 1) * (n / 2 + 1), false, NULL, &text,
                                        &lines);
        if (status.code && status.code != RT_DATA && status.code != RT_CONFIG)
            abort();
        rt_word_counts_free(&counts);
        if (status.code)
            continue;
        if (rt_vocabulary_read(&v, kind, "built", (const unsigned char *)text, strlen(text)).code ||
            v->count != lines)
            abort();
        use(v, (const char *)bytes, size);
        rt_vocabulary_free(v);
        rt_free(text);
    }
    return 0;
}
