#ifndef ROTOR_TRAIN_RUN_H
#define ROTOR_TRAIN_RUN_H

/* A run from the first step to the last line on stdout, and what can be done with a trained
 * one. Messages go to stderr. Both return the exit code of the process. */

#include "train/arguments.h"
#include "train/config.h"

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

rt_exit rt_run_train(rt_config *config, const rt_arguments *arguments);
/* Makes the report of the run or the sweep in arguments->report again. */
rt_exit rt_run_report(const rt_arguments *arguments);

/* Uses the model of a checkpoint: evaluation, or prediction. */
rt_exit rt_run_use(const rt_config *config, const rt_arguments *arguments);

#endif
