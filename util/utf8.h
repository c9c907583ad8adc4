#ifndef ROTOR_UTIL_UTF8_H
#define ROTOR_UTIL_UTF8_H

/* UTF-8: characters, and text that arrives in pieces. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Bytes for a character with its final zero. */
enum { RT_UTF8_SIZE = 8 };

/* Implements rt_utf8_read for characters outside ASCII. */
size_t rt_utf8_read_long(const unsigned char *text, size_t bytes, int32_t *character);

/* Decodes the first character of a text. Returns its size in bytes, 0 if it is not UTF-8. */
static inline size_t rt_utf8_read(const unsigned char *text, size_t bytes, int32_t *character)
{
    if (!bytes || *text >= 0x80)
        return rt_utf8_read_long(text, bytes, character);
    *character = *text; /* the common case, without a call */
    return 1;
}

/* Encodes a character, with a zero after it. Returns its size in bytes. */
size_t rt_utf8_write(int32_t character, char to[RT_UTF8_SIZE]);

/* Returns the number of characters of a text, which must be UTF-8. */
size_t rt_utf8_count(const unsigned char *text, size_t bytes);

/* Returns the number of leading bytes that are UTF-8. */
size_t rt_utf8_valid(const unsigned char *text, size_t bytes);

/* Returns RT_DATA for a byte of a file that is not UTF-8, with its offset and the key that requires
 * UTF-8. */
rt_status rt_utf8_error(const char *key, const char *path, unsigned char byte,
                        size_t offset) RT_MUST_CHECK;

/* Returns whether a terminal shows the character as itself. */
bool rt_character_is_visible(int32_t character);

/* Returns the size of the byte order mark that some bytes begin with, 0 if they do not. */
size_t rt_byte_order_mark(const void *bytes, size_t size);

/* Writes a word in UTF-8 for messages: 'word', and one of a single character as 'a', '€' (U+20AC)
 * or U+0301. A long word is truncated, and invisible characters are replaced by their number.
 * Returns `name`. */
const char *rt_word_name(const char *word, size_t size, char name[RT_WORD_NAME_SIZE]);

/* Names a text in memory of the enclosing block. */
#define RT_WORD_NAMED(text) rt_word_name(text, strlen(text), (char[RT_WORD_NAME_SIZE]){0})

/* Writes the name of a character for messages. */
const char *rt_character_name(int32_t character, char name[RT_WORD_NAME_SIZE]);

/* Writes the name of a byte for messages: its ASCII character or its number. */
const char *rt_byte_name(int32_t byte, char name[RT_WORD_NAME_SIZE]);

/* Text that arrives in pieces which may end within a character, such as bytes or the tokens of a
 * byte-level vocabulary, and is written as valid UTF-8: a character is written when it is complete.
 * Invalid bytes become U+FFFD, once for each longest beginning of a character, as the Unicode
 * Standard recommends (chapter 3, table 3-7). */

typedef struct rt_utf8_stream {
    FILE *to;
    unsigned char held[4]; /* beginning of a character */
    int count;
} rt_utf8_stream;

/* Writes bytes to a stream, which starts as {.to = file}. Errors stay in the file (ferror). */
void rt_utf8_stream_put(rt_utf8_stream *s, const char *bytes, size_t size);

/* Ends the stream: an incomplete character becomes U+FFFD. */
void rt_utf8_stream_end(rt_utf8_stream *s);

#endif
