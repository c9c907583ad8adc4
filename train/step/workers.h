#ifndef ROTOR_TRAIN_STEP_WORKERS_H
#define ROTOR_TRAIN_STEP_WORKERS_H

/* Threads that work through numbered jobs. A thread without a job helps with the parts of a job
 * that another thread runs (core/graph.h). Jobs and parts start no threads of their own.
 *
 * Chance decides which worker takes which job or part. The result of a job must therefore depend on
 * its number alone, not on what is kept for each worker. */

#include "core/graph.h"

#include <stdatomic.h>

typedef struct rt_workers rt_workers;

typedef void (*rt_job)(void *context, int job, int worker);

/* Starts `count` - 1 threads with all signals blocked; the caller is one of the workers. */
rt_status rt_workers_new(rt_workers **workers_new, int count) RT_MUST_CHECK;
void rt_workers_free(rt_workers *workers);

int rt_workers_count(const rt_workers *workers);

/* Runs jobs 0 ... jobs - 1 on the first `most` workers (0: all); the others help with parts.
 * Returns when all are done. */
void rt_workers_run(rt_workers *workers, int most, rt_job run, void *context, int jobs);

/* Returns the rt_threads with which a job on worker `number` runs its parts. Worker 0 is the caller
 * of rt_workers_run. Owned by the workers. */
const rt_threads *rt_workers_threads(rt_workers *workers, int number);

/* Returns the counter of finished jobs and parts, which shows progress. */
const atomic_long *rt_workers_progress(const rt_workers *workers);

#endif
