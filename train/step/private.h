#ifndef ROTOR_TRAIN_STEP_PRIVATE_H
#define ROTOR_TRAIN_STEP_PRIVATE_H

/* Parts of a trainer, for the files of this folder: trainer.c creates and frees it, step.c takes a
 * step and sends orders to the processes of a world, shares.c sums gradients, evaluation.c
 * evaluates, measurements.c measures a trained model, observers.c traps numbers that are not finite
 * and profiles ops, memory.c estimates memory. */

#include "core/memory.h"
#include "core/real.h"
#include "ops/engine.h"
#include "optim/options.h"
#include "optim/rules.h"
#include "train/step/trainer.h"
#include "train/step/workers.h"
#include "train/world/world.h"

/* Gradients are summed in a fixed binary tree, for any number of processes. A process takes its
 * shards in order, in groups, each shard into its own block, and adds all complete pairs after each
 * group. So few blocks are needed. At the end each process has a few sums that it cannot add alone:
 * the largest subtrees within its range of shards. The sums of all processes, in the order of
 * shards, give the total. */

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

/* Limit of the number of nodes: two per level, and one level per bit of the number of shards. */
enum { RT_MOST_SUBTREES = 64 };

/* Sums, in the order of shards, that wait for the other half of their parent. */
typedef struct rt_subtrees {
    int shards; /* shards of the whole tree */
    int count;
    rt_subtree at[RT_MOST_SUBTREES];
} rt_subtrees;

/* Appends the next node. Writes the sums that are now possible, in their order, and returns their
 * number. A whole tree takes `shards` - 1 sums. */
int rt_subtrees_take(rt_subtrees *nodes, rt_subtree next, rt_summation *sums);

/* Plan for one shard. */
typedef struct rt_leaf {
    int block; /* block of its gradient */
    int sums;  /* number of sums that are possible once this shard is computed */
} rt_leaf;

/* Plans the shards first ... end - 1 in groups. Fills in their leaves, the list of sums, and the
 * nodes that are left. Returns the number of blocks. */
int rt_subtrees_plan(rt_subtrees *nodes, int first, int end, int group, rt_leaf *leaves,
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

/* Slices of parameters and gradients. A single process has one slice, everything. */
typedef struct rt_shares {
    int rank;             /* rank of this process */
    int first, count;     /* spans of this process */
    size_t start, length; /* slice of this process in the parameter block */
    size_t *shards;       /* (P + 1): first shard of each process; spans and numbers share the
                             allocation */
    size_t *spans;        /* (P + 1): first span of each process */
    size_t *numbers;      /* (P + 1): first element of each process in the parameter block */
    double *squares;      /* sum of squares of the gradient of each span */
    int node_count;       /* number of nodes left by all processes, in the order of shards */
    int *owners;          /* rank of the owner of each node */
    real *received;       /* nodes of other processes, in the slice of this process */
    real **nodes;         /* slice of each node in this process */
    rt_summation *sums;   /* sums of nodes */
    int sum_count;
    rt_parcel *sent, *taken; /* parcels of one rt_shares_sum */
    int sent_count, taken_count;
} rt_shares;

/* Assigns the shards and spans of a trainer to processes. Returns RT_CONFIG if there are too many
 * parameters for a world. */
rt_status rt_shares_new(rt_trainer *t) RT_MUST_CHECK;
void rt_shares_free(rt_shares *s);

/* Returns the first of `count` consecutive items that process `rank` of `size` processes gets. */
int rt_share_start(int count, int size, int rank);

/* Reduces, in a world, the nodes of all processes to the gradient of the slice of this process, and
 * computes shares.squares. Does nothing without a world: step.c computes them there. */
void rt_shares_sum(rt_trainer *t);

/* Moves the slices of the optimizer states from all processes to process 0, which stores all, or
 * back. */
void rt_shares_move(rt_trainer *t, bool to_first);

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

/* Graph, and whether a job uses it. At most place_count jobs run at a time, each in one place. */
typedef struct rt_place {
    rt_graph *graph;
    atomic_bool taken;
} rt_place;

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
    int threads;    /* threads of a step: rt_threads_of */
    real **scratch; /* scratch memory of each thread for updates of matrices */
    rt_place *places;
    int place_count;
    struct rt_profile *profiles; /* profile of each place; NULL without --profile */
    int profiled;                /* steps in the profiles */

    /* shards and the sum of their gradients */
    int shards;                 /* number of shards of all processes */
    int first_shard, end_shard; /* shards of this process */
    rt_shard *shard;            /* (shards); shards of other processes have no sequences */
    rt_shard_result *results;   /* (shards) */
    int group;                  /* number of shards between two sums */
    int blocks;                 /* number of blocks of gradients */
    rt_transformer **models;    /* model of each block; all share the values of the first */
    rt_leaf *leaves;            /* (shards); only leaves of this process are planned */
    rt_summation *sums;         /* sums of blocks */
    rt_subtrees nodes;          /* remaining nodes of this process */
    rt_span *spans;
    int span_count;
    rt_shares shares;

    /* the current step */
    rt_rates rates;
    double divisor; /* number of labels */
    int first;      /* first shard of the current group */
    int first_sum, end_sum;
    bool last;    /* the group is the last one, and no other process adds anything */
    double scale; /* factor of the gradient, for clipping */
};

