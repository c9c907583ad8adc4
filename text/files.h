#ifndef ROTOR_TEXT_FILES_H
#define ROTOR_TEXT_FILES_H

/* Files that are read or written as a whole. */

#include "core/path.h"
#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The most that is read into memory, in bytes. */
#define RT_FILES_LIMIT ((size_t)INT32_MAX)

/* RT_DATA names a file that is missing, cannot be read, or is not a regular file, and its key. */
rt_status rt_file_measure(const char *key, const char *path, off_t *size) RT_MUST_CHECK;

/* One file, which `key` names in messages, in a block that the caller frees; its name may have a
 * comma. RT_DATA also for one that is empty, or larger than RT_FILES_LIMIT. */
rt_status rt_file_read(const char *key, const char *path, unsigned char **bytes_new,
                       size_t *count) RT_MUST_CHECK;

/* Reads bytes of a descriptor from an offset on, fewer than `size` only where the file ends.
 * Returns how many; -1, with errno, if it cannot be read. */
ssize_t rt_read_at(int file, void *to, size_t size, off_t at);

/* Writes all bytes to a descriptor; false, with errno, if it takes no more. */
bool rt_write_all(int file, const void *bytes, size_t size);

/* Makes a folder and those above it, as mkdir -p does. RT_IO names the one that cannot be. */
rt_status rt_folders_make(const char *folder) RT_MUST_CHECK;

#endif
