#ifndef ROTOR_TEXT_LINES_H
#define ROTOR_TEXT_LINES_H

/* The lines of a stream, each as soon as it is there.
 *
 *     rt_lines lines = {.from = stdin};
 *     while (rt_lines_next(&lines))
 *         ... lines.bytes, lines.size, lines.number ...
 *     ... lines.status ...
 *     rt_lines_free(&lines);
 *
 * Lines end in "\n" or "\r\n", which are no part of them; the last end may be missing, and a byte
 * order mark before the first line is passed over. */

#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>

enum { RT_LINE_LIMIT = 1 << 20 }; /* bytes */

typedef struct rt_lines {
    FILE *from;
    char *bytes; /* of the line, with a zero behind them; until the next one */
    size_t size; /* a line may have zeros in it */
    size_t room;
    size_t start;     /* bytes of the stream before the line */
    size_t read;      /* bytes of the stream up to its end */
    long number;      /* of the line, from 1 */
    rt_status status; /* why reading ended too early: RT_ARGUMENT, a line that is longer than the
                         limit; RT_IO, RT_MEMORY */
} rt_lines;

bool rt_lines_next(rt_lines *lines);
void rt_lines_free(rt_lines *lines);

#endif
