#ifndef ROTOR_TRAIN_STEP_MEMORY_H
#define ROTOR_TRAIN_STEP_MEMORY_H

/* Memory of a training, or of the use of a trained model: a dry run, an estimate of each phase from
 * it, and the comparison with the limits of this process.
 *
 * A dry run creates the trainer, a step and an evaluation with the shapes of the run in reserved
 * memory (core/memory.h). So it refuses what the run would refuse, and counts the memory before any
 * is allocated. */

#include "core/graph.h"
#include "core/path.h"
#include "data/data.h"
#include "train/config/config.h"
#include "train/world/world.h"

/* ---- dry run ---- */

/* Bytes of one process, which are the same for all its shards. */
typedef struct rt_dry_run {
    int threads;
    int places; /* number of shards that are computed at the same time */
    int blocks; /* of gradients */

    rt_account reserved; /* by the trainer: tables of one block, batches of a step */
    size_t to_use;       /* parameters in bf16 of a use of the model alone */
    size_t largest;      /* values of the largest parameter, ... */
    size_t chunk;        /* ... and the largest chunk of any in a checkpoint */
    int parameters;      /* number of tensors */

    rt_graph_need step;       /* of a place that takes steps */
    rt_graph_need training;   /* of a place that takes steps and evaluates */
    rt_graph_need evaluation; /* of a place that evaluates */
    size_t evaluated;         /* batches of all places in an evaluation */
} rt_dry_run;

/* Runs dry as this process of a world, or as a single process (NULL), without communication.
 * Without `passes`, steps and evaluations are left out, for data without sequences
 * (rt_data_open_without). Returns the first failure that the run would have; RT_SHAPE also for a
 * tensor that is too large. */
rt_status rt_dry_run_training(rt_dry_run *run, const rt_config *config, const rt_data *data,
                              rt_world *world, bool passes) RT_MUST_CHECK;

/* Estimates the number of labels of `rows` sequences of a length, rounded up: three standard
 * deviations above the mean of the sequences that the run draws first. */
rt_status rt_most_labels(int *labels, const rt_config *config, const rt_data *data, int rows,
                         int length) RT_MUST_CHECK;

/* ---- estimate ---- */

/* Phases. A training repeats the first three and keeps the memory of each; the others start with
 * nothing, and read a checkpoint of this configuration. RT_PHASE_USED is the evaluation of a loaded
 * model, RT_PHASE_MODEL any other use of one. */
#define RT_MEMORY_PHASES(X)                                                                        \
    X(RT_PHASE_STEP, "step")                                                                       \
    X(RT_PHASE_EVALUATION, "evaluation")                                                           \
    X(RT_PHASE_SAVE, "checkpoint")                                                                 \
    X(RT_PHASE_RESUME, "--resume")                                                                 \
    X(RT_PHASE_EVAL, "--eval")                                                                     \
    X(RT_PHASE_EXPORT, "--export")
typedef enum rt_memory_phase {
    RT_MEMORY_PHASES(RT_CHOICE_VALUE) RT_PHASES,
    RT_PHASE_USED = RT_PHASES,
    RT_PHASE_MODEL,
    RT_ALL_PHASES
} rt_memory_phase;

/* Bytes beyond the program and its data. */
typedef struct rt_memory_need {
    rt_dry_run run;
    double resident[RT_ALL_PHASES]; /* memory */
    double space[RT_ALL_PHASES];    /* address space, of which some is never touched */
    double products;                /* address space of OpenBLAS in any phase */
    double reserved;                /* address space that is not writable yet */
} rt_memory_need;

/* Use: a training from its start or from its checkpoint, or the use of a loaded model. */
typedef enum rt_memory_use {
    RT_USE_TRAIN,
    RT_USE_RESUME,
    RT_USE_EVALUATE,
    RT_USE_MODEL /* without its data */
} rt_memory_use;

/* Estimates the need of this process of a world; errors as rt_dry_run_training. */
rt_status rt_memory_estimate(rt_memory_need *need, const rt_config *config, const rt_data *data,
                             rt_world *world, rt_memory_use use) RT_MUST_CHECK;

/* ---- limits ---- */

/* Bytes: INFINITY without a limit; used bytes are 0 if unknown. */
typedef struct rt_memory_limits {
    double machine;                /* memory of the machine */
    double group;                  /* lowest limit of the control groups of the process */
    char group_file[RT_PATH_SIZE]; /* file with this limit, or "" */
    double addresses, data;        /* left by ulimit -v and ulimit -d */
    double resident;               /* used by this process */
    double addresses_used;
} rt_memory_limits;

/* Reads the limits. The files of control groups are below `root`, which is "" except in tests: the
 * path of the group is in root/proc/self/cgroup, and every group on that path has a limit in
 * root/sys/fs/cgroup (version 2, memory.max) or root/sys/fs/cgroup/memory (version 1,
 * memory.limit_in_bytes). */
void rt_memory_limits_read(rt_memory_limits *limits, const char *root);

/* Returns RT_CONFIG if the limit of the process (ulimit -v) leaves less than OpenBLAS allocates
 * when it is loaded. To be called before the constructors of the libraries: OpenBLAS 0.3.29 takes a
 * buffer for each of its threads, whose number depends on the environment, and tries for ever if it
 * gets none. To be called again before anything else, with NULL, for one buffer: a thread that the
 * library starts when it is loaded may still ask for one, and a fork or an exit waits for that
 * thread. */
rt_status rt_address_space_check(char **environment) RT_MUST_CHECK;

/* Estimates the need and compares it with the limits of this process: the memory of the machine or
 * of a control group, each shared by the processes of the host, the address space, and the data.
 * `freed` bytes of the process, of a checkpoint, are freed once the model has its values. Returns
 * RT_CONFIG, with both numbers, if a limit is below the need, or for an error of the dry run about
 * sizes. */
rt_status rt_memory_check(rt_memory_need *need, const rt_config *config, const rt_data *data,
                          rt_world *world, rt_memory_use use, double freed) RT_MUST_CHECK;

#endif
