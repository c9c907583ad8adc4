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
                       "data.vocab_file is for data.level = char: level byte has all bytes as its "
                       "vocabulary");
}

void rt_text_check(const rt_data_options *o, rt_rule_sink to)
{
    rt_windows_check(o, to);
    rt_text_check_vocabulary(o, to);
    rt_status files = rt_files_check(o->file);
    if (files.code)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.file"), "%s", files.message);
}

static const char *word_for_units(rt_level level)
{
    return level == RT_LEVEL_CHAR ? "characters" : "bytes";
}

/* ---- the vocabulary ---- */

static rt_status read_vocabulary(rt_vocabulary **vocabulary_new, const rt_data_options *o)
{
    unsigned char *bytes;
    size_t size;
    rt_status status = rt_file_read("data.vocab_file", o->vocab_file, &bytes, &size);
    *vocabulary_new = NULL;
    if (status.code)
        return status;
    status = rt_vocabulary_read(vocabulary_new, o->level, false, o->vocab_file, bytes, size);
    rt_free(bytes);
    return status;
}

/* The units of the options must be those of a vocabulary that was given. */
static rt_status check_level(const rt_data *data)
{
    const rt_vocabulary *given = data->meaning.vocabulary;
    const rt_level level = data->options.level;
    if (!given || given->level == level)
        return rt_ok();
    return rt_error(RT_CONFIG, "data.level makes units of %s; the model has a vocabulary of %s",
                    word_for_units(level), word_for_units(given->level));
}

/* The one that was given holds; that of data.vocab_file must be the same. */
rt_status rt_text_find_vocabulary(rt_data *data, const unsigned char *text, size_t bytes)
{
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->meaning.vocabulary;
    rt_status status = check_level(data);
    if (status.code)
        return status;
    if (*o->vocab_file)
        status = read_vocabulary(&data->own, o);
    else if (!given && o->level == RT_LEVEL_BYTE)
        status = rt_vocabulary_of_bytes(&data->own);
    else if (!given)
        status = rt_vocabulary_of_text(&data->own, o->file, text, bytes);
    if (!status.code && given && data->own && !rt_vocabularies_equal(given, data->own))
        status = rt_error(RT_CONFIG,
                          "data.vocab_file: %s is not the vocabulary that the model was trained "
                          "with; without the key that one is used",
                          o->vocab_file);
    data->vocabulary = given ? given : data->own;
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
    return data->options.level == RT_LEVEL_CHAR ? rt_utf8_check(path, bytes, count) : rt_ok();
}

/* Keeps of a text the ids of its units. */
static rt_status keep(rt_data *data, const unsigned char *text, size_t bytes)
{
    const rt_level level = data->options.level;
    const rt_vocabulary *v = data->vocabulary;
    const size_t count = rt_unit_count(level, text, bytes);
    data->text = rt_alloc(count, sizeof *data->text);
    if (!data->text)
        return rt_out_of_memory("the text of data.file");
    int32_t unit = 0;
    for (size_t i = 0, at = 0; i < count; i++) {
        const size_t size = rt_unit_read(level, text + at, bytes - at, &unit);
        const int32_t id = v->ids[unit];
        assert(id != RT_NO_ID);
        if (id == v->special.unknown && !data->unknown.count++) {
            data->unknown.unit = unit;
            data->unknown.at = at;
        }
        data->text[i] = (uint16_t)id;
        at += size;
    }
    return rt_windows_open(data, count, word_for_units(level));
}

static rt_status open_text(rt_data *data)
{
    const rt_data_options *o = &data->options;
    unsigned char *bytes = NULL;
    size_t count = 0;
    rt_status status = check_level(data);
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
}

static bool read_text(const rt_data *data, size_t first, int count, int32_t *ids)
{
    const uint16_t *from = data->text + first;
    for (int i = 0; i < count; i++)
        ids[i] = from[i];
    return true;
}

const rt_source rt_text = {.open = open_text,
                           .close = close_text,
                           .evaluation_rows = rt_windows_evaluation_rows,
                           .read = read_text};
