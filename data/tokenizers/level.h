#ifndef ROTOR_DATA_TOKENIZERS_LEVEL_H
#define ROTOR_DATA_TOKENIZERS_LEVEL_H

/* Levels of tokens: their names and special tokens, and the tokens of the levels byte (0 ... 255)
 * and char (code points 0 ... 0x10ffff). */

#include "core/choice.h"
#include "core/status.h"
#include "text/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kind of tokens of a text: bytes, code points of UTF-8, pieces of words as in BERT, runs of bytes
 * joined by byte pair encoding, or residues of a protein as in ESM. */
#define RT_LEVELS(X)                                                                               \
    X(RT_LEVEL_BYTE, "byte")                                                                       \
    X(RT_LEVEL_CHAR, "char")                                                                       \
    X(RT_LEVEL_WORDPIECE, "wordpiece") X(RT_LEVEL_BPE, "bpe") X(RT_LEVEL_RESIDUE, "residue")
typedef enum rt_level { RT_LEVELS(RT_CHOICE_VALUE) } rt_level;

/* Returns one more than the largest token. */
int32_t rt_token_limit(rt_level level);

/* Reads the first token of a text that is not empty. Returns its size in bytes, 0 if it is not
 * UTF-8. */
size_t rt_token_read(rt_level level, const unsigned char *text, size_t bytes, int32_t *token);

/* Writes a token with a zero after it. Returns its size in bytes without the zero. */
size_t rt_token_write(rt_level level, int32_t token, char to[RT_UTF8_SIZE]);

/* Writes the name of a token for a message: 'a', '€' (U+20AC), U+0301, byte 0x0a. Returns `name`.
 */
const char *rt_token_name(rt_level level, int32_t token, char name[RT_WORD_NAME_SIZE]);

/* Returns the number of tokens of a text, which must be UTF-8 at level char. */
size_t rt_token_count(rt_level level, const unsigned char *text, size_t bytes);

/* Names of the tokens of a level, for messages. */
typedef struct rt_token_words {
    const char *one, *many;
    const char *unknown; /* plural of the parts of a text that can be [UNK] */
} rt_token_words;
rt_token_words rt_words_for_tokens(rt_level level);

/* Checks that a text is UTF-8, except at level byte. RT_DATA names data.level, `path` and the
 * offset of the first invalid byte. */
rt_status rt_level_check(rt_level level, const char *path, const unsigned char *text,
                         size_t bytes) RT_MUST_CHECK;

/* Returns the error of rt_level_check for a byte. */
rt_status rt_level_error(rt_level level, const char *path, unsigned char byte,
                         size_t offset) RT_MUST_CHECK;

enum { RT_NO_ID = -1 };

/* Ids of the special tokens. */
typedef struct rt_special_ids {
    int32_t pad, cls, mask, sep; /* RT_NO_ID is possible at level bpe only, and not for pad */
    int32_t unknown;             /* RT_NO_ID: unknown parts of a text have no id */
} rt_special_ids;

/* Default ids: of toy tasks, of files of token ids, and of the levels byte and char. */
extern const rt_special_ids rt_default_special_ids;

/* Number of special tokens. Their indices follow the order of rt_special_ids. */
enum { RT_SPECIAL_TOKENS = 5 };

/* Returns the text of special token i: "[PAD]" or, at level residue, "<pad>". */
const char *rt_special_token(rt_level level, int i);

/* Returns a pointer to the id of special token i. */
int32_t *rt_special_id(rt_special_ids *ids, int i);

/* Returns whether [PAD] has an id that is not also that of [CLS] or [SEP]. */
bool rt_vocabulary_pads(const rt_special_ids *ids);

#endif
