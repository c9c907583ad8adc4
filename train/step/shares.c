#include "train/step/private.h"

#include "core/row_kernels.h"

#include <limits.h>

RT_ROW_KERNEL(rt_sum_add, (real *restrict sum, const real *restrict other, size_t size),
              (sum, other, size))
{
    for (size_t k = 0; k < size; k++)
        sum[k] += other[k];
}

int rt_subtrees_take(rt_subtrees *subtrees, rt_subtree next, rt_summation *sums)
{
    int count = 0;
    subtrees->at[subtrees->count++] = next;
    while (subtrees->count > 1) {
        rt_subtree *a = subtrees->at + subtrees->count - 2, *b = a + 1;
        /* the two halves of a subtree: after the last shard, b may be smaller */
        const bool full =
            a->level == b->level || (b->end == subtrees->shards && b->level < a->level);
        if (!full || a->first % (2 << a->level) != 0)
            break;
        sums[count++] = (rt_summation){a->block, b->block};
        a->end = b->end;
        a->level++;
        subtrees->count--;
    }
    return count;
}

static bool is_free(const rt_subtrees *subtrees, int block)
{
    for (int i = 0; i < subtrees->count; i++)
        if (subtrees->at[i].block == block)
            return false;
    return true;
}

int rt_summation_group(int shards, int workers)
{
    int group = 1;
    while (group < 2 * workers && group < shards)
        group *= 2;
    return group;
}

int rt_subtrees_plan(rt_subtrees *subtrees, int first, int end, int group, rt_shard *shards,
                     rt_summation *sums)
{
    int blocks = 0, count = 0;
    for (int start = first; start < end; start += group) {
        const int next = end - start < group ? end : start + group;
        int block = 0;
        for (int i = start; i < next; i++, block++) {
            while (!is_free(subtrees, block))
                block++;
            shards[i].block = block;
        }
        blocks = block > blocks ? block : blocks;
        for (int i = start; i < next; i++) {
            count += rt_subtrees_take(subtrees, (rt_subtree){i, i + 1, 0, shards[i].block},
                                      sums + count);
            shards[i].sums = count;
        }
    }
    return blocks;
}

int rt_share_start(int count, int size, int rank)
{
    return (int)((long)count * rank / size);
}

/* Assigns whole spans to each rank, about the same number of parameters each. */
static void share_spans(rt_shares *s, const rt_trainer *t)
{
    const int size = rt_world_size(t->world), count = t->span_count;
    const rt_span *spans = t->spans, *last = spans + count - 1;
    size_t all = 0, before = 0;
    int next = 0;
    for (int i = 0; i < count; i++)
        all += spans[i].size;
    for (int i = 0; i <= size; i++) {
        while (next < count && before < all / (size_t)size * (size_t)i)
            before += spans[next++].size;
        if (i == size)
            next = count;
        s->spans[i] = (size_t)next;
        s->numbers[i] = next < count ? spans[next].offset : last->offset + last->size;
    }
    s->first = (int)s->spans[s->rank];
    s->count = (int)s->spans[s->rank + 1] - s->first;
    s->start = s->numbers[s->rank];
    s->length = s->numbers[s->rank + 1] - s->start;
}

/* Plans the parcels of a step. The subtrees of other ranks are received one after the other. */
static rt_status plan_parcels(rt_shares *s, const rt_trainer *t)
{
    const int size = rt_world_size(t->world), others = s->subtree_count - t->subtrees.count;
    const rt_subtree *left = t->subtrees.at;
    s->received =
        rt_account_alloc(t->account, RT_FOR_RECEIVED, (size_t)others * s->length, sizeof(real));
    s->sent = rt_alloc((size_t)t->subtrees.count * (size_t)(size - 1), sizeof *s->sent);
    s->taken = rt_alloc((size_t)others, sizeof *s->taken);
    RT_TRY(rt_allocated(s->received && s->sent && s->taken, "the sums of others"));
    for (int k = 0; k < s->subtree_count; k++) {
        if (s->owners[k] != s->rank) {
            s->subtrees[k] = s->received + (size_t)s->taken_count * s->length;
            s->taken[s->taken_count++] =
                (rt_parcel){s->owners[k], s->subtrees[k], s->length * sizeof(real)};
            continue;
        }
        real *grads = t->models[left++->block]->parameters.grads;
        s->subtrees[k] = grads + s->start;
        for (int to = 0; to < size; to++)
            if (to != s->rank)
                s->sent[s->sent_count++] =
                    (rt_parcel){to, grads + s->numbers[to],
                                (s->numbers[to + 1] - s->numbers[to]) * sizeof(real)};
    }
    return rt_ok();
}

