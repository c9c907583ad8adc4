#ifndef ROTOR_TRAIN_WORLD_HELPER_H
#define ROTOR_TRAIN_WORLD_HELPER_H

/* A child process that runs jobs, one at a time, each in a process of its own. It is started before
 * MPI, and therefore forks without the threads and the memory of MPI. A signal that asks the helper
 * to stop goes to the job as SIGTERM; the helper itself ends with the process that started it.
 */

#include "core/status.h"

#include <stdbool.h>

typedef struct rt_helper rt_helper;

/* Runs in the process of a job, whose exit code it returns. */
typedef int rt_helper_job(const void *context, const char *text);

/* Starts a helper. `listen` sets the handlers of signals, which jobs inherit: a signal for a job
 * that has just been started reaches one. RT_IO if there can be no process. */
rt_status rt_helper_begin(rt_helper **helper_new, void (*listen)(void), rt_helper_job *job,
                          const void *context) RT_MUST_CHECK;

/* Waits until the helper has finished its job, and ends it. NULL is allowed. */
void rt_helper_end(rt_helper *helper);

/* Starts a job with this text. Returns false if that fails. */
bool rt_helper_start(rt_helper *helper, const char *text);

/* Sends a signal to the running job. */
void rt_helper_signal(rt_helper *helper, int number);

/* Returns whether the job has ended, and its wait status (waitpid) in *how. */
bool rt_helper_ended(rt_helper *helper, int *how);

#endif
