#ifndef ROTOR_TRAIN_VOCAB_COMMAND_H
#define ROTOR_TRAIN_VOCAB_COMMAND_H

/* train --vocab N TEXT ...: a WordPiece vocabulary of texts (data/tokenizers/wordpiece_build.h). */

#include "train/run/arguments.h"

/* Prints the vocab.txt. RT_DATA names a text that cannot be read, is empty or is not UTF-8;
 * RT_CONFIG if N is too small. */
rt_status rt_vocab_command(FILE *to, const rt_arguments *arguments) RT_MUST_CHECK;

#endif
