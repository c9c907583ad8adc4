/* The task text: files of text as a run of tokens. */

#include "core/memory.h"
#include "data/task.h"
#include "data/tokenizers/simple_tokens.h"
#include "text/files.h"

#include <assert.h>
#include <string.h>

static const char eval_file[] = "data.eval_file";

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

static void check_list(const char *key, const char *list, rt_rule_sink to)
{
    const rt_status files = rt_files_check(key, list);
    if (files.code)
        rt_rule_broken(to, RT_OPTIONS("data.task", key), "%s", files.message);
}

void rt_text_check(const rt_data_options *o, rt_rule_sink to)
{
    rt_windows_check(o, to);
    rt_text_check_vocabulary(o, to);
    check_list("data.file", o->file, to);
    if (*o->eval_file)
        check_list(eval_file, o->eval_file, to);
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
        return rt_error(RT_CONFIG,
                        "data.level cuts a text into %s, but the vocabulary of the model has %s",
                        rt_words_for_tokens(o->level).many, rt_words_for_tokens(given->level).many);
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
                                     "wordpiece; train --vocab builds one from texts");
    else if (!given)
        status = rt_vocabulary_of_text(&data->own, o->file, text, bytes);
    if (!status.code && given && data->own && !rt_vocabularies_equal(given, data->own))
        status = rt_error(RT_CONFIG,
                          "data.vocab_file: %s%s is not the vocabulary that the model was trained "
                          "with; leave the key out to use that one",
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
    return rt_level_check(data->options.level, path, bytes, count);
}

/* How many ids a text seems to have: of pieces of words English has one for about four bytes. */
static size_t estimate(const rt_vocabulary *v, const unsigned char *text, size_t bytes)
{
    return v->pieces || v->bpe ? bytes / 3 + 1 : rt_token_count(v->level, text, bytes);
}

/* The ids of texts under way, which are kept in as few bits as the vocabulary needs. */
typedef struct storing {
    void *ids;
    size_t width; /* bytes of an id */
    size_t count, capacity;
    size_t later; /* bytes of the texts that follow the first */
    bool failed;  /* the heap is exhausted */
} storing;

static void make_room(storing *s, size_t capacity)
{
    void *larger = rt_alloc_unset(capacity, s->width);
    s->failed = !larger;
    if (!larger)
        return;
    if (s->count)
        memcpy(larger, s->ids, s->count * s->width);
    rt_free(s->ids);
    s->ids = larger;
    s->capacity = capacity;
}

static void store(void *context, int32_t id)
{
    storing *s = context;
    if (s->count == s->capacity && !s->failed)
        make_room(s, s->capacity + s->capacity / 2 + 1);
    if (s->failed)
        return;
    if (s->width == sizeof(uint16_t))
        ((uint16_t *)s->ids)[s->count++] = (uint16_t)id;
    else
        ((int32_t *)s->ids)[s->count++] = id;
}

/* Adds the ids of the tokens of a text. A special token in it is text: running text that shows
 * [MASK] hides nothing. */
static rt_status keep(storing *s, const rt_vocabulary *v, const char *key,
                      const unsigned char *text, size_t bytes, rt_unknown *unknown)
{
    const size_t more = estimate(v, text, bytes);
    rt_status status = rt_ok();
    if (s->capacity - s->count < more)
        make_room(s, s->count + more + s->later);
    if (!s->failed)
        status = rt_vocabulary_encode_to(v, (const char *)text, bytes, store, s, unknown);
    if (s->failed)
        return rt_out_of_memory("the text of a file");
    assert(!status.code || v->bpe); /* whose memory grows with the words */
    return status.code == RT_ARGUMENT ? rt_error(RT_DATA, "%s: %s", key, status.message) : status;
}

/* ---- the files ---- */

static const char *name_of_tokens(const rt_data *data)
{
    return rt_words_for_tokens(data->vocabulary->level).many;
}

