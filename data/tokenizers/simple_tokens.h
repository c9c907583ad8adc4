#ifndef ROTOR_DATA_TOKENIZERS_SIMPLE_TOKENS_H
#define ROTOR_DATA_TOKENIZERS_SIMPLE_TOKENS_H

/* The tokens of a text at the levels byte and char: bytes as numbers 0 ... 255, or code points
 * 0 ... 0x10ffff, which stand in it as UTF-8; and what tokens of every level are called. */

#include "core/status.h"
#include "data/tokenizers/level.h"
#include "text/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One more than the largest token. */
int32_t rt_token_limit(rt_level level);

/* Takes the first token of a text that is not empty; returns how many bytes it has there,
 * 0 if they are not UTF-8. */
size_t rt_token_read(rt_level level, const unsigned char *text, size_t bytes, int32_t *token);

/* Returns how many bytes were written; a zero stands after them. */
size_t rt_token_write(rt_level level, int32_t token, char to[RT_UTF8_SIZE]);

/* A token as messages name it: 'a', '€' (U+20AC), U+0301, byte 0x0a; returns `name`. */
const char *rt_token_name(rt_level level, int32_t token, char name[RT_WORD_NAME_SIZE]);

/* Returns the number of tokens of a text, which must be UTF-8 for code points. */
size_t rt_token_count(rt_level level, const unsigned char *text, size_t bytes);

/* Names of the tokens of a level. */
typedef struct rt_token_words {
    const char *one, *many;
    const char *unknown; /* those that can be [UNK] */
} rt_token_words;
rt_token_words rt_words_for_tokens(rt_level level);

/* rt_utf8_check for data.level, at a level that needs it. */
rt_status rt_level_check(rt_level level, const char *path, const unsigned char *text,
                         size_t bytes) RT_MUST_CHECK;

/* rt_utf8_error in the same way; not at level byte. */
rt_status rt_level_error(rt_level level, const char *path, unsigned char byte,
                         size_t offset) RT_MUST_CHECK;

#endif
