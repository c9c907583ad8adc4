#ifndef ROTOR_TRAIN_STEP_TRAINER_H
#define ROTOR_TRAIN_STEP_TRAINER_H

/* One optimizer step, and evaluation. Results are bitwise identical for any number of threads and
 * processes.
 *
 * The batch of a step is cut into shards (micro-batches) of whole sequences; the cut depends on the
 * configuration alone. One thread computes a shard from beginning to end; each shard in progress
 * has its own block of gradients. Threads without a shard help others with parts of their ops; the
 * parts depend on shapes, engine (ops/engine.h), number format, forward or backward, and whether
 * the graph records, never on threads. The parameter block is cut into spans. The gradients of the
 * shards are summed span by span, in the order of a fixed binary tree (shares.c); clipping and the
 * update go by the same spans.
 *
 * With several processes (ranks), each rank differentiates some of the shards. It reduces the
 * gradients of its slice of the parameters in the order of the same tree, and updates that slice.
 * Rank 0 decides what is done; its trainer is used like that of a single process. Ranks > 0 run
 * rt_trainer_serve, which follows rank 0. */

#include "data/data.h"
#include "data/labelled_batch.h"
#include "models/transformer.h"
#include "optim/rules.h"
#include "train/config/config.h"
#include "train/step/workers.h"
#include "train/world/world.h"

#include <stdio.h>

typedef struct rt_batch_result {
    double loss;    /* summed over the labels */
    size_t correct; /* correctly predicted labels */
} rt_batch_result;

/* Returns the model input for a batch. It points into the batch and into memory of the graph. */
rt_transformer_input rt_batch_input(rt_graph *g, const rt_labelled_batch *b);

/* Computes the logits of a batch with N >= 1 labels: (N, V) with an lm head, (N, classes) with a
 * token head, (B, classes) with a sequence head. Returns NULL if the graph has failed. */
rt_tensor *rt_batch_logits(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b);

/* Computes the logits of a text: (count, V) or, if `position` is not NULL, (1, V), of token
 * *position < count. `position` must live until the graph is cleared. Returns NULL if the
 * graph has failed. */
rt_tensor *rt_text_logits(rt_transformer *model, rt_graph *g, const int32_t *ids, int count,
                          const int32_t *position);

/* Computes the sum of the losses of all labels, divided by `divisor`, for rt_graph_backward. The
 * batch must have a label. `result` may be NULL, and must be NULL in a dry graph. Returns NULL if
 * the graph has failed. */
rt_tensor *rt_batch_loss(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b,
                         double divisor, rt_batch_result *result);

typedef struct rt_trainer rt_trainer;

/* State of a training between two steps, as a checkpoint stores it. */
typedef struct rt_training_state {
    int step; /* finished steps */
    int64_t sequences;
    rt_transformer *model;
    real *states[RT_MOST_STATES]; /* optimizer states: in rank 0 laid out like the parameters, and
                                     complete after rt_trainer_collect; in others a slice. NULL
                                     beyond those of the update rule */
} rt_training_state;

typedef struct rt_step_result {
    double loss;            /* mean over the labels of the step */
    double accuracy;        /* fraction of the labels that were predicted correctly */
    double grad_norm;       /* before clipping */
    double theta_grad_norm; /* of the gradient of theta alone; 0 if theta is fixed */
    double lr;
    long tokens; /* of the batch, padding included */
} rt_step_result;

typedef struct rt_evaluation {
    double loss;
    double accuracy;
    long labels;
    long sequences;
    long exact; /* sequences with all labels predicted correctly; 0 unless data.length = A..B */
    long bytes; /* of the text of all target tokens; 0: unknown (rt_vocabulary_bytes) */
} rt_evaluation;

/* Returns the number of threads of a process: run.threads or, if that is 0, its share of the
 * available processors. */
int rt_threads_of(const rt_config *config, const rt_world *world);

/* Options of rt_trainer_new. */
typedef struct rt_trainer_options {
    rt_world *world;       /* borrowed; NULL: a single process */
    bool blank;            /* the parameters are going to be loaded (models/transformer.h) */
    rt_account *account;   /* account of a dry run (core/memory.h), which reserves memory and takes
                              no step; or NULL */
    int threads;           /* threads to start; if 0 or above rt_threads_of: rt_threads_of */
    void (*on_stop)(void); /* called in every step and evaluation after another rank was asked to
                              stop; or NULL */
} rt_trainer_options;

/* Creates a trainer for a configuration and matching data, both borrowed. `options` may be NULL: a
 * single process, and every other option zero. All ranks need the same configuration and data, and
 * return the error of the lowest rank that has one. rt_trainer_free of rank 0 ends rt_trainer_serve
 * of the others. */
rt_status rt_trainer_new(rt_trainer **trainer_new, const rt_config *config, const rt_data *data,
                         const rt_trainer_options *options) RT_MUST_CHECK;
void rt_trainer_free(rt_trainer *trainer);

