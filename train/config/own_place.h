#ifndef ROTOR_TRAIN_CONFIG_OWN_PLACE_H
#define ROTOR_TRAIN_CONFIG_OWN_PLACE_H

/* Where a run is whose own configuration is read. */

#include "core/path.h"

#include <stdbool.h>

/* A config.ini with a folder `checkpoints` beside it is that of the run there, wherever the folder
 * has been moved since: run.dir and run.name of that folder. False for every other file. */
bool rt_own_place(const char *file, char dir[RT_PATH_SIZE], char name[RT_PATH_SIZE]);

#endif
