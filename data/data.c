/* Sources of sequences: rules, opening, queries, drawing, and writing their ids. The kind of the
 * task does the work. */

#include "core/memory.h"
#include "data/encode_text.h"
#include "data/gzip.h"
#include "data/json_lines.h"
#include "data/labels.h"
#include "data/source.h"
#include "data/token_formats.h"
#include "data/tokenizers/tokens.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

static const rt_source *source_of(int task)
{
    static const rt_source *const sources[] = {[RT_DATA_TOY] = &rt_toys,
                                               [RT_DATA_WINDOWS] = &rt_windows,
                                               [RT_DATA_LABELLED] = &rt_labelled,
                                               [RT_DATA_IMAGES] = &rt_images};
    return sources[rt_tasks[task].kind];
}

/* A pair has two fields, all else one. */
static void check_fields(const rt_data_options *o, rt_rule_sink to)
{
    const int most = rt_tasks[o->task].target == RT_TARGET_SEQUENCE ? 2 : 1;
    rt_list_item item;
    int count = 0;
    bool empty = !*rt_data_field(o, true);
    for (const char *rest = rt_data_field(o, false); rest; count++) {
        rest = rt_list_parse(rest, &item);
        empty |= !item.length;
    }
    if (count > most || empty)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.field", "data.label_field"),
                       "data.field must name one field for %s%s, and data.label_field one; got "
                       "'%.60s' and '%.60s'",
                       rt_tasks[o->task].name, most > 1 ? ", or two for a pair" : "",
                       rt_data_field(o, false), rt_data_field(o, true));
}

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
    if (text && rt_data_has_files(o, true))
        check_fields(o, to);
    if (!text && rt_documents_are_named(o))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.documents"),
                       "data.documents needs data.task = text: it says what separates the "
                       "documents of a text");
    if (text && rt_documents_are_named(o) && !rt_data_has_files(o, false))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.documents", "data.file"),
                       "data.documents is for plain texts: each line of FILE.jsonl is a document");
}

/* Returns false if memory is exhausted. */
static bool check_rules(const rt_data_options *o, rt_rule_sink to)
{
    bool whole = true;
    int tasks = 0;
    while (rt_tasks[tasks].name)
        tasks++;
    if (o->task < 0 || o->task >= tasks) {
        rt_rule_broken(to, RT_OPTIONS("data.task"), "data.task must be from 0 to %d; got %d",
                       tasks - 1, o->task);
        return true;
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
    const bool framed = task->kind == RT_DATA_WINDOWS || task->kind == RT_DATA_LABELLED;
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
        return true;
    /* Written to refuse a NaN as well. */
    if (task->objective && o->objective == RT_OBJECTIVE_MLM &&
        !(o->mask_probability > 0 && o->mask_probability <= 1))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.objective", "data.mask_probability"),
                       "data.mask_probability must be above 0 and at most 1; got %g",
                       o->mask_probability);
    if (task->kind != RT_DATA_TOY) {
        check_files(o, to);
        whole = source_of(o->task)->check(o, source_of(o->task)->check_file, to);
    }
    if (task->check)
        task->check(o, to);
    return whole;
}

void rt_data_rules(const rt_data_options *o, rt_rule_listener *listener, void *context)
{
    check_rules(o, (rt_rule_sink){listener, context});
}

rt_status rt_data_check(const rt_data_options *o)
{
    rt_first_rule first = {RT_CONFIG, rt_ok()};
    const bool whole = check_rules(o, (rt_rule_sink){rt_keep_first_rule, &first});
    return whole ? first.status : rt_out_of_memory("the files of data");
}

static rt_data *new_data(const rt_data_options *o, rt_data_of_model meaning)
{
    struct {
        rt_data data;
        struct rt_data_state state;
    } *both = rt_alloc(1, sizeof *both);
    if (!both)
        return NULL;
    rt_data *data = &both->data;
    data->state = &both->state;
    data->options = *o;
    data->task = &rt_tasks[o->task];
    data->vocab = o->vocab;
    data->special = rt_default_special_ids;
    if (!rt_data_has_special_tokens(data))
        data->special = (rt_special_ids){RT_ID_PAD, RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID};
    if (data->task->token_ids)
        data->special.mask = o->mask_id > 0 ? o->mask_id : RT_ID_MASK;
    data->state->meaning = meaning;
    data->state->documents = rt_documents_are_cut(o);
    data->types = meaning.types;
    data->varies = o->shortest > 0;
    data->longest = INT_MAX;
    return data;
}

