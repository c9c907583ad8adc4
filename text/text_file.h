#ifndef ROTOR_TEXT_TEXT_FILE_H
#define ROTOR_TEXT_TEXT_FILE_H

/* Text files, and the lines of a stream. */

#include "core/path.h"
#include "core/status.h"

#include <stdbool.h>
#include <stdio.h>

/* ---- small files ---- */

/* Small text files, read and written as a whole; what must survive a power cut is written by
 * rt_durable_text. */

/* Opens a regular file to read it; NULL for whatever else the name may be of, such as a pipe, which
 * would be waited for. errno tells. */
FILE *rt_open_regular(const char *path);

/* Returns whether the path is a folder and no link to one: a link would lead to files of others. */
bool rt_is_own_folder(const char *path);

/* The text of a regular file of at most 16 MiB, which the caller frees (rt_free); NULL if it cannot
 * be read. */
enum { RT_TEXT_FILE_BYTES = 16 << 20 };
char *rt_read_text(const char *path);

/* Reads at most `most` bytes of a regular file, and their number; there may be zeros among them. */
char *rt_read_bytes(const char *path, long most, size_t *count);

/* Text of a message about a pointer that git clone leaves where git-lfs is not installed. */
#define RT_LFS_POINTER                                                                             \
    "it is a git-lfs pointer, not the file itself; fetch the file with: git lfs pull"

/* Returns whether bytes are such a pointer. */
bool rt_is_lfs_pointer(const char *bytes, size_t size);

/* Opens folder/name.tmp, a new file that is to become folder/name by a rename; both paths are
 * told. Errors as rt_write_text. */
enum { RT_TEMPORARY_SIZE = RT_PATH_SIZE + 4 };
rt_status rt_open_temporary(FILE **file_new, const char *folder, const char *name,
                            char path[RT_PATH_SIZE],
                            char temporary[RT_TEMPORARY_SIZE]) RT_MUST_CHECK;

/* Writes folder/name, of what can be drawn again, under a temporary name first, so that an older
 * file of that name stays until the new one is complete. RT_IO; RT_CONFIG if the path is too
 * long. */
rt_status rt_write_text(const char *folder, const char *name, const char *text) RT_MUST_CHECK;

/* ---- lines of a stream ---- */

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

enum { RT_LINE_LIMIT = 1 << 20 }; /* bytes */

typedef struct rt_lines {
    FILE *from;
    int most;    /* bytes of the longest line; 0: RT_LINE_LIMIT */
    char *bytes; /* of the line, with a zero behind them; until the next one */
    size_t size; /* a line may have zeros in it */
    size_t room;
    size_t start;     /* bytes of the stream before the line */
    size_t read;      /* bytes of the stream up to its end */
    long number;      /* of the line, from 1 */
    bool ended;       /* the line has an end */
    rt_status status; /* why reading ended too early: RT_ARGUMENT, a line that is longer than the
                         limit; RT_IO, RT_MEMORY */
} rt_lines;

bool rt_lines_next(rt_lines *lines);
void rt_lines_free(rt_lines *lines);

#endif
