#ifndef ROTOR_TEXT_CAPTURE_H
#define ROTOR_TEXT_CAPTURE_H

/* What is written to a file in memory. It starts zeroed. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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
