#include "data/data.h"

#include "data/task.h"

#include <assert.h>

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

bool rt_data_task_has_objective(int task)
{
    return task_at(task)->objective;
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
    if (o->begin != RT_BEGIN_AUTO && task->files == RT_NO_FILE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.begin"),
                       "data.begin = none needs data.task = text, tokens, classify or tag; got %s",
                       task->name);
    /* Tasks without labels ignore data.end, but a model may keep it for a training with labels. */
    if (o->end != RT_BEGIN_AUTO && task->files == RT_NO_FILE)
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.end"),
                       "data.end = none needs data.task = text, tokens, classify or tag; got %s",
                       task->name);
    if (rt_task_is_token_ids(task) && o->mask_id >= o->vocab)
        rt_rule_broken(to, RT_OPTIONS("data.mask_id", "data.vocab"),
                       "data.mask_id must be below data.vocab = %d; got %d", o->vocab, o->mask_id);
    if (!too_short && !too_few && task->check)
        task->check(o, to);
}

rt_status rt_data_check(const rt_data_options *o)
{
    rt_first_rule first = {RT_CONFIG, rt_ok()};
    rt_data_rules(o, rt_keep_first_rule, &first);
    return first.status;
}

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
    return !rt_task_is_token_ids(data->task) ||
           data->options.special_tokens == RT_SPECIAL_TOKENS_YES;
}

bool rt_data_begins(const rt_data *data)
{
    return data->options.begin != RT_BEGIN_NONE && rt_data_has_special_tokens(data);
}

bool rt_data_ends(const rt_data *data)
{
    return data->options.end != RT_BEGIN_NONE;
}

rt_text_frame rt_data_frame(const rt_data *data)
{
    rt_text_frame frame = rt_vocabulary_frame(data->vocabulary);
    if (data->options.begin == RT_BEGIN_NONE)
        frame.first = RT_NO_ID;
    if (data->options.end == RT_BEGIN_NONE)
        frame.last = RT_NO_ID;
    return frame;
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

int rt_data_types(const rt_data *data)
{
    const int own = data->examples && data->examples->pairs ? 2 : 0;
    return data->meaning.types > own ? data->meaning.types : own;
}

rt_sequence rt_sequence_clear(const rt_data *data, rt_batch *batch, int number)
{
    const size_t at = (size_t)number * (size_t)batch->length;
    const rt_sequence row = {batch->length, batch->ids + at, batch->labels + at, batch->mask + at,
                             batch->types ? batch->types + at : NULL};
    for (int t = 0; t < row.length; t++) {
        row.ids[t] = data->special.pad;
        row.labels[t] = RT_NO_LABEL;
        row.mask[t] = 0;
        if (row.types)
            row.types[t] = 0;
    }
    return row;
}

/* Draws the rows of a batch, starting at draw.sequence. */
static void fill(const rt_data *data, rt_draw draw, rt_batch *batch)
{
    assert(batch->length >= data->task->shortest);
    for (int r = 0; r < batch->rows; r++, draw.sequence++)
        data->task->draw(data, draw, rt_sequence_clear(data, batch, r));
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
