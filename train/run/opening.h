#ifndef ROTOR_TRAIN_RUN_OPENING_H
#define ROTOR_TRAIN_RUN_OPENING_H

/* How a run opens its data: the folder for tokens of large texts, the threads that make them, and
 * what is said meanwhile. */

#include "train/run/progress.h"
#include "train/world/world.h"

typedef struct rt_opening {
    rt_progress progress;
    bool first; /* of the processes of a world, or alone */
    rt_data_watch watch;
} rt_opening;

/* Completes options that are to be opened; they point to `opening`, which is to be ended after
 * that. Without data.cache the folder is rotor in $XDG_CACHE_HOME, or in .cache of $HOME; texts of
 * $ROTOR_CACHE_FROM bytes and more are put there (for tests). `quiet`: nothing is said but
 * warnings. */
void rt_opening_begin(rt_opening *opening, rt_data_options *o, const rt_config *config,
                      const rt_world *world, bool quiet);
void rt_opening_end(rt_opening *opening);

#endif
