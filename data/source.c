/* Sources of sequences: opened, with the vocabulary of their texts, looked at and closed. */

#include "core/memory.h"
#include "data/documents.h"
#include "data/task.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/simple_tokens.h"
#include "text/files.h"

#include <assert.h>
#include <limits.h>

/* ---- the vocabulary of a text ---- */

void rt_text_check_vocabulary(const rt_data_options *o, rt_rule_sink to)
{
    if (o->vocab_file && o->level == RT_LEVEL_BYTE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.vocab_file", "data.level"),
                       "data.vocab_file is for data.level = char, wordpiece, bpe or residue: level "
                       "byte has all bytes as its vocabulary");
    if (o->lowercase && o->level != RT_LEVEL_WORDPIECE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.lowercase", "data.level"),
                       "data.lowercase is for data.level = wordpiece");
}

static rt_status check_special(const rt_data_options *o, const rt_vocabulary *vocabulary)
{
    const rt_special_ids *special = &vocabulary->special;
    const bool labelled = rt_data_task_labelled(o->task);
    const bool begins = special->cls != RT_NO_ID || o->begin == RT_BEGIN_NONE,
               ends = special->sep != RT_NO_ID;
    const bool framed = vocabulary->bpe &&
                        (vocabulary->bpe->first != RT_NO_ID || vocabulary->bpe->last != RT_NO_ID);
    if (labelled && framed)
        return rt_ok();
    if (labelled && !(begins && (ends || o->end == RT_BEGIN_NONE)))
        return rt_error(RT_CONFIG,
                        "data.task = %s needs tokens that begin and end a text, such as <s> and "
                        "</s>; the vocabulary has no such special token: set data.begin = none "
                        "and data.end = none",
                        rt_data_task_name(o->task));
    if (!begins)
        return rt_error(RT_CONFIG,
                        "data.task = %s needs a token that begins a sequence, such as <s> or "
                        "<|endoftext|>; the vocabulary has no such special token",
                        rt_data_task_name(o->task));
    if (!labelled && special->sep == RT_NO_ID && rt_documents_are_cut(o))
        return rt_error(RT_CONFIG,
                        "data.documents = %.60s needs a token that ends a text, such as "
                        "<|endoftext|>; the vocabulary has no such special token",
                        o->documents);
    if (!labelled && o->objective == RT_OBJECTIVE_MLM && special->mask == RT_NO_ID)
        return rt_error(RT_CONFIG, "data.objective = mlm needs a mask token, such as "
                                   "<mask>; the vocabulary has no such special token");
    return rt_ok();
}

/* A given vocabulary may have its special ids from other files. */
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
rt_status rt_text_check_given(const rt_data *data)
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

/* RT_CONFIG if the vocabulary lacks a special token that the task needs. */
static rt_status use_vocabulary(rt_data *data, const rt_vocabulary *v)
{
    data->vocabulary = v;
    data->special = v->special;
    data->vocab = v->count;
    return check_special(&data->options, v);
}

/* The one that was given holds; that of data.vocab_file must be the same. */
rt_status rt_text_find_vocabulary(rt_data *data, rt_vocabulary_maker *make, void *context)
{
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->meaning.vocabulary;
    rt_status status = rt_text_check_given(data);
    if (status.code)
        return status;
    if (o->vocab_file)
        status = read_vocabulary(&data->own, o, given);
    else if (!given && o->level == RT_LEVEL_BYTE)
        status = rt_vocabulary_of_bytes(&data->own);
    else if (!given && o->level == RT_LEVEL_BPE)
        status = rt_error(RT_CONFIG, "data.vocab_file must name a tokenizer.json for data.level = "
                                     "bpe");
    else if (!given && o->level == RT_LEVEL_WORDPIECE)
        status =
            rt_error(RT_CONFIG,
                     "data.vocab_file must name a vocab.txt for data.level = "
                     "wordpiece; train --train-tokenizer N --level wordpiece makes one of texts");
    else if (!given && o->level == RT_LEVEL_RESIDUE)
        status = rt_error(RT_CONFIG, "data.vocab_file must name a vocab.txt of ESM for data.level "
                                     "= residue");
    else if (!given)
        status = make(context, &data->own);
    if (!status.code && given && data->own && !rt_vocabularies_equal(given, data->own))
        status = rt_error(RT_CONFIG,
                          "data.vocab_file: %s%s is not the vocabulary that the model was trained "
                          "with; leave the key out to use that one",
                          o->vocab_file,
                          o->level != RT_LEVEL_WORDPIECE ? ""
                          : o->lowercase                 ? ", in lower case,"
                                                         : ", cased,");
    return status.code ? status : use_vocabulary(data, given ? given : data->own);
}

/* ---- opening ---- */