/* Returns the source, or closes it after an error. Raises vocab to the rows of the model's token
 * embedding if these are more. */
static rt_status give(rt_data **data_new, rt_data *data, rt_status status)
{
    if (data->vocabulary && data->state->meaning.ids > data->vocab)
        data->vocab = data->state->meaning.ids;
    data->classes = data->labels ? data->labels->count : data->task->classes;
    if (status.code)
        rt_data_close(data);
    *data_new = status.code ? NULL : data;
    return status;
}

/* A task without text ignores the given vocabulary. */
static rt_status check_vocabulary(const rt_data_options *o, const rt_vocabulary *given)
{
    if (rt_tasks[o->task].vocab || !given)
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

static rt_status open_data(rt_data **data_new, const rt_data_options *o, rt_data_of_model meaning,
                           bool evaluation_only)
{
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(o);
    *data_new = NULL;
    RT_TRY(rt_allocated(!files.failed, "the files of data"));
    RT_TRY(rt_data_check(o));
    if (evaluation_only && o->eval_file)
        rt_data_files_skip(&files, RT_PART_TRAINING);
    rt_data *data = new_data(o, meaning);
    RT_TRY(rt_allocated(data, "the source of data"));
    data->evaluation_only = evaluation_only;
    rt_status status = check_vocabulary(o, meaning.vocabulary);
    if (!status.code && source_of(o->task)->open)
        status = source_of(o->task)->open(data, &files);
    data->options.watch = NULL;
    for (size_t i = 0; i < files.count; i++)
        if (rt_name_is_packed(files.list[i].path) || rt_json_is_lines(files.list[i].path))
            data->unknown[files.list[i].part].at = RT_NO_PLACE;
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
    RT_TRY(rt_allocated(data, "the source of data"));
    data->labels = meaning.labels;
    return give(data_new, data,
                meaning.vocabulary ? rt_data_use_vocabulary(data, meaning.vocabulary) : rt_ok());
}

void rt_data_close(rt_data *data)
{
    if (!data)
        return;
    if (data->state->rows)
        source_of(data->options.task)->close(data->state->rows);
    rt_labels_free(data->state->labels);
    rt_vocabulary_free(data->state->vocabulary);
    rt_free(data);
}

/* Returns the kind of an open source, NULL for a toy task or a source without data. */
static const rt_source *kind_of(const rt_data *data)
{
    return data->state->rows ? source_of(data->options.task) : NULL;
}

int rt_data_evaluation_line(const rt_data *data, uint32_t sequence)
{
    const rt_source *kind = kind_of(data);
    const rt_draw draw = {data->options.eval_seed, 0, sequence};
    return kind && kind->line ? kind->line(data, draw) : 0;
}

long rt_data_evaluation_rows(const rt_data *data, int length)
{
    assert(length >= data->task->shortest);
    return kind_of(data) ? kind_of(data)->rows(data, length) : LONG_MAX;
}

/* Draws the rows of a batch, starting at draw.sequence. */
static void fill(const rt_data *data, rt_draw draw, rt_batch *batch)
{
    const rt_source *kind = source_of(data->options.task);
    assert(batch->length >= data->task->shortest);
    for (int r = 0; r < batch->rows; r++, draw.sequence++)
        kind->draw(data, draw, rt_sequence_clear(data, batch, r));
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
    rt_data *data;
    *count = 0;
    if (strlen(path) >= RT_PATH_SIZE - sizeof ".ids" RT_TEMPORARY_SUFFIX)
        return rt_error(RT_CONFIG, "--encode: the path of the file is too long");
    if (!rt_token_format_of(path))
        return rt_error(RT_CONFIG,
                        "--encode writes a file whose name ends in .h5, .npy or .bin; got '%.600s'",
                        path);
    RT_CLOSED_BY(rt_data_files_free) rt_data_files files = rt_data_files_of(o);
    RT_TRY(rt_allocated(!files.failed, "the files of data"));
    RT_TRY(rt_data_check(o));
    if (!source_of(o->task)->write)
        return rt_error(RT_CONFIG, "--encode needs data.task = text or tokens; got %s",
                        rt_data_task_name(o->task));
    RT_TRY(rt_data_open_encoder(&data, o, (rt_data_of_model){.vocabulary = NULL}));
    rt_data_files_skip(&files, RT_PART_EVALUATION);
    const rt_status status = source_of(o->task)->write(data, &files, path, count);
    rt_data_close(data);
    return status;
}
