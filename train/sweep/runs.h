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

/* ---- private to train/sweep: defined in members.c ---- */

/* Returns the threads of one run: the threads of the configuration, divided by the jobs. */
int rt_sweep_threads(const rt_sweep *sweep, const rt_config *config);

/* Loads the configuration of the command line with the settings of one run ("section.key=value"
 * lines), as run `name` in the folder of the sweep. Sets *errors as rt_config_load. */
rt_status rt_sweep_load_settings(rt_config *config, const rt_arguments *arguments,
                                 const char *settings, const char *name,
                                 char **errors) RT_MUST_CHECK;

/* Loads the configuration with which a run is trained. Sets *errors as rt_config_load. */
rt_status rt_sweep_load(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                        rt_config *config, char **errors) RT_MUST_CHECK;

/* Returns an error if the run cannot be trained with its data, memory or trunk. */
rt_status rt_sweep_check_run(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                             const rt_config *config) RT_MUST_CHECK;

#endif
