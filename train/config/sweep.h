#ifndef ROTOR_TRAIN_CONFIG_SWEEP_H
#define ROTOR_TRAIN_CONFIG_SWEEP_H

/* Several runs from one configuration: every [variant] combined with every combination of the
 * values in [sweep]. train/sweep/runs.h trains the runs. */

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
    int key; /* number of the key (rt_key_at) */
    int origin;
    int count;
    const char *values[RT_MOST_AXIS_VALUES]; /* shared copies, like all texts of a sweep */
} rt_axis;

/* A named group of settings. */
typedef struct rt_variant {
    char name[RT_KEY_NAME_SIZE];
    int count;
    int keys[RT_MOST_SETTINGS];
    const char *values[RT_MOST_SETTINGS];
} rt_variant;

_Static_assert((int)RT_MOST_AXIS_VALUES <= (int)RT_MOST_VARIANTS, "seeds may come from an axis");

/* A sweep; zeroed: a single run. */
typedef struct rt_sweep {
    int jobs;          /* runs at a time; 0 = not set */
    int jobs_origin;   /* origin of sweep.jobs; 0 = not set */
    int trunk_steps;   /* steps of trunks that the sweep trains; 0 = none */
    const char *trunk; /* checkpoint that all runs continue; NULL = none */
    int trunk_origin;
    int seed_count;
    const char *seeds[RT_MOST_VARIANTS]; /* seeds of the trunks, from an axis or from variants */
    int longest;                         /* largest number of steps of a run */
    int horizon;                         /* optimizer.schedule_steps of the trunks */
    char folder[RT_PATH_SIZE];           /* folder of the sweep, with its trunks */
    int axis_count;
    rt_axis axes[RT_MOST_AXES];
    int variant_count;
    rt_variant variants[RT_MOST_VARIANTS];
} rt_sweep;

/* Returns whether the configuration describes more than a single run: it has axes or variants. */
bool rt_sweep_requested(const rt_sweep *sweep);

/* Adds a line of [sweep], named "jobs", "trunk" or "section.key"; on the command line the prefix
 * "sweep." is removed. Adds errors to `errors`, as the functions below. */
void rt_sweep_set(rt_sweep *sweep, int origin, const char *name, const char *values,
                  rt_config_errors *errors);

/* Adds a [variant NAME] section, or a line to the last variant. */
void rt_sweep_add_variant(rt_sweep *sweep, int origin, const char *name, rt_config_errors *errors);
void rt_sweep_add_setting(rt_sweep *sweep, int origin, const char *name, const char *value,
                          rt_config_errors *errors);

/* Computes the properties of the trunks from the configuration that all runs share. Adds an error
 * for a key that two of sweep, variants and command line set, and for too many runs. Returns
 * RT_CONFIG if a path is too long or the working directory is unknown. */
rt_status rt_sweep_resolve(rt_sweep *sweep, const rt_config *config,
                           rt_config_errors *errors) RT_MUST_CHECK;

/* Writes the sweep and the keys that its runs share as an INI file that loads as the same sweep.
 * Keys that are not set are comments, because their defaults may differ between runs. With
 * `explained`, a comment above each key gives its meaning. A single run is written as by
 * rt_config_ini. The caller frees the text; NULL if the heap is exhausted. */
char *rt_sweep_ini(const rt_sweep *sweep, const rt_config *config, bool explained);

/* Returns the number of runs, 0 ... count - 1. The last axis changes fastest. */
int rt_sweep_count(const rt_sweep *sweep);

/* Returns the variant of a run; NULL without variants. */
const rt_variant *rt_sweep_variant(const rt_sweep *sweep, int run);
const char *rt_sweep_value(const rt_sweep *sweep, int run, int axis);

/* Returns the number of the trunk of a run, if trunk_steps > 0. Trunks are runs themselves, one for
 * each seed, with the numbers count ... count + seed_count - 1. */
int rt_sweep_trunk_of(const rt_sweep *sweep, int run);

/* Writes the name of the run's folder, unique in the sweep: "rope_seed=1". Returns `name`. */
const char *rt_sweep_name(const rt_sweep *sweep, int run, char name[RT_RUN_NAME_SIZE]);
#define RT_SWEEP_NAME(sweep, run) rt_sweep_name(sweep, run, (char[RT_RUN_NAME_SIZE]){0})

/* Writes the settings of the run as "section.key=value" lines. The caller frees the text; NULL if
 * the heap is exhausted. */
char *rt_sweep_overrides(const rt_sweep *sweep, int run);

#endif
