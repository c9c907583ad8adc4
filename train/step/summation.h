#ifndef ROTOR_TRAIN_STEP_SUMMATION_H
#define ROTOR_TRAIN_STEP_SUMMATION_H

/* The order in which the gradients of shards are summed: a fixed binary tree, pairs of pairs,
 * whoever computes them and whenever.
 *
 * Shards are computed in groups, a power of two of them at a time, each into a block of its own.
 * A group is summed up before the next begins, so that few blocks are needed: those of a group,
 * and one for every finished part of the tree that waits for its other half.
 */

/* Shards at a time: two for each worker, so that one who is held up does not hold up all. */
int rt_summation_group(int shards, int workers);

/* Blocks that are needed at once. */
int rt_summation_blocks(int shards, int group);

/* The block of the first shard of the group that begins with shard `first`; the others follow. */
int rt_summation_block(int first, int group);

/* Adds the numbers of block `from` to those of block `to`. */
typedef struct rt_summation {
    int to, from;
} rt_summation;

/* What is to be added, in this order, when the group that begins with shard `first` is done;
 * returns how many, fewer than `shards`. After the last group the sum is in block 0. */
int rt_summation_plan(rt_summation *sums, int shards, int group, int first);

#endif
