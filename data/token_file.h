#ifndef ROTOR_DATA_TOKEN_FILE_H
#define ROTOR_DATA_TOKEN_FILE_H

/* Token ids in a data set of an HDF5 file: one dimension, int32 or int64. They are read in
 * blocks and windows, never whole, and by several threads if need be. HDF5 sees the file only
 * while it is opened, in a child process; then the ids are read from where they are, or, if
 * they lie in chunks, from a temporary file without a name that they were decoded to. */

#include "core/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rt_token_file rt_token_file;

/* Reads every id once, to see that it is in 0 ... vocab-1. RT_DATA names the file, the data set,
 * the `key` that names them, which is not copied, and what is wrong: also a file that HDF5 crashes
 * on or does not get done with, a layout that leads to other files or to code outside of HDF5,
 * chunks too large for a cache of 32 MiB, and places that were never written. RT_IO if there can
 * be no child process or no temporary file. To be called before threads are started (see
 * text/child.h). */
rt_status rt_token_file_open(rt_token_file **file_new, const char *key, const char *path,
                             const char *dataset, int vocab) RT_MUST_CHECK;
void rt_token_file_close(rt_token_file *file);

size_t rt_token_file_count(const rt_token_file *file);

/* The ids first ... first + count - 1. False if they cannot be read any more, or are no
 * longer ids: the status keeps the first failure. */
bool rt_token_file_read(rt_token_file *file, size_t first, size_t count, int32_t *ids);
rt_status rt_token_file_status(rt_token_file *file) RT_MUST_CHECK;

#endif
