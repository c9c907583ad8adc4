/* The task text: files of text as a run of units. */

#include "core/memory.h"
#include "data/files.h"
#include "data/task.h"
#include "data/units.h"

#include <assert.h>
#include <string.h>

void rt_text_check_vocabulary(const rt_data_options *o, rt_rule_sink to)
{
    if (*o->vocab_file && o->level == RT_LEVEL_BYTE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.vocab_file", "data.level"),
                       "data.vocab_file is for data.level = char, wordpiece or bpe: level byte has "
                       "all bytes as its vocabulary");
    if (o->lowercase && o->level != RT_LEVEL_WORDPIECE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.lowercase", "data.level"),
                       "data.lowercase is for data.level = wordpiece");
}

void rt_text_check(const rt_data_options *o, rt_rule_sink to)
{
    rt_windows_check(o, to);
    rt_text_check_vocabulary(o, to);
    rt_status files = rt_files_check(o->file);
    if (files.code)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.file"), "%s", files.message);
}

/* ---- the vocabulary ---- */

/* Whoever gave a vocabulary may know its special ids from other files. */
static rt_status read_vocabulary(rt_vocabulary **vocabulary_new, const rt_data_options *o,
                                 const rt_vocabulary *given)
{
    rt_vocabulary_kind kind = {.level = o->level, .lowercase = o->lowercase};
    if (given && given->bpe)
        kind = rt_vocabulary_kind_of(given);
    unsigned char *bytes;
    size_t size;
    rt_status status = rt_file_read("data.vocab_file", o->vocab_file, &bytes, &size);
    *vocabulary_new = NULL;
    if (status.code)
        return status;
    status = rt_vocabulary_read(vocabulary_new, kind, o->vocab_file, bytes, size);
    rt_free(bytes);
    return status;
}

/* A vocabulary that was given reads a text as it reads texts. */
static rt_status check_given(const rt_data *data)
{
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->meaning.vocabulary;
    if (!given)
        return rt_ok();
    if (given->level != o->level)
        return rt_error(RT_CONFIG, "data.level makes units of %s; the model has a vocabulary of %s",
                        rt_words_for_units(o->level).many, rt_words_for_units(given->level).many);
    if (o->lowercase && !given->lowercase)
        return rt_error(RT_CONFIG,
                        "data.lowercase = yes, but the vocabulary of the model is cased");
    return rt_ok();
}

/* The one that was given holds; that of data.vocab_file must be the same. */
rt_status rt_text_find_vocabulary(rt_data *data, const unsigned char *text, size_t bytes)
{
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->meaning.vocabulary;
    rt_status status = check_given(data);
    if (status.code)
        return status;
    if (*o->vocab_file)
        status = read_vocabulary(&data->own, o, given);
    else if (!given && o->level == RT_LEVEL_BYTE)
        status = rt_vocabulary_of_bytes(&data->own);
    else if (!given && o->level == RT_LEVEL_BPE)
        status = rt_error(RT_CONFIG, "data.vocab_file must name a tokenizer.json for data.level = "
                                     "bpe");
    else if (!given && o->level == RT_LEVEL_WORDPIECE)
        status = rt_error(RT_CONFIG, "data.vocab_file must name a vocab.txt for data.level = "
                                     "wordpiece; train --vocab makes one of a text");
    else if (!given)
        status = rt_vocabulary_of_text(&data->own, o->file, text, bytes);
    if (!status.code && given && data->own && !rt_vocabularies_equal(given, data->own))
        status = rt_error(RT_CONFIG,
                          "data.vocab_file: %s%s is not the vocabulary that the model was trained "
                          "with; without the key that one is used",
                          o->vocab_file,
                          o->level != RT_LEVEL_WORDPIECE ? ""
                          : o->lowercase                 ? ", in lower case,"
                                                         : ", cased,");
    data->vocabulary = given ? given : data->own;
    if (!status.code)
        status = rt_data_check_special(o, data->vocabulary);
    if (!status.code) {
        data->special = data->vocabulary->special;
        data->vocab = data->vocabulary->count;
    }
    return status;
}

/* ---- the text ---- */

