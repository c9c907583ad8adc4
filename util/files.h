#ifndef ROTOR_UTIL_FILES_H
#define ROTOR_UTIL_FILES_H

/* Reading and writing of files, folders, and the lines of a stream. */

#include "core/path.h"
#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Maximum size of a file in memory, in bytes. */
#define RT_FILES_LIMIT ((size_t)INT32_MAX)

/* Determines the size of a regular file. RT_DATA names the path and the key if it is missing,
 * cannot be read, or is not a regular file. */
rt_status rt_file_measure(const char *key, const char *path, off_t *size) RT_MUST_CHECK;

/* Reads a file into a block that the caller frees; `key` names it in messages. RT_DATA as above,
 * and if the file is empty or larger than RT_FILES_LIMIT. */
rt_status rt_file_read(const char *key, const char *path, unsigned char **bytes_new,
                       size_t *count) RT_MUST_CHECK;

/* State of a file. Equal bytes (memcmp) mean that the file was not changed: an edit in place that
 * keeps size and time changes the time of change, which no program can set. */
typedef struct rt_file_state {
    uint64_t device, inode, links;
    int64_t size, modified[2], changed[2]; /* times in seconds and nanoseconds */
} rt_file_state;

/* Finds the state of an open file or, with file < 0, of a path. Returns false, with errno, if there
 * is none. */
bool rt_file_state_find(rt_file_state *state, int file, const char *path);

/* Returns how an open file differs from an earlier state, as in "became shorter"; NULL if its bytes
 * are the same. A file that was replaced or removed has fewer links than before. Unless `strictly`,
 * a file whose size and time are the same is unchanged. */
const char *rt_file_change(const rt_file_state *before, int file, bool strictly);

/* Reads bytes from an offset on; fewer than `size` only at the end of the file. Returns their
 * number; -1, with errno, on an error. */
ssize_t rt_read_at(int file, void *to, size_t size, off_t at);

/* Opens a regular file for reading. NULL, with errno, for anything else, such as a pipe, which
 * would block. */
FILE *rt_open_regular(const char *path);

/* Reads a regular file of at most 16 MiB into a text, which the caller frees (rt_free); NULL if it
 * cannot be read. */
enum { RT_TEXT_FILE_BYTES = 16 << 20 };
char *rt_read_text(const char *path);

/* Reads a regular file of at most `most` bytes, with zeros if it has them. Returns a block that the
 * caller frees; NULL, with errno, if it cannot be read: EFBIG, or EIO if it changes meanwhile.
 * *count receives its size, or the bytes that were read. */
char *rt_read_bytes(const char *path, long most, size_t *count);

/* Lets a path be read several times, also by what this process starts or becomes: the content of a
 * pipe that is one of the open descriptors (/dev/stdin, /dev/fd/63) is copied to memory, which
 * takes its place there. At most one byte more than `most` is kept. Other paths stay as they are.
 * RT_ARGUMENT for a pipe with a name of its own, or whose end for writing is open; RT_IO. */
rt_status rt_file_make_rereadable(const char *path, size_t most) RT_MUST_CHECK;

/* Text of a message about a pointer, which git clone leaves without git-lfs. */
#define RT_LFS_POINTER                                                                             \
    "it is a git-lfs pointer, not the file itself; fetch the file with: git lfs pull"

/* Returns whether bytes are such a pointer. */
bool rt_is_lfs_pointer(const char *bytes, size_t size);

/* Writes all bytes to a descriptor. Returns false, with errno, on an error. */
bool rt_write_all(int file, const void *bytes, size_t size);

/* Returns whether folder/name exists. */
bool rt_folder_has(const char *folder, const char *name);

/* Creates a folder and its parents, as mkdir -p does. RT_IO names the one that cannot
 * be created. */
rt_status rt_folders_make(const char *folder) RT_MUST_CHECK;

/* Returns whether the path is a folder and not a link, which could lead to files of others. */
bool rt_is_own_folder(const char *path);

/* Removes the files whose names match one of the patterns (fnmatch), which end with NULL, and the
 * folder if it is empty then. A link to a folder stays as it is. */
void rt_folder_clear(const char *folder, const char *const *patterns);

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