rt_status rt_data_open(rt_data **data_new, const rt_data_options *o,
                       const rt_vocabulary *vocabulary)
{
    return rt_data_open_as(data_new, o, (rt_data_meaning){.vocabulary = vocabulary});
}

static rt_data *new_data(const rt_data_options *o, rt_data_meaning meaning)
{
    rt_data *data = rt_alloc(1, sizeof *data);
    if (data) {
        data->options = *o;
        data->task = &rt_tasks[o->task];
        data->vocab = o->vocab;
        data->special = rt_default_special_ids;
        if (!rt_data_has_special_tokens(data))
            data->special = (rt_special_ids){RT_ID_PAD, RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID};
        if (rt_task_is_token_ids(data->task) && o->mask_id > 0)
            data->special.mask = o->mask_id;
        data->meaning = meaning;
    }
    return data;
}

/* A model can have more rows of words than its vocabulary has tokens. */
static void make_room_for_ids(rt_data *data)
{
    if (data->vocabulary && data->meaning.ids > data->vocab)
        data->vocab = data->meaning.ids;
}

static rt_status open_data(rt_data **data_new, const rt_data_options *o, rt_data_meaning meaning,
                           bool evaluation_only)
{
    *data_new = NULL;
    rt_status status = rt_data_check(o);
    if (status.code)
        return status;
    rt_data *data = new_data(o, meaning);
    if (!data)
        return rt_out_of_memory("the source of data");
    data->evaluation_only = evaluation_only;
    if (data->task->open)
        status = data->task->open(data);
    make_room_for_ids(data);
    if (status.code)
        rt_data_close(data);
    else
        *data_new = data;
    return status;
}

rt_status rt_data_open_as(rt_data **data_new, const rt_data_options *o, rt_data_meaning meaning)
{
    return open_data(data_new, o, meaning, false);
}

/* With evaluation files, data.file is not read. */
rt_status rt_data_open_evaluation(rt_data **data_new, const rt_data_options *o,
                                  rt_data_meaning meaning)
{
    rt_data_options own = *o;
    if (own.eval_file)
        own.file = own.eval_file;
    return open_data(data_new, &own, meaning, true);
}

rt_status rt_data_open_without(rt_data **data_new, const rt_data_options *o,
                               rt_data_meaning meaning)
{
    rt_data *data = *data_new = new_data(o, meaning);
    if (!data)
        return rt_out_of_memory("the source of data");
    data->labels = meaning.labels;
    rt_status status = meaning.vocabulary ? use_vocabulary(data, meaning.vocabulary) : rt_ok();
    make_room_for_ids(data);
    if (status.code) {
        rt_data_close(data);
        *data_new = NULL;
    }
    return status;
}

void rt_data_close(rt_data *data)
{
    if (!data)
        return;
    rt_examples_free(data->examples);
    rt_labels_free(data->own_labels);
    rt_vocabulary_free(data->own);
    rt_token_runs_close(&data->runs);
    rt_windows_close(data);
    rt_free(data);
}

bool rt_data_varies(const rt_data *data)
{
    return data->examples || rt_data_short_texts(data).count ||
           (data->runs.count && rt_data_keeps_documents(data));
}

int rt_data_longest(const rt_data *data, int length)
{
    const rt_examples *x = data->examples;
    return x && x->longest < (size_t)length ? (int)x->longest : length;
}

rt_special_use rt_data_special_use(const rt_data *data)
{
    enum { LOOKED_AT = 1 << 14 };
    const size_t tokens = data->runs.tokens < LOOKED_AT ? data->runs.tokens : LOOKED_AT;
    const bool special = rt_data_has_special_tokens(data);
    const bool asked = rt_task_is_token_ids(data->task) &&
                       (special || data->options.objective == RT_OBJECTIVE_MLM);
    int32_t *ids = asked && tokens ? rt_alloc(tokens, sizeof *ids) : NULL;
    rt_special_use use = {0, tokens};
    if (ids && rt_token_runs_read(&data->runs, 0, tokens, ids))
        for (size_t i = 0; i < tokens; i++)
            use.count += ids[i] == data->special.mask ||
                         (special && (ids[i] == data->special.pad || ids[i] == data->special.cls));
    rt_free(ids);
    return use;
}

rt_cut rt_data_cut(const rt_data *data)
{
    const rt_examples *x = data->examples;
    return x ? (rt_cut){x->cut, x->count} : (rt_cut){0};
}

long rt_data_evaluation_rows(const rt_data *data, int length)
{
    assert(length >= data->task->shortest);
    if (data->examples)
        return (long)data->examples->order[RT_PART_EVALUATION].rows;
    return data->task->open ? rt_windows_evaluation_rows(data, length) : LONG_MAX;
}

rt_status rt_data_status(const rt_data *data)
{
    return rt_token_runs_status(&data->runs);
}
