#include "data/data.h"

#include "core/memory.h"
#include "data/task.h"

#include <assert.h>
#include <limits.h>

/* Two symbols at least, so that there is something to tell apart. */
enum { SMALLEST_VOCAB = RT_FIRST_SYMBOL + 2 };

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

rt_status rt_data_check(const rt_data_options *o)
{
    if (!rt_data_task_name(o->task))
        return rt_error(RT_CONFIG, "data.task must be from 0 to %d; got %d", task_count() - 1,
                        o->task);
    const rt_task *task = &rt_tasks[o->task];
    if (o->length < task->shortest)
        return rt_error(RT_CONFIG, "data.length must be at least %d for %s; got %d", task->shortest,
                        task->name, o->length);
    if (!task->open && o->vocab < SMALLEST_VOCAB)
        return rt_error(RT_CONFIG, "data.vocab must be at least %d for %s; got %d", SMALLEST_VOCAB,
                        task->name, o->vocab);
    return task->check ? task->check(o) : rt_ok();
}

rt_status rt_data_open(rt_data **data_new, const rt_data_options *o)
{
    *data_new = NULL;
    rt_status status = rt_data_check(o);
    if (status.code)
        return status;
    rt_data *data = rt_alloc(1, sizeof *data);
    if (!data)
        return rt_out_of_memory("the source of data");
    data->options = *o;
    data->task = &rt_tasks[o->task];
    if (data->task->open)
        status = data->task->open(data);
    if (status.code)
        rt_data_close(data);
    else
        *data_new = data;
    return status;
}

void rt_data_close(rt_data *data)
{
    if (!data)
        return;
    rt_text_close(&data->text);
    rt_free(data);
}

const rt_alphabet *rt_data_alphabet(const rt_data *data)
{
    return data->task->open ? &data->text.alphabet : NULL;
}

int rt_data_vocab(const rt_data *data)
{
    const rt_alphabet *alphabet = rt_data_alphabet(data);
    return alphabet ? RT_FIRST_SYMBOL + alphabet->count : data->options.vocab;
}

int rt_data_length(const rt_data *data)
{
    return data->options.length;
}

long rt_data_evaluation_rows(const rt_data *data, int length)
{
    assert(length >= data->task->shortest);
    return data->task->open ? rt_text_evaluation_rows(&data->text, length) : LONG_MAX;
}

static void clear(rt_sequence row)
{
    for (int t = 0; t < row.length; t++) {
        row.ids[t] = RT_ID_PAD;
        row.labels[t] = RT_NO_LABEL;
        row.mask[t] = 0;
    }
}

/* Draws the given sequence and those after it. */
static void fill(const rt_data *data, rt_draw draw, rt_batch *batch)
{
    assert(batch->length >= data->task->shortest);
    for (int r = 0; r < batch->rows; r++, draw.sequence++) {
        size_t at = (size_t)r * (size_t)batch->length;
        rt_sequence row = {batch->length, batch->ids + at, batch->labels + at, batch->mask + at};
        clear(row);
        data->task->draw(data, draw, row);
    }
}

void rt_data_training(const rt_data *data, uint64_t seed, uint32_t step, uint32_t first_row,
                      rt_batch *batch)
{
    assert(step < UINT32_MAX);
    fill(data, (rt_draw){seed, step + 1, first_row}, batch);
}

void rt_data_evaluation(const rt_data *data, uint32_t first_row, rt_batch *batch)
{
    fill(data, (rt_draw){data->options.eval_seed, 0, first_row}, batch);
}
