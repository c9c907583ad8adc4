#ifndef ROTOR_TRAIN_RUN_ANCESTRY_H
#define ROTOR_TRAIN_RUN_ANCESTRY_H

/* The model of train.init_from, asked for its configuration before there is a run. The last one is
 * kept, since the runs of a sweep mostly start from one model.
 *
 * A run that is resumed or used has been through that: its own config.ini says what the model was,
 * and the folder that it started from may be gone. */

#include "train/config/config.h"
#include "train/run/arguments.h"
#include "train/world/world.h"

typedef struct rt_ancestry {
    const rt_arguments *arguments;
    rt_config *last; /* NULL: none was found yet */
    rt_ancestor found;
    bool received; /* by process 0, the only one that looks */
    char path[RT_PATH_SIZE];
} rt_ancestry;

void rt_ancestry_free(rt_ancestry *a);

/* For rt_config_source, with the ancestry as context. A checkpoint without a configuration is none.
 */
rt_ancestor_finder rt_ancestry_find;

/* Gives what process 0 has found to the other processes of a world, all of which call this once. */
rt_status rt_ancestry_broadcast(rt_ancestry *a, rt_world *world) RT_MUST_CHECK;

#endif
