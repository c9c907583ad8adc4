#ifndef ROTOR_TRAIN_CONFIG_MISTAKEN_H
#define ROTOR_TRAIN_CONFIG_MISTAKEN_H

/* What somebody took for a configuration: a run, a checkpoint, the text to train on. */

#include "train/config/errors.h"

/* Whether the path names something else than an INI file. Then one complaint says what it is and
 * what to type. A file of lines is none if no section of it exists and most lines are neither a
 * section nor `key = value`. What is neither a folder nor a regular file is left alone, and so is
 * what is not there. */
bool rt_config_mistaken(rt_config_errors *errors, const char *path);

#endif
