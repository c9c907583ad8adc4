#ifndef ROTOR_TRAIN_WORLD_HELPER_H
#define ROTOR_TRAIN_WORLD_HELPER_H

/* A child process that was made before MPI was started, and so forks without its threads and its
 * memory: it does jobs that are told by a text, one at a time, each in a process of its own. A
 * signal that asks it to stop goes to the job as SIGTERM; the helper itself ends with its master.
 */

#include "core/status.h"

#include <stdbool.h>

typedef struct rt_helper rt_helper;

/* What a job's process does; its exit code is what is returned. */
typedef int rt_helper_job(const void *context, const char *text);

/* `listen` sets the handlers of signals: jobs inherit them, so that a signal for a job that has
 * just been started reaches one. RT_IO. */
rt_status rt_helper_begin(rt_helper **helper_new, void (*listen)(void), rt_helper_job *job,
                          const void *context) RT_MUST_CHECK;

/* Waits until it has done its job. NULL is none. */
void rt_helper_end(rt_helper *helper);

/* Starts a job; false if that cannot be. */
bool rt_helper_start(rt_helper *helper, const char *text);

/* Sends a signal to the job under way. */
void rt_helper_signal(rt_helper *helper, int number);

/* Whether the job has ended since, and how, as waitpid tells it. */
bool rt_helper_ended(rt_helper *helper, int *how);

#endif
