#include "train/step/pair_usage.h"

#include "core/memory.h"
#include "train/step/trainer_private.h"

#include <limits.h>

/* Parts of the evaluation, as many at a time as there are workers; their sums are added in the
 * order of the parts. */
typedef struct round {
    rt_trainer *trainer;
    long sequences;
    int rows;                /* of a full part */
    int first;               /* part of the round */
    rt_labelled_batch *room; /* of each worker */
    rt_usage *usages;        /* of each part of the round */
    rt_status *statuses;     /* likewise */
} round;

static void see_part(void *context, int job, int worker)
{
    const round *r = context;
    rt_trainer *t = r->trainer;
    rt_labelled_batch *room = r->room + worker;
    const long first = (long)(r->first + job) * r->rows;
    room->batch.rows = r->sequences - first < r->rows ? (int)(r->sequences - first) : r->rows;
    rt_draw_evaluation(room, t->data, (uint32_t)first);
    rt_transformer_input input = rt_batch_input(room);
    input.usage = r->usages + job;
    rt_usage_clear(input.usage);
    rt_graph_clear(t->graphs[worker]);
    rt_graph_record(t->graphs[worker], false);
    rt_transformer_encode(t->models[worker], t->graphs[worker], &input);
    r->statuses[job] = rt_graph_status(t->graphs[worker]);
}

static rt_status see_parts(round *r, int parts, rt_usage *sum)
{
    const int workers = rt_workers_count(r->trainer->workers);
    rt_status status = rt_ok();
    for (r->first = 0; r->first < parts && !status.code; r->first += workers) {
        const int count = parts - r->first < workers ? parts - r->first : workers;
        rt_workers_run(r->trainer->workers, see_part, r, count);
        status = rt_data_status(r->trainer->data);
        for (int i = 0; i < count && !status.code; i++) {
            status = r->statuses[i];
            rt_usage_add(sum, r->usages + i);
        }
    }
    return status.code ? status : rt_engine_status();
}

static rt_status make_room(round *r, int length)
{
    const int workers = rt_workers_count(r->trainer->workers);
    r->room = rt_alloc((size_t)workers, sizeof *r->room);
    r->usages = rt_alloc((size_t)workers, sizeof *r->usages);
    r->statuses = rt_alloc((size_t)workers, sizeof *r->statuses);
    rt_status status =
        r->room && r->usages && r->statuses ? rt_ok() : rt_out_of_memory("an evaluation");
    for (int i = 0; i < workers && !status.code; i++) {
        status = rt_labelled_batch_new(r->room + i, r->rows, length);
        if (!status.code)
            status = rt_usage_new(r->usages + i, &r->trainer->state.model->options);
    }
    return status;
}

static void free_room(round *r)
{
    const int workers = rt_workers_count(r->trainer->workers);
    for (int i = 0; r->room && i < workers; i++)
        rt_labelled_batch_free(r->room + i);
    for (int i = 0; r->usages && i < workers; i++)
        rt_usage_free(r->usages + i);
    rt_free(r->room);
    rt_free(r->usages);
    rt_free(r->statuses);
}

rt_status rt_trainer_usage(rt_trainer *t, int length, rt_usage *usage)
{
    const int batches = t->config->train.eval_batches, size = t->config->train.batch_size;
    const long asked = batches ? (long)batches * size : LONG_MAX;
    const long there = rt_data_evaluation_rows(t->data, length);
    round r = {.trainer = t, .sequences = asked < there ? asked : there, .rows = size / t->shards};
    rt_status status = rt_usage_new(usage, &t->state.model->options);
    if (status.code)
        return status;
    status = make_room(&r, length);
    rt_trainer_hold(t);
    if (!status.code)
        status = see_parts(&r, (int)((r.sequences + r.rows - 1) / r.rows), usage);
    rt_trainer_let_go();
    free_room(&r);
    if (status.code)
        rt_usage_free(usage);
    return status;
}
