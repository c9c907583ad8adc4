#ifndef ROTOR_TRAIN_FOLDER_INPUTS_H
#define ROTOR_TRAIN_FOLDER_INPUTS_H

/* Files that a command reads, and therefore neither removes nor replaces. They are known by device
 * and inode: a relative path, a link or another name of the same file makes no difference. */

#include "train/config/config.h"

#include <sys/types.h>

typedef struct rt_input_file {
    const char *key;  /* key or option that names it */
    const char *path; /* as named, a shared copy */
    dev_t device;
    ino_t inode;
} rt_input_file;

/* List of inputs; zeroed at the start. `failed`: the heap was exhausted. */
typedef struct rt_inputs {
    rt_input_file *list;
    size_t count, capacity;
    bool failed;
} rt_inputs;

void rt_inputs_free(rt_inputs *inputs);

/* Adds a file, or a folder with its files and those of its folder `checkpoints`. A path that cannot
 * be found is skipped: reading it reports the error. */
void rt_inputs_add(rt_inputs *inputs, const char *key, const char *path);

/* Adds all files that a training with the configuration reads. */
void rt_inputs_add_config(rt_inputs *inputs, const rt_config *config);

/* Returns the input that is the file `path`; NULL if none is. */
const rt_input_file *rt_inputs_find(const rt_inputs *inputs, const char *path);

/* Returns RT_CONFIG if the file `path`, which the command writes, is one of the inputs, or exists
 * and must not be replaced (rt_output_check). */
rt_status rt_inputs_spare(const rt_inputs *inputs, const char *path, bool overwrite) RT_MUST_CHECK;

#endif
