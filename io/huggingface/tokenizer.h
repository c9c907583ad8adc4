#ifndef ROTOR_IO_HUGGINGFACE_TOKENIZER_H
#define ROTOR_IO_HUGGINGFACE_TOKENIZER_H

/* The vocabulary of a folder: vocab.txt or, if there is none, the pieces of tokenizer.json,
 * WordPiece or byte-level BPE. A vocab.txt is ESM's if tokenizer_config.json names EsmTokenizer or,
 * if it names no class of its own, the file has <cls> and no [CLS].
 *
 * WordPiece: do_lower_case of tokenizer_config.json, true by default, says whether words are in
 * lower case. tokenizer.json says so only if there is no tokenizer_config.json, or one with a
 * general class. A setting that would make other words or pieces than BERT's is refused.
 *
 * Byte-level BPE: tokenizer.json says how a text is cut, whatever the class of the tokenizer.
 * tokenizer_config.json, which is optional, names the special tokens: bos_token or cls_token,
 * eos_token or sep_token, pad_token, mask_token. */

#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/words.h"
#include "io/huggingface/huggingface.h"

#include <jansson.h>

/* Reads the vocabulary of a folder. NULL if there is neither file, nor vocab.json with merges.txt
 * (byte-level BPE). `level` is that of a vocabulary that rotor wrote, or "" to detect it. *warning
 * is a line for the user, or NULL. Errors are RT_CHECKPOINT and begin with the name of the file. */
rt_status rt_tokenizer_read(rt_vocabulary **vocabulary_new, const char *folder, const char *level,
                            const char **warning) RT_MUST_CHECK;

/* Creates the tokenizer.json of a vocabulary of level bpe, whose post-processor puts a token before
 * a text if `begins`, and after it if `ends`: the bytes that were read if they do so, else with
 * another post-processor. The caller frees the text. */
rt_status rt_tokenizer_bpe_file(char **text_new, const rt_vocabulary *vocabulary, bool begins,
                                bool ends) RT_MUST_CHECK;

/* Creates the tokenizer.json of a vocabulary of level wordpiece, which cuts as BertTokenizer. The
 * caller frees the text. */
rt_status rt_tokenizer_pieces_file(char **text_new, const rt_vocabulary *vocabulary) RT_MUST_CHECK;

/* Parts of a tokenizer.json with byte-level BPE that other files describe. The last cut is a
 * pattern of words, the others are RT_PRETOKENIZER_DIGIT. */
typedef struct rt_tokenizer_parts {
    const rt_pretokenizer *cuts;
    int cut_count;
    bool nfc, space_before, ignore_merges;
    json_t *vocab, *merges, *added; /* as in the file */
} rt_tokenizer_parts;

/* Creates a tokenizer.json, which the caller frees. */
rt_status rt_tokenizer_assemble(char **text_new, const rt_tokenizer_parts *parts) RT_MUST_CHECK;

/* Returns the text of tokenizer_config.json, for a model that has token types or not. The caller
 * frees it; NULL if that fails. */
char *rt_huggingface_tokenizer_text(const rt_huggingface_export *export,
                                    bool has_types) RT_MUST_CHECK;

#endif