/* Acquires a place for a job of a worker, with the worker's threads; rt_trainer_leave frees it. */
int rt_trainer_enter(rt_trainer *t, int worker);
void rt_trainer_leave(rt_trainer *t, int place);

/* Creates a trainer as rt_trainer_new, but without communication: the processes of a world may have
 * different errors. The caller frees it with rt_trainer_end, which sends no order to others. */
rt_status rt_trainer_new_alone(rt_trainer **trainer_new, const rt_config *config,
                               const rt_data *data,
                               const rt_trainer_options *options) RT_MUST_CHECK;
void rt_trainer_end(rt_trainer *t);

/* Evaluates as rt_trainer_evaluate; called in every process of a world, with the theta of process
 * 0, which may have changed it since the last order. With `counts`, a NULL tally is an error. */
rt_status rt_trainer_take_evaluation(rt_trainer *t, int length, int batches, bool counts,
                                     rt_evaluation *result, int64_t *tally) RT_MUST_CHECK;

/* Allocates a batch of the trainer's data and model; otherwise as rt_labelled_batch_new. */
rt_status rt_trainer_new_batch(const rt_trainer *t, rt_labelled_batch *b, int rows, int length,
                               rt_account *account) RT_MUST_CHECK;

/* The first sequences of the evaluation data, cut into parts of `rows` sequences. The cut depends
 * on the configuration alone. */
typedef struct rt_parts {
    rt_trainer *trainer;
    long sequences;
    int rows;                   /* sequences of a full part */
    int count;                  /* number of parts */
    rt_labelled_batch *batches; /* batch of each place; NULL: the jobs have no sequences */
    int32_t *buffers;           /* buffers in the batches */
} rt_parts;

/* Buffers in the batches of parts: for predictions, and for distances of labels. */
typedef enum rt_buffers { RT_NO_BUFFERS, RT_PREDICTIONS, RT_DISTANCES } rt_buffers;

/* Cuts `batches` evaluation batches (0: all sequences) into parts of `rows` sequences (0: as in the
 * first shard). Holds the parameters (rt_trainer_hold_rounded) until rt_parts_free, which must be
 * called also after an error. */
rt_status rt_parts_new(rt_parts *p, rt_trainer *t, int length, int rows, int batches,
                       rt_buffers buffers) RT_MUST_CHECK;
void rt_parts_free(rt_parts *p);

/* Runs the job of each part first ... end - 1 with its sequences. Returns RT_DATA if they could not
 * be read, else the status of the failed part with the lowest number. */
rt_status rt_parts_run(const rt_parts *p, int first, int end, rt_model_job *job,
                       void *context) RT_MUST_CHECK;

#endif
