#ifndef ROTOR_TRAIN_STEP_MEMORY_H
#define ROTOR_TRAIN_STEP_MEMORY_H

/* Memory of a training, or of the use of a trained model: the estimate of each phase, and the
 * comparison with the limits of this process. */

#include "core/graph.h"
#include "core/path.h"
#include "data/data.h"
#include "train/config/config.h"
#include "train/world/world.h"

/* Estimates an upper bound of the number of labels in `rows` sequences of `length` tokens: rows for
 * labelled texts, rows * length for labelled tokens; else the mean plus three standard deviations
 * over the first sequences drawn, rounded up and limited to 1 ... rows * length. */
rt_status rt_most_labels(int *labels, const rt_config *config, const rt_data *data, int rows,
                         int length) RT_MUST_CHECK;

/* Phases. A training goes through the first three again and again, in one process; before a save it
 * returns the pages of steps and evaluations to the system, but keeps their address space. Each of
 * the next four is a process of its own, which begins by reading a checkpoint of this
 * configuration. RT_PHASE_USED is the evaluation of a model that is already loaded, RT_PHASE_MODEL
 * any other use of one. */
#define RT_MEMORY_PHASES(X)                                                                        \
    X(RT_PHASE_STEP, "step")                                                                       \
    X(RT_PHASE_EVALUATION, "evaluation")                                                           \
    X(RT_PHASE_SAVE, "checkpoint")                                                                 \
    X(RT_PHASE_RESUME, "--resume")                                                                 \
    X(RT_PHASE_EVAL, "--eval")                                                                     \
    X(RT_PHASE_DISTANCES, "--distances")                                                           \
    X(RT_PHASE_EXPORT, "--export")
typedef enum rt_memory_phase {
    RT_MEMORY_PHASES(RT_CHOICE_VALUE) RT_PHASES,
    RT_PHASE_USED = RT_PHASES,
    RT_PHASE_MODEL,
    RT_ALL_PHASES
} rt_memory_phase;

/* Need of one process beyond the program and its data: counts, and sizes in bytes. Each of
 * the shards that are computed at the same time has a graph. */
typedef struct rt_memory_need {
    int threads;
    int graphs; /* number of shards computed at the same time */
    int blocks; /* blocks of gradients */

    rt_account reserved; /* memory that the trainer reserves, with the batches of a step */
    size_t to_use;       /* parameters in bf16, when the model is used but not trained */
    size_t largest;      /* values of the largest parameter */
    size_t chunk;        /* largest chunk of a parameter in a checkpoint */
    int parameters;      /* number of tensors */

    rt_graph_need step;       /* graph for steps */
    rt_graph_need training;   /* graph for steps and evaluations */
    rt_graph_need evaluation; /* graph for evaluations */
    size_t evaluated;         /* bytes of the batches of all graphs in an evaluation */
    size_t weights;           /* bytes of all weights of attention in a sequence (--distances) */

    size_t data;    /* memory of the open data, which is there before the trainer */
    size_t opening; /* memory of files that is free again when the data is open */

    double resident[RT_ALL_PHASES]; /* resident memory */
    double space[RT_ALL_PHASES];    /* address space, of which some is never touched */
    double products;                /* address space of OpenBLAS in any phase */
    double heaps;                   /* address space of malloc's heaps that is not writable yet */
} rt_memory_need;

/* Use of memory: a training from its start or from its checkpoint, or the use of a loaded model. */
typedef enum rt_memory_use {
    RT_USE_TRAIN,
    RT_USE_RESUME,
    RT_USE_EVALUATE,
    RT_USE_DISTANCES,
    RT_USE_MODEL /* without its data */
} rt_memory_use;

/* Estimates the need of this process of a world, without communication, by a dry run: it creates
 * the trainer in reserved memory (core/memory.h), runs steps and evaluations with all shapes of the
 * run, and counts the bytes. Returns the first error that the run would have; RT_SHAPE also for a
 * tensor that is too large. RT_USE_MODEL has one process, and no steps or evaluations: its data may
 * have no sequences (rt_data_open_encoder). */
rt_status rt_memory_estimate(rt_memory_need *need, const rt_config *config, const rt_data *data,
                             rt_world *world, rt_memory_use use) RT_MUST_CHECK;

/* Limits in bytes; INFINITY without a limit. Used bytes are 0 if unknown. */
typedef struct rt_memory_limits {
    double machine;                /* memory of the machine */
    double group;                  /* lowest limit of the control groups of the process */
    char group_file[RT_PATH_SIZE]; /* file with this limit, or "" */
    double addresses, data;        /* bytes left by ulimit -v and ulimit -d */
    double resident;               /* used by this process */
    double addresses_used;
} rt_memory_limits;

/* Reads the limits. `root`, "" except in tests, precedes all paths of control groups. For the group
 * in root/proc/self/cgroup and each of its ancestors, the limit is in memory.max below
 * root/sys/fs/cgroup or root/sys/fs/cgroup/unified (version 2), or in memory.limit_in_bytes below
 * root/sys/fs/cgroup/memory (version 1). */
void rt_memory_limits_read(rt_memory_limits *limits, const char *root);

/* Returns RT_CONFIG if ulimit -v leaves less than the buffers and thread stacks that OpenBLAS
 * allocates when it is loaded. Call it from .preinit_array, before the constructors of the
 * libraries, with the environment, which sets the number of threads: OpenBLAS 0.3.29 allocates a
 * buffer for each of them and retries forever if it gets none. With NULL, checks the space for one
 * buffer. Call it so before main computes: an OpenBLAS thread that still waits for a buffer would
 * block fork and exit. */
rt_status rt_address_space_check(char **environment) RT_MUST_CHECK;

/* Estimates the need and compares it with three limits of this process: memory (of the machine and
 * of the control group, divided by the processes on the host), ulimit -v and ulimit -d. `freed`
 * bytes of the process, such as those of a checkpoint, are freed once the model is loaded. Returns
 * RT_CONFIG, with both numbers, if a limit is below the need; RT_ARGUMENT, RT_SHAPE and RT_MEMORY
 * of the dry run become RT_CONFIG as well. */
rt_status rt_memory_check(rt_memory_need *need, const rt_config *config, const rt_data *data,
                          rt_world *world, rt_memory_use use, double freed) RT_MUST_CHECK;

#endif
