#ifndef ROTOR_TRAIN_STEP_TRAINER_PRIVATE_H
#define ROTOR_TRAIN_STEP_TRAINER_PRIVATE_H

/* The parts of a trainer, for the files of this folder: trainer.c creates and frees it, step.c
 * takes a step and sends orders to the processes of a world, evaluation.c evaluates,
 * memory_estimate.c counts its memory. */

#include "ops/engine.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "train/step/batch_loss.h"
#include "train/step/shares.h"
#include "train/step/trainer.h"

/* Result of a shard. */
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

/* Graph of one job at a time. A step or an evaluation has as many jobs at once as there are places.
 */
typedef struct rt_place {
    rt_graph *graph;
    atomic_bool taken;
} rt_place;

struct rt_trainer {
    const rt_config *config;
    const rt_data *data;
    rt_world *world;
    rt_workers *workers;
    rt_place *places;
    int place_count;
    int shards;      /* of all processes */
    rt_shard *shard; /* of all processes; those of other processes have no sequences */
    rt_shard_result *results;
    int group;               /* number of shards between two sums */
    int blocks;              /* of gradients */
    rt_transformer **models; /* of each block; they share the values of the first */
    rt_subtrees nodes;       /* of the current step, that are computed */
    int *block_of;           /* of each shard of a group */
    rt_summation *sums;      /* of blocks */
    rt_stretch *stretches;
    int stretch_count;
    double *squares; /* of the summed gradient, of each stretch */
    rt_shares shares;
    real **left;          /* gradients of the blocks that hold the subtrees of this process */
    rt_profile *profiles; /* of each place; NULL without --profile */
    rt_training_state state;
    rt_account *account;   /* of a dry run; NULL */
    uint16_t *rounded;     /* the parameters in bf16, with run.math = bf16 */
    int (*stop)(void);     /* returns whether this process was asked to stop; or NULL */
    void (*on_stop)(void); /* called by process 0 if another one was; or NULL */

    const rt_update_rule *rule;
    int threads;    /* of a step: rt_threads_of */
    real **rooms;   /* scratch memory of each thread for updates of matrices */
    rt_rates rates; /* of the current step */
    double scale;   /* of the gradient in the current step: clipping */
    double divisor; /* number of labels of the current step */
    int first;      /* first shard of the current group */
    int sum_count;  /* number of sums after the group */
    bool last;      /* whether the group is the last one, and no other process adds anything */
};

/* Return the range of shards of this process. */
int rt_first_shard(const rt_trainer *t);
int rt_end_shard(const rt_trainer *t);

/* Acquires a place for a job of a worker, with the crew of the worker, and releases it. */
int rt_trainer_enter(rt_trainer *t, int worker);
void rt_trainer_leave(rt_trainer *t, int place);

/* Frees the trainer as rt_trainer_free, without an order to other processes. */
void rt_trainer_end(rt_trainer *t);

/* Creates a trainer as rt_trainer_new, without communication in the world: the processes may have
 * different errors. To be freed with rt_trainer_end. */
rt_status rt_trainer_new_alone(rt_trainer **trainer_new, const rt_config *config,
                               const rt_data *data,
                               const rt_trainer_options *options) RT_MUST_CHECK;

/* Evaluates, in every process of a world, as rt_trainer_confusion. */
rt_status rt_trainer_take_evaluation(rt_trainer *t, int length, int batches, rt_evaluation *result,
                                     int64_t *confusion) RT_MUST_CHECK;

/* The first sequences of the evaluation data, cut into parts of some rows. The cut depends on the
 * configuration alone. */
typedef struct rt_parts {
    rt_trainer *trainer;
    long sequences;
    int rows;                   /* of a full part */
    int count;                  /* number of parts */
    rt_labelled_batch *batches; /* of each place */
} rt_parts;

/* Cuts at most `most` sequences of `length` tokens. To be freed in any case. */
rt_status rt_parts_new(rt_parts *p, rt_trainer *t, int length, int rows, long most) RT_MUST_CHECK;
void rt_parts_free(rt_parts *p);

/* Does the job of the parts first ... end - 1, each with its sequences. Returns RT_DATA if they
 * could not be read, else the status of the failed part with the lowest number. */
rt_status rt_parts_run(const rt_parts *p, int first, int end, rt_model_job *job,
                       void *context) RT_MUST_CHECK;

#endif
