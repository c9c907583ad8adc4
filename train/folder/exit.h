#ifndef ROTOR_TRAIN_FOLDER_EXIT_H
#define ROTOR_TRAIN_FOLDER_EXIT_H

/* How a run ended: the exit code of its process, which result.csv keeps as well. */

#include "core/status.h"

typedef enum rt_exit {
    RT_EXIT_DONE = 0,
    RT_EXIT_FAILURE = 1,
    RT_EXIT_CONFIG = 2,
    RT_EXIT_DATA = 3,
    RT_EXIT_CHECKPOINT = 4,
    RT_EXIT_NONFINITE = 5,
    RT_EXIT_UNSAVED = 6,
    RT_EXIT_CHECK = 7,
    RT_EXIT_STOPPED = 75
} rt_exit;

rt_exit rt_exit_of(rt_code code);

#endif
