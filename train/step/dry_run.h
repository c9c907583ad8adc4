#ifndef ROTOR_TRAIN_STEP_DRY_RUN_H
#define ROTOR_TRAIN_STEP_DRY_RUN_H

/* A dry run of a training: the trainer, a step and an evaluation are made as for a run, of the same
 * shapes, but with tallies in place of memory and graphs that compute nothing. So what a run would
 * refuse is refused here, and what it would take is known before it takes anything. */

#include "core/graph.h"
#include "data/data.h"
#include "train/config/config.h"
#include "train/world/world.h"

/* Bytes of one process. Shards all take the same, so that of one is given. */
typedef struct rt_dry_run {
    int threads; /* that compute, ... */
    int places;  /* ... as many shards at once */
    int blocks;  /* of gradients */

    size_t values;    /* of the parameters */
    size_t rounded;   /* the same in bf16, with run.math = bf16: what a step holds, */
    size_t to_use;    /* ... and who uses the model alone */
    size_t moments;   /* and other states of the optimizer */
    size_t rooms;     /* of all threads, in which matrices are moved */
    size_t gradients; /* of all blocks */
    size_t received;  /* gradients of other processes */
    size_t batches;   /* of a step */
    size_t tables;    /* of positions, of each model: one for each block */
    size_t largest;   /* values of the largest parameter */
    int parameters;   /* how many tensors they are */

    rt_graph_need step;       /* of a place that takes steps */
    rt_graph_need training;   /* of a place that takes steps and evaluates */
    rt_graph_need evaluation; /* of a place that evaluates */
    size_t evaluated;         /* batches of all places in an evaluation */
} rt_dry_run;

/* Of this process of a world, or of a process alone (NULL); nothing is said to the others. The
 * first failure of what a run would do: RT_SHAPE also for a tensor that is too large. */
rt_status rt_dry_run_training(rt_dry_run *run, const rt_config *config, const rt_data *data,
                              rt_world *world) RT_MUST_CHECK;

/* The same without steps and evaluations, of data without sequences (rt_data_open_without). */
rt_status rt_dry_run_model(rt_dry_run *run, const rt_config *config,
                           const rt_data *data) RT_MUST_CHECK;

/* How many labels `rows` sequences of that length have, of those that have many: more than three
 * standard deviations above the mean of the sequences that the run draws first. */
rt_status rt_most_labels(int *labels, const rt_config *config, const rt_data *data, int rows,
                         int length) RT_MUST_CHECK;

#endif
