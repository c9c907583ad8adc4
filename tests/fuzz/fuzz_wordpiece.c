/* Builds a vocabulary from a text of any bytes, or reports an error. The vocabulary can be read
 * back and knows every word of the text that is not too long. With case, the joined pieces of a
 * text have the same ids; in lower case a removed mark may join two others. */

#include "fuzz_vocabulary.h"

#include "data/tokenizers/train.h"

static void use(const rt_vocabulary *v, const char *text, size_t size)
{
    encoded e = encode(v, text, size, false, size);
    must(!e.status.code && (!e.unknown.count || size > 100)); /* no word is too long */
    if (!e.unknown.count && !v->lowercase) {
        encoded again = encode(v, e.text, e.size, false, e.size);
        must(!again.status.code && again.count == e.count);
        must(!memcmp(again.ids, e.ids, (size_t)e.count * sizeof *e.ids));
        free_encoded(&again);
    }
    free_encoded(&e);
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
        must(!status.code || status.code == RT_DATA || status.code == RT_CONFIG);
        rt_word_counts_free(&counts);
        if (status.code)
            continue;
        must(!rt_vocabulary_read(&v, kind, "built", (const uint8_t *)text, strlen(text)).code);
        must(v->count == lines);
        use(v, (const char *)bytes, size);
        rt_vocabulary_free(v);
        rt_free(text);
    }
    return 0;
}
