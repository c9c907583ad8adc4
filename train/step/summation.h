#ifndef ROTOR_TRAIN_STEP_SUMMATION_H
#define ROTOR_TRAIN_STEP_SUMMATION_H

/* The order in which the gradients of shards are summed: a fixed binary tree, pairs of pairs,
 * whoever computes them, where and when.
 *
 * Who works through a stretch of the shards takes them in their order, in groups, each shard into a
 * block of its own, and adds what can be added after every group: then few blocks are needed, and
 * what is left are the largest nodes of the tree that lie in the stretch. Taken together in the
 * order of their shards, the nodes that several have left add up to the same sum.
 */

#include "core/real.h"

#include <stddef.h>

/* A node of the tree: the sum of shards `first` ... `end` - 1, in a block. */
typedef struct rt_subtree {
    int first, end;
    int level; /* it has room for 2^level shards */
    int block;
} rt_subtree;

/* Adds the numbers of block `from` to those of block `to`. */
typedef struct rt_summation {
    int to, from;
} rt_summation;

/* Two of each level, and a level for each bit of the number of shards, are the most there are. */
enum { RT_MOST_SUBTREES = 64 };

/* Nodes beside each other that wait for their other halves. */
typedef struct rt_subtrees {
    int shards; /* of the whole tree */
    int count;
    rt_subtree at[RT_MOST_SUBTREES];
} rt_subtrees;

/* A shard as a node. */
rt_subtree rt_subtree_of_shard(int shard, int block);

/* Takes the node that follows the last; writes what is to be added now, in this order, and returns
 * how many sums that are. All nodes of a tree are taken by `shards` - 1 sums. */
int rt_subtrees_take(rt_subtrees *nodes, rt_subtree next, rt_summation *sums);

/* The n-th of the blocks that hold no node. */
int rt_subtrees_free_block(const rt_subtrees *nodes, int n);

/* Shards at a time: two for each worker, so that one who is held up does not hold up all. */
int rt_summation_group(int shards, int workers);

/* sum += other, element by element. */
void rt_sum_add(real *sum, const real *other, size_t size);

/* Blocks that shards first ... end - 1 need in groups of that size. */
int rt_summation_blocks(int shards, int first, int end, int group);

#endif
