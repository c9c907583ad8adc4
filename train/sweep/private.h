#ifndef ROTOR_TRAIN_SWEEP_PRIVATE_H
#define ROTOR_TRAIN_SWEEP_PRIVATE_H

/* Parts of training a sweep: its runs (members.c), a world (workers.c); runs.c trains them and
 * writes the files. */

#include "train/folder/run_folder.h"
#include "train/run/progress.h"
#include "train/sweep/runs.h"
#include "train/world/helper.h"
#include "train/world/world.h"

#include <sys/types.h>
#include <time.h>

/* Time between two looks at the running processes. */
static const struct timespec rt_sweep_pause = {.tv_nsec = 30000000};

/* ---- members.c ---- */

/* Returns the threads of one run: the threads of the configuration, divided by the jobs. */
int rt_sweep_threads(const rt_sweep *sweep, const rt_config *config);

/* Loads the configuration of the command line with the settings of one run ("section.key=value"
 * lines), as run `name` in the folder of the sweep. Sets *errors as rt_config_load. */
rt_status rt_sweep_load_settings(rt_config *config, const rt_arguments *arguments,
                                 const char *settings, const char *name,
                                 char **errors) RT_MUST_CHECK;

/* Loads the configuration with which a run is trained. Sets *errors as rt_config_load. */
rt_status rt_sweep_load(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                        rt_config *config, char **errors) RT_MUST_CHECK;

/* Returns an error if the run cannot be trained with its data, memory or trunk. */
rt_status rt_sweep_check_run(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                             const rt_config *config) RT_MUST_CHECK;

/* ---- workers.c: the processes of a world ---- */

/* The processes of a world train the runs of a sweep, one run at a time per process, in its helper.
 * Every few milliseconds process 0 broadcasts which process begins which run, and gathers which
 * runs have ended. */
typedef struct rt_sweep_workers {
    rt_world *world;
    rt_helper *helper; /* helper of this process */
    const rt_sweep *sweep;
    int threads; /* threads of a run */
    int able;    /* number of processes that can start runs, known to process 0 */
    int own;     /* newest run of this process, or RT_NO_RUN */
    int *runs;   /* run of each process, RT_NO_RUN, or RT_NO_WORKER if it cannot start one */
    int *next;   /* run that each process begins in the next round */
} rt_sweep_workers;
enum { RT_NO_RUN = -1, RT_NO_WORKER = -2 };

/* Prepares the rounds in all processes. The sweep is borrowed. */
rt_status rt_sweep_workers_new(rt_sweep_workers *h, rt_world *world, rt_helper *helper,
                               const rt_sweep *sweep, int threads) RT_MUST_CHECK;

/* Frees the memory; in process 0, ends rt_sweep_workers_serve of the other processes. */
void rt_sweep_workers_free(rt_sweep_workers *h);

/* Assigns a run to a process without one; for process 0. */
void rt_sweep_workers_assign(rt_sweep_workers *h, int run);

/* Begins the assigned runs and calls `ended`, with a wait status (waitpid), for every run that has
 * ended; for process 0. With `stop`, stops all runs. Returns whether a process is asked to stop. */
bool rt_sweep_workers_poll(rt_sweep_workers *h, bool stop,
                           void (*ended)(void *context, int run, int how), void *context);

/* Takes part in rounds until process 0 ends them; for the other processes. `stop` returns nonzero
 * once this process was asked to stop. */
void rt_sweep_workers_serve(rt_sweep_workers *h, int (*stop)(void));

#endif
