#ifndef ROTOR_TRAIN_STEP_WORKERS_H
#define ROTOR_TRAIN_STEP_WORKERS_H

/* A few threads that work through numbered jobs, and those who find no job left through the parts
 * of what the others have under way (core/crew.h). The only place where rotor makes threads:
 * everything that runs in a job or a part is serial code.
 *
 * Which worker does which job or part is left to chance; it must therefore depend on its number
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

/* The same by `most` workers at a time at most; the others help with parts. */
void rt_workers_run_few(rt_workers *workers, int most, rt_job run, void *context, int jobs);

/* The workers as a crew: for the job that worker `number` runs or, with number 0, for the caller of
 * rt_workers_run. Lives as long as they do. */
const rt_crew *rt_workers_crew(rt_workers *workers, int number);

/* Called around every run of jobs or parts, for who measures. Without a thread beside the caller's,
 * since threads would call it at the same time; parts may run within a job. */
typedef struct rt_run_watch {
    void (*begin)(void *context, int pieces); /* jobs or parts */
    void (*end)(void *context);
    void *context;
} rt_run_watch;

/* Zeroed: nobody watches. Ignored by workers with several threads. */
void rt_workers_watch(rt_workers *workers, rt_run_watch watch);

/* Counts the jobs and parts that are done: as long as it changes, there is progress. */
const atomic_long *rt_workers_progress(const rt_workers *workers);

#endif
