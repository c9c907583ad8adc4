#ifndef ROTOR_IO_CHECKPOINT_CHECKSUMMED_H
#define ROTOR_IO_CHECKPOINT_CHECKSUMMED_H

/* A checksummed file: a block with size and checksum, then the body. It is written durably
 * (util/durable_file.h) and read only if every bit is unchanged.
 *
 * The block has 512 bytes; numbers are little endian:
 *
 *   0    magic     89 'r' 'o' 't' 'o' 'r' 0A 1A
 *   8    uint64    version of this layout: 1
 *   16   uint64    bytes of the file, block included
 *   24   uint64    XXH3-64 of the body
 *   32   zeros
 *
 * 512 bytes are the smallest user block of HDF5, which ignores its content. */

#include "util/durable_file.h"

#include <stddef.h>

enum { RT_CHECKSUM_BLOCK_SIZE = 512 };

/* Limit of the file size: 64 GiB. */
#define RT_CHECKSUMMED_LIMIT ((size_t)64 << 30)

/* Writes block and body to an open file, which stays open. */
rt_status rt_checksummed_write(rt_durable_file *file, const void *body, size_t size) RT_MUST_CHECK;

/* Reads a whole file, block included. The caller frees *bytes, which is unchanged on an error.
 * RT_IO if the file cannot be read, RT_CHECKPOINT with the first difference if it is damaged. */
rt_status rt_checksummed_read(const char *path, unsigned char **bytes, size_t *size) RT_MUST_CHECK;

#endif
