#ifndef ROTOR_TRAIN_SWEEP_PRIVATE_H
#define ROTOR_TRAIN_SWEEP_PRIVATE_H

/* Parts of training a sweep: its members (members.c), its files (record.c), the processes of a
 * world (workers.c). */

#include "train/folder/results.h"
#include "train/folder/run_folder.h"
#include "train/run/progress.h"
#include "train/sweep/runs.h"
#include "train/world/helper.h"
#include "train/world/world.h"

#include <sys/types.h>

/* ---- members ---- */

/* Returns the share of one run in the threads that the configuration asks for. */
int rt_sweep_threads(const rt_sweep *sweep, const rt_config *config);

/* Loads the configuration of the command line with the settings of one run ("section.key=value"
 * lines), as that of the run `name` in a folder below that of the sweep. *errors as for
 * rt_config_load. */
rt_status rt_sweep_load_settings(rt_config *config, const rt_arguments *arguments,
                                 const char *settings, const char *name,
                                 char **errors) RT_MUST_CHECK;

/* Loads the configuration of a run as it is trained. *errors as for rt_config_load. */
rt_status rt_sweep_load(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                        rt_config *config, char **errors) RT_MUST_CHECK;

/* Returns an error if the run could not be trained: its data, its memory, the trunk. */
rt_status rt_sweep_check_run(const rt_sweep *sweep, const rt_arguments *arguments, int run,
                             const rt_config *config) RT_MUST_CHECK;

/* ---- files ---- */

/* A run of the sweep, and its result. */
typedef struct rt_sweep_result {
    enum { RT_RUN_PENDING, RT_RUN_RUNNING, RT_RUN_ENDED } state;
    pid_t process; /* while it runs; unused in a world of processes */
    bool ended;    /* whether exit_code is set, which a stopped run has not */
    int exit_code;
    rt_results results; /* empty if the run left none */
} rt_sweep_result;

/* Writes runs.csv, a row for each run, and from it sweep.csv, with the mean over seeds, and
 * paired.csv; prints the table of the recorded runs and a line on theta. `results` has one entry
 * for each run. */
rt_status rt_sweep_record(FILE *to, const char *folder, const rt_sweep *sweep,
                          const rt_sweep_result *results) RT_MUST_CHECK;

/* Compares the sweep with the runs.csv of an earlier call, before any run is trained. If there are
 * more runs now, growth.csv records for each whether it was reused or is new, and *fresh counts the
 * new ones. Otherwise the file of an earlier growth stays, unless the sweep is made from the start.
 */
rt_status rt_sweep_note_growth(const char *folder, const rt_sweep *sweep,
                               const rt_sweep_result *results, bool from_start,
                               int *fresh) RT_MUST_CHECK;

/* ---- the processes of a world ---- */

/* The processes of a world train the runs of a sweep, one each at a time, in the helper of each.
 * Every few milliseconds process 0 broadcasts which process begins which run, and gathers which
 * runs have ended. */
typedef struct rt_sweep_workers {
    rt_world *world;
    rt_helper *helper; /* of this process */
    const rt_sweep *sweep;
    int threads; /* of a run of this process */
    int own;     /* run of this process, or RT_NO_RUN */
    int *runs;   /* run of each process, RT_NO_RUN, or RT_NO_WORKER if it cannot start one */
    int *next;   /* run that each process begins in the next round */
} rt_sweep_workers;
enum { RT_NO_RUN = -1, RT_NO_WORKER = -2 };

/* Prepares the rounds. The sweep is borrowed. */
rt_status rt_sweep_workers_new(rt_sweep_workers *h, rt_world *world, rt_helper *helper,
                               const rt_sweep *sweep, int threads) RT_MUST_CHECK;

/* Process 0: ends rt_sweep_workers_serve of the others. All: frees the memory. */
void rt_sweep_workers_free(rt_sweep_workers *h);

/* Process 0: assigns the run to a process without one. */
void rt_sweep_workers_give(rt_sweep_workers *h, int run);

/* Process 0: returns how many processes can start runs. */
int rt_sweep_workers_count(const rt_sweep_workers *h);

/* Process 0: begins the assigned runs and calls `ended`, with a status of waitpid, for every run
 * that has ended. With `stop` all runs are asked to stop. Returns whether any process was asked to
 * stop. */
bool rt_sweep_workers_look(rt_sweep_workers *h, bool stop,
                           void (*ended)(void *context, int run, int how), void *context);

/* The other processes: take part in rounds until process 0 ends them. `stop` tells whether this
 * process was asked to stop. */
void rt_sweep_workers_serve(rt_sweep_workers *h, int (*stop)(void));

#endif
