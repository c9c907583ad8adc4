#ifndef ROTOR_TEXT_WRITER_H
#define ROTOR_TEXT_WRITER_H

/* A text that grows. It starts zeroed. When the heap is exhausted it remembers
 * that and takes no more, so that only the end needs a check. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
