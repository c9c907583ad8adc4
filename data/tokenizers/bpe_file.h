#ifndef ROTOR_DATA_TOKENIZERS_BPE_FILE_H
#define ROTOR_DATA_TOKENIZERS_BPE_FILE_H

/* Reading and writing a tokenizer.json of byte-level BPE. Errors are RT_DATA and begin with the
 * name of the file and the key. */

#include "core/status.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/byte_map.h"
#include "text/json.h"

typedef struct rt_bpe_reading {
    rt_vocabulary *v; /* being filled */
    const char *name; /* of the file */
    const json_t *json;
    json_t *vocab;             /* model.vocab */
    const char *begins, *ends; /* the tokens that the post-processor puts around a text; or NULL */
} rt_bpe_reading;

/* A key of an object that must be true or false; absent or null, it is `otherwise`. `where` is what
 * the object is called: "model", "added_tokens[3]". */
rt_status rt_bpe_flag(const rt_bpe_reading *r, const json_t *object, const char *where,
                      const char *key, bool otherwise, bool *value) RT_MUST_CHECK;

/* The type of an object, "" if it has none. */
const char *rt_bpe_type(const json_t *object);

/* The normalizer, the pre-tokenizer, the decoder, and the tokens of the post-processor. */
rt_status rt_bpe_read_parts(rt_bpe_reading *r) RT_MUST_CHECK;

/* The ids of model.vocab with their texts, merges left out. */
rt_status rt_bpe_read_pieces(rt_bpe_reading *r) RT_MUST_CHECK;

/* Byte-level text as the bytes that it stands for. False if a character stands for none; `bytes`
 * has room for as many as the text. */
bool rt_bpe_bytes(const char *text, char *bytes, size_t *size);

/* After the pieces: the merges. */
rt_status rt_bpe_read_merges(rt_bpe_reading *r) RT_MUST_CHECK;

/* After the pieces: the added tokens, and which of them are what rotor calls [CLS], [SEP], [PAD],
 * [MASK] and [UNK]. */
rt_status rt_bpe_read_tokens(rt_bpe_reading *r) RT_MUST_CHECK;

/* ---- writing ---- */

/* A byte-level BPE as a tokenizer.json. */

/* Special tokens of a new tokenizer, whose ids are their places: the token between texts, and the
 * token that stands for a masked one, which a tokenizer may lack. */
enum { RT_BPE_MOST_SPECIALS = 2 };
extern const char *const rt_bpe_specials[RT_BPE_MOST_SPECIALS];

/* Bytes, and the most characters that GPT-2 writes them as are twice as many. */
enum { RT_BPE_BYTE_COUNT = 256 };

/* The byte that a character stands for, or -1 (GPT-2: bytes as characters that can be seen). */
int32_t rt_bpe_byte_of(int32_t character);

/* Returns the character that stands for a byte. */
int32_t rt_bpe_character_of(unsigned char byte);

typedef struct rt_bpe_merge {
    int32_t left, right, made; /* ids */
} rt_bpe_merge;

/* Writes the file, with GPT-2's pattern, as tokenizers 0.23 saves it, byte for byte: tokens by
 * their ids, of which the first are the first `specials` of rt_bpe_specials, as they are written.
 * The caller frees it; NULL when the heap is exhausted. */
char *rt_bpe_write(const rt_byte_map *tokens, int specials, const rt_bpe_merge *merges,
                   size_t count) RT_MUST_CHECK;

#endif
