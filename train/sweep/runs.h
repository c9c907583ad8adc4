#ifndef ROTOR_TRAIN_SWEEP_RUNS_H
#define ROTOR_TRAIN_SWEEP_RUNS_H

/* Makes the runs of a sweep, each in a process of its own, sweep.jobs at a time, in folders
 * below that of the sweep. What is finished is not done again, what was interrupted goes on.
 * Prints one table on stdout.
 *
 * In a world, every process trains one run at a time, and process 0 does all else. */

#include "train/config/sweep.h"
#include "train/run/run.h"

/* Returns the exit code of the first run that failed; RT_EXIT_STOPPED after a signal. */
rt_exit rt_sweep_train(const rt_config *base, const rt_sweep *sweep, const rt_arguments *arguments);

/* A rt_helper_job with the arguments as its context: the life of a process that trains a run. */
int rt_sweep_member(const void *arguments, const char *text);

/* Loads every run and checks its data, without training. RT_CONFIG lists what is wrong on
 * stderr. */
rt_exit rt_sweep_validate(const rt_sweep *sweep, const rt_arguments *arguments);

#endif
