#ifndef ROTOR_TEXT_CHILD_H
#define ROTOR_TEXT_CHILD_H

/* Runs a function in a child process and brings back its answer: for the parsing of files that
 * somebody else wrote, on which a library may crash, or from which it may never return.
 *
 * The child is a fork. It calls more than POSIX allows in the fork of a process with several
 * threads, so whoever parses a file does it before threads are started. Threads of OpenBLAS
 * are no obstacle: it stops them before every fork. Nothing is trusted that the child says:
 * its answer is bytes to be checked, of a limited size.
 *
 * A child ends with its parent, however that ends. It has none of its descriptors but the one
 * that it is given, and its standard streams lead nowhere. */

#include "core/status.h"

#include <stddef.h>

/* What is done in the child: a block from rt_alloc, or a status of RT_MEMORY, RT_IO, RT_DATA or
 * RT_CHECKPOINT. Neither what it changes in memory nor what it allocates is seen outside. */
typedef rt_status rt_child_work(void *context, unsigned char **answer_new, size_t *size);

typedef struct rt_child_limits {
    size_t memory;    /* bytes beyond what the process has; not with sanitizers */
    size_t answer;    /* bytes of the longest answer */
    unsigned seconds; /* of the processor, and three times as many of the clock */
    int keep;         /* a descriptor that the work needs, -1 for none */
} rt_child_limits;

/* The status of the work, and its answer in a block that the caller frees. RT_CHECK, with a
 * message to be put behind "it is damaged: ", if the child crashed, came to a limit, or answered
 * what it must not. RT_IO if there can be no child, or a signal came while waiting for it. */
rt_status rt_child_run(rt_child_work *work, void *context, const rt_child_limits *limits,
                       unsigned char **answer_new, size_t *size) RT_MUST_CHECK;

/* Seconds in which any sound file of so many bytes is read, also by a slow machine. */
unsigned rt_child_seconds(size_t bytes);

#endif
