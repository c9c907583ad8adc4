#ifndef ROTOR_TRAIN_STEP_PRIVATE_H
#define ROTOR_TRAIN_STEP_PRIVATE_H

/* A trainer, for the files of this folder: trainer.c creates and frees it, step.c takes a step,
 * serve.c sends orders to the other ranks and follows them, shares.c sums gradients, evaluation.c
 * evaluates, measurements.c measures a trained model, observers.c traps numbers that are not finite
 * and profiles ops, memory.c estimates memory.
 *
 * Who computes what:
 *
 *   rank     process of a world. Its share: consecutive shards, and the consecutive spans that it
 *            updates, which are its slice of the parameter block
 *   worker   thread of a rank; takes numbered jobs, or helps with the parts of a job's ops
 *   shard    whole sequences of a step or of an evaluation, computed by one job in the graph of its
 *            worker
 *   group    shards that a rank computes between two sums
 *   block    memory for the gradients of a shard, then for the sum of a subtree
 *   subtree  node of the tree in which shards are summed: a sum of consecutive shards
 *   span     numbers of one parameter, which one job sums and updates (optim/rules.h)
 */

#include "core/memory.h"
#include "core/real.h"
#include "ops/engine.h"
#include "optim/options.h"
#include "optim/rules.h"
#include "train/step/trainer.h"
#include "train/step/workers.h"
#include "train/world/world.h"

/* Whole sequences of a batch. */
typedef struct rt_shard {
    int block; /* block of its gradient */
    int sums;  /* number of sums that are possible once this shard is computed */
    int first_row;
    rt_labelled_batch sequences;
    rt_status status;
} rt_shard;

/* Gradients are summed in a fixed binary tree, for any number of ranks. A rank takes its shards in
 * order, in groups, each shard into its own block, and adds all complete pairs after each group. So
 * few blocks are needed. At the end each rank has a few sums that it cannot add alone: the largest
 * subtrees within its range of shards. The sums of all ranks, in the order of shards, give the
 * total. */

/* The sum of shards `first` ... `end` - 1. */
typedef struct rt_subtree {
    int first, end;
    int level; /* a full subtree has 2^level shards */
    int block;
} rt_subtree;

/* Sum of two blocks: block `from` is added to block `to`. */
typedef struct rt_summation {
    int to, from;
} rt_summation;

/* Limit of the number of subtrees: two per level, and one level per bit of the number of shards. */
enum { RT_MOST_SUBTREES = 64 };

/* Sums, in the order of shards, that wait for the other half of their parent. */
typedef struct rt_subtrees {
    int shards; /* shards of the whole tree */
    int count;
    rt_subtree at[RT_MOST_SUBTREES];
} rt_subtrees;

/* Appends the next subtree. Writes the sums that are now possible, in their order, and returns
 * their number. A whole tree takes `shards` - 1 sums. */
int rt_subtrees_take(rt_subtrees *subtrees, rt_subtree next, rt_summation *sums);

/* Plans the shards first ... end - 1 in groups. Fills in their blocks and sums, the list of sums,
 * and the subtrees that are left. Returns the number of blocks. */
int rt_subtrees_plan(rt_subtrees *subtrees, int first, int end, int group, rt_shard *shards,
                     rt_summation *sums);

/* Returns the number of shards of a group, a power of two: at least two per worker, unless there
 * are fewer shards, so that a delayed worker does not delay the others. */
int rt_summation_group(int shards, int workers);

/* Adds `other` to `sum`, element by element. */
void rt_sum_add(real *sum, const real *other, size_t size);

/* Rank a sends to each rank b the slice of a's remaining sums that b updates. Rank b adds its slice
 * of all sums in the order of the tree, updates its parameters, and sends these to all. If every
 * rank has one sum left, it sends 2 (P-1)/P of the gradients, the minimum. (Thakur,
 * Rabenseifner and Gropp 2005: a reduce-scatter by pairs, then a gather.) */

/* Shares of the ranks. A single process has one share, everything. */
typedef struct rt_shares {
    int rank;             /* rank of this process */
    int first, count;     /* spans of this rank */
    size_t start, length; /* slice of this rank in the parameter block */
    size_t *shards;       /* (P + 1): first shard of each rank; spans and numbers share the
                             allocation */
    size_t *spans;        /* (P + 1): first span of each rank */
    size_t *numbers;      /* (P + 1): first element of each rank in the parameter block */
    double *squares;      /* sum of squares of the gradient of each span */
    int subtree_count;    /* subtrees left by all ranks, in the order of shards */
    int *owners;          /* rank of the owner of each subtree */
    real *received;       /* subtrees of other ranks, in the slice of this rank */
    real **subtrees;      /* slice of each subtree in this rank */
    rt_summation *sums;   /* sums of subtrees */
    int sum_count;
    rt_parcel *sent, *taken; /* parcels of one rt_shares_sum */
    int sent_count, taken_count;
} rt_shares;

/* Sets whether theta alone gets gradients, or all parameters that train.freeze does not name. */
void rt_trainer_want(rt_trainer *t, bool theta_alone);

/* Assigns the shards and spans of a trainer to ranks. Returns RT_CONFIG if there are too many
 * parameters for a world. */
rt_status rt_shares_new(rt_trainer *t) RT_MUST_CHECK;
void rt_shares_free(rt_shares *s);

