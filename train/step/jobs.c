/* Jobs of others on the threads and models of a trainer. */

#include "train/step/trainer_private.h"

#include "core/memory.h"

#include <limits.h>

typedef struct failure {
    rt_status status;
    int job;
} failure;

typedef struct jobs {
    rt_trainer *trainer;
    rt_model_job *run;
    void *context;
    failure *failures; /* of each place: that of the first job among its own */
} jobs;

static void do_job(void *context, int job, int worker)
{
    const jobs *j = context;
    const int place = rt_trainer_enter(j->trainer, worker);
    rt_graph *g = j->trainer->places[place].graph;
    failure *f = j->failures + place;
    rt_graph_clear(g);
    rt_graph_record(g, false);
    rt_status status = j->run(j->context, job, j->trainer->models[place], g);
    if (!status.code)
        status = rt_graph_status(g);
    if (status.code && (!f->status.code || job < f->job))
        *f = (failure){status, job};
    rt_trainer_leave(j->trainer, place);
}

static rt_status first_failure(const jobs *j, int places)
{
    failure first = {rt_ok(), INT_MAX};
    for (int i = 0; i < places; i++)
        if (j->failures[i].status.code && j->failures[i].job < first.job)
            first = j->failures[i];
    return first.status.code ? first.status : rt_engine_status();
}

rt_status rt_trainer_run_jobs(rt_trainer *t, rt_model_job *run, void *context, int count)
{
    const int places = t->place_count;
    jobs j = {t, run, context, rt_alloc((size_t)places, sizeof *j.failures)};
    if (!j.failures)
        return rt_out_of_memory("jobs");
    rt_trainer_hold(t);
    rt_workers_run_few(t->workers, places, do_job, &j, count);
    rt_trainer_let_go();
    const rt_status status = first_failure(&j, places);
    rt_free(j.failures);
    return status;
}
