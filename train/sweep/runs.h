#ifndef ROTOR_TRAIN_SWEEP_RUNS_H
#define ROTOR_TRAIN_SWEEP_RUNS_H

/* Trains the runs of a sweep, sweep.jobs at a time, each in its own process and in a folder below
 * that of the sweep. Reuses finished runs and continues interrupted ones. Prints one table on
 * stdout.
 *
 * In a world, every process trains one run at a time, and process 0 does everything else. */

#include "train/config/sweep.h"
#include "train/run/run.h"

/* Trains the sweep. Returns the exit code of the first failed run, RT_EXIT_STOPPED if stopped. */
rt_exit rt_sweep_train(const rt_config *base, const rt_sweep *sweep, const rt_arguments *arguments);

/* Trains a run in its own process, as an rt_helper_job with the arguments as its context. */
int rt_sweep_member(const void *arguments, const char *text);

/* Loads every run without training it; with --check also checks its data. Lists errors and keys
 * without effect on stderr. Returns the exit code of the first error, or RT_EXIT_CONFIG. */
rt_exit rt_sweep_validate(const rt_sweep *sweep, const rt_arguments *arguments);

#endif
