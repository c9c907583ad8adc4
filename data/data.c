/* Sources of sequences: tasks, rules, the vocabulary, queries and drawing. */

#include "core/memory.h"
#include "core/random.h"
#include "data/task.h"
#include "data/tokenizers/bpe.h"
#include "text/files.h"

#include <assert.h>
#include <string.h>

static int task_count(void)
{
    int count = 0;
    while (rt_tasks[count].name)
        count++;
    return count;
}

const char *rt_data_task_name(int task)
{
    return task >= 0 && task < task_count() ? rt_tasks[task].name : NULL;
}

static const rt_task *task_at(int task)
{
    assert(rt_data_task_name(task));
    return &rt_tasks[task];
}

rt_target rt_data_task_target(int task)
{
    return task_at(task)->target;
}

rt_file_use rt_data_task_files(int task)
{
    return task_at(task)->files;
}

bool rt_data_task_labelled(int task)
{
    return rt_data_task_files(task) == RT_ONE_FILE;
}

bool rt_data_task_images(int task)
{
    return task_at(task)->images;
}

bool rt_data_task_labels_texts(int task)
{
    return rt_data_task_labelled(task) && !rt_data_task_images(task);
}

int rt_data_task_axes(int task)
{
    return task_at(task)->axes ? task_at(task)->axes : 1;
}

bool rt_data_task_has_objective(int task)
{
    return task_at(task)->objective;
}

/* ---- rules ---- */

bool rt_documents_are_cut(const rt_data_options *o)
{
    return o->documents && *o->documents && strcmp(o->documents, "none") != 0;
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
    if (!text && rt_documents_are_cut(o))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.documents"),
                       "data.documents needs data.task = text: it says what separates the "
                       "documents of a text");
}

void rt_data_rules(const rt_data_options *o, rt_rule_listener *listener, void *context)
{
    const rt_rule_sink to = {listener, context};
    if (!rt_data_task_name(o->task)) {
        rt_rule_broken(to, RT_OPTIONS("data.task"), "data.task must be from 0 to %d; got %d",
                       task_count() - 1, o->task);
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

/* ---- the vocabulary of a text ---- */

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

/* Reads data.vocab_file, at level bpe with the special ids of the given vocabulary: they may come
 * from other files. */
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

rt_status rt_data_use_vocabulary(rt_data *data, const rt_vocabulary *v)
{
    data->vocabulary = v;
    data->special = v->special;
    data->vocab = v->count;
    return check_special(&data->options, v);
}

/* Prefers the given vocabulary, which data.vocab_file must equal. */
rt_status rt_text_find_vocabulary(rt_data *data, rt_vocabulary_maker *make, void *context)
{
    const rt_data_options *o = &data->options;
    const rt_vocabulary *given = data->meaning.vocabulary;
    rt_status status = rt_ok();
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
    return status.code ? status : rt_data_use_vocabulary(data, given ? given : data->own);
}

/* ---- queries ---- */

bool rt_data_is_for_evaluation(const rt_data *data)
{
    return data->evaluation_only;
}

bool rt_data_reads_training(const rt_data *data)
{
    return !data->evaluation_only || !data->options.eval_file;
}

int rt_data_vocab(const rt_data *data)
{
    return data->vocab;
}

int rt_data_mask(const rt_data *data)
{
    return data->special.mask;
}

int rt_data_length(const rt_data *data)
{
    return data->options.length;
}

bool rt_data_has_special_tokens(const rt_data *data)
{
    return !data->task->token_ids || data->options.special_tokens == RT_SPECIAL_TOKENS_YES;
}

bool rt_data_begins(const rt_data *data)
{
    return data->options.begin != RT_BEGIN_NONE && rt_data_has_special_tokens(data);
}

bool rt_data_ends(const rt_data *data)
{
    return data->options.end != RT_BEGIN_NONE;
}

rt_target rt_data_target(const rt_data *data)
{
    return data->task->target;
}

int rt_data_classes(const rt_data *data)
{
    return data->labels ? data->labels->count : data->task->classes;
}

const rt_labels *rt_data_labels(const rt_data *data)
{
    return data->labels;
}

bool rt_data_has_distances(const rt_data *data)
{
    return data->task->distances;
}

bool rt_data_answers(const rt_data *data)
{
    return data->options.shortest > 0;
}

int rt_data_types(const rt_data *data)
{
    const int own = data->examples && data->examples->pairs ? 2 : 0;
    return data->meaning.types > own ? data->meaning.types : own;
}

int rt_data_patch(const rt_data *data)
{
    const rt_images *x = data->images;
    return x ? data->options.patch * data->options.patch * x->channels : 0;
}

rt_status rt_data_status(const rt_data *data)
{
    return rt_token_runs_status(&data->runs);
}

const rt_vocabulary *rt_data_vocabulary(const rt_data *data)
{
    return data->vocabulary;
}

rt_unknown rt_data_unknown(const rt_data *data)
{
    return data->unknown[RT_PART_TRAINING];
}

rt_unknown rt_data_evaluation_unknown(const rt_data *data)
{
    return data->unknown[RT_PART_EVALUATION];
}

/* ---- drawing ---- */

rt_sequence rt_sequence_clear(const rt_data *data, rt_batch *batch, int number)
{
    const size_t at = (size_t)number * (size_t)batch->length, patch = (size_t)rt_data_patch(data);
    const rt_sequence row = {batch->length,
                             batch->ids + at,
                             batch->labels + at,
                             batch->mask + at,
                             batch->types ? batch->types + at : NULL,
                             batch->distances ? batch->distances + at : NULL,
                             batch->patches ? batch->patches + at * patch : NULL};
    for (int t = 0; t < row.length; t++) {
        row.ids[t] = data->special.pad;
        row.labels[t] = RT_NO_LABEL;
        row.mask[t] = 0;
        if (row.types)
            row.types[t] = 0;
        if (row.distances)
            row.distances[t] = 0;
    }
    for (size_t i = 0; row.patches && i < (size_t)row.length * patch; i++)
        row.patches[i] = 0;
    return row;
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
        (rt_data_answers(data) ? draw_answered
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
