#ifndef ROTOR_DATA_TOKENIZERS_BPE_H
#define ROTOR_DATA_TOKENIZERS_BPE_H

/* Byte-level BPE: added tokens and the tokenizer. */

#include "data/tokenizers/characters.h"
#include "data/tokenizers/maps.h"
#include "data/tokenizers/pieces.h"
#include "data/tokenizers/tokens.h"
#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Added tokens are matched before a text is split into words: from left to right, the longest at
 * each position. */

/* Limit of the bytes of a token. */
enum { RT_ADDED_TOKEN_SIZE = 512 };

typedef struct rt_added_token {
    char *text;
    size_t size;
    int32_t id;
    bool special;
    bool takes_left, takes_right; /* the token includes the blanks beside it */
} rt_added_token;

/* List of added tokens. It starts zeroed. */
typedef struct rt_added_tokens {
    rt_added_token *list;
    int count;
    rt_pieces pieces; /* ids are indices of the list */
} rt_added_tokens;

/* Stages of encoding: added tokens are matched in the text as it is, then in its normal form. */
enum { RT_AS_IS, RT_COMPOSED, RT_STAGES };

/* Match of an added token, with the range of its bytes. */
typedef struct rt_found_token {
    const rt_added_token *token; /* NULL: no match */
    size_t start, end;
} rt_found_token;

/* Extends a match by its blanks, back to `before` at most. */
rt_found_token rt_found_token_with_blanks(rt_found_token found, const unsigned char *text,
                                          size_t bytes, size_t before);

/* A byte-level BPE vocabulary (Sennrich et al. 2016, Radford et al. 2019), used as by Hugging
 * Face's tokenizers: added tokens are matched first, the text between them is split into words
 * (words.h), and within a word the neighbours whose merge is first in the file are joined until no
 * merge is left. */

/* Limits: values in a tokenizer.json, its bytes, and ids with special tokens. */
enum { RT_BPE_VALUES = 1 << 21, RT_BPE_BYTES = 64 << 20, RT_BPE_LIMIT = 1000000 };

enum { RT_CUTS_LIMIT = 4 };

typedef struct rt_bpe {
    rt_pretokenizer cuts[RT_CUTS_LIMIT]; /* each cut splits the parts of the previous one */
    int cut_count;
    int space_before;   /* index of the cut before which a text gets a space; -1: none */
    rt_form form;       /* normal form of a text */
    bool ignore_merges; /* a word that is a piece is not split */
    bool fuses_unknown; /* consecutive unknown bytes are one */
    int32_t unknown;    /* id of bytes without a piece; RT_NO_ID: omitted */
    int32_t bytes[256]; /* id of each byte; RT_NO_ID: no piece */
    rt_pairs merges;
    rt_byte_map pieces;   /* pieces of the vocabulary; empty unless ignore_merges */
    int32_t *piece_ids;   /* their ids */
    int32_t first, last;  /* special tokens of the post-processor around a text; RT_NO_ID: none */
    rt_special_ids found; /* special ids according to the file; RT_NO_ID: none */
    rt_added_tokens added[RT_STAGES];
} rt_bpe;

/* Parses v->file, a tokenizer.json of `size` bytes. Errors as rt_vocabulary_read. Fills text,
 * starts, kinds, ordinary, count, special and bpe, in part also after an error. */
rt_status rt_bpe_read(rt_vocabulary *v, const char *name, size_t size) RT_MUST_CHECK;

/* Replaces special ids of the file by the `known` ones that are not RT_NO_ID, except [UNK].
 * RT_DATA, which begins with `name`, if an id is not in the vocabulary. */
rt_status rt_bpe_know(rt_vocabulary *v, const char *name,
                      const rt_special_ids *known) RT_MUST_CHECK;
void rt_bpe_free(rt_bpe *bpe);

/* Returns whether two vocabularies with the same texts of ids encode every text to the same ids. */
bool rt_bpe_equal(const rt_bpe *a, const rt_bpe *b);

/* Returns an added token by its text or, with text NULL, by its id; NULL if there is none. */
const rt_added_token *rt_bpe_added(const rt_bpe *bpe, const char *text, int32_t id);

/* Returns an upper bound of the ids of a text of this size, at most SIZE_MAX. */
size_t rt_bpe_most_ids(const rt_bpe *bpe, size_t bytes);

/* Encodes bytes from ... to - 1 of a UTF-8 text at level bpe. Bytes without a piece are unknown.
 * RT_MEMORY, possibly after some ids. */
rt_status rt_bpe_encode(const rt_token_output *encoding, const unsigned char *text, size_t from,
                        size_t to) RT_MUST_CHECK;

/* Returns the regular expression of a Split that cuts so; NULL: none does. */
const char *rt_bpe_pattern(rt_pretokenizer cut);

/* Returns the character that represents a byte (GPT-2's printable characters). */
enum { RT_BPE_BYTE_COUNT = 256 };
int32_t rt_bpe_character_of(unsigned char byte);

#endif
