#ifndef ROTOR_IO_HUGGINGFACE_TOKENIZER_H
#define ROTOR_IO_HUGGINGFACE_TOKENIZER_H

/* The vocabulary of a Hugging Face folder: vocab.txt or, if there is none, the pieces of
 * tokenizer.json, WordPiece or byte-level BPE. A vocab.txt is ESM's if
 * tokenizer_config.json names EsmTokenizer or, where that names no class of its own, it has <cls>
 * and no [CLS]. What follows is of WordPiece.
 *
 * Whether words are in lower case is what transformers has it as: tokenizer_config.json says it,
 * and if that has no do_lower_case they are; tokenizer.json says it only if there is no
 * tokenizer_config.json, or one whose class is a general one. Whatever else would make other words
 * or pieces of a text than BERT's is refused. */

#include "data/tokenizers/vocabulary.h"
#include "io/huggingface/json.h"

/* NULL if the folder has neither, nor vocab.json and merges.txt of byte-level BPE. `level` is that
 * of a vocabulary that rotor wrote, "" for one that the files tell. *warning is a line for the
 * user, or NULL. Errors are RT_CHECKPOINT and begin with the name of the file. */
rt_status rt_tokenizer_read(rt_vocabulary **vocabulary_new, const char *folder, const char *level,
                            const char **warning) RT_MUST_CHECK;

/* ---- byte-level BPE ---- */

/* The vocabulary of a Hugging Face folder whose tokenizer.json has byte-level BPE, and its
 * tokenizer_config.json. How a text is cut is what tokenizer.json says, whatever the class of the
 * tokenizer is; tokenizer_config.json, which need not be there, tells which tokens begin and end a
 * text, fill it up and hide others (bos_token or cls_token, eos_token or sep_token, pad_token,
 * mask_token). */

/* Special tokens that are put around a text. */
typedef struct rt_frame {
    bool begins, ends;
} rt_frame;

/* The tokenizer.json of a vocabulary of level bpe: the bytes that were read, if its post-processor
 * puts just these around a text, else with one that does. The caller frees it; NULL if the heap is
 * exhausted. */
char *rt_tokenizer_bpe_file(const rt_vocabulary *vocabulary, rt_frame frame) RT_MUST_CHECK;

/* Puts the class and the special tokens of a tokenizer_config.json for a vocabulary of level bpe,
 * whose tokenizer.json is what rt_tokenizer_bpe_file gives. */
void rt_tokenizer_bpe_put(rt_json_object *to, const rt_vocabulary *vocabulary);

#endif
