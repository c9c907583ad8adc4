#ifndef ROTOR_IO_CHECKPOINT_SEALED_H
#define ROTOR_IO_CHECKPOINT_SEALED_H

/* A sealed file: bytes behind a block that says how many they are and what their
 * checksum is. It is written durably (text/durable_file.h), and read only if
 * every bit is as it was written.
 *
 * The block, 512 bytes, numbers little endian:
 *
 *   0    magic     89 'r' 'o' 't' 'o' 'r' 0A 1A
 *   8    uint64    version of this layout: 1
 *   16   uint64    bytes in the file, the block included
 *   24   uint64    XXH3-64 of what follows the block
 *   32   zeros
 *
 * 512 bytes are the smallest user block of HDF5, which ignores what is in it.
 */

#include "text/durable_file.h"

#include <stddef.h>

enum { RT_SEAL_SIZE = 512 };

/* Larger files are neither written nor read: 64 GiB. */
#define RT_SEALED_LIMIT ((size_t)64 << 30)

/* Writes block and body to a file that the caller opened, and closes. */
rt_status rt_sealed_write(rt_durable_file *file, const void *body, size_t size) RT_MUST_CHECK;

/* Reads a whole file, the block included; the caller frees *bytes, which an error leaves alone.
 * With NULL for `bytes` only the block is read, and tells the size of the file. RT_IO if it cannot
 * be read, RT_CHECKPOINT and the first difference found if it is not as written. */
rt_status rt_sealed_read(const char *path, unsigned char **bytes, size_t *size) RT_MUST_CHECK;

#endif
