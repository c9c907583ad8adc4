/* Sources of sequences: rules, opening, queries, drawing, and writing their ids. */

#include "core/memory.h"
#include "data/task.h"
#include "data/tokenizers/tokens.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void check_files(const rt_data_options *o, rt_rule_sink to)
{
    const bool text = !rt_tasks[o->task].vocab;
    if (!(o->eval_fraction >= 0 && o->eval_fraction < 1))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.eval_fraction"),
                       "data.eval_fraction must be at least 0 and below 1; got %g",
                       o->eval_fraction);
    if (text && o->vocab_file && o->level == RT_LEVEL_BYTE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.vocab_file", "data.level"),
                       "data.vocab_file is for data.level = char, wordpiece, bpe or residue: level "
                       "byte has all bytes as its vocabulary");
    if (text && o->lowercase && o->level != RT_LEVEL_WORDPIECE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.lowercase", "data.level"),
                       "data.lowercase is for data.level = wordpiece");
    if (!text && rt_documents_are_cut(o))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.documents"),
                       "data.documents needs data.task = text: it says what separates the "
                       "documents of a text");
}

void rt_data_rules(const rt_data_options *o, rt_rule_listener *listener, void *context)
{
    const rt_rule_sink to = {listener, context};
    int tasks = 0;
    while (rt_tasks[tasks].name)
        tasks++;
    if (o->task < 0 || o->task >= tasks) {
        rt_rule_broken(to, RT_OPTIONS("data.task"), "data.task must be from 0 to %d; got %d",
                       tasks - 1, o->task);
        return;
    }
    const rt_task *task = &rt_tasks[o->task];
    const bool too_short = o->length < task->shortest;
    const bool too_few = task->vocab && o->vocab < task->vocab;
    if (too_short)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.length"),
                       "data.length must be at least %d for %s; got %d", task->shortest, task->name,
                       o->length);
    if (too_few)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.vocab"),
                       "data.vocab must be at least %d for %s; got %d", task->vocab, task->name,
                       o->vocab);
    if (o->shortest && !task->question.each)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.length"),
                       "data.length must be one number for %s; copy, reverse, sort and addition "
                       "can have %d..%d",
                       task->name, o->shortest, o->length);
    const bool framed = task->files != RT_NO_FILE && !task->images;
    /* Tasks without labels ignore data.end, but a model may keep it for a training with labels. */
    const char *const keys[] = {o->begin != RT_BEGIN_AUTO ? "data.begin" : NULL,
                                o->end != RT_BEGIN_AUTO ? "data.end" : NULL};
    for (int i = 0; i < 2; i++)
        if (keys[i] && !framed)
            rt_rule_broken(to, RT_OPTIONS("data.task", keys[i]),
                           "%s = none needs data.task = text, tokens, classify or tag; got %s",
                           keys[i], task->name);
    if (task->token_ids && o->mask_id >= o->vocab)
        rt_rule_broken(to, RT_OPTIONS("data.mask_id", "data.vocab"),
                       "data.mask_id must be below data.vocab = %d; got %d", o->vocab, o->mask_id);
    if (too_short || too_few)
        return;
    /* Written to refuse a NaN as well. */
    if (task->objective && o->objective == RT_OBJECTIVE_MLM &&
        !(o->mask_probability > 0 && o->mask_probability <= 1))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.objective", "data.mask_probability"),
                       "data.mask_probability must be above 0 and at most 1; got %g",
                       o->mask_probability);
    if (task->files != RT_NO_FILE)
        check_files(o, to);
    if (task->check)
        task->check(o, to);
    if (task->files == RT_ONE_FILE && o->batch_size < 1)
        rt_rule_broken(to, RT_OPTIONS("data.task", "train.batch_size"),
                       "train.batch_size must be at least 1; got %d", o->batch_size);
}

rt_status rt_data_check(const rt_data_options *o)
{
    rt_first_rule first = {RT_CONFIG, rt_ok()};
    rt_data_rules(o, rt_keep_first_rule, &first);
    return first.status;
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
    data->types = meaning.types;
    return data;
}

/* Returns the source, or closes it after an error. Raises vocab to the rows of the model's token
 * embedding if these are more. */
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
    /* a task without text ignores the given vocabulary */
    const rt_vocabulary *given = data->task->vocab ? NULL : meaning.vocabulary;
    if (given && given->level != o->level)
        status =
            rt_error(RT_CONFIG,
                     "data.level cuts a text into %s, but the vocabulary of the model has %s",
                     rt_words_for_tokens(o->level).many, rt_words_for_tokens(given->level).many);
    else if (given && o->lowercase && !given->lowercase)
        status =
            rt_error(RT_CONFIG, "data.lowercase = yes, but the vocabulary of the model is cased");
    else if (data->task->open)
        status = data->task->open(data);
    data->options.watch = NULL;
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
    rt_free(data->parts.list);
    rt_free(data->texts.list);
    rt_free(data);
}

