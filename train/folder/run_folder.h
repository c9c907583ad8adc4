#ifndef ROTOR_TRAIN_FOLDER_RUN_FOLDER_H
#define ROTOR_TRAIN_FOLDER_RUN_FOLDER_H

/* The folder of a run, <run.dir>/<run.name>: made, locked against a second trainer, and
 * cleared of an earlier run only when that was asked for. */

#include "io/checkpoint/checkpoint.h"

typedef struct rt_run_folder {
    char path[RT_PATH_SIZE];
    char checkpoints[RT_PATH_SIZE];
    int lock; /* of the folder; below 0: not held */
} rt_run_folder;

/* Only fills in the paths. RT_CONFIG if they are too long. */
rt_status rt_run_folder_name(rt_run_folder *f, const char *dir, const char *name) RT_MUST_CHECK;

/* Whether a run has left something here. */
bool rt_run_folder_used(const rt_run_folder *f);

/* Whether a sweep has: a run of its own has no place there. */
bool rt_run_folder_is_sweep(const rt_run_folder *f);

/* Whether a path is the folder of a run or of a sweep, or one of checkpoints: whoever names it
 * means those, and not another model that were written there. */
bool rt_is_run_folder(const char *path);

/* Makes the folder, with one for checkpoints or without, and those above it, and locks it.
 * RT_CONFIG, with its process, if another trainer holds the lock; RT_IO if it cannot be made or
 * written to. */
rt_status rt_run_folder_open(rt_run_folder *f, bool with_checkpoints) RT_MUST_CHECK;
void rt_run_folder_close(rt_run_folder *f);

/* Whether a trainer holds the lock of the folder at this path. */
bool rt_run_folder_busy(const char *path);

/* RT_CONFIG, with its process, if one does. */
rt_status rt_run_folder_idle(const rt_run_folder *f) RT_MUST_CHECK;

/* Removes what a run leaves but its figures (rt_figures_clear); other files stay. */
rt_status rt_run_folder_clear(const rt_run_folder *f) RT_MUST_CHECK;

#endif
