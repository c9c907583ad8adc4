/* Evaluation: the sequences are cut into parts, which depend on the configuration alone, and every
 * process of a world has some of the parts. */

#include "train/step/trainer_private.h"

#include "core/memory.h"
#include "data/tokenizers/vocabulary.h"

#include <limits.h>
#include <string.h>

/* As many sequences at a time as the first shard has. */
typedef struct part {
    rt_batch_result result;
    long labels;
    long bytes; /* of text, that these stand for; below 0: not known */
} part;

typedef struct evaluation {
    rt_trainer *trainer;
    rt_extent extent;
    rt_labelled_batch *room; /* of each place */
    int64_t *confusions;     /* of each place, (classes, classes); or NULL */
    part *parts;             /* of all processes */
    rt_status *statuses;     /* of each place: its first failure */
    size_t *starts;          /* (processes + 1): the first part of each */
} evaluation;

rt_extent rt_trainer_extent(const rt_trainer *t, int length, int batches)
{
    const int size = t->config->train.batch_size, rows = size / t->shards;
    const long asked = batches ? (long)batches * size : LONG_MAX;
    const long there = rt_data_evaluation_rows(t->data, length);
    const long sequences = asked < there ? asked : there;
    return (rt_extent){.sequences = sequences,
                       .rows = rows,
                       .parts = (int)((sequences + rows - 1) / rows)};
}

void rt_trainer_draw_part(const rt_trainer *t, const rt_extent *extent, size_t number,
                          rt_labelled_batch *room)
{
    const long first = (long)number * extent->rows, left = extent->sequences - first;
    room->batch.rows = left < extent->rows ? (int)left : extent->rows;
    rt_draw_evaluation(room, t->data, (uint32_t)first);
}

static size_t confusion_size(const rt_trainer *t)
{
    const size_t classes = (size_t)rt_data_classes(t->data);
    return classes * classes;
}

static long count_bytes(const rt_data *data, const rt_labelled_batch *b)
{
    const rt_vocabulary *v = rt_data_vocabulary(data);
    long bytes = 0;
    for (int i = 0; i < b->labels; i++) {
        const int more =
            v && rt_data_target(data) == RT_TARGET_IDS ? rt_vocabulary_bytes(v, b->wanted[i]) : -1;
        if (more < 0)
            return -1;
        bytes += more;
    }
    return bytes;
}

static void evaluate(const evaluation *e, int job, int place)
{
    const rt_trainer *t = e->trainer;
    rt_labelled_batch *room = e->room + place;
    rt_graph *g = t->places[place].graph;
    const size_t number = e->starts[rt_world_rank(t->world)] + (size_t)job;
    part *p = e->parts + number;
    rt_trainer_draw_part(t, &e->extent, number, room);
    p->labels = room->labels;
    p->bytes = count_bytes(t->data, room);
    if (!room->labels)
        return;
    rt_graph_clear(g);
    rt_graph_record(g, false);
    rt_batch_loss(t->models[place], g, room, 1, &p->result);
    if (!e->statuses[place].code)
        e->statuses[place] = rt_graph_status(g);
}

static void evaluate_part(void *context, int job, int worker)
{
    const evaluation *e = context;
    const int place = rt_trainer_enter(e->trainer, worker);
    evaluate(e, job, place);
    rt_trainer_leave(e->trainer, place);
}

static rt_status failure_of(const evaluation *e, int places)
{
    const rt_trainer *t = e->trainer;
    if (rt_world_any(t->world, t->stop && t->stop()) && t->on_stop)
        t->on_stop();
    rt_status status = rt_data_status(e->trainer->data);
    for (int i = 0; i < places && !status.code; i++)
        status = e->statuses[i];
    if (!status.code)
        status = rt_engine_status();
    return rt_world_agree(e->trainer->world, status);
}

static rt_status sum_parts(const evaluation *e, rt_evaluation *result)
{
    size_t correct = 0;
    bool known = true;
    rt_world_gather(e->trainer->world, e->parts, e->starts, sizeof *e->parts);
    for (int i = 0; i < e->extent.parts; i++) {
        result->loss += e->parts[i].result.loss;
        result->labels += e->parts[i].labels;
        correct += e->parts[i].result.correct;
        result->bytes += e->parts[i].bytes;
        known = known && e->parts[i].bytes >= 0;
    }
    result->bytes = known ? result->bytes : 0;
    if (!result->labels)
        return rt_error(RT_DATA, "no position of the evaluation has a label");
    result->loss /= (double)result->labels;
    result->accuracy = (double)correct / (double)result->labels;
    return rt_ok();
}

/* Whole numbers: in whatever order they are added, the sums are the same. */
static void sum_confusions(const evaluation *e, int places, int64_t *confusion)
{
    const size_t size = confusion_size(e->trainer);
    memset(confusion, 0, size * sizeof *confusion);
    for (int i = 0; i < places; i++)
        for (size_t k = 0; k < size; k++)
            confusion[k] += e->confusions[(size_t)i * size + k];
}

static void share_parts(evaluation *e)
{
    const int size = rt_world_size(e->trainer->world);
    for (int i = 0; i <= size; i++)
        e->starts[i] = (size_t)rt_share_start(e->extent.parts, size, i);
}

static rt_status make_room(evaluation *e, int length, int places, const int64_t *confusion)
{
    const rt_trainer *t = e->trainer;
    e->parts = rt_alloc((size_t)e->extent.parts, sizeof *e->parts);
    e->room = rt_alloc((size_t)places, sizeof *e->room);
    e->statuses = rt_alloc((size_t)places, sizeof *e->statuses);
    e->starts = rt_alloc((size_t)rt_world_size(t->world) + 1, sizeof *e->starts);
    if (confusion)
        e->confusions = rt_alloc((size_t)places * confusion_size(t), sizeof *e->confusions);
    rt_status status =
        e->parts && e->room && e->statuses && e->starts && !confusion == !e->confusions
            ? rt_ok()
            : rt_out_of_memory("an evaluation");
    for (int i = 0; i < places && !status.code; i++) {
        status = rt_labelled_batch_new(e->room + i, e->extent.rows, length);
        if (confusion)
            e->room[i].confusion = e->confusions + (size_t)i * confusion_size(t);
    }
    return rt_world_agree(t->world, status);
}

rt_status rt_trainer_take_evaluation(rt_trainer *t, rt_order_of_evaluation what,
                                     rt_evaluation *result, int64_t *confusion)
{
    const int places = t->place_count, rank = rt_world_rank(t->world);
    evaluation e = {.trainer = t, .extent = rt_trainer_extent(t, what.length, what.batches)};
    *result = (rt_evaluation){.sequences = e.extent.sequences};
    rt_status status = make_room(&e, what.length, places, confusion);
    if (!status.code) {
        share_parts(&e);
        rt_trainer_hold(t);
        rt_workers_run_few(t->workers, places, evaluate_part, &e,
                           (int)(e.starts[rank + 1] - e.starts[rank]));
        rt_trainer_let_go();
        status = failure_of(&e, places);
    }
    if (!status.code)
        status = sum_parts(&e, result);
    if (!status.code && confusion) {
        sum_confusions(&e, places, confusion);
        rt_world_sum(t->world, confusion, confusion_size(t));
    }
    for (int i = 0; e.room && i < places; i++)
        rt_labelled_batch_free(e.room + i);
    rt_free(e.room);
    rt_free(e.parts);
    rt_free(e.confusions);
    rt_free(e.statuses);
    rt_free(e.starts);
    return status;
}
