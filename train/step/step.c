/* One step of training: rt_trainer_take_step, after the passes 1 to 4 that it calls.
 *
 * A batch is cut into shards, which the workers of all ranks compute. The gradient of a shard does
 * not depend on who computes it, and gradients are summed in the order of one tree (shares.c).
 * Every rank updates its slice of the parameters. With a single process, rt_world_* and rt_shares_*
 * do nothing. */

#include "train/step/private.h"

#include <math.h>
#include <string.h>

/* ---- 1. draw ---- */

static void draw_shard(void *context, int job, int worker)
{
    rt_trainer *t = context;
    rt_shard *s = t->shard + t->first_shard + job;
    (void)worker;
    rt_draw_training(&s->sequences, t->data, t->config->run.seed, (uint32_t)t->state.step,
                     (uint32_t)s->first_row);
}

/* Draws the sequences of the step, and counts the labels and tokens of all shards. */
static rt_status draw_batch(rt_trainer *t)
{
    int64_t counts[3] = {0}; /* labels, failed ranks, ranks asked to stop */
    rt_workers_run(t->workers, 0, draw_shard, t, t->end_shard - t->first_shard);
    rt_status status = rt_data_status(t->data);
    for (int i = t->first_shard; i < t->end_shard; i++) {
        const rt_labelled_batch *b = &t->shard[i].sequences;
        t->results[i] = (rt_shard_result){.tokens = (int64_t)b->batch.rows * b->batch.length};
        counts[0] += b->labels;
    }
    counts[1] = status.code != RT_OK;
    counts[2] = t->stop && t->stop();
    rt_world_sum(t->world, counts, 3);
    if (counts[2] && t->on_stop)
        t->on_stop();
    if (counts[1])
        return rt_world_agree(t->world, status);
    if (!counts[0])
        return rt_error(RT_DATA, "step %d: no position has a label", t->state.step + 1);
    t->divisor = (double)counts[0];
    return rt_ok();
}

/* ---- 2. forward, backward, and the sums of this rank ---- */

enum { ZEROED = 1 << 18 }; /* elements of a part */

static void zero_part(void *context, int part, void *scratch)
{
    const rt_parameters *p = context;
    const size_t first = (size_t)part * ZEROED, left = p->block_size - first;
    (void)scratch;
    memset(p->grads + first, 0, (left < ZEROED ? left : ZEROED) * sizeof *p->grads);
}

static void differentiate_shard(void *context, int job, int worker)
{
    rt_trainer *t = context;
    const int number = t->first + job;
    rt_shard *s = t->shard + number;
    rt_transformer *model = t->models[s->block];
    rt_graph *g = t->graphs[worker];
    const rt_threads *threads = rt_graph_threads(g);
    rt_batch_result result = {0};
    threads->run(threads->runner, zero_part, &model->parameters,
                 (int)((model->parameters.block_size + ZEROED - 1) / ZEROED),
                 (rt_part_scratch){NULL, 0});
    s->status = rt_ok();
    if (s->sequences.labels) {
        rt_graph_clear(g);
        rt_graph_record(g, true);
        rt_graph_set_random(g, t->config->run.seed, (uint32_t)t->state.step, (uint32_t)number);
        s->status =
            rt_graph_backward(g, rt_batch_loss(model, g, &s->sequences, t->divisor, &result));
    }
    t->results[number].loss = result.loss;
    t->results[number].correct = (int64_t)result.correct;
}

static void sum_span(void *context, int job, int worker)
{
    rt_trainer *t = context;
    const rt_span *span = t->spans + job;
    const size_t at = span->offset;
    (void)worker;
    for (int i = t->first_sum; i < t->end_sum; i++)
        rt_sum_add(t->models[t->sums[i].to]->parameters.grads + at,
                   t->models[t->sums[i].from]->parameters.grads + at, span->size);
    if (t->last)
        t->shares.squares[job] = rt_sum_of_squares(t->models[0]->parameters.grads + at, span->size);
}

