#ifndef ROTOR_TEXT_UTF8_STREAM_H
#define ROTOR_TEXT_UTF8_STREAM_H

/* Text that comes in pieces which may end within a character, such as bytes or the tokens of a
 * byte-level vocabulary, written as UTF-8 that is never broken: a character is written when it is
 * whole. What can be no part of one becomes U+FFFD, once for each longest beginning of a character,
 * as the Unicode Standard recommends (chapter 3, table 3-7). */

#include <stddef.h>
#include <stdio.h>

typedef struct rt_utf8_stream {
    FILE *to;
    unsigned char held[4]; /* the beginning of a character */
    int count;
} rt_utf8_stream;

/* Begin with {.to = file}. Failures of the file are its own affair (ferror). */
void rt_utf8_stream_put(rt_utf8_stream *s, const char *bytes, size_t size);

/* What is held is no character any more. */
void rt_utf8_stream_end(rt_utf8_stream *s);

#endif
