#ifndef ROTOR_TEXT_WRITER_H
#define ROTOR_TEXT_WRITER_H

/* Text in memory: a text that grows, a quotation for messages, and a file. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- a text that grows ---- */

/* A text that grows. It starts zeroed. When the heap is exhausted it remembers
 * that and takes no more, so that only the end needs a check. */

typedef struct rt_writer {
    char *bytes; /* ends with a zero; NULL while nothing has been added */
    size_t length;
    size_t capacity;
    bool failed;
} rt_writer;

void rt_writer_add(rt_writer *w, const char *format, ...) RT_PRINTF(2, 3);

/* Hands the bytes to the caller, who frees them with rt_free: "" if nothing was
 * added, NULL when the heap was exhausted. The text is empty afterwards. */
char *rt_writer_take(rt_writer *w) RT_MUST_CHECK;

void rt_writer_free(rt_writer *w);

/* ---- quotes ---- */

enum { RT_QUOTE_SIZE = 56 };

/* 'what somebody wrote', for a message: cut if it is long, and with a question mark for
 * every control character, so that a file cannot speak to the terminal. Returns `quoted`. */
const char *rt_quote(char quoted[RT_QUOTE_SIZE], const char *text);

/* ---- a file in memory ---- */

/* Writes to a file in memory. Starts zeroed. */

typedef struct rt_capture {
    FILE *file;  /* to write to; NULL before the beginning and after the end */
    char *bytes; /* after the end: what was written */
    size_t size;
} rt_capture;

/* Both are false when the heap is exhausted. */
bool rt_capture_begin(rt_capture *c);
bool rt_capture_end(rt_capture *c);

/* At any time. */
void rt_capture_free(rt_capture *c);

#endif
