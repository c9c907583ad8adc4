#ifndef ROTOR_TEXT_DURABLE_FOLDER_H
#define ROTOR_TEXT_DURABLE_FOLDER_H

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

#include "core/path.h"

#include <stdbool.h>

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

/* Whether a folder holds nothing but files of these names, and what was left of writing it. False
 * also if it cannot be read. */
bool rt_folder_holds_only(const char *path, const char *const *names);

#endif
