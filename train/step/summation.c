#include "train/step/summation.h"

#include "core/row_kernels.h"

#include <stdbool.h>

RT_ROW_KERNEL(rt_sum_add, (real *restrict sum, const real *restrict other, size_t size),
              (sum, other, size))
{
    for (size_t k = 0; k < size; k++)
        sum[k] += other[k];
}

rt_subtree rt_subtree_of_shard(int shard, int block)
{
    return (rt_subtree){shard, shard + 1, 0, block};
}

/* Whether b is all that the tree has beside a, under one node; at the end of the shards a subtree
 * may have fewer than it has room for. */
static bool are_halves(const rt_subtrees *nodes, const rt_subtree *a, const rt_subtree *b)
{
    const bool full = a->level == b->level || (b->end == nodes->shards && b->level < a->level);
    return full && a->first % (2 << a->level) == 0;
}

int rt_subtrees_take(rt_subtrees *nodes, rt_subtree next, rt_summation *sums)
{
    int count = 0;
    nodes->at[nodes->count++] = next;
    while (nodes->count > 1) {
        rt_subtree *a = nodes->at + nodes->count - 2, *b = a + 1;
        if (!are_halves(nodes, a, b))
            break;
        sums[count++] = (rt_summation){a->block, b->block};
        a->end = b->end;
        a->level++;
        nodes->count--;
    }
    return count;
}

static bool is_free(const rt_subtrees *nodes, int block)
{
    for (int i = 0; i < nodes->count; i++)
        if (nodes->at[i].block == block)
            return false;
    return true;
}

int rt_subtrees_free_block(const rt_subtrees *nodes, int n)
{
    int block = 0;
    while (!is_free(nodes, block) || n-- > 0)
        block++;
    return block;
}

int rt_summation_group(int shards, int workers)
{
    int group = 1;
    while (group < 2 * workers && group < shards)
        group *= 2;
    return group;
}

int rt_summation_blocks(int shards, int first, int end, int group)
{
    rt_subtrees nodes = {.shards = shards};
    rt_summation sums[RT_MOST_SUBTREES];
    int blocks = 0;
    for (int start = first; start < end; start += group) {
        const int count = end - start < group ? end - start : group;
        const int last = rt_subtrees_free_block(&nodes, count - 1);
        const rt_subtrees before = nodes;
        blocks = last + 1 > blocks ? last + 1 : blocks;
        for (int i = 0; i < count; i++)
            rt_subtrees_take(&nodes,
                             rt_subtree_of_shard(start + i, rt_subtrees_free_block(&before, i)),
                             sums);
    }
    return blocks;
}
