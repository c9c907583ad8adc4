#ifndef ROTOR_TRAIN_STEP_WORKERS_H
#define ROTOR_TRAIN_STEP_WORKERS_H

/* A few threads that work through numbered jobs. The only place where rotor makes
 * threads: everything that runs in a job is serial code.
 *
 * Which worker does which job is left to chance; a job must therefore depend on its number
 * alone, and use what it is given by worker only as room to work in.
 */

#include "core/crew.h"
#include "core/status.h"

#include <stdatomic.h>

typedef struct rt_workers rt_workers;

typedef void (*rt_job)(void *context, int job, int worker);

/* The caller is one of the workers: `count` - 1 threads are made, which run with every
 * signal blocked. */
rt_status rt_workers_new(rt_workers **workers_new, int count) RT_MUST_CHECK;
void rt_workers_free(rt_workers *workers);

int rt_workers_count(const rt_workers *workers);

/* Runs job 0 ... jobs - 1 and returns when all are done. */
void rt_workers_run(rt_workers *workers, rt_job run, void *context, int jobs);

/* The workers as a crew for the parts of a graph's products; lives as long as they do. */
const rt_crew *rt_workers_crew(rt_workers *workers);

/* Counts the jobs that are done: as long as it changes, there is progress. */
const atomic_long *rt_workers_progress(const rt_workers *workers);

#endif
