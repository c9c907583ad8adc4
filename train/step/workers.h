#ifndef ROTOR_TRAIN_STEP_WORKERS_H
#define ROTOR_TRAIN_STEP_WORKERS_H

/* Threads that work through numbered jobs. A thread without a job helps with the parts of a job
 * that another one runs (core/crew.h). The only place where rotor starts threads: everything that
 * runs in a job or a part is serial code.
 *
 * Which worker takes which job or part is left to chance. The result of a job must therefore depend
 * on its number alone, and memory of a worker is scratch memory.
 */

#include "core/crew.h"
#include "core/status.h"

#include <stdatomic.h>

typedef struct rt_workers rt_workers;

typedef void (*rt_job)(void *context, int job, int worker);

/* Starts `count` - 1 threads, with every signal blocked: the caller is one of the workers. */
rt_status rt_workers_new(rt_workers **workers_new, int count) RT_MUST_CHECK;
void rt_workers_free(rt_workers *workers);

int rt_workers_count(const rt_workers *workers);

/* Runs job 0 ... jobs - 1 and returns when all are done. */
void rt_workers_run(rt_workers *workers, rt_job run, void *context, int jobs);

/* Runs the jobs by at most `most` workers at a time; the others help with parts. */
void rt_workers_run_few(rt_workers *workers, int most, rt_job run, void *context, int jobs);

/* Returns the workers as a crew: for the job that worker `number` runs or, with number 0, for the
 * caller of rt_workers_run. The crew belongs to the workers. */
const rt_crew *rt_workers_crew(rt_workers *workers, int number);

/* Functions that are called around every run of jobs or parts, for measurements. Parts may run
 * within a job. */
typedef struct rt_run_watch {
    void (*begin)(void *context, int pieces); /* jobs or parts */
    void (*end)(void *context);
    void *context;
} rt_run_watch;

/* Sets the functions; zeroed: none. Ignored if there are threads beside the caller's, which would
 * call them at the same time. */
void rt_workers_watch(rt_workers *workers, rt_run_watch watch);

/* Returns the number of jobs and parts that are done: while it changes, there is progress. */
const atomic_long *rt_workers_progress(const rt_workers *workers);

#endif
