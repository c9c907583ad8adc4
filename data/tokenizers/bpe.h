#ifndef ROTOR_DATA_TOKENIZERS_BPE_H
#define ROTOR_DATA_TOKENIZERS_BPE_H

/* Byte-pair encoding: added tokens, and the tokenizer. */

#include "data/tokenizers/characters.h"
#include "data/tokenizers/maps.h"
#include "data/tokenizers/pieces.h"
#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- added tokens ---- */

/* Tokens that are found in a text before it is cut into words: at each place the longest that
 * stands there, from left to right. */

/* Bytes of one token. */
enum { RT_ADDED_TOKEN_SIZE = 512 };

typedef struct rt_added_token {
    char *text;
    size_t size;
    int32_t id;
    bool special;
    bool takes_left, takes_right; /* the blanks beside it belong to it */
} rt_added_token;

/* Starts zeroed. */
typedef struct rt_added_tokens {
    rt_added_token *list;
    int count;
    rt_pieces pieces; /* their ids are places in the list */
} rt_added_tokens;

void rt_added_tokens_free(rt_added_tokens *tokens);

/* Sorts the pieces of a list that is complete. Returns NULL; the text of a token that is there
 * twice; or "" when the heap is exhausted. */
const char *rt_added_tokens_sort(rt_added_tokens *tokens);

/* A token in a text, and the bytes that belong to it. */
typedef struct rt_found_token {
    const rt_added_token *token; /* NULL: there is none */
    size_t start, end;
} rt_found_token;

/* Extends a token by the blanks that belong to it, at most back to `before`. */
rt_found_token rt_found_token_with_blanks(rt_found_token found, const unsigned char *text,
                                          size_t bytes, size_t before);

/* The next token of a text, which is UTF-8. With special = false a special token is text, which no
 * other token is looked for in. *at is the place to begin at, 0 at first, and is moved behind the
 * token; `before` is the end of the token before, 0 at first. */
rt_found_token rt_added_tokens_next(const rt_added_tokens *tokens, const unsigned char *text,
                                    size_t bytes, bool special, size_t before, size_t *at);

/* ---- the tokenizer ---- */

/* The pieces of a byte-level BPE vocabulary (Sennrich et al. 2016, Radford et al. 2019), and how a
 * text is joined of them, as Hugging Face's tokenizers does it: added tokens are split off, what is
 * left is cut into words (words.h), and within a word the two neighbours whose merge comes
 * first in the file are joined until no two neighbours have a merge. */

/* Values in a tokenizer.json; its bytes; ids, the special ones included. */
enum { RT_BPE_VALUES = 1 << 21, RT_BPE_BYTES = 64 << 20, RT_BPE_LIMIT = 1000000 };

enum { RT_CUTS_LIMIT = 4 };

typedef struct rt_bpe {
    rt_pretokenizer cuts[RT_CUTS_LIMIT]; /* within each piece of a cut the next one cuts */
    int cut_count;
    int space_before;   /* the cut before which a text gets a space; -1: none does */
    rt_form form;       /* a text is brought into it */
    bool ignore_merges; /* a word that is a piece is that piece */
    bool fuses_unknown; /* unknown bytes that follow each other are one */
    int32_t unknown;    /* of a byte that has no piece; RT_NO_ID: it is left out */
    int32_t bytes[256]; /* RT_NO_ID: it has no piece */
    rt_pairs merges;
    rt_byte_map pieces;              /* of the vocabulary; empty unless merges are ignored */
    int32_t *piece_ids;              /* the ids of these pieces */
    int32_t first, last;             /* what the post-processor puts before a text, and behind it;
                                        RT_NO_ID: nothing, or no special token */
    rt_special_ids found;            /* what the file seems to have for them; RT_NO_ID: nothing */
    rt_added_tokens as_is, composed; /* found in the text, and after it was brought into `form` */
    char *file;                      /* tokenizer.json, zero-terminated */
} rt_bpe;

/* Takes apart a tokenizer.json; errors are those of rt_vocabulary_read. Fills in text, starts,
 * kinds, ordinary, count, special and bpe of a vocabulary that is zero otherwise, also in part when
 * it fails. */
rt_status rt_bpe_read(rt_vocabulary *v, const char *name, const unsigned char *bytes,
                      size_t size) RT_MUST_CHECK;

/* Special ids that somebody knows, those that are not RT_NO_ID, instead of those that the file
 * seems to have; that of [UNK] is always the file's. RT_DATA, which begins with `name`, for what is
 * no id of the vocabulary. */
rt_status rt_bpe_know(rt_vocabulary *v, const char *name,
                      const rt_special_ids *known) RT_MUST_CHECK;
void rt_bpe_free(rt_bpe *bpe);

/* Returns whether two encodings whose ids have the same texts make the same ids of every text. */
bool rt_bpe_equal(const rt_bpe *a, const rt_bpe *b);

/* An added token by its text, or by its id if there is no text; NULL if there is none. */
const rt_added_token *rt_bpe_added(const rt_bpe *bpe, const char *text, int32_t id);

/* The most ids that a text of so many bytes has; SIZE_MAX if there are more. */
size_t rt_bpe_most_ids(const rt_bpe *bpe, size_t bytes);

/* Gives the ids of the bytes from `from` to `to` of a text, which must be UTF-8, to `take`, and
 * counts bytes that have no piece. Where `special` is false special tokens are text. RT_MEMORY,
 * after some ids may have been taken. */
rt_status rt_bpe_encode(const rt_vocabulary *v, const unsigned char *text, size_t from, size_t to,
                        bool special, rt_id_taker *take, void *context,
                        rt_unknown *unknown) RT_MUST_CHECK;

/* ---- writing ---- */

/* Special tokens of a new tokenizer, whose ids are their places: the token between texts, and the
 * token that stands for a masked one, which a tokenizer may lack. */
enum { RT_BPE_MOST_SPECIALS = 2 };
extern const char *const rt_bpe_specials[RT_BPE_MOST_SPECIALS];

/* Returns the character that stands for a byte (GPT-2: bytes as characters that can be seen). */
enum { RT_BPE_BYTE_COUNT = 256 };
int32_t rt_bpe_character_of(unsigned char byte);

typedef struct rt_merge {
    int32_t left, right; /* ids */
} rt_merge;

/* Writes a tokenizer.json, with GPT-2's pattern, as tokenizers 0.23 saves it, byte for byte: tokens
 * by their ids, of which the first are the first `specials` of rt_bpe_specials, as they are
 * written. The caller frees it; NULL when the heap is exhausted. */
char *rt_bpe_write(const rt_byte_map *tokens, int specials, const rt_merge *merges,
                   size_t count) RT_MUST_CHECK;

#endif