bool rt_data_varies(const rt_data *data)
{
    return data->options.shortest || (data->examples && !data->images) ||
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

long rt_data_evaluation_rows(const rt_data *data, int length)
{
    assert(length >= data->task->shortest);
    if (data->examples)
        return (long)data->examples->order[RT_PART_EVALUATION].rows;
    return data->task->open ? rt_windows_evaluation_rows(data, length) : LONG_MAX;
}

/* Returns the symbols of a question that fits, with its answer, into a sequence. */
static int question_of(const rt_task *task, int length)
{
    const int symbols = (length - task->question.around) / task->question.each;
    return symbols > 1 ? symbols : 1;
}

/* Draws a question and its answer. The answer replaces its masks: each token predicts the next one,
 * and the last one predicts [SEP]. A batch of data.length has random numbers of symbols, those
 * that data.shortest ... data.length hold; a batch of another length has the largest number. */
static void draw_answered(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_task *task = data->task;
    const rt_random random = {draw.seed, draw.step, RT_STREAM_LENGTH};
    int symbols = question_of(task, row.length);
    if (row.length == data->options.length) {
        const int fewest = question_of(task, data->options.shortest);
        symbols =
            fewest + (int)rt_random_below(random, draw.sequence, (uint32_t)(symbols - fewest + 1));
    }
    row.length = task->question.around + symbols * task->question.each;
    task->draw(data, draw, row);
    for (int t = 1; t < row.length; t++)
        if (row.labels[t] != RT_NO_LABEL) {
            row.ids[t] = row.labels[t];
            row.labels[t - 1] = row.labels[t];
            row.labels[t] = RT_ID_SEP;
        }
}

/* Draws the rows of a batch, starting at draw.sequence. */
static void fill(const rt_data *data, rt_draw draw, rt_batch *batch)
{
    assert(batch->length >= data->task->shortest);
    for (int r = 0; r < batch->rows; r++, draw.sequence++)
        (data->options.shortest ? draw_answered
                                : data->task->draw)(data, draw, rt_sequence_clear(data, batch, r));
}

void rt_data_training(const rt_data *data, uint64_t seed, uint32_t step, uint32_t first_row,
                      rt_batch *batch)
{
    assert(step < UINT32_MAX && !data->evaluation_only);
    fill(data, (rt_draw){seed, step + 1, first_row}, batch);
}

void rt_data_evaluation(const rt_data *data, uint32_t first_row, rt_batch *batch)
{
    fill(data, (rt_draw){data->options.eval_seed, 0, first_row}, batch);
}

rt_status rt_encode_file(const rt_data_options *o, const char *path, size_t *count)
{
    char ids[RT_PATH_SIZE];
    rt_token_writer w = {.file.descriptor = -1};
    rt_data *data;
    const bool hdf5 = rt_path_ends_in(path, ".h5") || rt_path_ends_in(path, ".hdf5");
    *count = 0;
    if (strlen(path) >= RT_PATH_SIZE - sizeof ".ids" RT_TEMPORARY_SUFFIX)
        return rt_error(RT_CONFIG, "--encode: the path of the file is too long");
    if (!hdf5 && !rt_path_ends_in(path, ".npy") && !rt_path_ends_in(path, ".bin"))
        return rt_error(RT_CONFIG,
                        "--encode writes a file whose name ends in .h5, .npy or .bin; got '%.600s'",
                        path);
    rt_status status = rt_data_check(o);
    if (!status.code && rt_tasks[o->task].files != RT_FILE_LIST)
        status = rt_error(RT_CONFIG, "--encode needs data.task = text or tokens; got %s",
                          rt_data_task_name(o->task));
    if (!status.code)
        status = rt_data_open_encoder(&data, o, (rt_data_of_model){.vocabulary = NULL});
    if (status.code)
        return status;
    snprintf(ids, sizeof ids, "%s%s", path, hdf5 ? ".ids" : "");
    status = rt_sequence_write(data, &w, path, ids);
    rt_data_close(data);
    *count = w.count;
    if (!hdf5)
        return rt_token_writer_close(&w, status);
    /* HDF5 needs the number of ids in advance, so they are copied from a file */
    status = rt_durable_sync(&w.file, status);
    if (!status.code) {
        rt_durable_file file;
        status = rt_durable_open(&file, path);
        if (!status.code && !rt_token_dataset_write(file.temporary, &w))
            status = rt_error(RT_IO, "cannot write %.800s", file.temporary);
        status = rt_durable_close(&file, status);
    }
    rt_durable_discard(&w.file);
    return status;
}