/* Differentiates the shards of this rank in groups, and adds them up to subtrees. */
static rt_status differentiate_shards(rt_trainer *t)
{
    t->end_sum = 0;
    for (t->first = t->first_shard; t->first < t->end_shard; t->first += t->group) {
        const int left = t->end_shard - t->first, count = left < t->group ? left : t->group;
        rt_workers_run(t->workers, t->graph_count, differentiate_shard, t, count);
        for (int i = t->first; i < t->first + count; i++) {
            const rt_status *status = &t->shard[i].status;
            if (status->code == RT_NONFINITE) /* the trap does not know the step */
                return rt_error(RT_NONFINITE, "step %d: %.900s", t->state.step + 1,
                                status->message);
            if (status->code)
                return *status;
        }
        t->first_sum = t->end_sum;
        t->end_sum = t->shard[t->first + count - 1].sums;
        t->last = count == left && !t->world;
        if (t->first_sum < t->end_sum || t->last)
            rt_workers_run(t->workers, 0, sum_span, t, t->span_count);
    }
    return rt_engine_status();
}

/* ---- 3. sum over ranks, loss and norms ---- */

/* Gathers the results of all shards, sums the gradients of all ranks, and measures both. The
 * error for a step that is not finite names the first such gradient. */
static rt_status measure_step(rt_trainer *t, rt_step_result *result)
{
    const rt_parameters *p = &t->state.model->parameters;
    const char *bad = NULL;
    double loss = 0, squares = 0, theta_squares = 0;
    int64_t correct = 0;
    rt_world_gather(t->world, t->results, t->shares.shards, sizeof *t->results);
    rt_shares_sum(t);
    for (int i = 0; i < t->shards; i++) {
        loss += t->results[i].loss;
        correct += t->results[i].correct;
        result->tokens += t->results[i].tokens;
    }
    for (int i = 0; i < t->span_count; i++) {
        squares += t->shares.squares[i];
        if (p->list[t->spans[i].parameter]->role == RT_ROLE_THETA)
            theta_squares += t->shares.squares[i];
        if (!bad && !isfinite(t->shares.squares[i]))
            bad = p->list[t->spans[i].parameter]->name;
    }
    result->loss = loss / t->divisor;
    result->accuracy = (double)correct / t->divisor;
    result->grad_norm = sqrt(squares);
    result->theta_grad_norm = sqrt(theta_squares);
    if (isfinite(result->loss) && isfinite(result->grad_norm))
        return rt_ok();
    return rt_error(RT_NONFINITE, "step %d: the loss is %g%s%s%s", t->state.step + 1, result->loss,
                    bad ? ", and the gradient of " : "", bad ? bad : "",
                    bad ? " is not finite" : "");
}

/* ---- 4. clip and update ---- */

static void update_span(void *context, int job, int worker)
{
    rt_trainer *t = context;
    const rt_span *span = t->spans + t->shares.first + job;
    const rt_parameters *p = &t->state.model->parameters;
    const rt_parameter *parameter = p->list[span->parameter];
    const size_t at = span->offset - t->shares.start;
    real *states[RT_MOST_STATES] = {0};
    for (int i = 0; i < t->rule->state_count; i++)
        states[i] = t->state.states[i] + (t->shares.rank ? at : span->offset);
    rt_update u = rt_update_of(&t->config->optimizer.settings, parameter, t->rates, t->scale,
                               t->state.step + 1);
    u.scratch = t->scratch[worker];
    rt_update_span(&u, parameter, span, p->values + span->offset, states,
                   t->shares.subtrees[0] + at);
}

/* ---- the step ---- */

rt_status rt_trainer_take_step(rt_trainer *t, rt_step_result *result)
{
    *result = (rt_step_result){.lr = t->rates.lr};
    RT_TRY(draw_batch(t)); /* 1 */
    rt_trainer_hold_rounded(t);
    const rt_status status = differentiate_shards(t); /* 2 */
    rt_trainer_release_rounded();
    RT_TRY(rt_world_agree(t->world, status));
    RT_TRY(measure_step(t, result)); /* 3 */
    t->scale = rt_clip_factor(result->grad_norm, t->config->optimizer.settings.clip_norm);
    rt_workers_run(t->workers, 0, update_span, t, t->shares.count); /* 4 */
    rt_world_gather(t->world, t->state.model->parameters.values, t->shares.numbers, sizeof(real));
    t->state.step++;
    t->profiled++;
    t->state.sequences += t->config->train.batch_size;
    return rt_ok();
}
