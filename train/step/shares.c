/* What each process of a world has of the shards and of the parameters, and what the processes
 * exchange in a step.
 *
 * A process differentiates a stretch of the shards, which leaves it with nodes of the tree of sums.
 * Of each node it sends to every process that process's share of the numbers; who has the nodes of
 * all for its share adds them in the order of the tree, updates its parameters, and hands these to
 * all. If every process leaves one node, it so sends 2 (P-1)/P of the gradients, the least there
 * is. (Thakur, Rabenseifner and Gropp 2005: a reduce-scatter by pairs, then a gather.)
 */

#include "train/step/trainer_private.h"

#include "core/memory.h"

#include <limits.h>

static int rank_of(const rt_trainer *t)
{
    return rt_world_rank(t->world);
}

int rt_first_shard(const rt_trainer *t)
{
    return (int)t->shares.shards[rank_of(t)];
}

int rt_end_shard(const rt_trainer *t)
{
    return (int)t->shares.shards[rank_of(t) + 1];
}

/* ---- sharing out ---- */

static size_t numbers_of_stretches(const rt_trainer *t)
{
    size_t numbers = 0;
    for (int i = 0; i < t->stretch_count; i++)
        numbers += t->stretches[i].size;
    return numbers;
}

/* Whole stretches, of which every process has about as many numbers. */
static void share_stretches(rt_trainer *t)
{
    rt_shares *s = &t->shares;
    const int size = rt_world_size(t->world);
    const size_t all = numbers_of_stretches(t);
    size_t before = 0;
    int next = 0;
    for (int i = 0; i <= size; i++) {
        while (next < t->stretch_count && before < all / (size_t)size * (size_t)i)
            before += t->stretches[next++].size;
        if (i == size)
            next = t->stretch_count;
        const rt_stretch *last = t->stretches + t->stretch_count - 1;
        s->stretches[i] = (size_t)next;
        s->numbers[i] =
            next < t->stretch_count ? t->stretches[next].offset : last->offset + last->size;
    }
}

/* The nodes that each process leaves, and how they are summed. */
static void plan_nodes(rt_trainer *t)
{
    rt_shares *s = &t->shares;
    rt_subtrees all = {.shards = t->shards};
    rt_summation ignored[RT_MOST_SUBTREES];
    for (int rank = 0; rank < rt_world_size(t->world); rank++) {
        rt_subtrees own = {.shards = t->shards};
        for (size_t i = s->shards[rank]; i < s->shards[rank + 1]; i++)
            rt_subtrees_take(&own, rt_subtree_of_shard((int)i, 0), ignored);
        for (int i = 0; i < own.count; i++) {
            own.at[i].block = s->node_count;
            s->owners[s->node_count++] = rank;
            s->sum_count += rt_subtrees_take(&all, own.at[i], s->sums + s->sum_count);
        }
    }
}

static size_t numbers_here(const rt_trainer *t)
{
    const rt_shares *s = &t->shares;
    return s->numbers[rank_of(t) + 1] - s->numbers[rank_of(t)];
}

/* Room for the nodes of others, one after the other. */
static rt_status make_room(rt_trainer *t)
{
    rt_shares *s = &t->shares;
    const size_t numbers = numbers_here(t);
    const int others = rt_world_size(t->world) - 1;
    int own = 0;
    for (int k = 0; k < s->node_count; k++)
        own += s->owners[k] == rank_of(t);
    s->received = rt_alloc_unset((size_t)(s->node_count - own) * numbers, sizeof(real));
    s->sent = rt_alloc((size_t)own * (size_t)others, sizeof *s->sent);
    s->taken = rt_alloc((size_t)(s->node_count - own), sizeof *s->taken);
    return s->received && s->sent && s->taken ? rt_ok() : rt_out_of_memory("the sums of others");
}

rt_status rt_shares_new(rt_trainer *t)
{
    rt_shares *s = &t->shares;
    const size_t size = (size_t)rt_world_size(t->world), shards = (size_t)t->shards;
    s->shards = rt_alloc(size + 1, sizeof *s->shards);
    s->stretches = rt_alloc(size + 1, sizeof *s->stretches);
    s->numbers = rt_alloc(size + 1, sizeof *s->numbers);
    s->owners = rt_alloc(shards, sizeof *s->owners);
    s->nodes = rt_alloc(shards, sizeof(real *));
    s->sums = rt_alloc(shards, sizeof *s->sums);
    if (!s->shards || !s->stretches || !s->numbers || !s->owners || !s->nodes || !s->sums)
        return rt_out_of_memory("the shares of processes");
    for (size_t i = 0; i <= size; i++)
        s->shards[i] = (size_t)rt_first_shard_of(t->config, t->world, (int)i);
    plan_nodes(t);
    return rt_ok();
}

