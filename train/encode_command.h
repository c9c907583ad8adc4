#ifndef ROTOR_TRAIN_ENCODE_COMMAND_H
#define ROTOR_TRAIN_ENCODE_COMMAND_H

/* train --encode CONFIG.ini OUT: the tokens of data.file as a file of ids (data/encode_file.h). */

#include "train/config/config.h"
#include "train/run/arguments.h"

rt_status rt_encode_command(const rt_config *config, const rt_arguments *arguments) RT_MUST_CHECK;

#endif
