#ifndef ROTOR_TRAIN_STEP_TRAINER_H
#define ROTOR_TRAIN_STEP_TRAINER_H

/* One optimiser step, and evaluation: bitwise identical for any number of threads and processes.
 *
 * The batch of a step is cut into shards of whole sequences; the cut depends on the
 * configuration alone. A shard is computed by one thread from beginning to end, with
 * gradients of its own; threads without a shard help with the parts of its ops, whose borders
 * depend on shapes alone. The gradients of the shards are summed in a fixed binary tree
 * (shares.c), span by span of the parameter block; clipping and the update use
 * the same spans.
 *
 * With several processes (ranks), each rank differentiates some of the shards, sums the gradients
 * of some of the parameters in the order of the same tree, and updates these. Rank 0 decides what
 * is done: its trainer is used like that of a single process. Ranks > 0 run a worker loop,
 * rt_trainer_serve, which follows rank 0.
 */

#include "data/data.h"
#include "data/labelled_batch.h"
#include "models/transformer.h"
#include "optim/rules.h"
#include "train/config/config.h"
#include "train/step/observers.h"
#include "train/step/workers.h"
#include "train/world/world.h"

/* ---- a batch ---- */

typedef struct rt_batch_result {
    double loss;    /* summed over the labels */
    size_t correct; /* labels that were predicted */
} rt_batch_result;

/* Returns the input of the model for a batch. */
rt_transformer_input rt_batch_input(const rt_labelled_batch *b);

/* Computes the logits of the labelled positions, (labels, V) or (B, classes). Returns NULL if the
 * graph has failed. There must be at least one label. */
rt_tensor *rt_batch_logits(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b);

/* Computes the logits of one position of a text, (1, V); of all positions, (count, V), for NULL.
 * Returns NULL if the graph has failed. */
rt_tensor *rt_text_logits(rt_transformer *model, rt_graph *g, const int32_t *ids, int count,
                          const int32_t *position);

/* Computes the summed loss over `divisor`, for backward. Returns NULL if the graph has failed.
 * There must be at least one label. `result` may be NULL, and must be with a dry graph. */
rt_tensor *rt_batch_loss(rt_transformer *model, rt_graph *g, const rt_labelled_batch *b,
                         double divisor, rt_batch_result *result);

/* ---- the trainer ---- */

typedef struct rt_trainer rt_trainer;

/* State of a training between two steps, which a checkpoint keeps. */
typedef struct rt_training_state {
    int step; /* finished steps */
    int64_t sequences;
    rt_transformer *model;
    real *states[RT_MOST_STATES]; /* of the optimizer, in the layout of the parameters; NULL
                                     beyond the number of its rule; see rt_trainer_collect */
} rt_training_state;

typedef struct rt_step_result {
    double loss;            /* mean over the labels of the step */
    double accuracy;        /* part of the labels that were predicted */
    double grad_norm;       /* before clipping */
    double theta_grad_norm; /* part of theta; 0 if theta is fixed */
    double lr;
    long tokens;
} rt_step_result;

typedef struct rt_evaluation {
    double loss;
    double accuracy;
    long labels;
    long sequences;
    long bytes; /* of text of the labels; 0: unknown (see rt_vocabulary_bytes) */
} rt_evaluation;

/* Returns the number of threads of a process: run.threads or, if that is 0, its share of the
 * processors that it may use. */
int rt_threads_of(const rt_config *config, const rt_world *world);

/* Options of rt_trainer_new. */
typedef struct rt_trainer_options {
    rt_world *world; /* borrowed; all processes have the same configuration and data. NULL: a single
                        process */
    bool blank;      /* the model is blank (models/transformer.h), to be loaded */
    rt_account *account; /* of a dry run (core/memory.h): large memory is reserved, and the trainer
                            takes no step; NULL: allocated */
    int threads;         /* that are started; 0: rt_threads_of */
    void (*on_stop)(void); /* called by a step or an evaluation of process 0 if another process was
                              asked to stop; or NULL */
} rt_trainer_options;

