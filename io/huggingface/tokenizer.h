#ifndef ROTOR_IO_HUGGINGFACE_TOKENIZER_H
#define ROTOR_IO_HUGGINGFACE_TOKENIZER_H

/* The vocabulary of a Hugging Face folder: vocab.txt or, if there is none, the pieces of
 * tokenizer.json, WordPiece or byte-level BPE (tokenizer_bpe.h). A vocab.txt is ESM's if
 * tokenizer_config.json names EsmTokenizer or, where that names no class of its own, it has <cls>
 * and no [CLS]. What follows is of WordPiece.
 *
 * Whether words are in lower case is what transformers has it as: tokenizer_config.json says it,
 * and if that has no do_lower_case they are; tokenizer.json says it only if there is no
 * tokenizer_config.json, or one whose class is a general one. Whatever else would make other words
 * or pieces of a text than BERT's is refused. */

#include "data/tokenizers/vocabulary.h"

/* NULL if the folder has neither, nor vocab.json and merges.txt of byte-level BPE. `level` is that
 * of a vocabulary that rotor wrote, "" for one that the files tell. *warning is a line for the
 * user, or NULL. Errors are RT_CHECKPOINT and begin with the name of the file. */
rt_status rt_tokenizer_read(rt_vocabulary **vocabulary_new, const char *folder, const char *level,
                            const char **warning) RT_MUST_CHECK;

#endif
