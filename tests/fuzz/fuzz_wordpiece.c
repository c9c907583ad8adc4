/* Of a text of any bytes a vocabulary is made, or what is wrong with it is said. The vocabulary can
 * be read, and knows every word of the text that is not too long. With its case, a text that was
 * put together again has the same ids; in lower case a mark that parted two others is gone. */

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
