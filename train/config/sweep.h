#ifndef ROTOR_TRAIN_CONFIG_SWEEP_H
#define ROTOR_TRAIN_CONFIG_SWEEP_H

/* Several runs from one configuration: every [variant] with every combination of the values
 * in [sweep]. Here is what is to be run; train/sweep/runs.h runs it. */

#include "train/config/keys.h"

enum {
    RT_MOST_AXES = 16,
    RT_MOST_AXIS_VALUES = 64,
    RT_MOST_VARIANTS = 64,
    RT_MOST_SETTINGS = 32,
    RT_MOST_SWEEP_RUNS = 10000
};

/* A key and the values that it takes in turn. */
typedef struct rt_axis {
    int key; /* its number in the table */
    int origin;
    int count;
    char *values[RT_MOST_AXIS_VALUES];
} rt_axis;

/* A named group of settings. */
typedef struct rt_variant {
    char name[RT_KEY_NAME_SIZE];
    int count;
    int keys[RT_MOST_SETTINGS];
    char *values[RT_MOST_SETTINGS];
} rt_variant;

/* Zeroed: a single run. */
typedef struct rt_sweep {
    int jobs;        /* runs at a time; 0 = not set */
    int jobs_origin; /* as that of an axis; 0 = not set */
    int trunk_steps; /* of the trunks that the runs continue; 0: they have none of the sweep's */
    char *trunk;     /* the checkpoint that they continue; NULL: none */
    int trunk_origin;
    int longest; /* the most steps of a run */
    int horizon; /* where the schedule of the learning rate ends that the trunks begin */
    char folder[RT_PATH_SIZE]; /* of the sweep, where its trunks are */
    int axis_count;
    rt_axis axes[RT_MOST_AXES];
    int variant_count;
    rt_variant *variants[RT_MOST_VARIANTS];
} rt_sweep;

/* Whether there is more than one run to make. */
bool rt_sweep_requested(const rt_sweep *sweep);
void rt_sweep_free(rt_sweep *sweep);

/* ---- reading; complaints go to the errors ---- */

/* A line of [sweep]: "jobs", "trunk" or "section.key"; on the command line without "sweep.". */
void rt_sweep_set(rt_sweep *sweep, int origin, const char *name, const char *values,
                  rt_config_errors *errors);

/* A [variant NAME] section and one of its lines. */
void rt_sweep_add_variant(rt_sweep *sweep, int origin, const char *name, rt_config_errors *errors);
void rt_sweep_add_setting(rt_sweep *sweep, int origin, const char *name, const char *value,
                          rt_config_errors *errors);

/* What the lines contradict each other in: a key that two of sweep, variants and command line
 * set, or too many runs. */
void rt_sweep_check(const rt_sweep *sweep, const rt_config *config, rt_config_errors *errors);

/* Takes of the configuration that the runs share what their trunks have of it. RT_CONFIG if the
 * folder of the sweep cannot be named. */
rt_status rt_sweep_settle(rt_sweep *sweep, const rt_config *config) RT_MUST_CHECK;

/* The sweep and what its runs share as an INI file, which is the same sweep. What nobody has
 * written is a comment: a run may make another default of it. The caller frees it; NULL when the
 * heap is exhausted. */
char *rt_sweep_ini(const rt_sweep *sweep, const rt_config *config);

/* ---- the runs, 0 ... count - 1: the last axis changes fastest ---- */

int rt_sweep_count(const rt_sweep *sweep);

/* NULL without variants. */
const rt_variant *rt_sweep_variant(const rt_sweep *sweep, int run);
const char *rt_sweep_value(const rt_sweep *sweep, int run, int axis);

/* The trunks, which are runs themselves: count, ..., count + trunks - 1, one for each run.seed; and
 * which of them a run continues. */
int rt_sweep_trunks(const rt_sweep *sweep);
int rt_sweep_trunk_of(const rt_sweep *sweep, int run);

/* "rope_seed=1": a name for the run's directory, unlike that of any other. */
void rt_sweep_name(const rt_sweep *sweep, int run, char name[RT_RUN_NAME_SIZE]);

/* The run's settings as "section.key=value" lines; the caller frees it. NULL when the heap is
 * exhausted. */
char *rt_sweep_overrides(const rt_sweep *sweep, int run);

#endif
