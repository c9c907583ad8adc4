#ifndef ROTOR_TEXT_FILES_H
#define ROTOR_TEXT_FILES_H

/* Files that are read or written as a whole. */

#include "core/path.h"
#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* Reads bytes from an offset on; fewer than `size` only at the end of the file. Returns their
 * number; -1, with errno, on an error. */
ssize_t rt_read_at(int file, void *to, size_t size, off_t at);

/* Writes all bytes to a descriptor. Returns false, with errno, on an error. */
bool rt_write_all(int file, const void *bytes, size_t size);

/* Returns whether folder/name exists. */
bool rt_folder_has(const char *folder, const char *name);

/* Creates a folder and its parents, as mkdir -p does. RT_IO names the one that cannot
 * be created. */
rt_status rt_folders_make(const char *folder) RT_MUST_CHECK;

#endif