/* What can be said of a file before there is a vocabulary for all of them. */
static rt_status check_file(const void *context, const char *path, const unsigned char *bytes,
                            size_t count)
{
    const rt_data *data = context;
    if (data->meaning.vocabulary)
        return rt_vocabulary_check(data->meaning.vocabulary, path, bytes, count);
    return rt_units_check(data->options.level, path, bytes, count);
}

/* How many ids a text seems to have: of pieces of words English has one for about four bytes. */
static size_t estimate(const rt_vocabulary *v, const unsigned char *text, size_t bytes)
{
    return v->pieces || v->bpe ? bytes / 3 + 1 : rt_unit_count(v->level, text, bytes);
}

/* The ids of a text under way, which are kept in as few bits as the vocabulary needs. */
typedef struct storing {
    void *ids;
    size_t width; /* bytes of an id */
    size_t count, capacity;
    bool failed; /* the heap is exhausted */
} storing;

static bool make_room(storing *s)
{
    const size_t capacity = s->capacity + s->capacity / 2 + 1;
    void *larger = rt_alloc_unset(capacity, s->width);
    if (!larger)
        return false;
    memcpy(larger, s->ids, s->count * s->width);
    rt_free(s->ids);
    s->ids = larger;
    s->capacity = capacity;
    return true;
}

static void store(void *context, int32_t id)
{
    storing *s = context;
    if (s->count == s->capacity && !s->failed)
        s->failed = !make_room(s);
    if (s->failed)
        return;
    if (s->width == sizeof(uint16_t))
        ((uint16_t *)s->ids)[s->count++] = (uint16_t)id;
    else
        ((int32_t *)s->ids)[s->count++] = id;
}

/* Keeps of a text the ids of its units. A special token in it is text: running text that shows
 * [MASK] hides nothing. */
static rt_status keep(rt_data *data, const unsigned char *text, size_t bytes)
{
    const rt_vocabulary *v = data->vocabulary;
    const bool narrow = v->count <= UINT16_MAX + 1;
    storing s = {.width = narrow ? sizeof *data->text : sizeof *data->wide_text,
                 .capacity = estimate(v, text, bytes)};
    rt_status status = rt_ok();
    s.ids = rt_alloc_unset(s.capacity, s.width);
    if (s.ids)
        status = rt_vocabulary_encode_to(v, (const char *)text, bytes, store, &s, &data->unknown);
    if (narrow)
        data->text = s.ids;
    else
        data->wide_text = s.ids;
    if (!s.ids || s.failed)
        return rt_out_of_memory("the text of data.file");
    assert(!status.code || v->bpe); /* whose memory grows with the words */
    if (status.code)
        return status.code == RT_ARGUMENT ? rt_error(RT_DATA, "data.file: %s", status.message)
                                          : status;
    return rt_windows_open(data, s.count, rt_words_for_units(v->level).many);
}

static rt_status open_text(rt_data *data)
{
    const rt_data_options *o = &data->options;
    unsigned char *bytes = NULL;
    size_t count = 0;
    rt_status status = check_given(data);
    if (!status.code)
        status = rt_files_read(o->file, check_file, data, &bytes, &count);
    if (!status.code)
        status = rt_text_find_vocabulary(data, bytes, count);
    if (!status.code)
        status = keep(data, bytes, count);
    rt_free(bytes);
    return status;
}

static void close_text(rt_data *data)
{
    rt_vocabulary_free(data->own);
    rt_free(data->text);
    rt_free(data->wide_text);
}

static bool read_text(const rt_data *data, size_t first, int count, int32_t *ids)
{
    for (int i = 0; i < count; i++)
        ids[i] = data->text ? data->text[first + (size_t)i] : data->wide_text[first + (size_t)i];
    return true;
}

/* The texts, and then the vocabulary. */
static bool text_file_at(const rt_data_options *o, int n, char path[RT_PATH_SIZE])
{
    for (const char *list = o->file; list; n--) {
        list = rt_files_take(list, path);
        if (n == 0)
            return true;
    }
    memcpy(path, o->vocab_file, sizeof o->vocab_file);
    return n == 0 && *path;
}

const rt_source rt_text = {.open = open_text,
                           .close = close_text,
                           .evaluation_rows = rt_windows_evaluation_rows,
                           .read = read_text,
                           .file_at = text_file_at};
