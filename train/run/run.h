#ifndef ROTOR_TRAIN_RUN_RUN_H
#define ROTOR_TRAIN_RUN_RUN_H

/* A run from the first step to the last line on stdout. Messages go to stderr. */

#include "train/folder/results.h"
#include "train/run/state.h"

/* Trains, in a world if arguments->world is one. Returns the exit code of the process. */
rt_exit rt_run_train(rt_config *config, const rt_arguments *arguments);

/* Checks what rt_run_train checks before the first step: data, memory, and the checkpoint that the
 * run starts from or resumes. Creates nothing. Checks for an existing run folder only if the
 * command is training. Returns the memory that the run needs in *need, unless `need` is NULL. */
rt_status rt_run_check(const rt_config *config, const rt_arguments *arguments,
                       rt_memory_need *need) RT_MUST_CHECK;

/* Gets the initial theta of a run, from the configuration, the table of theta.init_from or, if it
 * is learned, the model that the run starts from, which is loaded. It is laid out as
 * rt_transformer_theta_shape. The caller frees it, also after an error. */
rt_status rt_run_initial_theta(double **theta_new, const rt_config *config,
                               const rt_arguments *arguments) RT_MUST_CHECK;

/* Checks whether a configuration can continue, as a branch, a run that has taken `step` steps.
 * Returns RT_CONFIG with the keys that a branch cannot change. */
rt_status rt_branch_check(const rt_config *trunk, const rt_config *branch,
                          int64_t step) RT_MUST_CHECK;

/* ---- private to train/run: defined in start.c ---- */

/* Opens the run and its folder: afresh, as a branch or from its checkpoint. Returns every error
 * that is possible before the first step. */
rt_status rt_run_begin(rt_run *r) RT_MUST_CHECK;

#endif
