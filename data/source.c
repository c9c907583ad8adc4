/* Sources of sequences: opening and closing, and queries on what has been read. */

#include "core/memory.h"
#include "data/task.h"
#include "data/tokenizers/tokens.h"

#include <assert.h>
#include <limits.h>

/* Returns RT_CONFIG if the given vocabulary has another level than data.level, or is cased
 * although data.lowercase is set. */
static rt_status check_given(const rt_data *data)
{
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->meaning.vocabulary;
    if (!given || data->task->vocab) /* a task without text ignores it */
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

static rt_data *new_data(const rt_data_options *o, rt_data_of_model meaning)
{
    rt_data *data = rt_alloc(1, sizeof *data);
    if (!data)
        return NULL;
    data->options = *o;
    data->task = &rt_tasks[o->task];
    data->vocab = o->vocab;
    data->special = rt_default_special_ids;
    if (!rt_data_has_special_tokens(data))
        data->special = (rt_special_ids){RT_ID_PAD, RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID};
    if (data->task->token_ids)
        data->special.mask = o->mask_id > 0 ? o->mask_id : RT_ID_MASK;
    data->meaning = meaning;
    return data;
}

/* Passes on a source or, after an error, closes it. The rows of a model's token embedding may
 * exceed the vocabulary. */
static rt_status give(rt_data **data_new, rt_data *data, rt_status status)
{
    if (data->vocabulary && data->meaning.ids > data->vocab)
        data->vocab = data->meaning.ids;
    if (status.code)
        rt_data_close(data);
    *data_new = status.code ? NULL : data;
    return status;
}

static rt_status open_data(rt_data **data_new, const rt_data_options *o, rt_data_of_model meaning,
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
    status = check_given(data);
    if (!status.code && data->task->open)
        status = data->task->open(data);
    return give(data_new, data, status);
}

rt_status rt_data_open(rt_data **data_new, const rt_data_options *o, rt_data_of_model meaning)
{
    return open_data(data_new, o, meaning, false);
}

rt_status rt_data_open_evaluation(rt_data **data_new, const rt_data_options *o,
                                  rt_data_of_model meaning)
{
    rt_data_options own = *o;
    if (own.eval_file)
        own.file = own.eval_file;
    return open_data(data_new, &own, meaning, true);
}

rt_status rt_data_open_encoder(rt_data **data_new, const rt_data_options *o,
                               rt_data_of_model meaning)
{
    rt_data *data = *data_new = new_data(o, meaning);
    if (!data)
        return rt_out_of_memory("the source of data");
    data->labels = meaning.labels;
    return give(data_new, data,
                meaning.vocabulary ? rt_data_use_vocabulary(data, meaning.vocabulary) : rt_ok());
}

void rt_data_close(rt_data *data)
{
    if (!data)
        return;
    rt_examples_free(data->examples);
    rt_images_free(data->images);
    rt_labels_free(data->own_labels);
    rt_vocabulary_free(data->own);
    rt_token_runs_close(&data->runs);
    rt_free(data->windows.parts.list);
    rt_free(data->windows.texts.list);
    rt_free(data);
}

bool rt_data_varies(const rt_data *data)
{
    return rt_data_answers(data) || (data->examples && !data->images) ||
           rt_data_short_texts(data).count || (data->runs.count && rt_data_keeps_documents(data));
}

int rt_data_longest(const rt_data *data, int length)
{
    const rt_examples *x = data->examples;
    return x && !data->images && x->longest < (size_t)length ? (int)x->longest : length;
}

rt_special_use rt_data_special_use(const rt_data *data)
{
    enum { LOOKED_AT = 1 << 14 };
    const size_t tokens = data->runs.tokens < LOOKED_AT ? data->runs.tokens : LOOKED_AT;
    const bool special = rt_data_has_special_tokens(data);
    const bool asked =
        data->task->token_ids && (special || data->options.objective == RT_OBJECTIVE_MLM);
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
