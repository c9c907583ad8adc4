#include "train/step/workers.h"

#include "core/memory.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* Rounds of looking before a thread goes to sleep: the phases of a step follow each other
 * within microseconds, and waking a thread takes tens of them. */
enum { PATIENCE = 2000, ALIGNMENT = 64 };

/* Something in pieces, jobs or parts, that several threads may take from while it is open. What is
 * written in it is read by those alone who are counted in `hands` and then see it open; who has
 * opened it closes it and waits until there are none. */
typedef struct stand {
    _Alignas(ALIGNMENT) rt_job job; /* or NULL: ... */
    rt_part *part;                  /* ... parts, ... */
    size_t room;                    /* ... which work in so many bytes */
    void *context;
    int count;
    int most;         /* hands beside who has opened it */
    atomic_int next;  /* piece to be taken */
    atomic_int hands; /* other threads that are at it */
    atomic_bool open;
} stand;

/* A thread. */
typedef struct worker {
    stand parts; /* of the job that it runs */
    rt_workers *all;
    int number;
    pthread_t thread;
    void *room; /* to work in at the parts of others */
    size_t room_size;
    rt_crew crew;
} worker;

struct rt_workers {
    stand jobs;
    worker *list;
    int count;
    int started;       /* threads beside the caller's */
    atomic_uint calls; /* counts up when there may be something to do */
    atomic_int sleepers;
    atomic_long progress; /* pieces done since the start */
    rt_run_watch watch;
    atomic_bool stop;

    pthread_mutex_t mutex; /* guards sleeping only */
    pthread_cond_t wake;
};

/* ---- calling ---- */

static void call(rt_workers *w)
{
    atomic_fetch_add(&w->calls, 1);
    if (!atomic_load(&w->sleepers))
        return;
    pthread_mutex_lock(&w->mutex);
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->mutex);
}

/* Until there is another call than the one that was seen. */
static void await_call(rt_workers *w, unsigned seen)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (atomic_load(&w->calls) != seen)
            return;
        sched_yield();
    }
    pthread_mutex_lock(&w->mutex);
    atomic_fetch_add(&w->sleepers, 1);
    while (atomic_load(&w->calls) == seen)
        pthread_cond_wait(&w->wake, &w->mutex);
    atomic_fetch_sub(&w->sleepers, 1);
    pthread_mutex_unlock(&w->mutex);
}

/* ---- working ---- */

static bool take_from(stand *s, worker *me, void *room)
{
    bool any = false;
    int piece;
    while ((piece = atomic_fetch_add(&s->next, 1)) < s->count) {
        if (s->job)
            s->job(s->context, piece, me->number);
        else
            s->part(s->context, piece, room);
        atomic_fetch_add_explicit(&me->all->progress, 1, memory_order_relaxed);
        any = true;
    }
    return any;
}

/* A thread that gets no memory leaves the parts to others. */
static bool has_room(worker *me, size_t bytes)
{
    if (me->room_size >= bytes)
        return true;
    rt_free(me->room);
    me->room = rt_alloc_unset(bytes, 1);
    me->room_size = me->room ? bytes : 0;
    return me->room;
}

/* Whether anything was done. */
static bool help_at(stand *s, worker *me)
{
    bool helped = false;
    if (!atomic_load(&s->open))
        return false;
    const bool fits = atomic_fetch_add(&s->hands, 1) < s->most;
    if (fits && atomic_load(&s->open) && has_room(me, s->room))
        helped = take_from(s, me, me->room);
    atomic_fetch_sub(&s->hands, 1);
    if (s == &me->all->jobs && !atomic_load(&s->open))
        call(me->all); /* who waits for the last of the jobs */
    return helped;
}

/* Jobs are larger than the parts of one that is under way. */
static bool help(worker *me)
{
    rt_workers *w = me->all;
    if (help_at(&w->jobs, me))
        return true;
    for (int i = 1; i < w->count; i++)
        if (help_at(&w->list[(me->number + i) % w->count].parts, me))
            return true;
    return false;
}

static void *thread_main(void *argument)
{
    worker *me = argument;
    rt_workers *w = me->all;
    for (;;) {
        const unsigned seen = atomic_load(&w->calls);
        if (atomic_load(&w->stop))
            return NULL;
        if (!help(me))
            await_call(w, seen);
    }
}

void rt_workers_watch(rt_workers *w, rt_run_watch watch)
{
    w->watch = w->started ? (rt_run_watch){0} : watch;
}

static void begin_run(const rt_workers *w, int pieces)
{
    if (w->watch.begin)
        w->watch.begin(w->watch.context, pieces);
}

static void end_run(const rt_workers *w)
{
    if (w->watch.end)
        w->watch.end(w->watch.context);
}

static void open_stand(stand *s, rt_workers *w)
{
    atomic_store(&s->next, 0);
    atomic_store(&s->open, true);
    call(w);
}

/* ---- parts ---- */

static void run_parts(void *threads, rt_part *part, void *context, int count, rt_part_room room)
{
    worker *me = threads;
    stand *s = &me->parts;
    s->part = part;
    s->context = context;
    s->count = count;
    s->room = room.bytes;
    s->most = me->all->started;
    begin_run(me->all, count);
    if (s->most && count > 1)
        open_stand(s, me->all);
    else
        atomic_store(&s->next, 0);
    take_from(s, me, room.own);
    atomic_store(&s->open, false);
    while (atomic_load(&s->hands))
        sched_yield();
    end_run(me->all);
}

const rt_crew *rt_workers_crew(rt_workers *w, int number)
{
    return &w->list[number].crew;
}

/* ---- jobs ---- */

void rt_workers_run_few(rt_workers *w, int most, rt_job run, void *context, int jobs)
{
    worker *me = w->list;
    stand *s = &w->jobs;
    s->job = run;
    s->context = context;
    s->count = jobs;
    s->most = most - 1 < w->started ? most - 1 : w->started;
    begin_run(w, jobs);
    if (s->most && jobs > 1)
        open_stand(s, w);
    else
        atomic_store(&s->next, 0);
    take_from(s, me, NULL);
    atomic_store(&s->open, false);
    for (;;) {
        const unsigned seen = atomic_load(&w->calls);
        if (!atomic_load(&s->hands))
            break;
        if (!help(me))
            await_call(w, seen);
    }
    end_run(w);
}

void rt_workers_run(rt_workers *w, rt_job run, void *context, int jobs)
{
    rt_workers_run_few(w, w->count, run, context, jobs);
}

int rt_workers_count(const rt_workers *w)
{
    return w->count;
}

const atomic_long *rt_workers_progress(const rt_workers *w)
{
    return &w->progress;
}

/* ---- life ---- */

/* Signals are for the thread that trains, so the others start with all of them blocked. */
static int start_threads(rt_workers *w)
{
    sigset_t all, before;
    int error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (w->started < w->count - 1 && !error) {
        worker *next = w->list + w->started + 1;
        error = pthread_create(&next->thread, NULL, thread_main, next);
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
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    w->list = rt_alloc((size_t)count, sizeof *w->list);
    for (int i = 0; w->list && i < count; i++) {
        w->list[i].all = w;
        w->list[i].number = i;
        w->list[i].crew = (rt_crew){run_parts, w->list + i};
    }
    int error = w->list ? start_threads(w) : 0;
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
    call(w);
    for (int i = 0; i < w->started; i++)
        pthread_join(w->list[i + 1].thread, NULL);
    for (int i = 0; w->list && i < w->count; i++)
        rt_free(w->list[i].room);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->mutex);
    rt_free(w->list);
    rt_free(w);
}
