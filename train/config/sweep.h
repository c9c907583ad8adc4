#ifndef ROTOR_TRAIN_CONFIG_SWEEP_H
#define ROTOR_TRAIN_CONFIG_SWEEP_H

/* Several runs from one configuration: every [variant] with every combination of the values in
 * [sweep]. train/sweep/runs.h trains them. */

#include "train/config/keys.h"

enum {
    RT_MOST_AXES = 16,
    RT_MOST_AXIS_VALUES = 64,
    RT_MOST_VARIANTS = 64,
    RT_MOST_SETTINGS = 32,
    RT_MOST_SWEEP_RUNS = 10000
};

/* A key and its values. */
typedef struct rt_axis {
    int key; /* its number in the table */
    int origin;
    int count;
    const char *values[RT_MOST_AXIS_VALUES]; /* shared copies, as all texts of a sweep */
} rt_axis;

/* A named group of settings. */
typedef struct rt_variant {
    char name[RT_KEY_NAME_SIZE];
    int count;
    int keys[RT_MOST_SETTINGS];
    const char *values[RT_MOST_SETTINGS];
} rt_variant;

_Static_assert((int)RT_MOST_AXIS_VALUES <= (int)RT_MOST_VARIANTS, "seeds may come from an axis");

/* Zeroed: a single run. */
typedef struct rt_sweep {
    int jobs;          /* runs at a time; 0 = not set */
    int jobs_origin;   /* origin of sweep.jobs; 0 = not set */
    int trunk_steps;   /* steps of trunks that the sweep trains; 0 = none */
    const char *trunk; /* checkpoint that all runs continue; NULL = none */
    int trunk_origin;
    int seed_count;
    const char *seeds[RT_MOST_VARIANTS]; /* of the trunks: values of an axis or of variants */
    int longest;                         /* largest number of steps of a run */
    int horizon;                         /* optimizer.schedule_steps of the trunks */
    char folder[RT_PATH_SIZE];           /* folder of the sweep, with its trunks */
    int axis_count;
    rt_axis axes[RT_MOST_AXES];
    int variant_count;
    rt_variant variants[RT_MOST_VARIANTS];
} rt_sweep;

/* Returns whether there is more than one run. */
bool rt_sweep_requested(const rt_sweep *sweep);

/* ---- parsing; complaints are added to the errors ---- */

/* Adds a line of [sweep]: "jobs", "trunk" or "section.key"; on the command line without "sweep.".
 */
void rt_sweep_set(rt_sweep *sweep, int origin, const char *name, const char *values,
                  rt_config_errors *errors);

/* Add a [variant NAME] section and one of its lines. */
void rt_sweep_add_variant(rt_sweep *sweep, int origin, const char *name, rt_config_errors *errors);
void rt_sweep_add_setting(rt_sweep *sweep, int origin, const char *name, const char *value,
                          rt_config_errors *errors);

/* Sets the properties of the trunks from the configuration that all runs share. Complains of a key
 * that two of sweep, variants and command line set, and of too many runs. Returns RT_CONFIG if a
 * path is too long or the working directory is unknown. */
rt_status rt_sweep_resolve(rt_sweep *sweep, const rt_config *config,
                           rt_config_errors *errors) RT_MUST_CHECK;

/* Writes the sweep and the keys that its runs share as an INI file, which loads as the same sweep.
 * Keys that were not set are comments: their defaults may differ between runs. With `explained`,
 * the meaning of each key is a comment above it. A single run is written as by rt_config_ini. The
 * caller frees it; NULL when the heap is exhausted. */
char *rt_sweep_ini(const rt_sweep *sweep, const rt_config *config, bool explained);

/* ---- the runs, 0 ... count - 1: the last axis changes fastest ---- */

int rt_sweep_count(const rt_sweep *sweep);

/* NULL without variants. */
const rt_variant *rt_sweep_variant(const rt_sweep *sweep, int run);
const char *rt_sweep_value(const rt_sweep *sweep, int run, int axis);

/* Returns the trunk of a run, with trunk_steps. There is one for each seed; trunks are runs
 * themselves, with the numbers count, ..., count + seed_count - 1. */
int rt_sweep_trunk_of(const rt_sweep *sweep, int run);

/* Writes the name of the run's folder, such as "rope_seed=1", unique in the sweep. */
void rt_sweep_name(const rt_sweep *sweep, int run, char name[RT_RUN_NAME_SIZE]);

/* Writes the settings of the run as "section.key=value" lines. The caller frees it; NULL when the
 * heap is exhausted. */
char *rt_sweep_overrides(const rt_sweep *sweep, int run);

#endif
