#include "io/checkpoint/private.h"

#include "core/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const levels[] = {RT_LEVELS(RT_CHOICE_WORD) NULL};
static const char *const lowercase[] = {"no", "yes", NULL};

/* What the special ids of a tokenizer.json are for, in the order of rt_special_ids; -1: there is
 * none. */
static const char *const roles[] = {"pad", "cls", "mask", "sep"};
enum { ROLES = sizeof roles / sizeof *roles };

static void put_special(rt_image *image, const rt_special_ids *special)
{
    rt_special_ids ids = *special;
    for (int i = 0; i < ROLES; i++)
        rt_image_put_integer(image, "/vocabulary", roles[i], *rt_special_id(&ids, i));
}

/* A number that is no int32_t is no id either. */
static rt_special_ids get_special(rt_image *image)
{
    rt_special_ids ids = {.unknown = RT_NO_ID};
    for (int i = 0; i < ROLES; i++) {
        const int64_t id = rt_image_integer(image, "/vocabulary", roles[i]);
        *rt_special_id(&ids, i) = id >= RT_NO_ID && id < INT32_MAX ? (int32_t)id : INT32_MAX;
    }
    return ids;
}

/* Numbers with blanks between them, if there are any. */
static void put_ends(rt_image *image, const rt_end_ids *ends)
{
    char word[RT_WORD_SIZE] = "";
    int size = 0;
    for (int i = 0; i < ends->count; i++)
        size +=
            snprintf(word + size, sizeof word - (size_t)size, i ? " %d" : "%d", (int)ends->ids[i]);
    if (ends->count)
        rt_image_put_word(image, "/vocabulary", "ends", word);
}

static rt_end_ids get_ends(rt_image *image)
{
    char word[RT_WORD_SIZE], *rest = word, *end;
    rt_end_ids ends = {0};
    rt_image_word(image, "/vocabulary", "ends", word);
    for (; *rest && ends.count < RT_MOST_ENDS; rest = end) {
        const long id = strtol(rest, &end, 10);
        if (end == rest || id < 0 || id > INT32_MAX)
            break;
        ends.ids[ends.count++] = (int32_t)id;
    }
    if (*rest)
        rt_image_fail(image, RT_CHECKPOINT, "ends of the vocabulary are '%s', not %d ids at most",
                      word, RT_MOST_ENDS);
    return ends;
}

void rt_checkpoint_put_vocabulary(rt_image *image, const rt_vocabulary *vocabulary)
{
    char *text;
    rt_status status = rt_vocabulary_write(vocabulary, &text);
    if (status.code) {
        rt_image_fail(image, status.code, "%s", status.message);
        return;
    }
    rt_image_put_bytes(image, "/vocabulary", text, strlen(text));
    rt_image_put_word(image, "/vocabulary", "level", levels[vocabulary->level]);
    if (vocabulary->bpe)
        put_special(image, &vocabulary->special);
    put_ends(image, &vocabulary->ends);
    if (vocabulary->lowercase) /* a vocabulary without it is cased */
        rt_image_put_word(image, "/vocabulary", "lowercase", lowercase[true]);
    rt_free(text);
}

/* The number of the word among those that can be; what is none of them fails the image. */
static int get_choice(rt_image *image, const char *name, const char *const *words)
{
    char word[RT_WORD_SIZE];
    rt_image_word(image, "/vocabulary", name, word);
    for (int i = 0; words[i]; i++)
        if (!strcmp(word, words[i]))
            return i;
    rt_image_fail(image, RT_CHECKPOINT, "%s of the vocabulary is '%s', which is not known", name,
                  word);
    return 0;
}

rt_vocabulary *rt_checkpoint_get_vocabulary(rt_image *image)
{
    static const char path[] = "/vocabulary";
    rt_vocabulary *vocabulary = NULL;
    rt_shape shape;
    size_t size;
    if (!rt_image_shape(image, path, &shape))
        return NULL;
    unsigned char *bytes = rt_image_bytes(image, path, &size);
    rt_vocabulary_kind kind = {.level = (rt_level)get_choice(image, "level", levels),
                               .lowercase = rt_image_has_attribute(image, path, "lowercase") &&
                                            get_choice(image, "lowercase", lowercase)};
    kind.has_known = kind.level == RT_LEVEL_BPE;
    if (kind.has_known)
        kind.known = get_special(image);
    if (rt_image_has_attribute(image, path, "ends"))
        kind.ends = get_ends(image);
    rt_status status = rt_ok();
    if (!rt_image_failed(image))
        status = rt_vocabulary_read(&vocabulary, kind, path, bytes, size);
    rt_image_fail_as(image, status);
    rt_free(bytes);
    return vocabulary;
}

/* ---- labels ---- */

static const char labels_path[] = "/labels";

void rt_checkpoint_put_labels(rt_image *image, const rt_labels *labels)
{
    char *text;
    rt_status status = rt_labels_write(labels, &text);
    if (!status.code)
        rt_image_put_bytes(image, labels_path, text, strlen(text));
    rt_image_fail_as(image, status);
    rt_free(text);
}

rt_labels *rt_checkpoint_get_labels(rt_image *image)
{
    rt_labels *labels = NULL;
    rt_shape shape;
    size_t size;
    if (!rt_image_shape(image, labels_path, &shape))
        return NULL;
    unsigned char *bytes = rt_image_bytes(image, labels_path, &size);
    if (!rt_image_failed(image))
        rt_image_fail_as(image, rt_labels_read(&labels, labels_path, (const char *)bytes, size));
    rt_free(bytes);
    return labels;
}
