#ifndef ROTOR_TRAIN_SWEEP_EFFECTS_H
#define ROTOR_TRAIN_SWEEP_EFFECTS_H

/* The keys of a sweep that count in none of its runs. A key of the file may be idle in some of
 * them, and so may a value of [sweep] or a line of a [variant] in some of theirs. */

#include "train/config/sweep.h"

#include <stdio.h>

/* What became of a key where it is set. */
typedef struct rt_sweep_effect {
    bool idle;   /* in a run, where it is not at its default */
    bool counts; /* in a run */
    int origin;
} rt_sweep_effect;

/* Zeroed: nothing is known. */
typedef struct rt_sweep_effects {
    rt_sweep_effect of_file[RT_MAX_KEYS]; /* and of the command line */
    rt_sweep_effect of_axes[RT_MOST_AXES];
    rt_sweep_effect of_variants[RT_MOST_VARIANTS][RT_MOST_SETTINGS];
} rt_sweep_effects;

/* Takes a run into account. */
void rt_sweep_effects_add(rt_sweep_effects *effects, const rt_sweep *sweep, int run,
                          const rt_config *config);

/* Prints a line for each key without effect; returns how many there are. */
int rt_sweep_effects_report(FILE *to, const rt_sweep_effects *effects, const rt_sweep *sweep,
                            const char *file);

#endif