/* Returns the first of `count` consecutive items in the share of `rank`, of `size` ranks. */
int rt_share_start(int count, int size, int rank);

/* Reduces, in a world, the subtrees of all ranks to the gradient of the slice of this rank, and
 * computes shares.squares. Does nothing without a world: step.c computes them there. */
void rt_shares_sum(rt_trainer *t);

/* Moves the slices of the optimizer states from all ranks to rank 0, which stores all, or back. */
void rt_shares_move(rt_trainer *t, bool to_first);

/* Result of a shard. */
typedef struct rt_shard_result {
    double loss; /* summed over the labels */
    int64_t correct;
    int64_t tokens;
} rt_shard_result;

struct rt_trainer {
    /* whole training */
    const rt_config *config;
    const rt_data *data;
    rt_world *world;
    rt_account *account;   /* account of a dry run; or NULL */
    int (*stop)(void);     /* nonzero once this process was asked to stop; or NULL */
    void (*on_stop)(void); /* called once another rank was asked to stop; or NULL */
    const rt_update_rule *rule;
    rt_training_state state;
    uint16_t *rounded; /* parameters in bf16 (rt_trainer_hold_rounded); or NULL */

    /* threads */
    rt_workers *workers;
    int threads;       /* threads of a step: rt_threads_of */
    real **scratch;    /* scratch memory of each thread for updates of matrices */
    rt_graph **graphs; /* graphs of the first workers, which alone take shards and other jobs with
                          a graph; the other workers help */
    int graph_count;   /* shards computed at the same time */
    struct rt_profile *profiles; /* profile of each graph; NULL without --profile */
    int profiled;                /* steps in the profiles */

    /* shards and the sum of their gradients */
    int shards;                 /* number of shards of all ranks */
    int first_shard, end_shard; /* shards of this rank */
    rt_shard *shard;            /* (shards); shards of other ranks have no plan and no sequences */
    rt_shard_result *results;   /* (shards) */
    int group;                  /* number of shards between two sums */
    int blocks;                 /* number of blocks of gradients */
    rt_transformer **models;    /* model of each block; all share the values of the first */
    rt_summation *sums;         /* sums of blocks */
    rt_subtrees subtrees;       /* remaining subtrees of this rank */
    rt_span *spans;
    int span_count;
    rt_shares shares;

    /* the current step */
    rt_rates rates;
    double divisor; /* number of labels */
    int first;      /* first shard of the current group */
    int first_sum, end_sum;
    bool last;    /* the group is the last one, and no other rank adds anything */
    double scale; /* factor of the gradient, for clipping */
};

/* Creates a trainer as rt_trainer_new, but without communication: the processes of a world may have
 * different errors. The caller frees it with rt_trainer_end, which sends no order to others. */
rt_status rt_trainer_new_alone(rt_trainer **trainer_new, const rt_config *config,
                               const rt_data *data,
                               const rt_trainer_options *options) RT_MUST_CHECK;
void rt_trainer_end(rt_trainer *t);

/* Takes a step; called in every rank of a world, with the learning rates of rank 0 in `rates`. */
rt_status rt_trainer_take_step(rt_trainer *t, rt_step_result *result) RT_MUST_CHECK;

/* Evaluates as rt_trainer_evaluate; called in every rank of a world, with the theta of rank 0,
 * which may have changed it since the last order. With `counts`, a NULL tally is an error. */
rt_status rt_trainer_take_evaluation(rt_trainer *t, int length, int batches, bool counts,
                                     rt_evaluation *result, int64_t *tally) RT_MUST_CHECK;

/* Allocates a batch of the trainer's data and model; otherwise as rt_labelled_batch_new. */
rt_status rt_trainer_new_batch(const rt_trainer *t, rt_labelled_batch *b, int rows, int length,
                               rt_account *account) RT_MUST_CHECK;

/* Shards of the first sequences of evaluation data. The cut depends on the configuration alone. */
typedef struct rt_eval_shards {
    rt_trainer *trainer;
    long sequences;
    int rows; /* sequences of a full shard */
    int count;
    rt_labelled_batch *batches; /* batch of each graph; NULL: the jobs have no sequences */
    int32_t *buffers;           /* buffers in the batches */
} rt_eval_shards;

/* Buffers in the batches of shards: for predictions, and for distances of labels. */
typedef enum rt_buffers { RT_NO_BUFFERS, RT_PREDICTIONS, RT_DISTANCES } rt_buffers;

/* Cuts `batches` evaluation batches (0: all sequences) into shards of `rows` sequences (0: as in
 * the first shard of a step). Holds the parameters (rt_trainer_hold_rounded) until
 * rt_eval_shards_free, which must be called also after an error. */
rt_status rt_eval_shards_new(rt_eval_shards *s, rt_trainer *t, int length, int rows, int batches,
                             rt_buffers buffers) RT_MUST_CHECK;
void rt_eval_shards_free(rt_eval_shards *s);

/* Runs the job of each shard first ... end - 1 with its sequences. Returns RT_DATA if they could
 * not be read, else the status of the failed shard with the lowest number. */
rt_status rt_eval_shards_run(const rt_eval_shards *s, int first, int end, rt_model_job *job,
                             void *context) RT_MUST_CHECK;

#endif
