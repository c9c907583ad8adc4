#ifndef ROTOR_TESTS_OPTION_WORDS_H
#define ROTOR_TESTS_OPTION_WORDS_H

/* Options of small models as words: "decoder model.window=4 head=token labels=3". */

#include "io/rotor-io.h"
#include "key_words.h"
#include "models/keys.h"
#include "models/transformer.h"

#include <string.h>

/* Options that follow from the data of a configuration. */
static inline int *data_option(rt_transformer_options *o, const char *name)
{
    return !strcmp(name, "vocab")    ? &o->vocab
           : !strcmp(name, "labels") ? &o->labels
           : !strcmp(name, "types")  ? &o->token_types
           : !strcmp(name, "mask")   ? &o->mask_id
           : !strcmp(name, "patch")  ? &o->patch
                                     : NULL;
}

static inline rt_head head_named(const char *name)
{
    static const char *const heads[] = {RT_HEADS(RT_CHOICE_WORD) NULL};
    int head = 0;
    if (*name >= '0' && *name <= '9')
        return (rt_head)atoi(name);
    while (heads[head] && strcmp(heads[head], name) != 0)
        head++;
    if (!heads[head]) {
        fprintf(stderr, "option_words: there is no head %s\n", name);
        abort();
    }
    return (rt_head)head;
}

/* Sets keys of the configuration, whose numbers may be out of range, and head, labels, vocab,
 * types, mask and patch. */
static inline void set_options(rt_transformer_options *o, const char *words)
{
    for (; *(words += strspn(words, " ")); words += strcspn(words, " ")) {
        char word[256], *value;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(words, " "), words);
        value = strchr(word, '=');
        if (!value) {
            fprintf(stderr, "option_words: %s has no value\n", word);
            abort();
        }
        *value++ = '\0';
        int *number = data_option(o, word);
        if (number)
            *number = atoi(value);
        else if (!strcmp(word, "head"))
            o->head = head_named(value);
        else
            set_key(&rt_model_keys, word, value, o);
    }
}

#define MODERNBERT                                                                                 \
    " model.norm=pre model.norm_eps=1e-5 model.norm_bias=no model.first_norm=no model.ffn=geglu "  \
    "model.bias=output model.window=3 model.layer_types=full,sliding,sliding "                     \
    "position.pairing=half position.base=700 position.local_base=30"
#define ESM                                                                                        \
    " model.norm=pre model.norm_eps=1e-5 model.embedding_norm=no model.token_dropout=yes mask=4 "  \
    "position.pairing=half position.base=700"

/* Options of a small model of a family, whose name begins the words: "roformer", "decoder",
 * "modernbert" or "esm". */
static inline rt_transformer_options options_of(const char *words)
{
    static const char *const families[][2] = {{"roformer", " model.layers=2"},
                                              {"decoder", " model.layers=2"},
                                              {"modernbert", MODERNBERT},
                                              {"esm", ESM}};
    rt_transformer_options o =
        rt_model_defaults(strncmp(words, "decoder", 7) ? RT_KIND_ROFORMER : RT_KIND_DECODER);
    const size_t length = strcspn(words, " ");
    set_options(&o, "vocab=13 model.layers=3 model.dim=32 model.heads=4 model.ffn_dim=20 "
                    "model.init_std=0.3");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strlen(families[i][0]) == length && !strncmp(words, families[i][0], length))
            set_options(&o, families[i][1]);
    set_options(&o, words + length);
    return o;
}

#endif