/* Creates a trainer; without options (NULL) that of a single process. Configuration and data are
 * borrowed; `data` must match the configuration. In a world, all processes return the first error
 * of any. When the trainer of process 0 is freed, rt_trainer_serve of the others returns. */
rt_status rt_trainer_new(rt_trainer **trainer_new, const rt_config *config, const rt_data *data,
                         const rt_trainer_options *options) RT_MUST_CHECK;
void rt_trainer_free(rt_trainer *trainer);

/* Runs the worker loop of ranks > 0: follows rank 0 until rank 0 ends it. `stop` returns whether
 * this process was asked to stop. */
void rt_trainer_serve(rt_trainer *trainer, int (*stop)(void));

/* For rank 0; no-ops in a single process. rt_trainer_share broadcasts its step, parameters and
 * optimizer states to all ranks: call it after changing parameters between two steps (an
 * evaluation broadcasts theta itself). rt_trainer_collect gathers the states of all ranks, of which
 * it otherwise has its own share only. rt_trainer_dismiss ends the worker loops; rank 0 then
 * evaluates alone and takes no more steps. */
void rt_trainer_share(rt_trainer *trainer);
void rt_trainer_collect(rt_trainer *trainer);
void rt_trainer_dismiss(rt_trainer *trainer);

/* Returns the working memory of steps and evaluations to the system until the next one, so that
 * a save has room. */
void rt_trainer_rest(rt_trainer *trainer);

rt_training_state *rt_trainer_state(rt_trainer *trainer);
const rt_data *rt_trainer_data(const rt_trainer *trainer);

/* Takes the next step. RT_NONFINITE if the loss or a gradient is not finite, RT_DATA if
 * the data could not be read: then no parameter has changed. */
rt_status rt_trainer_step(rt_trainer *trainer, rt_step_result *result) RT_MUST_CHECK;

/* Evaluates on the first `batches` batches of the evaluation set (0: all of it), or fewer if it is
 * small, in sequences of `length` tokens. For a model with classes, `confusion` (classes, classes),
 * unless it is NULL, gets the number of labels of each class (row) that were predicted as each
 * class (column). */
rt_status rt_trainer_evaluate(rt_trainer *trainer, int length, int batches, rt_evaluation *result,
                              int64_t *confusion) RT_MUST_CHECK;

/* Does one of several jobs, which depends on its number alone, on any of the threads: `model` has
 * the values of the trained one, the graph is cleared and does not record. `batch` holds the
 * sequences of a job that is a part of an evaluation; NULL for rt_trainer_run_jobs. */
typedef rt_status rt_model_job(void *context, int job, const rt_labelled_batch *batch,
                               rt_transformer *model, rt_graph *g);

/* Does job 0 ... jobs - 1 in this process, on its threads. Returns the status of the failed job
 * with the lowest number. */
rt_status rt_trainer_run_jobs(rt_trainer *trainer, rt_model_job *run, void *context,
                              int jobs) RT_MUST_CHECK;

/* Calls rt_transformer_change_theta for all models. For a single process. */
void rt_trainer_change_theta(rt_trainer *trainer, const rt_theta_change *change);

/* Observes the graphs from now on: `trap` fails a step with a number that is not finite and names
 * the op, `profile` measures every op. With neither, observation ends and its measurements stay. */
rt_status rt_trainer_observe(rt_trainer *trainer, bool trap, bool profile) RT_MUST_CHECK;
void rt_trainer_print_profile(FILE *to, const rt_trainer *trainer);

/* Returns the bytes that profiled ops have read and written, each input and result once a pass. */
double rt_trainer_profiled_bytes(const rt_trainer *trainer);

/* With run.math = bf16, rt_trainer_hold rounds the parameters once for all products until
 * rt_trainer_release; they must not change in between. Steps and evaluations call both. */
void rt_trainer_hold(rt_trainer *trainer);
void rt_trainer_release(void);

/* Returns the threads, for other work between steps. */
rt_workers *rt_trainer_workers(rt_trainer *trainer);

#endif