rt_status rt_shares_divide(rt_trainer *t)
{
    if (t->world && t->state.model->parameters.block_size > INT_MAX)
        return rt_error(RT_CONFIG, "a model of more than %d numbers cannot be shared", INT_MAX);
    share_stretches(t);
    return make_room(t);
}

void rt_shares_free(rt_shares *s)
{
    rt_free(s->shards);
    rt_free(s->stretches);
    rt_free(s->numbers);
    rt_free(s->owners);
    rt_free(s->received);
    rt_free(s->nodes);
    rt_free(s->sums);
    rt_free(s->sent);
    rt_free(s->taken);
}

real *rt_share_gradient(const rt_trainer *t, const rt_stretch *part)
{
    return t->shares.nodes[0] + (part->offset - t->shares.numbers[rank_of(t)]);
}

size_t rt_share_moment(const rt_trainer *t, const rt_stretch *part)
{
    return part->offset - (rank_of(t) ? t->shares.numbers[rank_of(t)] : 0);
}

/* ---- sums ---- */

/* Lists what is to be sent and received, and where the nodes will stand. */
static void address(rt_trainer *t, int *sent_count, int *taken_count)
{
    rt_shares *s = &t->shares;
    const int rank = rank_of(t), size = rt_world_size(t->world);
    const size_t numbers = numbers_here(t);
    int own = 0;
    *sent_count = *taken_count = 0;
    for (int k = 0; k < s->node_count; k++) {
        if (s->owners[k] != rank) {
            s->nodes[k] = s->received + (size_t)*taken_count * numbers;
            s->taken[(*taken_count)++] =
                (rt_parcel){s->owners[k], s->nodes[k], numbers * sizeof(real)};
            continue;
        }
        real *grads = t->models[t->nodes.at[own++].block]->parameters.grads;
        s->nodes[k] = grads + s->numbers[rank];
        for (int to = 0; to < size; to++)
            if (to != rank)
                s->sent[(*sent_count)++] =
                    (rt_parcel){to, grads + s->numbers[to],
                                (s->numbers[to + 1] - s->numbers[to]) * sizeof(real)};
    }
}

static void sum_nodes(void *context, int job, int worker)
{
    rt_trainer *t = context;
    const rt_shares *s = &t->shares;
    const int number = (int)s->stretches[rank_of(t)] + job;
    const rt_stretch *part = t->stretches + number;
    const size_t at = part->offset - s->numbers[rank_of(t)];
    (void)worker;
    for (int i = 0; i < s->sum_count; i++)
        rt_sum_add(s->nodes[s->sums[i].to] + at, s->nodes[s->sums[i].from] + at, part->size);
    t->squares[number] = rt_sum_of_squares(s->nodes[0] + at, part->size);
}

void rt_shares_sum(rt_trainer *t)
{
    rt_shares *s = &t->shares;
    const int rank = rank_of(t);
    int sent, taken;
    address(t, &sent, &taken);
    if (!t->world) /* whose squares are summed with the last shards */
        return;
    rt_world_exchange(t->world, s->sent, sent, s->taken, taken);
    rt_workers_run(t->workers, sum_nodes, t, (int)(s->stretches[rank + 1] - s->stretches[rank]));
    rt_world_gather(t->world, t->squares, s->stretches, sizeof *t->squares);
}

void rt_shares_spread(rt_trainer *t)
{
    rt_world_gather(t->world, t->state.model->parameters.values, t->shares.numbers, sizeof(real));
}

/* ---- moments ---- */

/* Process 0 has room for all moments, the others for their share alone. */
static void move(rt_trainer *t, real *moments, bool to_first)
{
    const rt_shares *s = &t->shares;
    const int rank = rank_of(t), size = rt_world_size(t->world);
    rt_parcel parcels[size];
    int count = 0;
    if (rank)
        parcels[count++] = (rt_parcel){0, moments, numbers_here(t) * sizeof(real)};
    for (int i = 1; i < size && !rank; i++)
        parcels[count++] = (rt_parcel){i, moments + s->numbers[i],
                                       (s->numbers[i + 1] - s->numbers[i]) * sizeof(real)};
    const bool sends = to_first == (rank != 0);
    rt_world_exchange(t->world, parcels, sends ? count : 0, parcels, sends ? 0 : count);
}

void rt_shares_move_moments(rt_trainer *t, bool to_first)
{
    if (!t->world)
        return;
    move(t, t->state.first_moment, to_first);
    move(t, t->state.second_moment, to_first);
}
