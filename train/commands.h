#ifndef ROTOR_TRAIN_COMMANDS_H
#define ROTOR_TRAIN_COMMANDS_H

#include "train/run/arguments.h"

/* Runs the command of a command line, and returns the exit code of the program. `revision` is that
 * of the program's sources, or "". */
int rt_command_line(int argc, char **argv, const char *revision);

/* Writes, for --init NAME FILE.ini, a short commented configuration to start from. Returns
 * RT_CONFIG for an unknown name, or if the file exists and --overwrite is not given; RT_IO if it
 * cannot be written. */
rt_status rt_init_command(const rt_arguments *arguments) RT_MUST_CHECK;

#endif
