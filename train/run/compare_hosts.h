#ifndef ROTOR_TRAIN_RUN_COMPARE_HOSTS_H
#define ROTOR_TRAIN_RUN_COMPARE_HOSTS_H

/* What must be the same at all processes of a world before they begin: what they were told to do,
 * what they are, and the data. */

#include "train/config/sweep.h"
#include "train/run/arguments.h"

/* The first difference at every process: RT_CONFIG, or RT_DATA for the files of data. */
rt_status rt_compare_hosts(const rt_config *config, const rt_sweep *sweep,
                           const rt_arguments *arguments) RT_MUST_CHECK;

#endif
