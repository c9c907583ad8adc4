#ifndef ROTOR_TRAIN_WORLD_HELPER_H
#define ROTOR_TRAIN_WORLD_HELPER_H

/* A child process that runs jobs, one at a time, each in a process of its own. It is started before
 * MPI, so that it forks without the threads and memory of MPI. It passes a signal that requests a
 * stop to the job as SIGTERM, and ends with the process that started it. */

#include "core/status.h"

#include <stdbool.h>

typedef struct rt_helper rt_helper;

/* Runs in the process of a job. Returns the exit code of that process. */
typedef int rt_helper_job(const void *context, const char *text);

/* Starts a helper. `listen` sets the signal handlers, which jobs inherit, so that a signal to a new
 * job reaches a handler. Returns RT_IO if the process cannot be started. */
rt_status rt_helper_begin(rt_helper **helper_new, void (*listen)(void), rt_helper_job *job,
                          const void *context) RT_MUST_CHECK;

/* Waits until the helper has finished its job, and ends the helper, which may be NULL. */
void rt_helper_end(rt_helper *helper);

/* Starts a job with a text. Returns false if that fails. */
bool rt_helper_start(rt_helper *helper, const char *text);

/* Sends a signal to the running job. */
void rt_helper_signal(rt_helper *helper, int number);

/* Returns whether the job has ended. Sets *how to its wait status (waitpid). */
bool rt_helper_ended(rt_helper *helper, int *how);

#endif
