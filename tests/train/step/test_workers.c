#include "suite.h"
#include "train/step/workers.h"

#include <stdatomic.h>

static void count_job(void *context, int job, int worker)
{
    (void)worker;
    atomic_fetch_add((atomic_int *)context + job, 1);
}

TEST(every_job_is_done_once)
{
    static const int threads[] = {1, 2, 3, 8}, jobs[] = {0, 1, 2, 500};
    static atomic_int done[500];
    for (int t = 0; t < 4; t++) {
        rt_workers *w;
        ck_assert(!rt_workers_new(&w, threads[t]).code);
        for (int round = 0; round < 100; round++) {
            const int count = jobs[round % 4];
            memset(done, 0, sizeof done);
            rt_workers_run(w, 0, count_job, done, count);
            for (int i = 0; i < 500; i++)
                ck_assert_int_eq(done[i], i < count);
        }
        rt_workers_free(w);
    }
}

enum { JOBS = 6, PARTS = 200, ROOM = 1000 };

typedef struct job_of_parts {
    rt_workers *workers;
    atomic_int parts[JOBS][PARTS], running, most;
    atomic_bool shared_room;
} job_of_parts;

typedef struct one_job {
    job_of_parts *all;
    int number;
} one_job;

/* The room is the part's own while it runs. */
static void count_part(void *context, int part, void *room)
{
    const one_job *j = context;
    memset(room, part, ROOM);
    atomic_fetch_add(&j->all->parts[j->number][part], 1);
    for (int i = 0; i < ROOM; i++)
        if (((unsigned char *)room)[i] != (unsigned char)part)
            atomic_store(&j->all->shared_room, true);
}

static void share_job(void *context, int job, int worker)
{
    job_of_parts *all = context;
    const rt_threads *crew = rt_workers_threads(all->workers, worker);
    unsigned char room[ROOM];
    one_job one = {all, job};
    const int now = atomic_fetch_add(&all->running, 1) + 1;
    for (int most = atomic_load(&all->most); now > most;)
        if (atomic_compare_exchange_weak(&all->most, &most, now))
            break;
    for (int round = 0; round < 20; round++)
        crew->run(crew->runner, count_part, &one, PARTS, (rt_part_scratch){room, ROOM});
    atomic_fetch_sub(&all->running, 1);
}

TEST_ROWS(every_part_of_a_job_is_done_once_each_time, 0, 4)
{
    static const int threads[] = {1, 2, 3, 5};
    static job_of_parts all;
    rt_workers *w;
    memset(&all, 0, sizeof all);
    ck_assert(!rt_workers_new(&w, threads[_i]).code);
    all.workers = w;
    rt_workers_run(w, 2, share_job, &all, JOBS);
    ck_assert_int_le(all.most, 2);
    ck_assert(!all.shared_room);
    for (int i = 0; i < JOBS; i++)
        for (int k = 0; k < PARTS; k++)
            ck_assert_int_eq(all.parts[i][k], 20);
    rt_workers_free(w);
}
