#include "train/step/dry_run.h"

#include "train/step/trainer_private.h"

#include <limits.h>
#include <math.h>

/* ---- labels ---- */

/* Tokens that are drawn to count labels, and the length that a sequence is drawn with at most. */
enum { SAMPLED = 1 << 14 };

/* A sequence of those that are drawn first. */
static void draw(rt_labelled_batch *row, const rt_config *c, const rt_data *data, uint32_t number)
{
    if (rt_data_is_for_evaluation(data))
        rt_draw_evaluation(row, data, number);
    else
        rt_draw_training(row, data, c->run.seed, 0, number);
}

/* The mean and the variance of the labels of a sequence. */
static rt_status sample_labels(const rt_config *c, const rt_data *data, int length, double *mean,
                               double *variance)
{
    const int tokens = length < SAMPLED ? length : SAMPLED;
    const int room = SAMPLED / tokens, batch = c->train.batch_size;
    const int count = room < batch ? room : batch;
    double sum = 0, squares = 0;
    rt_labelled_batch row;
    rt_status status = rt_labelled_batch_new(&row, 1, tokens);
    for (int i = 0; i < count && !status.code; i++) {
        draw(&row, c, data, (uint32_t)i);
        sum += row.labels;
        squares += (double)row.labels * row.labels;
    }
    rt_labelled_batch_free(&row);
    *mean = sum / count * length / tokens;
    *variance = (squares / count - sum / count * sum / count) * length / tokens;
    return status.code ? status : rt_data_status(data);
}

rt_status rt_most_labels(int *labels, const rt_config *c, const rt_data *data, int rows, int length)
{
    const double tokens = (double)rows * length, deviations = 3;
    double mean = 0, variance = 0;
    *labels = rows;
    if (rt_data_target(data) == RT_TARGET_SEQUENCE)
        return rt_ok();
    if (tokens > INT_MAX)
        return rt_error(RT_SHAPE, "%d sequences of %d tokens are more than %d tokens", rows, length,
                        INT_MAX);
    *labels = (int)tokens;
    if (rt_data_target(data) == RT_TARGET_TOKENS) /* of a batch of the longest texts, nearly all */
        return rt_ok();
    rt_status status = sample_labels(c, data, length, &mean, &variance);
    const double most = ceil(rows * mean + deviations * sqrt(rows * fmax(variance, 0)));
    *labels = (int)fmax(1, fmin(most, tokens));
    return status;
}

/* ---- passes ---- */

/* The loss of a batch on the way forward, and back again if the graph records. */
static rt_status pass(rt_trainer *t, rt_graph *g, rt_labelled_batch *b, bool records)
{
    const rt_config *c = t->config;
    rt_batch_result ignored = {0};
    b->batch.length = rt_data_longest(t->data, b->length);
    rt_status status = rt_most_labels(&b->labels, c, t->data, b->batch.rows, b->batch.length);
    if (status.code)
        return status;
    rt_graph_clear(g);
    rt_graph_record(g, records);
    if (records)
        rt_graph_set_random(g, c->run.seed, 0, 0);
    rt_tensor *loss = rt_batch_loss(t->models[0], g, b, 1, &ignored);
    return records ? rt_graph_backward(g, loss) : rt_graph_status(g);
}

/* The shards of this process have at most two sizes, each of which fills chunks in its own way. */
static rt_status step(rt_trainer *t, rt_graph *g)
{
    rt_status status = rt_ok();
    int before = 0;
    for (int i = rt_first_shard(t); i < rt_end_shard(t) && !status.code; i++) {
        rt_labelled_batch *b = &t->shard[i].sequences;
        if (b->batch.rows != before)
            status = pass(t, g, b, true);
        before = b->batch.rows;
    }
    return status;
}

static rt_status evaluate_length(rt_trainer *t, rt_graph *g, int length, rt_tally *batches)
{
    rt_labelled_batch part;
    rt_status status =
        rt_labelled_batch_new_dry(&part, t->config->train.batch_size / t->shards, length, batches);
    if (!status.code)
        status = pass(t, g, &part, false);
    rt_labelled_batch_free(&part);
    return status;
}

/* In all lengths that a run evaluates in; the batches are those of the longest. */
static rt_status evaluate(rt_trainer *t, rt_graph *g, size_t *batches)
{
    const rt_lengths *lengths = &t->config->train.eval_lengths;
    rt_status status = rt_ok();
    for (int i = -1; i < lengths->count && !status.code; i++) {
        rt_tally tally = {0};
        status = evaluate_length(t, g, i < 0 ? t->config->data.length : lengths->at[i], &tally);
        *batches = tally.bytes > *batches ? tally.bytes : *batches;
    }
    return status;
}

/* ---- the run ---- */

static size_t size_of_largest(const rt_parameters *p)
{
    size_t largest = 0;
    for (int i = 0; i < p->count; i++) {
        const size_t size = rt_size(&p->list[i]->tensor);
        largest = size > largest ? size : largest;
    }
    return largest * sizeof(real);
}

static rt_status take_passes(rt_dry_run *run, rt_trainer *t)
{
    rt_graph *steps = t->places[0].graph, *alone = rt_graph_new_dry();
    size_t batches = 0;
    if (!alone)
        return rt_out_of_memory("a graph");
    rt_status status = step(t, steps);
    run->step = rt_graph_needs(steps);
    if (!status.code)
        status = evaluate(t, steps, &batches);
    run->training = rt_graph_needs(steps);
    if (!status.code)
        status = evaluate(t, alone, &batches);
    run->evaluation = rt_graph_needs(alone);
    run->evaluated = (size_t)run->places * batches;
    rt_graph_free(alone);
    return status;
}

static rt_status run_dry(rt_dry_run *run, const rt_config *config, const rt_data *data,
                         rt_world *world, bool passes)
{
    rt_trainer_tally tally = {0};
    rt_trainer *t;
    *run = (rt_dry_run){.threads = rt_threads_of(config, world),
                        .places = rt_trainer_places(config, world)};
    rt_status status = rt_trainer_new_dry(&t, config, data, world, &tally);
    if (status.code)
        return status;
    if (passes)
        status = take_passes(run, t);
    run->blocks = t->blocks;
    run->values = tally.model.values.bytes;
    run->gradients = tally.model.gradients.bytes;
    run->tables = tally.model.tables.bytes;
    run->rounded = tally.rounded.bytes;
    run->to_use = config->run.math == RT_MATH_BF16
                      ? t->state.model->parameters.block_size * sizeof(uint16_t)
                      : 0;
    run->moments = tally.states.bytes;
    run->rooms = tally.rooms.bytes;
    run->received = tally.received.bytes;
    run->batches = tally.batches.bytes;
    run->largest = size_of_largest(&t->state.model->parameters);
    run->parameters = t->state.model->parameters.count;
    rt_trainer_end(t);
    return status;
}

rt_status rt_dry_run_training(rt_dry_run *run, const rt_config *config, const rt_data *data,
                              rt_world *world)
{
    return run_dry(run, config, data, world, true);
}

rt_status rt_dry_run_model(rt_dry_run *run, const rt_config *config, const rt_data *data)
{
    return run_dry(run, config, data, NULL, false);
}
