#ifndef ROTOR_TRAIN_REPORT_COMMAND_H
#define ROTOR_TRAIN_REPORT_COMMAND_H

/* train --report RUN_DIR: the report of a run; of a sweep, with those of its runs. */

#include "train/run/run.h"

/* The exit code of the process. */
rt_exit rt_report_command(const rt_arguments *arguments);

#endif
