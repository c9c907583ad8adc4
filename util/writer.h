#ifndef ROTOR_UTIL_WRITER_H
#define ROTOR_UTIL_WRITER_H

/* Text in memory: a growing text, quotations for messages, and a file in memory. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A growing text. Starts zeroed. When the heap is exhausted, `failed` is set and further text is
 * ignored, so that only the end needs a check. */

typedef struct rt_writer {
    char *bytes; /* zero-terminated; NULL while empty */
    size_t length;
    size_t capacity;
    bool failed;
} rt_writer;

void rt_writer_add(rt_writer *w, const char *format, ...) RT_PRINTF(2, 3);

/* Returns the text, which the caller frees with rt_free: "" if nothing was added, NULL if the heap
 * was exhausted. The writer is empty afterwards. */
char *rt_writer_take(rt_writer *w) RT_MUST_CHECK;

/* Prints the text, and empties the writer. RT_MEMORY if the heap was exhausted. */
rt_status rt_writer_print(rt_writer *w, FILE *to) RT_MUST_CHECK;

void rt_writer_free(rt_writer *w);

/* Prints into a text of `size` bytes, truncated. Returns `text`; RT_PRINTED has the memory of the
 * enclosing block. */
const char *rt_printed(char *text, size_t size, const char *format, ...) RT_PRINTF(3, 4);
#define RT_PRINTED(size, ...) rt_printed((char[size]){0}, size, __VA_ARGS__)

enum { RT_QUOTE_SIZE = 56 };

/* Quotes user input for a message, truncated if long, with a question mark for every control
 * character, so that a file cannot control the terminal. Returns `quoted`. */
const char *rt_quote(char quoted[RT_QUOTE_SIZE], const char *text);

/* Quotes in memory of the enclosing block. */
#define RT_QUOTED(text) rt_quote((char[RT_QUOTE_SIZE]){0}, text)

/* A file in memory. Starts zeroed. */

typedef struct rt_capture {
    FILE *file;  /* to write to; NULL before rt_capture_begin and after rt_capture_end */
    char *bytes; /* the written bytes, after rt_capture_end */
    size_t size;
} rt_capture;

/* Opens, and closes, the file. Returns false if the heap is exhausted. */
bool rt_capture_begin(rt_capture *c);
bool rt_capture_end(rt_capture *c);

/* Frees the file and its bytes, in any state. */
void rt_capture_free(rt_capture *c);

#endif
