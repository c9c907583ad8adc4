#ifndef ROTOR_DATA_LABELS_H
#define ROTOR_DATA_LABELS_H

/* Names of the classes of labelled data, sorted by their bytes: the index of a name is the number
 * of its class. A file has one name per line.
 *
 * A name has 1 to RT_LABEL_LIMIT bytes of UTF-8 without control characters, so that it fits into a
 * line, a cell and a message. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { RT_LABELS_LIMIT = 4096, RT_LABEL_LIMIT = 255 };

typedef struct rt_labels {
    int count;
    char **names; /* ascending, zero-terminated; in the block of the struct */
} rt_labels;

/* Text or class name as a span of a file or line. */
typedef struct rt_text_span {
    const char *bytes;
    size_t size;
} rt_text_span;

/* Returns the problem of a name ("is empty"), NULL if it is valid. */
const char *rt_label_problem(rt_text_span name);

/* Creates the labels from the distinct names of a list, which is sorted in place. RT_DATA,
 * beginning with `file`, if there are more than RT_LABELS_LIMIT or only one. */
rt_status rt_labels_of(rt_labels **labels_new, const char *file, rt_text_span *names,
                       size_t count) RT_MUST_CHECK;
void rt_labels_free(rt_labels *labels);

/* Parses a file, whose names must be ascending. RT_DATA begins with `file`. */
rt_status rt_labels_read(rt_labels **labels_new, const char *file, const char *bytes,
                         size_t size) RT_MUST_CHECK;

/* Writes the file to a string, which the caller frees. */
rt_status rt_labels_write(const rt_labels *labels, char **text_new) RT_MUST_CHECK;

/* Returns the number of a class; -1 if the name is unknown. */
int rt_labels_find(const rt_labels *labels, rt_text_span name);

/* Returns whether all names are equal; NULL equals only NULL. */
bool rt_labels_equal(const rt_labels *a, const rt_labels *b);

#endif
