#ifndef ROTOR_TRAIN_RUN_RUN_H
#define ROTOR_TRAIN_RUN_RUN_H

/* A run from the first step to the last line on stdout. Messages go to stderr. */

#include "train/config/config.h"
#include "train/folder/results.h"
#include "train/run/arguments.h"

/* Trains, in a world if arguments->world is one. Returns the exit code of the process. */
rt_exit rt_run_train(rt_config *config, const rt_arguments *arguments);

#endif
