#ifndef ROTOR_TRAIN_STEP_MEMORY_CHECK_H
#define ROTOR_TRAIN_STEP_MEMORY_CHECK_H

/* Whether a training, or the use of a trained model, fits the memory that there is, asked before it
 * begins. */

#include "train/step/memory_limits.h"
#include "train/step/memory_need.h"

/* RT_CONFIG if the limit of the process (ulimit -v) leaves less than a buffer of OpenBLAS: a thread
 * that the library starts when it is loaded then asks for one for ever, and who forks or ends waits
 * for that thread. To be asked before anything else. */
rt_status rt_address_space_check(void) RT_MUST_CHECK;

/* Returns RT_CONFIG if the limit of the process leaves less than OpenBLAS allocates when it is
 * loaded: OpenBLAS 0.3.29 takes a buffer for each of its threads, and tries for ever if it gets
 * none. To be called before the constructors of the libraries, with the environment of the process.
 */
rt_status rt_address_space_check_loading(char **environment) RT_MUST_CHECK;

/* RT_CONFIG, with both numbers, if the limits are too low for what is needed: the memory of the
 * machine, shared by its processes of the world, that of a control group, likewise, or the address
 * space or the data of this process. `freed` bytes that the process has now, of a checkpoint, are
 * freed once the model has its values. */
rt_status rt_memory_compare(const rt_memory_need *need, const rt_memory_limits *limits,
                            rt_memory_use use, double freed, int processes) RT_MUST_CHECK;

/* The same with the limits that there are, and a dry run, whose errors are RT_CONFIG as well where
 * they tell of sizes. */
rt_status rt_memory_check(rt_memory_need *need, const rt_config *config, const rt_data *data,
                          rt_world *world, rt_memory_use use, double freed) RT_MUST_CHECK;

#endif