/* The texts for training, which find the vocabulary, as one. */
static rt_status keep_training(rt_data *data, storing *s)
{
    unsigned char *bytes = NULL;
    size_t count = 0;
    rt_status status = rt_ok();
    if (rt_data_reads_training(data))
        status = rt_files_read(data->options.file, check_file, data, &bytes, &count);
    if (!status.code)
        status = rt_text_find_vocabulary(data, bytes, count);
    s->width = data->vocab <= UINT16_MAX + 1 ? sizeof *data->text : sizeof *data->wide_text;
    if (!status.code && bytes)
        status =
            keep(s, data->vocabulary, "data.file", bytes, count, &data->unknown[RT_PART_TRAINING]);
    rt_free(bytes);
    return status.code ? status : rt_windows_open(data, s->count, name_of_tokens(data));
}

static const char *evaluation_list(const rt_data_options *o)
{
    return *o->eval_file ? o->eval_file : NULL;
}

/* Whether the texts for evaluation are there, and how many bytes they have. */
static rt_status measure_evaluation(const rt_data *data, size_t *bytes)
{
    const char *list = evaluation_list(&data->options);
    rt_status status = rt_ok();
    *bytes = 0;
    while (list && !status.code) {
        char path[RT_PATH_SIZE];
        off_t size;
        list = rt_files_take(list, path);
        status = rt_file_measure(eval_file, path, &size);
        *bytes += (size_t)size;
    }
    return status;
}

/* A text for evaluation, `before` bytes after the first: by itself, and in the vocabulary. */
static rt_status keep_evaluation(rt_data *data, storing *s, const char *path, size_t *before)
{
    const size_t first = s->count;
    rt_unknown unknown = {0};
    unsigned char *bytes;
    size_t size;
    rt_status status = rt_file_read(eval_file, path, &bytes, &size);
    if (status.code)
        return status;
    status = rt_vocabulary_check(data->vocabulary, path, bytes, size);
    if (!status.code)
        status = keep(s, data->vocabulary, eval_file, bytes, size, &unknown);
    rt_free(bytes);
    if (status.code)
        return status;
    if (unknown.count && unknown.count >= s->count - first)
        return rt_error(RT_DATA, "%.600s: data.eval_file has no token of the vocabulary", path);
    rt_unknown_add(&data->unknown[RT_PART_EVALUATION], &unknown, *before);
    *before += size;
    return rt_windows_add(data, path, s->count - first, name_of_tokens(data));
}

static rt_status open_text(rt_data *data)
{
    const char *list = evaluation_list(&data->options);
    size_t before = 0;
    storing s = {0};
    rt_status status = check_given(data);
    if (!status.code)
        status = measure_evaluation(data, &s.later);
    if (!status.code)
        status = keep_training(data, &s);
    while (list && !status.code) {
        char path[RT_PATH_SIZE];
        list = rt_files_take(list, path);
        status = keep_evaluation(data, &s, path, &before);
    }
    if (s.width == sizeof *data->text)
        data->text = s.ids;
    else
        data->wide_text = s.ids;
    return status;
}

static void close_text(rt_data *data)
{
    rt_vocabulary_free(data->own);
    rt_free(data->text);
    rt_free(data->wide_text);
    rt_windows_close(data);
}

static bool read_text(const rt_data *data, size_t first, int count, int32_t *ids)
{
    for (int i = 0; i < count; i++)
        ids[i] = data->text ? data->text[first + (size_t)i] : data->wide_text[first + (size_t)i];
    return true;
}

/* The texts for training, those for evaluation, and then the vocabulary. */
static bool text_file_at(const rt_data_options *o, int n, char path[RT_PATH_SIZE])
{
    const char *const lists[RT_PARTS] = {o->file, evaluation_list(o)};
    for (int i = 0; i < RT_PARTS; i++)
        for (const char *list = lists[i]; list; n--) {
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
