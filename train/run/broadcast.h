#ifndef ROTOR_TRAIN_RUN_BROADCAST_H
#define ROTOR_TRAIN_RUN_BROADCAST_H

/* The processes of a world at the start of a run. */

#include "train/config/sweep.h"
#include "train/run/state.h"

/* Compares what must be the same in all processes of a world before they begin: program,
 * configuration, sweep, row kernels, data. Returns the first difference in every process:
 * RT_CONFIG, or RT_DATA for data files. */
rt_status rt_compare_hosts(const rt_config *config, const rt_sweep *sweep,
                           const rt_arguments *arguments) RT_MUST_CHECK;

/* Broadcasts the text of process 0, which may be NULL; the others own their copies. */
rt_status rt_world_broadcast_text(rt_world *world, char **text) RT_MUST_CHECK;

/* Broadcasts, in process 0, the vocabulary and labels of the data, or `status` if the data could
 * not be opened, and the engine. run.engine = auto becomes OpenBLAS unless all processes have
 * oneDNN with the same kernels. Returns the error of any process. Must be called exactly once. */
rt_status rt_run_broadcast(rt_run *r, rt_status status) RT_MUST_CHECK;

/* Opens, in the other processes, the data of process 0, and serves its trainer until the run ends.
 * Process 0 alone reports errors and returns an exit code. */
void rt_run_serve(rt_run *r);

#endif
