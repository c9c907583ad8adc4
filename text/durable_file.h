#ifndef ROTOR_TEXT_DURABLE_FILE_H
#define ROTOR_TEXT_DURABLE_FILE_H

/* Files and folders of which a crash leaves either the old or the new content, whole. */

#include "core/path.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- a file ---- */

/* A file that is written durably: under a temporary name beside its own, which it gets once it is
 * on the disk. After a crash or a power cut the name holds either the old file or the new one,
 * whole. What stands under the temporary name, of a crash or a stranger's link, is removed first.
 *
 *     rt_durable_file file;
 *     rt_status status = rt_durable_open(&file, path);
 *     if (!status.code)
 *         status = rt_durable_write(&file, bytes, size);
 *     status = rt_durable_close(&file, status);
 *
 * One writer of a name at a time. */

/* Suffix of a name while the file is being written. */
#define RT_TEMPORARY_SUFFIX ".tmp"

/* Returns RT_CONFIG if a file that a user names for results must not be written: a regular file
 * without `overwrite`, a folder, or one of the `inputs`, paths of files that are read (up to a
 * NULL; or NULL). A pipe or a device may be written. */
rt_status rt_output_check(const char *path, bool overwrite,
                          const char *const *inputs) RT_MUST_CHECK;

typedef struct rt_durable_file {
    int descriptor; /* -1: not open */
    bool made;      /* the temporary file */
    bool direct;    /* the path is that of a pipe or a device, which is written in place */
    char path[RT_PATH_SIZE];
    char temporary[RT_PATH_SIZE];
} rt_durable_file;

/* Opens a file; a pipe or a device is written in place. RT_IO if the file cannot be made;
 * rt_durable_close is still to be called. */
rt_status rt_durable_open(rt_durable_file *file, const char *path) RT_MUST_CHECK;

rt_status rt_durable_write(rt_durable_file *file, const void *bytes, size_t size) RT_MUST_CHECK;

/* With a status that is good, waits until the bytes are on the disk (RT_IO), and closes the
 * descriptor: the temporary file can be read back before rt_durable_close gives it its name.
 * Returns the first error. */
rt_status rt_durable_settle(rt_durable_file *file, rt_status status) RT_MUST_CHECK;

/* With a status that is good, waits until the bytes are on the disk and gives the file its name.
 * If the status is none, or any of that fails (RT_IO), nothing is left of the new file, and an
 * older one of that name is as it was, unless only the last wait failed, the one for the new
 * name. Returns the first error. */
rt_status rt_durable_close(rt_durable_file *file, rt_status status) RT_MUST_CHECK;

/* Removes what was written; nothing, if nothing was or it has its name. */
void rt_durable_discard(rt_durable_file *file);

/* Waits until the names in the folder of a path are on the disk. */
rt_status rt_durable_names(const char *path) RT_MUST_CHECK;

/* A whole text in one call. RT_IO; RT_CONFIG if the path is too long. */
rt_status rt_durable_text(const char *folder, const char *name, const char *text) RT_MUST_CHECK;

/* Writes and frees a text. NULL, which a writer of an exhausted heap returns (rt_writer_take), is
 * RT_MEMORY. */
rt_status rt_durable_given(const char *folder, const char *name, char *text) RT_MUST_CHECK;

/* ---- a folder ---- */

/* Files that belong together and are replaced together. They are written into a folder of their
 * own, and when all of them are on the disk that folder takes the place of the older one. Whatever
 * fails, and whenever the program is killed, the older files are there, or the new ones.
 *
 *     rt_durable_folder folder;
 *     rt_status status = rt_durable_folder_open(&folder, path, names);
 *     if (!status.code)
 *         ... files below folder.staging, by rt_durable_file ...
 *     status = rt_durable_folder_close(&folder, status);
 *
 * The two folders are exchanged in one call of the system. Where that cannot be (the folder holds
 * other files as well, which stay where they are; it is the working directory, or where a disk is
 * mounted; its parent cannot be written; the file system has no such call), the new files are moved
 * in one by one. A program that is killed in the middle of that leaves a folder without the last of
 * the names, and the files that are still to be moved in the staging folder.
 *
 * What a killed program left of its staging folders is removed by the next one. One writer of a
 * folder at a time. */

/* The staging folder, in the folder that is written; and as the beginning of its name beside it. */
#define RT_STAGING ".rotor-export"

typedef struct rt_durable_folder {
    const char *const *names; /* of all files that it can have, up to a NULL */
    bool open;
    bool made;                  /* there was no such folder */
    char path[RT_PATH_SIZE];    /* without links */
    char staging[RT_PATH_SIZE]; /* where the new files are written */
} rt_durable_folder;

/* Makes the folder if it is absent, and the staging folder. The last of the names is that of the
 * file by which others know the folder. RT_IO names what is in the way; rt_durable_folder_close is
 * still to be called. */
rt_status rt_durable_folder_open(rt_durable_folder *folder, const char *path,
                                 const char *const *names) RT_MUST_CHECK;

/* With a status that is good, the files that were written take the place of those of the same
 * names, and the others of the names go. Otherwise nothing is left of the new files, nor of a
 * folder that was made. Returns the first error. */
rt_status rt_durable_folder_close(rt_durable_folder *folder, rt_status status) RT_MUST_CHECK;

/* Returns whether a folder has only files of these names, and what an interrupted write left of
 * them. False also if it cannot be read. */
bool rt_folder_holds_only(const char *path, const char *const *names);

#endif