rt_status rt_shares_new(rt_trainer *t)
{
    rt_shares *s = &t->shares;
    const int size = rt_world_size(t->world);
    const size_t shards = (size_t)t->shards;
    rt_subtrees all = {.shards = t->shards};
    rt_summation ignored[RT_MOST_SUBTREES];
    s->rank = rt_world_rank(t->world);
    if (t->world && t->state.model->parameters.block_size > INT_MAX)
        return rt_error(RT_CONFIG, "a model of more than %d numbers cannot be shared", INT_MAX);
    s->shards = rt_alloc(3 * ((size_t)size + 1), sizeof *s->shards);
    s->squares = rt_alloc((size_t)t->span_count, sizeof *s->squares);
    s->owners = rt_alloc(shards, sizeof *s->owners);
    s->subtrees = rt_alloc(shards, sizeof(real *));
    s->sums = rt_alloc(shards, sizeof *s->sums);
    if (!s->shards || !s->squares || !s->owners || !s->subtrees || !s->sums)
        return rt_out_of_memory("the shares of processes");
    s->spans = s->shards + size + 1;
    s->numbers = s->spans + size + 1;
    for (int i = 0; i <= size; i++)
        s->shards[i] = (size_t)rt_share_start(t->shards, size, i);
    /* the subtrees that each rank has left, and the order of their sums */
    for (int rank = 0; rank < size; rank++) {
        rt_subtrees own = {.shards = t->shards};
        for (int i = (int)s->shards[rank]; i < (int)s->shards[rank + 1]; i++)
            rt_subtrees_take(&own, (rt_subtree){i, i + 1, 0, 0}, ignored);
        for (int i = 0; i < own.count; i++) {
            own.at[i].block = s->subtree_count;
            s->owners[s->subtree_count++] = rank;
            s->sum_count += rt_subtrees_take(&all, own.at[i], s->sums + s->sum_count);
        }
    }
    share_spans(s, t);
    return plan_parcels(s, t);
}

void rt_shares_free(rt_shares *s)
{
    rt_free(s->shards);
    rt_free(s->squares);
    rt_free(s->owners);
    rt_free(s->received);
    rt_free(s->subtrees);
    rt_free(s->sums);
    rt_free(s->sent);
    rt_free(s->taken);
}

static void sum_subtrees(void *context, int job, int worker)
{
    const rt_trainer *t = context;
    const rt_shares *s = &t->shares;
    const int number = s->first + job;
    const rt_span *span = t->spans + number;
    const size_t at = span->offset - s->start;
    (void)worker;
    for (int i = 0; i < s->sum_count; i++)
        rt_sum_add(s->subtrees[s->sums[i].to] + at, s->subtrees[s->sums[i].from] + at, span->size);
    s->squares[number] = rt_sum_of_squares(s->subtrees[0] + at, span->size);
}

void rt_shares_sum(rt_trainer *t)
{
    const rt_shares *s = &t->shares;
    if (!t->world)
        return;
    rt_world_exchange(t->world, s->sent, s->sent_count, s->taken, s->taken_count);
    rt_workers_run(t->workers, 0, sum_subtrees, t, s->count);
    rt_world_gather(t->world, s->squares, s->spans, sizeof *s->squares);
}

void rt_shares_move(rt_trainer *t, bool to_first)
{
    const rt_shares *s = &t->shares;
    const int rank = s->rank, size = rt_world_size(t->world);
    const bool sends = to_first == (rank != 0);
    rt_parcel parcels[size];
    for (int k = 0; k < t->rule->state_count && t->world; k++) {
        real *state = t->state.states[k];
        int count = 0;
        if (rank)
            parcels[count++] = (rt_parcel){0, state, s->length * sizeof(real)};
        for (int i = 1; i < size && !rank; i++)
            parcels[count++] = (rt_parcel){i, state + s->numbers[i],
                                           (s->numbers[i + 1] - s->numbers[i]) * sizeof(real)};
        rt_world_exchange(t->world, parcels, sends ? count : 0, parcels, sends ? 0 : count);
    }
}
