#ifndef ROTOR_TRAIN_FOLDER_RUN_FOLDER_H
#define ROTOR_TRAIN_FOLDER_RUN_FOLDER_H

/* The folder of a run, <run.dir>/<run.name>: it is created, locked against a second training, and
 * cleared of an earlier run only on request. */

#include "io/checkpoint/checkpoint.h"
#include "train/folder/inputs.h"

typedef struct rt_run_folder {
    char path[RT_PATH_SIZE];
    char checkpoints[RT_PATH_SIZE];
    int lock;     /* descriptor of the locked file .lock; below 0: not locked */
    int unlocked; /* errno of a file system that cannot lock; 0: the lock is held */
} rt_run_folder;

/* Computes the paths, and creates nothing. Returns RT_CONFIG if they are too long. */
rt_status rt_run_folder_name(rt_run_folder *f, const char *dir, const char *name) RT_MUST_CHECK;

/* Returns whether the folder has checkpoints or other files of a run. */
bool rt_run_folder_used(const rt_run_folder *f);

/* Returns whether a path is the folder of a sweep, which a run must not use. */
bool rt_is_sweep_folder(const char *path);

/* Returns whether a path is the folder of a run, of a sweep, or of checkpoints, where an export
 * must not write a model. */
bool rt_is_run_folder(const char *path);

/* Copies FOLDER of FOLDER/checkpoints/step-00000600.h5; "" for another path. Returns `folder`. */
const char *rt_run_folder_of(char folder[RT_PATH_SIZE], const char *checkpoint);
#define RT_RUN_FOLDER_OF(checkpoint) rt_run_folder_of((char[RT_PATH_SIZE]){0}, checkpoint)

/* Locks an existing folder. Returns RT_CONFIG, naming the process, if another one has the lock. */
rt_status rt_run_folder_lock(rt_run_folder *f) RT_MUST_CHECK;

/* Creates the folder, its parents and, on request, the folder of checkpoints. Locks it unless it is
 * locked. Returns RT_IO if a folder cannot be created. */
rt_status rt_run_folder_open(rt_run_folder *f, bool with_checkpoints) RT_MUST_CHECK;

/* Ends the lock, if this process has it. */
void rt_run_folder_close(rt_run_folder *f);

/* Warning for a folder that is not locked: its path and the text of `unlocked`. */
#define RT_UNLOCKED_WARNING                                                                        \
    "warning: %s cannot be locked (%s): make sure that no other process trains there"

/* Returns whether a training holds the lock of the folder. */
bool rt_run_folder_busy(const char *path);

/* Returns RT_CONFIG, naming the process, if a training holds the lock. */
rt_status rt_run_folder_idle(const rt_run_folder *f) RT_MUST_CHECK;

/* Returns RT_CONFIG if a training from the start, or a sweep, removes or replaces one of the inputs
 * in the folder. */
rt_status rt_run_folder_spare(const rt_run_folder *f, const rt_inputs *inputs) RT_MUST_CHECK;

/* Removes result.csv and the other tables of the end of a run, which takes further steps: tables of
 * another model must not stand beside its next result. */
rt_status rt_run_folder_clear_end(const rt_run_folder *f) RT_MUST_CHECK;

/* Removes the files of a run except config.ini, which the next run replaces, and except its figures
 * (rt_figures_clear); other files are kept. */
rt_status rt_run_folder_clear(const rt_run_folder *f) RT_MUST_CHECK;

#endif
