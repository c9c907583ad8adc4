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

/* Prints, for --train-tokenizer N TEXT ..., a byte-level BPE of texts as a tokenizer.json or, with
 * --level wordpiece, a vocab.txt (data/tokenizers/train.h). Shows progress of a BPE on stderr: on a
 * terminal as a line updated in place, elsewhere as a line per minute. Returns RT_DATA for a text
 * that cannot be read, is empty or is not UTF-8; RT_CONFIG if N is too small for a vocab.txt. */
rt_status rt_train_tokenizer_command(const rt_arguments *arguments) RT_MUST_CHECK;

#endif
