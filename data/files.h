#ifndef ROTOR_DATA_FILES_H
#define ROTOR_DATA_FILES_H

/* A list of files ("a.txt, b.txt"; spaces around a path do not count), read whole. */

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

/* The most that is read, in bytes over all files. */
#define RT_FILES_LIMIT ((size_t)INT32_MAX)

/* RT_CONFIG for an empty name or one of RT_PATH_SIZE bytes or more; no file is touched. */
rt_status rt_files_check(const char *list) RT_MUST_CHECK;

/* The files one after the other, in a block that the caller frees. RT_DATA names the file
 * that is missing, unreadable, not a regular file or empty, or that takes the sum past
 * RT_FILES_LIMIT. */
rt_status rt_files_read(const char *list, uint8_t **bytes_new, size_t *count) RT_MUST_CHECK;

#endif
