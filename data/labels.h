#ifndef ROTOR_DATA_LABELS_H
#define ROTOR_DATA_LABELS_H

/* The names of the classes of labelled data, in the order of their bytes: the number of a class is
 * the place of its name. As a file it is one name a line.
 *
 * A name is 1 to RT_LABEL_LIMIT bytes of UTF-8 without control characters, so that it can stand in
 * a line, in a cell and in a message. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { RT_LABELS_LIMIT = 4096, RT_LABEL_LIMIT = 255 };

typedef struct rt_labels {
    int count;
    char **names; /* ascending, each with its zero; in the block of the struct */
} rt_labels;

/* A text, or the name of a class, where it stands in a file or line. */
typedef struct rt_text_span {
    const char *bytes;
    size_t size;
} rt_text_span;

/* Why bytes are no name ("is empty"), or NULL. */
const char *rt_label_problem(rt_text_span name);

/* The different ones of `count` names, which are put in another order. RT_DATA, beginning with
 * `file`, if there are more than RT_LABELS_LIMIT of them or one alone. */
rt_status rt_labels_of(rt_labels **labels_new, const char *file, rt_text_span *names,
                       size_t count) RT_MUST_CHECK;
void rt_labels_free(rt_labels *labels);

/* From the bytes of a file, whose names must be ascending; RT_DATA begins with `file`. */
rt_status rt_labels_read(rt_labels **labels_new, const char *file, const char *bytes,
                         size_t size) RT_MUST_CHECK;

/* The file, as a string that the caller frees. */
rt_status rt_labels_write(const rt_labels *labels, char **text_new) RT_MUST_CHECK;

/* The number of a class; -1 if no class has this name. */
int rt_labels_find(const rt_labels *labels, rt_text_span name);

/* Returns whether every class has the same name; NULL equals only NULL. */
bool rt_labels_equal(const rt_labels *a, const rt_labels *b);

#endif
