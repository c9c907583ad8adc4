#include "train/step/workers.h"

#include "core/memory.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* Number of times that a thread looks for work before it sleeps. The passes of a step follow each
 * other within microseconds, but waking a thread takes tens of microseconds. */
enum { PATIENCE = 2000, ALIGNMENT = 64 };

/* Pieces of work, jobs or parts, that several threads may take while the queue is open. A thread
 * increments `helpers`, and reads the other fields only if it then finds the queue open. The thread
 * that opened the queue closes it, and waits until there are no helpers. */
typedef struct queue {
    _Alignas(ALIGNMENT) rt_job job; /* NULL: the pieces are parts */
    rt_part *part;
    size_t scratch_size; /* scratch memory of a part, in bytes */
    void *context;
    int count;
    int most;           /* workers that may take pieces: those with numbers below it */
    atomic_int next;    /* next piece */
    atomic_int helpers; /* other threads at work */
    atomic_bool open;
} queue;

typedef struct worker {
    queue parts; /* parts of its job */
    rt_workers *all;
    int number;
    pthread_t thread;
    void *scratch; /* scratch memory for parts of other workers */
    size_t scratch_size;
    rt_threads threads;
} worker;

struct rt_workers {
    queue jobs;
    worker *list;
    int count;
    int started;         /* threads beside the caller's */
    atomic_uint notices; /* incremented when there may be work */
    atomic_int sleepers;
    atomic_long progress; /* finished pieces */
    atomic_bool stop;

    pthread_mutex_t mutex; /* guards sleeping only */
    pthread_cond_t wake;
};

static void notify(rt_workers *w)
{
    atomic_fetch_add(&w->notices, 1);
    if (!atomic_load(&w->sleepers))
        return;
    pthread_mutex_lock(&w->mutex);
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->mutex);
}

/* Waits until there is a notice after `seen`. */
static void await_notice(rt_workers *w, unsigned seen)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (atomic_load(&w->notices) != seen)
            return;
        sched_yield();
    }
    pthread_mutex_lock(&w->mutex);
    atomic_fetch_add(&w->sleepers, 1);
    while (atomic_load(&w->notices) == seen)
        pthread_cond_wait(&w->wake, &w->mutex);
    atomic_fetch_sub(&w->sleepers, 1);
    pthread_mutex_unlock(&w->mutex);
}

/* Runs pieces until none is left. Returns whether it ran any. */
static bool run_pieces(queue *q, worker *me, void *scratch)
{
    bool any = false;
    int piece;
    while ((piece = atomic_fetch_add(&q->next, 1)) < q->count) {
        if (q->job)
            q->job(q->context, piece, me->number);
        else
            q->part(q->context, piece, scratch);
        atomic_fetch_add_explicit(&me->all->progress, 1, memory_order_relaxed);
        any = true;
    }
    return any;
}

/* Helps with the pieces of a queue. Leaves parts to others if there is no scratch memory for them.
 * Returns whether it ran any. */
static bool help_with(queue *q, worker *me)
{
    bool helped = false;
    if (!atomic_load(&q->open))
        return false;
    atomic_fetch_add(&q->helpers, 1);
    const bool fits = atomic_load(&q->open) && me->number < q->most;
    if (fits && me->scratch_size < q->scratch_size) {
        rt_free(me->scratch);
        me->scratch = rt_alloc_unset(q->scratch_size, 1);
        me->scratch_size = me->scratch ? q->scratch_size : 0;
    }
    if (fits && me->scratch_size >= q->scratch_size)
        helped = run_pieces(q, me, me->scratch);
    atomic_fetch_sub(&q->helpers, 1);
    if (q == &me->all->jobs && !atomic_load(&q->open))
        notify(me->all); /* the caller waits for the last job */
    return helped;
}

/* Helps with jobs or else with parts, which are smaller. Returns whether it ran any. */
static bool help(worker *me)
{
    rt_workers *w = me->all;
    if (help_with(&w->jobs, me))
        return true;
    for (int i = 1; i < w->count; i++)
        if (help_with(&w->list[(me->number + i) % w->count].parts, me))
            return true;
    return false;
}

static void *thread_main(void *argument)
{
    worker *me = argument;
    rt_workers *w = me->all;
    for (;;) {
        const unsigned seen = atomic_load(&w->notices);
        if (atomic_load(&w->stop))
            return NULL;
        if (!help(me))
            await_notice(w, seen);
    }
}

/* Runs all pieces of a queue with the help of other threads, which may still work at the end. */
static void run_queue(queue *q, worker *me, void *scratch)
{
    atomic_store(&q->next, 0);
    if (q->most > 1 && q->count > 1) {
        atomic_store(&q->open, true);
        notify(me->all);
    }
    run_pieces(q, me, scratch);
    atomic_store(&q->open, false);
}

static void run_parts(void *threads, rt_part *part, void *context, int count,
                      rt_part_scratch scratch)
{
    worker *me = threads;
    queue *q = &me->parts;
    q->part = part;
    q->context = context;
    q->count = count;
    q->scratch_size = scratch.bytes;
    q->most = me->all->count;
    run_queue(q, me, scratch.own);
    while (atomic_load(&q->helpers))
        sched_yield();
}

const rt_threads *rt_workers_threads(rt_workers *w, int number)
{
    return &w->list[number].threads;
}

void rt_workers_run(rt_workers *w, int most, rt_job run, void *context, int jobs)
{
    worker *me = w->list;
    queue *q = &w->jobs;
    q->job = run;
    q->context = context;
    q->count = jobs;
    q->most = most && most < w->count ? most : w->count;
    run_queue(q, me, NULL);
    for (;;) {
        const unsigned seen = atomic_load(&w->notices);
        if (!atomic_load(&q->helpers))
            break;
        if (!help(me))
            await_notice(w, seen);
    }
}

int rt_workers_count(const rt_workers *w)
{
    return w->count;
}

const atomic_long *rt_workers_progress(const rt_workers *w)
{
    return &w->progress;
}

rt_status rt_workers_new(rt_workers **workers_new, int count)
{
    sigset_t all, before;
    int error = 0;
    *workers_new = NULL;
    rt_workers *w = rt_alloc(1, sizeof *w);
    RT_TRY(rt_allocated(w, "workers"));
    w->count = count;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    w->list = rt_alloc((size_t)count, sizeof *w->list);
    for (int i = 0; w->list && i < count; i++) {
        w->list[i].all = w;
        w->list[i].number = i;
        w->list[i].threads = (rt_threads){run_parts, w->list + i};
    }
    sigfillset(&all); /* signals are for the thread that trains */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (w->list && w->started < count - 1 && !error) {
        worker *next = w->list + w->started + 1;
        error = pthread_create(&next->thread, NULL, thread_main, next);
        w->started += !error;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    rt_status status = !w->list ? rt_out_of_memory("workers")
                       : error  ? rt_error(RT_MEMORY, "cannot start a thread: %s", strerror(error))
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
    atomic_store(&w->stop, true);
    notify(w);
    for (int i = 0; i < w->started; i++)
        pthread_join(w->list[i + 1].thread, NULL);
    for (int i = 0; w->list && i < w->count; i++)
        rt_free(w->list[i].scratch);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->mutex);
    rt_free(w->list);
    rt_free(w);
}
