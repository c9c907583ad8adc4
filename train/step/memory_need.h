#ifndef ROTOR_TRAIN_STEP_MEMORY_NEED_H
#define ROTOR_TRAIN_STEP_MEMORY_NEED_H

/* What a run takes at most in each of its phases, from a dry run: what the trainer and its graphs
 * have asked for, and estimates of what the libraries take that a dry run does not call. */

#include "train/step/dry_run.h"

/* What a process does. A training goes through the first four again and again, and keeps in each
 * what it has; the last three begin with nothing, and read a checkpoint of this configuration. */
#define RT_MEMORY_PHASES(X)                                                                        \
    X(RT_PHASE_STEP, "step")                                                                       \
    X(RT_PHASE_EVALUATION, "evaluation")                                                           \
    X(RT_PHASE_SAVE, "checkpoint")                                                                 \
    X(RT_PHASE_RESUME, "--resume")                                                                 \
    X(RT_PHASE_EVAL, "--eval")                                                                     \
    X(RT_PHASE_EXPORT, "--export")
typedef enum rt_memory_phase { RT_MEMORY_PHASES(RT_CHOICE_VALUE) RT_PHASES } rt_memory_phase;

/* Bytes beyond the program and its data. */
typedef struct rt_memory_bytes {
    double resident; /* memory */
    double space;    /* address space, of which some is never touched */
} rt_memory_bytes;

typedef struct rt_memory_need {
    rt_dry_run run;
    rt_memory_bytes at[RT_PHASES];
    rt_memory_bytes used;  /* by a model that has been read, and evaluated ... */
    rt_memory_bytes model; /* ... or used otherwise */
    double products;       /* address space of OpenBLAS in any of them */
    double reserved;       /* address space that cannot be written to yet */
} rt_memory_need;

/* What is to be done: a training from its start, or from its checkpoint; or with a model that has
 * been read. */
typedef enum rt_memory_use {
    RT_USE_TRAIN,
    RT_USE_RESUME,
    RT_USE_EVALUATE,
    RT_USE_MODEL /* without its data */
} rt_memory_use;

/* Of this process of a world; errors as rt_dry_run_training. */
rt_status rt_memory_estimate(rt_memory_need *need, const rt_config *config, const rt_data *data,
                             rt_world *world, rt_memory_use use) RT_MUST_CHECK;

#endif
