#ifndef ROTOR_TRAIN_STEP_TRAINER_PRIVATE_H
#define ROTOR_TRAIN_STEP_TRAINER_PRIVATE_H

/* What a trainer consists of, for the files that make it up: trainer.c its life, step.c a step,
 * evaluation.c evaluation, orders.c how the processes of a world are told what to do,
 * dry_run.c what all of it takes. */

#include "ops/engine.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "train/step/batch_loss.h"
#include "train/step/shares.h"
#include "train/step/summation.h"
#include "train/step/trainer.h"

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

/* Where a job computes in a graph: one job at a time. Step and evaluation have as many jobs at once
 * as there are places. */
typedef struct rt_place {
    rt_graph *graph;
    atomic_bool taken;
} rt_place;

/* What the memory of a trainer is counted as in a dry run. */
typedef struct rt_trainer_tally {
    rt_model_tally model; /* of all models: the gradients of all blocks */
    rt_tally rounded;     /* parameters in bf16 */
    rt_tally states;      /* of the optimizer */
    rt_tally rooms;       /* in which matrices are moved */
    rt_tally received;    /* gradients of other processes */
    rt_tally batches;
} rt_trainer_tally;

struct rt_trainer {
    const rt_config *config;
    const rt_data *data;
    rt_world *world;
    rt_workers *workers;
    rt_place *places;
    int place_count;
    int shards;      /* of all processes */
    rt_shard *shard; /* of each; those of other processes have no sequences */
    rt_shard_result *results;
    int group;               /* shards that are computed at a time */
    int blocks;              /* of gradients */
    rt_transformer **models; /* of each block; the first has the values, all have gradients */
    rt_subtrees nodes;       /* that are computed, of the step under way */
    int *block_of;           /* of each shard of a group */
    rt_summation *sums;      /* of blocks */
    rt_stretch *stretches;
    int stretch_count;
    double *squares; /* of the summed gradient, of each stretch */
    rt_shares shares;
    real **left;          /* gradients of the blocks that hold the subtrees of this process */
    rt_profile *profiles; /* of each place; NULL: nothing is measured */
    rt_training_state state;
    rt_trainer_tally *tally; /* of a dry run, which has one graph and no workers; else NULL */
    uint16_t *rounded;       /* the parameters in bf16, with run.math = bf16 */
    int (*stop)(void);       /* whether this process was asked to stop; or NULL */
    void (*on_stop)(void);   /* what process 0 does if another one was; or NULL */

    const rt_update_rule *rule;
    real **rooms;   /* of each worker, in which it moves matrices */
    rt_rates rates; /* of the step under way */
    double scale;   /* likewise, of the gradient: clipping */
    double divisor; /* labels of the step under way */
    int first;      /* shard of the group under way */
    int sum_count;  /* sums after it */
    bool last;      /* whether it is the last one, and no other process adds anything */
};

/* The shards of this process. */
int rt_first_shard(const rt_trainer *t);
int rt_end_shard(const rt_trainer *t);

/* Takes a place for a job of that worker, with its crew, and gives it back. */
int rt_trainer_enter(rt_trainer *t, int worker);
void rt_trainer_leave(rt_trainer *t, int place);

/* As rt_trainer_free, when the others need not be told. */
void rt_trainer_end(rt_trainer *t);

/* A trainer for a dry run, of one process of a world: it refuses what any would, takes no memory to
 * speak of, starts no threads and says nothing to other processes. To be ended by rt_trainer_end.
 */
rt_status rt_trainer_new_dry(rt_trainer **trainer_new, const rt_config *config, const rt_data *data,
                             rt_world *world, rt_trainer_tally *tally) RT_MUST_CHECK;

/* ---- what process 0 asks of the others ---- */

typedef enum rt_order {
    RT_ORDER_STEP,
    RT_ORDER_EVALUATE,
    RT_ORDER_SHARE,   /* the state of process 0 is that of all */
    RT_ORDER_COLLECT, /* the states of all, at process 0 */
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
