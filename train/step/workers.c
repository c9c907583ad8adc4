#include "train/step/workers.h"

#include "core/memory.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* Rounds of looking before a thread goes to sleep: the phases of a step follow each other
 * within microseconds, and waking a thread takes tens of them. */
enum { PATIENCE = 2000 };

struct rt_workers {
    int count;
    pthread_t *threads;
    int started;

    rt_job run;
    void *context;
    int jobs;
    atomic_int next;      /* job to be taken */
    atomic_int busy;      /* workers still at this round */
    atomic_uint round;    /* counts up when there is something to do */
    atomic_long progress; /* jobs done since the start */
    atomic_int numbers;   /* given to threads as they start */
    bool stop;

    rt_crew crew;

    pthread_mutex_t mutex; /* guards sleeping only */
    pthread_cond_t wake;   /* a round has begun */
    pthread_cond_t done;   /* a round has ended */
};

static void work(rt_workers *w, int worker)
{
    int job;
    while ((job = atomic_fetch_add(&w->next, 1)) < w->jobs) {
        w->run(w->context, job, worker);
        atomic_fetch_add_explicit(&w->progress, 1, memory_order_relaxed);
    }
}

static void wait_for_round(rt_workers *w, unsigned seen)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (atomic_load(&w->round) != seen)
            return;
        sched_yield();
    }
    pthread_mutex_lock(&w->mutex);
    while (atomic_load(&w->round) == seen)
        pthread_cond_wait(&w->wake, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

static void *thread_main(void *argument)
{
    rt_workers *w = argument;
    const int worker = 1 + atomic_fetch_add(&w->numbers, 1);
    for (unsigned seen = 0;; seen++) {
        wait_for_round(w, seen);
        if (w->stop)
            return NULL;
        work(w, worker);
        pthread_mutex_lock(&w->mutex);
        if (atomic_fetch_sub(&w->busy, 1) == 1)
            pthread_cond_signal(&w->done);
        pthread_mutex_unlock(&w->mutex);
    }
}

static void begin_round(rt_workers *w)
{
    pthread_mutex_lock(&w->mutex);
    atomic_fetch_add(&w->round, 1);
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->mutex);
}

void rt_workers_run(rt_workers *w, rt_job run, void *context, int jobs)
{
    w->run = run;
    w->context = context;
    w->jobs = jobs;
    atomic_store(&w->next, 0);
    if (!w->started || jobs < 2) {
        work(w, 0);
        return;
    }
    atomic_store(&w->busy, w->started);
    begin_round(w);
    work(w, 0);
    for (int i = 0; i < PATIENCE && atomic_load(&w->busy); i++)
        sched_yield();
    pthread_mutex_lock(&w->mutex);
    while (atomic_load(&w->busy))
        pthread_cond_wait(&w->done, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

typedef struct parts {
    rt_part *part;
    void *context;
} parts;

static void run_part(void *context, int job, int worker)
{
    const parts *p = context;
    (void)worker;
    p->part(p->context, job);
}

static void run_parts(void *threads, rt_part *part, void *context, int count)
{
    parts p = {part, context};
    rt_workers_run(threads, run_part, &p, count);
}

const rt_crew *rt_workers_crew(rt_workers *w)
{
    return &w->crew;
}

int rt_workers_count(const rt_workers *w)
{
    return w->count;
}

const atomic_long *rt_workers_progress(const rt_workers *w)
{
    return &w->progress;
}

/* Signals are for the thread that trains, so the others start with all of them blocked. */
static int start_threads(rt_workers *w)
{
    sigset_t all, before;
    int error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (w->started < w->count - 1 && !error) {
        error = pthread_create(w->threads + w->started, NULL, thread_main, w);
        w->started += !error;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

rt_status rt_workers_new(rt_workers **workers_new, int count)
{
    *workers_new = NULL;
    rt_workers *w = rt_alloc(1, sizeof *w);
    if (!w)
        return rt_out_of_memory("workers");
    w->count = count;
    w->crew = (rt_crew){run_parts, w};
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->done, NULL);
    w->threads = rt_alloc((size_t)count, sizeof *w->threads);
    int error = w->threads ? start_threads(w) : 0;
    rt_status status = !w->threads ? rt_out_of_memory("workers")
                       : error ? rt_error(RT_MEMORY, "cannot start a thread: %s", strerror(error))
                               : rt_ok();
    if (status.code)
        rt_workers_free(w);
    else
        *workers_new = w;
    return status;
}

void rt_workers_free(rt_workers *w)
{
    if (!w)
        return;
    w->stop = true;
    begin_round(w);
    for (int i = 0; i < w->started; i++)
        pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->done);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->mutex);
    rt_free(w->threads);
    rt_free(w);
}