/* Serves rank 0 in ranks > 0, until rank 0 ends it. `stop` returns nonzero once this process was
 * asked to stop. */
void rt_trainer_serve(rt_trainer *trainer, int (*stop)(void));

/* Synchronizes the ranks of a world. Rank 0 calls these functions; in a single process they do
 * nothing. rt_trainer_share broadcasts the step and the parameters, and sends each rank its slice
 * of the optimizer states: call it after changing parameters between two steps. If theta alone
 * changed, no call is needed before an evaluation, which broadcasts it. rt_trainer_collect updates
 * the states of rank 0 with the slices of all ranks. rt_trainer_dismiss ends rt_trainer_serve: rank
 * 0 evaluates alone from then on. */
void rt_trainer_share(rt_trainer *trainer);
void rt_trainer_collect(rt_trainer *trainer);
void rt_trainer_dismiss(rt_trainer *trainer);

/* Releases the working memory of steps and evaluations to the system until the next one, to make
 * room for a save. */
void rt_trainer_return_pages(rt_trainer *trainer);

rt_training_state *rt_trainer_state(rt_trainer *trainer);
const rt_data *rt_trainer_data(const rt_trainer *trainer);

/* Takes the next step. Returns RT_NONFINITE if the loss or a gradient is not finite, and RT_DATA if
 * the data could not be read or has no label. No parameter has changed then. */
rt_status rt_trainer_step(rt_trainer *trainer, rt_step_result *result) RT_MUST_CHECK;

/* Evaluates the first `batches` batches of the evaluation set (0: all of it), or fewer if it is
 * smaller, in sequences of `length` tokens. `tally`, of rt_trainer_tally_size numbers, receives
 * counts unless it is NULL. For a model with classes it is a confusion matrix (classes, classes):
 * labels of each class (row) that were predicted as each class (column). If the task's labels have
 * distances (rt_batch.distances), it is (RT_DISTANCE_BINS, 2): the labels in each bin, and those of
 * them that were predicted correctly. Other models have no counts: `tally` must be NULL. RT_DATA if
 * there is no label; RT_NONFINITE from the trap of rt_trainer_observe. */
rt_status rt_trainer_evaluate(rt_trainer *trainer, int length, int batches, rt_evaluation *result,
                              int64_t *tally) RT_MUST_CHECK;
size_t rt_trainer_tally_size(const rt_trainer *trainer);

/* Bins of distances from 0 to 2^21 - 1: one each for 0 to 7, then four from each power of two to
 * the next. Returns the bin of a distance, and the first distance of a bin. */
enum { RT_DISTANCE_BINS = 80 };
int rt_distance_bin(int distance);
int rt_distance_first(int bin);

/* One of several independent jobs, on any of the threads; its result must depend on its number
 * alone. `model` has the values of the trained model; `g` is empty and does not record. `batch`:
 * the sequences of a job of an evaluation or a measurement; NULL in rt_trainer_run_jobs. */
typedef rt_status rt_model_job(void *context, int job, const rt_labelled_batch *batch,
                               rt_transformer *model, rt_graph *g);

/* Runs jobs 0 ... jobs - 1 on the threads of this process. Returns the status of the failed job
 * with the lowest number. */
rt_status rt_trainer_run_jobs(rt_trainer *trainer, rt_model_job *run, void *context,
                              int jobs) RT_MUST_CHECK;

/* Overrides theta (rt_transformer_change_theta) in this process only. */
void rt_trainer_change_theta(rt_trainer *trainer, const rt_theta_change *change);

/* Starts or stops observers of the graphs. `trap` fails a step, an evaluation or a job at the first
 * value that is not finite and names the op; `profile` discards earlier measurements and measures
 * every op, unless `trap` is set too. With neither, observers stop, and measurements stay. */
rt_status rt_trainer_observe(rt_trainer *trainer, bool trap, bool profile) RT_MUST_CHECK;

/* Observer of --trap: fails the graph with RT_NONFINITE, and names the op, if a result or a
 * gradient has a NaN or an infinity. Needs no context. */
extern const rt_observer rt_trap;

/* Prints the measurements; prints nothing if there was no profile. Its bytes are the size of every
 * input and result in forward, and twice that in backward, for values and gradients. */
void rt_trainer_print_profile(FILE *to, const rt_trainer *trainer);

/* Keeps the parameters in bf16 for all products until rt_trainer_release_rounded; do not change
 * them in between. Does nothing in a training with train.recompute, or if run.math is not bf16.
 * Steps and evaluations call both. */
void rt_trainer_hold_rounded(rt_trainer *trainer);
void rt_trainer_release_rounded(void);

/* Returns the seconds of a monotonic clock, that of all measurements. Only differences are
 * meaningful. */
double rt_seconds(void);

/* Returns the threads of the trainer, for other work between steps. */
rt_workers *rt_trainer_workers(rt_trainer *trainer);

#endif
