#ifndef ROTOR_TRAIN_STEP_SHARES_H
#define ROTOR_TRAIN_STEP_SHARES_H

/* What each process of a world has of the shards and of the parameters, and what the processes
 * exchange in a step.
 *
 * A process differentiates a stretch of the shards, which leaves it with subtrees of the tree of
 * sums. Of each it sends to every process that process's share of the numbers; who has those of all
 * for its share adds them in the order of the tree, updates its parameters, and hands these to
 * all. If every process leaves one subtree, it so sends 2 (P-1)/P of the gradients, the least there
 * is. (Thakur, Rabenseifner and Gropp 2005: a reduce-scatter by pairs, then a gather.)
 */

#include "core/memory.h"
#include "optim/rules.h"
#include "train/step/summation.h"
#include "train/step/workers.h"
#include "train/world/world.h"

/* How parameters and gradients are shared out. A process alone has all of them. */
typedef struct rt_shares {
    size_t *shards;    /* (processes + 1): the first shard of each */
    size_t *stretches; /* the first stretch of each */
    size_t *numbers;   /* the first number of each in the block of parameters */
    rt_world *world;
    const rt_stretch *parts; /* all stretches */
    int node_count;          /* nodes of the tree that the processes have left, in their order */
    int *owners;             /* of each node */
    real *received;          /* nodes of others, of the share of this process */
    real **nodes;            /* of each node the numbers of this process's share */
    rt_summation *sums;      /* of nodes */
    int sum_count;
    rt_parcel *sent, *taken;
    rt_tally *tally; /* of a dry run, set before division: counts `received`; else NULL */
} rt_shares;

/* Shares `shards` shards out; then, when they are known, the stretches of a block of that many
 * numbers, which are kept. RT_CONFIG if there are more numbers than can be shared. */
rt_status rt_shares_new(rt_shares *s, rt_world *world, int shards) RT_MUST_CHECK;
rt_status rt_shares_divide(rt_shares *s, const rt_stretch *stretches, int count,
                           size_t numbers) RT_MUST_CHECK;
void rt_shares_free(rt_shares *s);

/* The first of `count` things that a process of `size` has, which follow each other. */
int rt_share_start(int count, int size, int rank);

/* From the subtrees of all processes, of which `left` are the gradients of this one in their order,
 * to the gradient of this process's share, and the squares of all stretches; of a process alone
 * only the former. */
void rt_shares_sum(rt_shares *s, real *const *left, rt_workers *workers, double *squares);

/* From the updated share of each process to the values of all. */
void rt_shares_spread(const rt_shares *s, real *values);

/* The stretches of this process: the first, and how many. */
int rt_shares_first(const rt_shares *s);
int rt_shares_count(const rt_shares *s);

/* Where the gradient and the optimizer's states of one of them stand. */
real *rt_share_gradient(const rt_shares *s, const rt_stretch *part);
size_t rt_share_state(const rt_shares *s, const rt_stretch *part);

/* Numbers that a state of this process has. */
size_t rt_share_size(const rt_shares *s);

/* A state of all, from the processes to process 0 or the other way round. */
void rt_shares_move(const rt_shares *s, real *state, bool to_first);

#endif
