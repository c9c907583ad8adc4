#ifndef ROTOR_TRAIN_STEP_TRAINER_PRIVATE_H
#define ROTOR_TRAIN_STEP_TRAINER_PRIVATE_H

/* What a trainer consists of, for the files that make it up: trainer.c its life and its steps,
 * evaluation.c evaluation, shares.c what the processes of a world exchange, orders.c how they are
 * told what to do. */

#include "ops/engine.h"
#include "train/step/batch_loss.h"
#include "train/step/optimizer.h"
#include "train/step/summation.h"
#include "train/step/trainer.h"

/* A part of one parameter, which is updated in one job. */
typedef struct rt_stretch {
    size_t offset;
    size_t size;
    int parameter;
} rt_stretch;

/* What came of a shard. */
typedef struct rt_shard_result {
    double loss; /* summed over the labels */
    int64_t correct;
    int64_t tokens;
} rt_shard_result;

/* Whole sequences of a batch. */
typedef struct rt_shard {
    int first_row;
    rt_labelled_batch sequences;
    rt_status status;
} rt_shard;

/* How parameters and gradients are shared out. A process alone has all of them. */
typedef struct rt_shares {
    size_t *shards;     /* (processes + 1): the first shard of each */
    size_t *stretches;  /* the first stretch of each */
    size_t *numbers;    /* the first number of each in the block of parameters */
    int node_count;     /* nodes of the tree that the processes have left, in their order */
    int *owners;        /* of each node */
    real *received;     /* nodes of others, of the share of this process */
    real **nodes;       /* of each node the numbers of this process's share */
    rt_summation *sums; /* of nodes */
    int sum_count;
    rt_parcel *sent, *taken;
} rt_shares;

struct rt_trainer {
    const rt_config *config;
    const rt_data *data;
    rt_world *world;
    rt_workers *workers;
    rt_graph **graphs; /* of each worker */
    int shards;        /* of all processes */
    rt_shard *shard;   /* of each; those of other processes have no sequences */
    rt_shard_result *results;
    int group;            /* shards that are computed at a time */
    int blocks;           /* of gradients */
    rt_roformer **models; /* of each block; the first has the values, all have gradients */
    rt_subtrees nodes;    /* that are computed, of the step under way */
    int *block_of;        /* of each shard of a group */
    rt_summation *sums;   /* of blocks */
    rt_stretch *stretches;
    int stretch_count;
    double *squares; /* of the summed gradient, of each stretch */
    rt_shares shares;
    rt_profile *profiles; /* of each worker; NULL: nothing is measured */
    rt_training_state state;
    int (*stop)(void);     /* whether this process was asked to stop; or NULL */
    void (*on_stop)(void); /* what process 0 does if another one was; or NULL */

    rt_update update; /* of the step under way */
    double lr;        /* likewise */
    double divisor;   /* labels of the step under way */
    int first;        /* shard of the group under way */
    int sum_count;    /* sums after it */
    bool last;        /* whether it is the last one, and no other process adds anything */
};

/* The first shard, stretch and number of this process, and the ends. */
int rt_first_shard(const rt_trainer *t);
int rt_end_shard(const rt_trainer *t);

/* Shares the shards out; then, when the stretches are known, the parameters. */
rt_status rt_shares_new(rt_trainer *t) RT_MUST_CHECK;
rt_status rt_shares_divide(rt_trainer *t) RT_MUST_CHECK;
void rt_shares_free(rt_shares *s);

/* From the nodes of all processes to the gradient of this process's share, and the squares of all
 * stretches. */
void rt_shares_sum(rt_trainer *t);

/* From the updated share of each process to the parameters of all. */
void rt_shares_spread(rt_trainer *t);

/* Where the gradient and the moments of a stretch of this process's share stand. */
real *rt_share_gradient(const rt_trainer *t, const rt_stretch *part);
size_t rt_share_moment(const rt_trainer *t, const rt_stretch *part);

/* The moments of all, from the processes to process 0 or the other way round. */
void rt_shares_move_moments(rt_trainer *t, bool to_first);

/* ---- what process 0 asks of the others ---- */

typedef enum rt_order {
    RT_ORDER_STEP,
    RT_ORDER_EVALUATE,
    RT_ORDER_SHARE,   /* the state of process 0 is that of all */
    RT_ORDER_COLLECT, /* the moments of all, at process 0 */
    RT_ORDER_END
} rt_order;

typedef struct rt_order_of_evaluation {
    int length;
    int batches;
    bool confusion;
} rt_order_of_evaluation;

/* What every process of a world does when process 0 has given the order. */
rt_status rt_trainer_take_step(rt_trainer *t, rt_step_result *result) RT_MUST_CHECK;
rt_status rt_trainer_take_evaluation(rt_trainer *t, rt_order_of_evaluation what,
                                     rt_evaluation *result, int64_t *confusion) RT_MUST_CHECK;

#endif
