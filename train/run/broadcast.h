#ifndef ROTOR_TRAIN_RUN_BROADCAST_H
#define ROTOR_TRAIN_RUN_BROADCAST_H

/* How the processes of a world come to one run: process 0 opens it as a process alone does, and
 * hands the others what its configuration and its data mean; they open the same data. */

#include "train/run/state.h"

/* Process 0's text, or NULL, at every process, each its own to free. */
rt_status rt_pass_text(rt_world *world, char **text) RT_MUST_CHECK;

/* Of process 0, once its data is open or `status` says why not: what is wrong at any process, or
 * not the same at all of them. To be called once, whatever happens. */
rt_status rt_run_broadcast(rt_run *r, rt_status status) RT_MUST_CHECK;

/* Of the others: takes part in the run until process 0 is done. What fails is process 0's to tell,
 * and the exit code is its own. */
void rt_run_assist(rt_run *r);

#endif
