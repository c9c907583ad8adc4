#ifndef ROTOR_TEXT_UTF8_H
#define ROTOR_TEXT_UTF8_H

/* UTF-8: characters, and text that comes in pieces. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- characters ---- */

/* Characters of UTF-8, code points 0 ... 0x10ffff, and how messages name them. */

/* Bytes for a character with its final zero. */
enum { RT_UTF8_SIZE = 8 };

/* rt_utf8_read of a character that is not in ASCII. */
size_t rt_utf8_read_long(const unsigned char *text, size_t bytes, int32_t *character);

/* Takes the first character of a text; returns how many bytes it has there,
 * 0 if they are not UTF-8. */
static inline size_t rt_utf8_read(const unsigned char *text, size_t bytes, int32_t *character)
{
    if (!bytes || *text >= 0x80)
        return rt_utf8_read_long(text, bytes, character);
    *character = *text; /* most characters, without a call */
    return 1;
}

/* Returns how many bytes were written; a zero stands after them. */
size_t rt_utf8_write(int32_t character, char to[RT_UTF8_SIZE]);

/* Returns the number of characters of a text, which must be UTF-8. */
size_t rt_utf8_count(const unsigned char *text, size_t bytes);

/* Returns the number of bytes that are UTF-8, from the beginning on. */
size_t rt_utf8_valid(const unsigned char *text, size_t bytes);

/* RT_DATA names a byte of a file that is not UTF-8, and its offset; `key` needs it. */
rt_status rt_utf8_error(const char *key, const char *path, unsigned char byte,
                        size_t offset) RT_MUST_CHECK;

/* Returns RT_DATA for the first byte of a text that is not UTF-8. */
rt_status rt_utf8_check(const char *key, const char *path, const unsigned char *text,
                        size_t bytes) RT_MUST_CHECK;

/* Returns whether a terminal shows the character as itself. */
bool rt_character_is_visible(int32_t character);

/* A word, which is UTF-8, as messages name it: 'word', and one of a single character 'a',
 * '€' (U+20AC) or U+0301. The end of a long one is left out, and characters that a terminal does
 * not show stand as their number. Returns `name`. */
const char *rt_word_name(const char *word, size_t size, char name[RT_WORD_NAME_SIZE]);

/* Writes the name of a character for messages. */
const char *rt_character_name(int32_t character, char name[RT_WORD_NAME_SIZE]);

/* Writes the name of a byte for messages: that of its character in ASCII, or its number. */
const char *rt_byte_name(int32_t byte, char name[RT_WORD_NAME_SIZE]);

/* ---- a stream ---- */

/* Text that comes in pieces which may end within a character, such as bytes or the tokens of a
 * byte-level vocabulary, written as UTF-8 that is never broken: a character is written when it is
 * whole. What can be no part of one becomes U+FFFD, once for each longest beginning of a character,
 * as the Unicode Standard recommends (chapter 3, table 3-7). */

typedef struct rt_utf8_stream {
    FILE *to;
    unsigned char held[4]; /* the beginning of a character */
    int count;
} rt_utf8_stream;

/* Begin with {.to = file}. Failures of the file are its own affair (ferror). */
void rt_utf8_stream_put(rt_utf8_stream *s, const char *bytes, size_t size);

/* Ends the stream: the bytes that are held are no character. */
void rt_utf8_stream_end(rt_utf8_stream *s);

#endif
