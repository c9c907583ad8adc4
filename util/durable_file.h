#ifndef ROTOR_UTIL_DURABLE_FILE_H
#define ROTOR_UTIL_DURABLE_FILE_H

/* Files and folders that are replaced atomically. */

#include "core/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A file written durably: under a temporary name beside its own, to which it is renamed once it is
 * on the disk. After a crash or a power cut, the name holds the complete old or new file. A file or
 * link left under the temporary name is removed first. Of two processes that write one name at a
 * time the first fails.
 *
 *     rt_durable_file file;
 *     rt_status status = rt_durable_open(&file, path);
 *     if (!status.code)
 *         status = rt_durable_write(&file, bytes, size);
 *     status = rt_durable_close(&file, status); */

/* Suffix of a name while the file is being written. */
#define RT_TEMPORARY_SUFFIX ".tmp"

/* Returns RT_CONFIG if a file that a user names for results must not be written: an existing
 * regular file without `overwrite`, or a folder. A pipe or a device may be written. */
rt_status rt_output_check(const char *path, bool overwrite) RT_MUST_CHECK;

typedef struct rt_durable_file {
    int descriptor; /* -1: not open */
    bool made;      /* the temporary file exists */
    bool direct;    /* a pipe or a device, written in place */
    bool passing;   /* file that can be made again and is not synchronized */
    dev_t device;   /* of the temporary file, as is the inode */
    ino_t inode;    /* 0: not yet found */
    char path[RT_PATH_SIZE];
    char temporary[RT_PATH_SIZE];
} rt_durable_file;

/* Opens a file; a pipe or a device is written in place. RT_IO if the file cannot be created; then
 * nothing is left open or behind, and rt_durable_close returns the status that it is given. */
rt_status rt_durable_open(rt_durable_file *file, const char *path) RT_MUST_CHECK;

/* Opens a file in a folder of the program: as rt_durable_open, but replaces a pipe, a device or a
 * link to one, which the folder of someone else may have. */
rt_status rt_durable_replace(rt_durable_file *file, const char *path) RT_MUST_CHECK;

rt_status rt_durable_write(rt_durable_file *file, const void *bytes, size_t size) RT_MUST_CHECK;

/* Synchronizes the file (RT_IO) if the status is RT_OK, and closes the descriptor, so that the
 * temporary file can be read before rt_durable_close renames it. Returns the first error. */
rt_status rt_durable_sync(rt_durable_file *file, rt_status status) RT_MUST_CHECK;

/* Synchronizes and renames the file if the status is RT_OK. Otherwise, or if a step fails (RT_IO),
 * removes the new file and leaves the old one unchanged; only the last step, synchronizing the
 * folder, can fail after the rename. Returns the first error. */
rt_status rt_durable_close(rt_durable_file *file, rt_status status) RT_MUST_CHECK;

/* Removes the temporary file, if there is one. */
void rt_durable_discard(rt_durable_file *file);

/* Writes folder/name in one call, as rt_durable_replace, and frees the text. RT_IO; RT_CONFIG if
 * the path is too long; RT_MEMORY if the text is NULL, as from rt_writer_take when the heap was
 * exhausted. */
rt_status rt_durable_write_and_free(const char *folder, const char *name, char *text) RT_MUST_CHECK;

/* Writes and frees a text that can be made again, such as a page or a figure. The file is replaced
 * as a whole, but not synchronized, which would take longer than making it. Errors as above. */
rt_status rt_passing_write_and_free(const char *folder, const char *name, char *text) RT_MUST_CHECK;

/* Files that are replaced together. They are written into a staging folder, which replaces the old
 * folder when all are on the disk: after a failure or a kill, all old files or all new files are
 * there.
 *
 *     rt_durable_folder folder;
 *     rt_status status = rt_durable_folder_open(&folder, path, names);
 *     if (!status.code)
 *         ... files below folder.staging, by rt_durable_file ...
 *     status = rt_durable_folder_close(&folder, status);
 *
 * One system call exchanges the two folders. Otherwise the new files are moved one by one: if the
 * folder has other files, which are kept; if it is the working directory or a mount point; if its
 * parent is not writable; or if the file system has no such call. A program killed during the moves
 * leaves a folder without the last of the names, and the remaining files in the staging folder.
 *
 * The next writer removes staging folders left by a killed program. Only one writer of a folder at
 * a time. */

/* Name of the staging folder in the target folder; beside it, the ending of its name. */
#define RT_STAGING ".rotor-export"

typedef struct rt_durable_folder {
    const char *const *names; /* of all files that the folder can have, NULL-terminated */
    bool open;
    bool made;                  /* the folder did not exist */
    char path[RT_PATH_SIZE];    /* without links */
    char staging[RT_PATH_SIZE]; /* folder for the new files */
} rt_durable_folder;

/* Creates the folder, if it does not exist, and the staging folder. The last name is the file by
 * which others recognize the folder. RT_IO names the obstacle; rt_durable_folder_close must still
 * be called. */
rt_status rt_durable_folder_open(rt_durable_folder *folder, const char *path,
                                 const char *const *names) RT_MUST_CHECK;

/* Replaces the files if the status is RT_OK: the new files replace those of the same names, and
 * files of the other names are removed. Otherwise removes the new files, and the folder if it was
 * created. Returns the first error. */
rt_status rt_durable_folder_close(rt_durable_folder *folder, rt_status status) RT_MUST_CHECK;

/* Returns whether a folder contains only files of these names and remains of an interrupted write.
 * False if the folder cannot be read. */
bool rt_folder_holds_only(const char *path, const char *const *names);

#endif
