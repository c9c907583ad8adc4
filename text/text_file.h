#ifndef ROTOR_TEXT_TEXT_FILE_H
#define ROTOR_TEXT_TEXT_FILE_H

/* Text files, and the lines of a stream. */

#include "core/path.h"
#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>

/* Opens a regular file for reading. NULL, with errno, for anything else, such as a pipe, which
 * would block. */
FILE *rt_open_regular(const char *path);

/* Returns whether the path is a folder and not a link, which could lead to files of others. */
bool rt_is_own_folder(const char *path);

/* Removes the files whose names are chosen, and the folder if it is empty then. A link to a folder
 * stays as it is. */
void rt_folder_clear(const char *folder, bool (*is_chosen)(const char *name));

/* Reads a regular file of at most 16 MiB into a text, which the caller frees (rt_free); NULL if it
 * cannot be read. */
enum { RT_TEXT_FILE_BYTES = 16 << 20 };
char *rt_read_text(const char *path);

/* Reads a regular file of at most `most` bytes, with zeros if it has them. Returns a block that the
 * caller frees; NULL if it cannot be read. *count receives its size. */
char *rt_read_bytes(const char *path, long most, size_t *count);

/* Text of a message about a pointer, which git clone leaves without git-lfs. */
#define RT_LFS_POINTER                                                                             \
    "it is a git-lfs pointer, not the file itself; fetch the file with: git lfs pull"

/* Returns whether bytes are such a pointer. */
bool rt_is_lfs_pointer(const char *bytes, size_t size);

/* The lines of a stream, each as soon as it is complete.
 *
 *     rt_lines lines = {.from = stdin};
 *     while (rt_lines_next(&lines))
 *         ... lines.bytes, lines.size, lines.number ...
 *     ... lines.status ...
 *     rt_lines_free(&lines);
 *
 * Lines end in "\n" or "\r\n", which are removed; the last end may be missing. A byte order mark
 * before the first line is skipped. */

enum { RT_LINE_LIMIT = 1 << 20 }; /* bytes */

typedef struct rt_lines {
    FILE *from;
    int most;    /* maximum size of a line in bytes; 0: RT_LINE_LIMIT */
    char *bytes; /* of the line, zero-terminated, valid until the next line */
    size_t size; /* a line may contain zeros */
    size_t capacity;
    size_t start;     /* offset of the line in the stream */
    size_t read;      /* bytes of the stream up to the end of the line */
    long number;      /* of the line, from 1 */
    bool ended;       /* the line ended in a newline */
    rt_status status; /* error that ended reading: RT_ARGUMENT, a line beyond the limit; RT_IO,
                         RT_MEMORY */
} rt_lines;

bool rt_lines_next(rt_lines *lines);
void rt_lines_free(rt_lines *lines);

#endif
