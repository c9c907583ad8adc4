#ifndef ROTOR_DATA_IDX_H
#define ROTOR_DATA_IDX_H

/* Files of bytes in the IDX format of MNIST, compressed by gzip or not: two zero bytes, the type 8
 * (unsigned byte), the number of axes, the length of each axis as a big-endian number of 32 bits,
 * and the bytes, the last axis fastest (LeCun et al. 1998). */

#include "core/status.h"

#include <stddef.h>

enum { RT_IDX_AXES = 4 };

typedef struct rt_idx {
    int ndim;
    size_t axis[RT_IDX_AXES];
    unsigned char *bytes; /* of all axes */
    size_t size;
} rt_idx;

/* Reads a file, which the caller frees with rt_idx_free. RT_DATA, with the path, if it is missing
 * (then with `key`, its key) or no regular file, and, with an offset in the uncompressed bytes, if
 * it is no IDX file of bytes, has an empty axis or more than RT_FILES_LIMIT bytes, or fewer or more
 * bytes than its axes say. */
rt_status rt_idx_read(rt_idx *file, const char *key, const char *path) RT_MUST_CHECK;
void rt_idx_free(rt_idx *file);

#endif
