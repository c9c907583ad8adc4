#ifndef ROTOR_TRAIN_RUN_RUN_H
#define ROTOR_TRAIN_RUN_RUN_H

/* A run from the first step to the last line on stdout, and what can be done with a trained
 * one. Messages go to stderr. An rt_exit that is returned is the exit code of the process. */

#include "train/config/sweep.h"
#include "train/folder/results.h"
#include "train/run/arguments.h"
#include "train/step/memory_estimate.h"

/* Whether the run could begin: its data, its memory, the checkpoint that it starts from or goes on
 * from, asked as rt_run_train asks before the first step. Creates nothing. Whether the run folder
 * is free is asked for the command of training only. `need`, unless NULL, is what memory the run
 * takes. */
rt_status rt_run_check(const rt_config *config, const rt_arguments *arguments,
                       rt_memory_need *need) RT_MUST_CHECK;

rt_exit rt_run_train(rt_config *config, const rt_arguments *arguments);
/* Makes the report of the run or the sweep in arguments->report again. */
rt_exit rt_run_report(const rt_arguments *arguments);

/* Uses the model of a checkpoint: evaluation, or prediction. A run is used with the configuration
 * that it was trained with, and what the command line sets; `config` tells where it is. */
rt_exit rt_run_use(const rt_config *config, const rt_arguments *arguments);

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
