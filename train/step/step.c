/* One step of training. At the end of the file stands the step as a whole: draw a batch, forward
 * and backward, sum the gradients, clip, update. Above it stands what each of these does.
 *
 * A batch is cut into shards, which the workers (threads) of all processes go through: whoever
 * computes a shard, its gradient is the same, and the gradients are summed in the order of one tree
 * (summation.h). Every process moves its share of the parameters (shares.h). With one process
 * rt_world_* and the calls of shares.h do nothing. */

#include "train/step/trainer_private.h"

#include <math.h>
#include <string.h>

/* ---- draw ---- */

static void draw_shard(void *context, int job, int worker)
{
    rt_trainer *t = context;
    rt_shard *s = t->shard + rt_first_shard(t) + job;
    (void)worker;
    rt_draw_training(&s->sequences, t->data, t->config->run.seed, (uint32_t)t->state.step,
                     (uint32_t)s->first_row);
}

/* The sequences of the step, and how many labels and tokens all shards have. */
static rt_status draw_batch(rt_trainer *t)
{
    int64_t counts[3] = {0}; /* labels, processes that have failed, processes asked to stop */
    const int first = rt_first_shard(t), end = rt_end_shard(t);
    rt_workers_run(t->workers, draw_shard, t, end - first);
    rt_status status = rt_data_status(t->data);
    for (int i = first; i < end; i++) {
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

/* ---- forward and backward ---- */

enum { ZEROED = 1 << 18 }; /* numbers of a part */

static void zero_part(void *context, int part, void *room)
{
    const rt_parameters *p = context;
    const size_t first = (size_t)part * ZEROED, left = p->block_size - first;
    (void)room;
    memset(p->grads + first, 0, (left < ZEROED ? left : ZEROED) * sizeof *p->grads);
}

static void differentiate(rt_trainer *t, int number, rt_transformer *model, rt_graph *g)
{
    rt_shard *s = t->shard + number;
    const rt_crew *crew = rt_graph_crew(g);
    rt_batch_result result = {0};
    crew->run(crew->threads, zero_part, &model->parameters,
              (int)((model->parameters.block_size + ZEROED - 1) / ZEROED), (rt_part_room){NULL, 0});
    s->status = rt_ok();
    if (!s->sequences.labels)
        return;
    rt_graph_clear(g);
    rt_graph_record(g, true);
    rt_graph_set_random(g, t->config->run.seed, (uint32_t)t->state.step, (uint32_t)number);
    s->status = rt_graph_backward(g, rt_batch_loss(model, g, &s->sequences, t->divisor, &result));
    t->results[number].loss = result.loss;
    t->results[number].correct = (int64_t)result.correct;
}

static void differentiate_shard(void *context, int job, int worker)
{
    rt_trainer *t = context;
    const int place = rt_trainer_enter(t, worker);
    differentiate(t, t->first + job, t->models[t->block_of[job]], t->places[place].graph);
    rt_trainer_leave(t, place);
}

static rt_status failure_of(const rt_trainer *t, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        const rt_status *status = &t->shard[i].status;
        if (status->code == RT_NONFINITE) /* of the trap, which does not know the step */
            return rt_error(RT_NONFINITE, "step %d: %.900s", t->state.step + 1, status->message);
        if (status->code)
            return *status;
    }
    return rt_ok();
}

/* ---- the sum of the gradients ---- */

static real *gradients_of(const rt_trainer *t, int block, const rt_stretch *part)
{
    return t->models[block]->parameters.grads + part->offset;
}

static void sum_stretch(void *context, int job, int worker)
{
    rt_trainer *t = context;
    const rt_stretch *part = t->stretches + job;
    (void)worker;
    for (int i = 0; i < t->sum_count; i++)
        rt_sum_add(gradients_of(t, t->sums[i].to, part), gradients_of(t, t->sums[i].from, part),
                   part->size);
    if (t->last)
        t->squares[job] = rt_sum_of_squares(gradients_of(t, 0, part), part->size);
}

/* The nodes of the tree that the shards of this process leave. */
static rt_status differentiate_shards(rt_trainer *t)
{
    const int end = rt_end_shard(t);
    t->nodes = (rt_subtrees){.shards = t->shards};
    for (t->first = rt_first_shard(t); t->first < end; t->first += t->group) {
        const int left = end - t->first, count = left < t->group ? left : t->group;
        for (int i = 0; i < count; i++)
            t->block_of[i] = rt_subtrees_free_block(&t->nodes, i);
        rt_workers_run_few(t->workers, t->place_count, differentiate_shard, t, count);
        const rt_status status = failure_of(t, t->first, count);
        if (status.code)
            return status;
        t->sum_count = 0;
        for (int i = 0; i < count; i++)
            t->sum_count +=
                rt_subtrees_take(&t->nodes, rt_subtree_of_shard(t->first + i, t->block_of[i]),
                                 t->sums + t->sum_count);
        t->last = count == left && !t->world;
        if (t->sum_count || t->last)
            rt_workers_run(t->workers, sum_stretch, t, t->stretch_count);
    }
    return rt_ok();
}

/* Forward and backward of the shards of this process, and the sum over all. */
static rt_status find_gradient(rt_trainer *t)
{
    rt_trainer_hold(t);
    rt_status status = differentiate_shards(t);
    rt_trainer_let_go();
    if (!status.code)
        status = rt_engine_status();
    status = rt_world_agree(t->world, status);
    if (status.code)
        return status;
    rt_world_gather(t->world, t->results, t->shares.shards, sizeof *t->results);
    for (int i = 0; i < t->nodes.count; i++)
        t->left[i] = t->models[t->nodes.at[i].block]->parameters.grads;
    rt_shares_sum(&t->shares, t->left, t->workers, t->squares);
    return rt_ok();
}

/* ---- what came of it ---- */

static void measure(const rt_trainer *t, rt_step_result *result)
{
    const rt_parameters *p = &t->state.model->parameters;
    double loss = 0, squares = 0, theta_squares = 0;
    int64_t correct = 0;
    for (int i = 0; i < t->shards; i++) {
        loss += t->results[i].loss;
        correct += t->results[i].correct;
        result->tokens += t->results[i].tokens;
    }
    for (int i = 0; i < t->stretch_count; i++) {
        squares += t->squares[i];
        if (p->list[t->stretches[i].parameter]->role == RT_ROLE_THETA)
            theta_squares += t->squares[i];
    }
    result->loss = loss / t->divisor;
    result->accuracy = (double)correct / t->divisor;
    result->grad_norm = sqrt(squares);
    result->theta_grad_norm = sqrt(theta_squares);
}

/* The first parameter whose gradient is not finite, for the message. */
static rt_status name_nonfinite(const rt_trainer *t, double loss)
{
    const rt_parameters *p = &t->state.model->parameters;
    const char *name = NULL;
    for (int i = 0; i < t->stretch_count && !name; i++)
        if (!isfinite(t->squares[i]))
            name = p->list[t->stretches[i].parameter]->name;
    return rt_error(RT_NONFINITE, "step %d: the loss is %g%s%s%s", t->state.step + 1, loss,
                    name ? ", and the gradient of " : "", name ? name : "",
                    name ? " is not finite" : "");
}

/* ---- update ---- */

static void update_stretch(void *context, int job, int worker)
{
    rt_trainer *t = context;
    const rt_stretch *part = t->stretches + rt_shares_first(&t->shares) + job;
    const rt_parameters *p = &t->state.model->parameters;
    const rt_parameter *parameter = p->list[part->parameter];
    const size_t at = rt_share_state(&t->shares, part);
    real *states[RT_MOST_STATES] = {0};
    for (int i = 0; i < t->rule->state_count; i++)
        states[i] = t->state.states[i] + at;
    const rt_update u = rt_update_of(&t->config->optimizer.settings, parameter, t->rates, t->scale,
                                     t->state.step + 1);
    rt_update_stretch(&u, parameter, part, p->values + part->offset, states,
                      rt_share_gradient(&t->shares, part), t->rooms[worker]);
}

static void update_parameters(rt_trainer *t, double gradient_scale)
{
    t->scale = gradient_scale;
    rt_workers_run(t->workers, update_stretch, t, rt_shares_count(&t->shares));
    rt_shares_spread(&t->shares, t->state.model->parameters.values);
}

/* ---- the step ---- */

rt_status rt_trainer_take_step(rt_trainer *t, rt_step_result *result)
{
    const double clip_norm = t->config->optimizer.settings.clip_norm;
    *result = (rt_step_result){.lr = t->rates.lr};
    rt_status status = draw_batch(t);
    if (!status.code)
        status = find_gradient(t);
    if (status.code)
        return status;
    measure(t, result);
    if (!isfinite(result->loss) || !isfinite(result->grad_norm))
        return name_nonfinite(t, result->loss);
    update_parameters(t, rt_clip_factor(result->grad_norm, clip_norm));
    t->state.step++;
    t->state.sequences += t->config->train.batch_size;
    return rt_ok();
}
