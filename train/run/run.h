#ifndef ROTOR_TRAIN_RUN_RUN_H
#define ROTOR_TRAIN_RUN_RUN_H

/* A run from the first step to the last line on stdout, and the uses of a trained one. Messages go
 * to stderr. A returned rt_exit is the exit code of the process. */

#include "train/config/sweep.h"
#include "train/folder/results.h"
#include "train/run/arguments.h"
#include "train/run/found.h"
#include "train/step/memory.h"

/* Checks what rt_run_train checks before the first step: data, memory, the checkpoint that the run
 * starts from or resumes. Creates nothing. Checks for a used run folder only if the command is
 * training. Returns the memory that the run needs in `need`, unless that is NULL. */
rt_status rt_run_check(const rt_config *config, const rt_arguments *arguments,
                       rt_memory_need *need) RT_MUST_CHECK;

rt_exit rt_run_train(rt_config *config, const rt_arguments *arguments);

/* Uses the model of a checkpoint: --eval, --usage, --distances, --predict, --embed, --export. With
 * a CONFIG.ini, finds the checkpoint of its run, which is used with its own configuration and the
 * overrides of the command line; without one, `found` is open, and `config` is its configuration.
 */
rt_exit rt_run_use(const rt_config *config, rt_found *found, const rt_arguments *arguments);

/* Compares what must be the same at all processes of a world before they begin: the program, the
 * configuration, the sweep, the kernels, the data. Returns the first difference at every process:
 * RT_CONFIG, or RT_DATA for the files of data. */
rt_status rt_compare_hosts(const rt_config *config, const rt_sweep *sweep,
                           const rt_arguments *arguments) RT_MUST_CHECK;

/* Checks whether a configuration can continue, as a branch, a run that has taken `step` steps.
 * Returns RT_CONFIG with the keys that a branch cannot change. */
rt_status rt_branch_check(const rt_config *trunk, const rt_config *branch,
                          int64_t step) RT_MUST_CHECK;

#endif
