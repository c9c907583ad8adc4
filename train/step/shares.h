#ifndef ROTOR_TRAIN_STEP_SHARES_H
#define ROTOR_TRAIN_STEP_SHARES_H

/* The sum of the gradients of shards, and the shares of the processes of a world in it.
 *
 * Gradients are summed in a fixed binary tree of pairs, whoever computes them, where and when. A
 * process takes its shards in their order, in groups, each shard into a block of its own, and adds
 * all complete pairs after every group: so few blocks are needed, and the largest nodes of the tree
 * that lie in its range of shards are left. The nodes of all processes, taken in the order of their
 * shards, add up to the same sum.
 *
 * Each rank sends to every other rank that rank's slice of the nodes that it has left. It reduces
 * its own slice of all nodes in the order of the tree, updates its parameters, and sends these to
 * all. If every rank leaves one node, it sends 2 (P-1)/P of the gradients, the minimum. (Thakur,
 * Rabenseifner and Gropp 2005: a reduce-scatter by pairs, then a gather.)
 */

#include "core/memory.h"
#include "core/real.h"
#include "optim/rules.h"
#include "train/step/workers.h"
#include "train/world/world.h"

/* ---- the tree of sums ---- */

/* Node of the tree: the sum of shards `first` ... `end` - 1, in a block of gradients. */
typedef struct rt_subtree {
    int first, end;
    int level; /* a full node has 2^level shards */
    int block;
} rt_subtree;

/* Sum of two blocks: block `from` is added to block `to`. */
typedef struct rt_summation {
    int to, from;
} rt_summation;

/* Limit of the number of nodes: two of each level, and a level for each bit of the number of
 * shards. */
enum { RT_MOST_SUBTREES = 64 };

/* Adjacent nodes that wait for their other halves. */
typedef struct rt_subtrees {
    int shards; /* of the whole tree */
    int count;
    rt_subtree at[RT_MOST_SUBTREES];
} rt_subtrees;

/* Returns the node of a single shard. */
rt_subtree rt_subtree_of_shard(int shard, int block);

/* Appends the next node. Writes the sums that are now possible, in their order, and returns their
 * number. A whole tree takes `shards` - 1 sums. */
int rt_subtrees_take(rt_subtrees *nodes, rt_subtree next, rt_summation *sums);

/* Returns the n-th block that holds no node. */
int rt_subtrees_free_block(const rt_subtrees *nodes, int n);

/* Returns the number of shards of a group: two per worker, so that a delayed worker does not delay
 * the others. */
int rt_summation_group(int shards, int workers);

/* Adds `other` to `sum`, element by element. */
void rt_sum_add(real *sum, const real *other, size_t size);

/* Returns the number of blocks for shards first ... end - 1 in groups of this size. */
int rt_summation_blocks(int shards, int first, int end, int group);

/* ---- shares of processes ---- */

/* Slices of parameters and gradients. A single process has all of them. */
typedef struct rt_shares {
    size_t *shards;    /* (processes + 1): the first shard of each */
    size_t *stretches; /* the first stretch of each */
    size_t *numbers;   /* the first number of each in the block of parameters */
    rt_world *world;
    const rt_stretch *parts; /* all stretches */
    int node_count;          /* number of nodes that all processes leave, in the order of shards */
    int *owners;             /* of each node */
    real *received;          /* nodes of other processes, in the slice of this process */
    real **nodes;            /* slice of this process, of each node */
    rt_summation *sums;      /* of nodes */
    int sum_count;
    rt_parcel *sent, *taken;
} rt_shares;

/* Assigns shards to processes; then rt_shares_divide assigns the stretches of a block of `numbers`
 * parameters. The stretches are borrowed. With the account of a dry run (else NULL), memory
 * for the nodes of other processes is reserved. RT_CONFIG if there are too many parameters for a
 * world.
 */
rt_status rt_shares_new(rt_shares *s, rt_world *world, int shards) RT_MUST_CHECK;
rt_status rt_shares_divide(rt_shares *s, const rt_stretch *stretches, int count, size_t numbers,
                           rt_account *account) RT_MUST_CHECK;
void rt_shares_free(rt_shares *s);

/* Returns the first of `count` consecutive items of the process `rank` of `size`. */
int rt_share_start(int count, int size, int rank);

/* Reduces the nodes of all processes, of which `left` are those of this one in their order, to the
 * gradient of the slice of this process. In a world, computes the squares of all stretches as well.
 */
void rt_shares_sum(rt_shares *s, real *const *left, rt_workers *workers, double *squares);

/* Gathers the updated slice of each process. */
void rt_shares_spread(const rt_shares *s, real *values);

/* Return the first stretch of this process, and the number of its stretches. */
int rt_shares_first(const rt_shares *s);
int rt_shares_count(const rt_shares *s);

/* Return the gradient of a stretch of this process, and the offset of its optimizer states. */
real *rt_share_gradient(const rt_shares *s, const rt_stretch *part);
size_t rt_share_state(const rt_shares *s, const rt_stretch *part);

/* Returns the size of an optimizer state of this process. */
size_t rt_share_size(const rt_shares *s);

/* Moves the slices of a state from all processes to process 0, or back. */
void rt_shares_move(const rt_shares *s, real *state, bool to_first);

#endif
