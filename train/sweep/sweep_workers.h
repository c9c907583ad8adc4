#ifndef ROTOR_TRAIN_SWEEP_SWEEP_WORKERS_H
#define ROTOR_TRAIN_SWEEP_SWEEP_WORKERS_H

/* The processes of a world train the runs of a sweep, one each at a time, in the helper of each:
 * every few milliseconds process 0 says who begins which run, and learns which have ended. */

#include "train/config/sweep.h"
#include "train/world/helper.h"
#include "train/world/world.h"

typedef struct rt_sweep_workers {
    rt_world *world;
    rt_helper *helper; /* of this process */
    const rt_sweep *sweep;
    int threads; /* of a run that this process trains */
    int own;     /* the run that it has, or RT_NO_RUN */
    int *runs;   /* of each process: the run that it has; or that it can start none */
    int *next;   /* of each process: the run that it begins */
} rt_sweep_workers;
enum { RT_NO_RUN = -1, RT_NO_WORKER = -2 };

/* The sweep is kept, not copied: a run is what it says, whatever becomes of its file. */
rt_status rt_sweep_workers_new(rt_sweep_workers *h, rt_world *world, rt_helper *helper,
                               const rt_sweep *sweep, int threads) RT_MUST_CHECK;

/* Of process 0: ends rt_sweep_workers_serve of the others. */
void rt_sweep_workers_free(rt_sweep_workers *h);

/* Of process 0: gives a run to a process that has none, if there is one. */
bool rt_sweep_workers_give(rt_sweep_workers *h, int run);

/* Of process 0: how many processes can start runs. */
int rt_sweep_workers_count(const rt_sweep_workers *h);

/* Of process 0: what was given is begun, and `ended` told of every run that has ended, with the
 * status of waitpid. As long as `stop` is given, all runs are asked to stop. Returns whether any
 * process was asked to. */
bool rt_sweep_workers_look(rt_sweep_workers *h, bool stop,
                           void (*ended)(void *context, int run, int how), void *context);

/* Of the others, until process 0 is done. `stop` tells whether this process was asked to stop. */
void rt_sweep_workers_serve(rt_sweep_workers *h, int (*stop)(void));

#endif
