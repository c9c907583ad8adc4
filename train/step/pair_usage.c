#include "train/step/pair_usage.h"

#include "core/memory.h"
#include "train/step/trainer_private.h"

/* Parts of the evaluation, as many at a time as there are places; their sums are added in the
 * order of the parts. */
typedef struct round {
    rt_trainer *trainer;
    rt_extent extent;
    int first;               /* part of the round */
    rt_labelled_batch *room; /* of each place */
    rt_usage *usages;        /* of each part of the round */
    rt_status *statuses;     /* likewise */
} round;

static void see_part(void *context, int job, int worker)
{
    const round *r = context;
    rt_trainer *t = r->trainer;
    const int place = rt_trainer_enter(t, worker);
    rt_graph *g = t->places[place].graph;
    rt_labelled_batch *room = r->room + place;
    rt_trainer_draw_part(t, &r->extent, (size_t)(r->first + job), room);
    rt_transformer_input input = rt_batch_input(room);
    input.usage = r->usages + job;
    rt_usage_clear(input.usage);
    rt_graph_clear(g);
    rt_graph_record(g, false);
    rt_transformer_encode(t->models[place], g, &input);
    r->statuses[job] = rt_graph_status(g);
    rt_trainer_leave(t, place);
}

static rt_status see_parts(round *r, rt_usage *sum)
{
    const int places = r->trainer->place_count, parts = r->extent.parts;
    rt_status status = rt_ok();
    for (r->first = 0; r->first < parts && !status.code; r->first += places) {
        const int count = parts - r->first < places ? parts - r->first : places;
        rt_workers_run_few(r->trainer->workers, places, see_part, r, count);
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
    const int places = r->trainer->place_count;
    r->room = rt_alloc((size_t)places, sizeof *r->room);
    r->usages = rt_alloc((size_t)places, sizeof *r->usages);
    r->statuses = rt_alloc((size_t)places, sizeof *r->statuses);
    rt_status status =
        r->room && r->usages && r->statuses ? rt_ok() : rt_out_of_memory("an evaluation");
    for (int i = 0; i < places && !status.code; i++) {
        status = rt_labelled_batch_new(r->room + i, r->extent.rows, length);
        if (!status.code)
            status = rt_usage_new(r->usages + i, &r->trainer->state.model->options);
    }
    return status;
}

static void free_room(round *r)
{
    const int places = r->trainer->place_count;
    for (int i = 0; r->room && i < places; i++)
        rt_labelled_batch_free(r->room + i);
    for (int i = 0; r->usages && i < places; i++)
        rt_usage_free(r->usages + i);
    rt_free(r->room);
    rt_free(r->usages);
    rt_free(r->statuses);
}

rt_status rt_trainer_usage(rt_trainer *t, int length, rt_usage *usage)
{
    round r = {.trainer = t, .extent = rt_trainer_extent(t, length, t->config->train.eval_batches)};
    rt_status status = rt_usage_new(usage, &t->state.model->options);
    if (status.code)
        return status;
    status = make_room(&r, length);
    rt_trainer_hold(t);
    if (!status.code)
        status = see_parts(&r, usage);
    rt_trainer_let_go();
    free_room(&r);
    if (status.code)
        rt_usage_free(usage);
    return status;
}
