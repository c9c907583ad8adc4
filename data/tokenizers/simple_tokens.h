#ifndef ROTOR_DATA_TOKENIZERS_SIMPLE_TOKENS_H
#define ROTOR_DATA_TOKENIZERS_SIMPLE_TOKENS_H

/* The tokens of a text at the levels byte and char: bytes as numbers 0 ... 255, or code points
 * 0 ... 0x10ffff, which stand in it as UTF-8; what tokens of every level are called; and parts of
 * vocabularies. */

#include "core/status.h"
#include "data/tokenizers/vocabulary.h"
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

/* ---- vocabularies ---- */

/* Lists the ordinary tokens by `kinds`. Returns whether there is one. */
bool rt_vocabulary_list_ordinary(rt_vocabulary *v);

/* Characters of texts that are read part by part: one flag for each code point, none of them set.
 * The caller frees them; NULL if the heap is exhausted. */
bool *rt_characters_new(void) RT_MUST_CHECK;

/* Sets the flags, `seen`, of the characters of a part, which must be UTF-8. */
void rt_characters_see(void *seen, const unsigned char *text, size_t bytes);

/* Creates the vocabulary of the characters, at level byte the bytes, whose flag is set, in their
 * order. RT_DATA, which begins with `name`, if there are more than RT_CHARACTERS_LIMIT. */
rt_status rt_vocabulary_of_seen(rt_vocabulary **vocabulary_new, rt_level level, const char *name,
                                const bool *seen) RT_MUST_CHECK;

#endif
