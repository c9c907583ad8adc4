#ifndef ROTOR_TRAIN_TOKENIZER_COMMAND_H
#define ROTOR_TRAIN_TOKENIZER_COMMAND_H

/* train --train-tokenizer N TEXT ...: a byte-level BPE of texts (data/tokenizers/bpe_train.h). */

#include "train/run/arguments.h"

/* Prints the tokenizer.json, and on stderr progress: on a terminal one line that is updated in
 * place, elsewhere a plain line a minute. RT_DATA names a text that cannot be read, is empty or is
 * not UTF-8. */
rt_status rt_tokenizer_command(FILE *to, const rt_arguments *arguments) RT_MUST_CHECK;

#endif
