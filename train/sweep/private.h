#ifndef ROTOR_TRAIN_SWEEP_PRIVATE_H
#define ROTOR_TRAIN_SWEEP_PRIVATE_H

/* The runs of a sweep before they are trained (members.c); runs.c trains them and writes the files.
 */

#include "train/sweep/runs.h"

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
