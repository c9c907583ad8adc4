#include "train/sweep/private.h"

#include "core/memory.h"
#include "text/writer.h"

#include <signal.h>
#include <time.h>

/* Report of one process in a round. */
typedef struct report {
    int ended;  /* run that ended, or RT_NO_RUN */
    int how;    /* wait status of that run (waitpid) */
    int stop;   /* 1: the process was asked to stop */
    int broken; /* 1: its helper cannot start runs */
} report;

enum { CONTINUE, STOP, END }; /* orders of process 0 to all processes */

rt_status rt_sweep_workers_new(rt_sweep_workers *h, rt_world *world, rt_helper *helper,
                               const rt_sweep *sweep, int threads)
{
    const int size = rt_world_size(world);
    *h = (rt_sweep_workers){.world = world,
                            .helper = helper,
                            .sweep = sweep,
                            .threads = threads,
                            .able = size,
                            .own = RT_NO_RUN};
    h->runs = rt_alloc((size_t)size, sizeof *h->runs);
    h->next = rt_alloc((size_t)size + 1, sizeof *h->next);
    for (int i = 0; h->runs && h->next && i < size; i++)
        h->runs[i] = h->next[i] = RT_NO_RUN;
    rt_status status =
        rt_world_agree(world, h->runs && h->next ? rt_ok() : rt_out_of_memory("a sweep"));
    if (status.code)
        h->world = NULL; /* the other processes take no part in rounds */
    return status;
}

/* Starts a run in the helper with the lines of its text: name, threads and settings. */
static bool start(rt_sweep_workers *h, int run)
{
    char name[RT_RUN_NAME_SIZE];
    char *settings = rt_sweep_overrides(h->sweep, run);
    rt_writer text = {0};
    rt_sweep_name(h->sweep, run, name);
    rt_writer_add(&text, "%s\n%d\n%s", name, h->threads, settings ? settings : "");
    char *whole = rt_writer_take(&text);
    const bool started = settings && whole && rt_helper_start(h->helper, whole);
    rt_free(settings);
    rt_free(whole);
    return started;
}

void rt_sweep_workers_assign(rt_sweep_workers *h, int run)
{
    for (int i = 0; i < rt_world_size(h->world); i++)
        if (h->runs[i] == RT_NO_RUN) {
            h->runs[i] = h->next[i] = run;
            return;
        }
}

/* Takes part in a round of all processes. Returns false if process 0 sent END. */
static bool round_of_all(rt_sweep_workers *h, int what, bool stop, report *reports)
{
    const int size = rt_world_size(h->world), rank = rt_world_rank(h->world);
    h->next[size] = what;
    rt_world_broadcast(h->world, h->next, (size_t)(size + 1) * sizeof *h->next);
    if (h->next[size] == END)
        return false;
    report *mine = reports + rank;
    *mine = (report){RT_NO_RUN, 1 << 8, stop, 0}; /* exit code 1 */
    if (h->next[rank] != RT_NO_RUN) {
        h->own = h->next[rank];
        mine->broken = !start(h, h->own);
        if (mine->broken)
            mine->ended = h->own;
    }
    if (h->next[size] == STOP)
        rt_helper_signal(h->helper, SIGTERM);
    if (rt_helper_ended(h->helper, &mine->how))
        mine->ended = h->own;
    rt_world_gather(h->world, reports, NULL, sizeof *reports);
    return true;
}

bool rt_sweep_workers_poll(rt_sweep_workers *h, bool stop,
                           void (*ended)(void *context, int run, int how), void *context)
{
    const int size = rt_world_size(h->world);
    report reports[size];
    bool requested = false;
    round_of_all(h, stop ? STOP : CONTINUE, false, reports);
    for (int i = 0; i < size; i++) {
        h->next[i] = RT_NO_RUN;
        requested |= reports[i].stop != 0;
        if (reports[i].ended != RT_NO_RUN) {
            h->runs[i] = reports[i].broken ? RT_NO_WORKER : RT_NO_RUN;
            h->able -= reports[i].broken;
            ended(context, reports[i].ended, reports[i].how);
        }
    }
    return requested;
}

void rt_sweep_workers_serve(rt_sweep_workers *h, int (*stop)(void))
{
    report reports[rt_world_size(h->world)];
    while (round_of_all(h, CONTINUE, stop(), reports))
        nanosleep(&rt_sweep_pause, NULL); /* waiting in MPI would keep a processor busy */
}

void rt_sweep_workers_free(rt_sweep_workers *h)
{
    if (h->world && rt_world_rank(h->world) == 0 && h->next)
        round_of_all(h, END, false, NULL);
    rt_free(h->runs);
    rt_free(h->next);
    *h = (rt_sweep_workers){.own = RT_NO_RUN};
}
