#ifndef ROTOR_TRAIN_HUGGINGFACE_TOKENIZER_H
#define ROTOR_TRAIN_HUGGINGFACE_TOKENIZER_H

/* The vocabulary of a Hugging Face folder: vocab.txt or, if there is none, the pieces of
 * tokenizer.json; in lower case unless tokenizer_config.json or tokenizer.json says otherwise, as
 * transformers has it. */

#include "data/vocabulary.h"

/* NULL if the folder has neither. `level` is that of a vocabulary that rotor wrote, "" for
 * WordPiece. Errors are RT_CHECKPOINT and begin with the name of the file. */
rt_status rt_tokenizer_read(rt_vocabulary **vocabulary_new, const char *folder,
                            const char *level) RT_MUST_CHECK;

#endif
