#ifndef ROTOR_DATA_TOKEN_DATASET_H
#define ROTOR_DATA_TOKEN_DATASET_H

/* What HDF5 says of a data set of token ids. Both functions are done in a child process (see
 * text/child.h), so that HDF5 may crash on a file that was made for it to crash on. */

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

/* The data set `dataset` of the file at `path`, which the key `key` names; errors begin with
 * `name`. */
typedef struct rt_token_source {
    const char *name;
    const char *key;
    const char *path;
    const char *dataset;
    int to; /* a descriptor that the ids are written to */
} rt_token_source;

/* Where the ids are: `count` signed integers of `width` bytes. All of it may be wrong. */
typedef struct rt_token_place {
    uint64_t count;
    uint64_t width;
    uint64_t in_place; /* one after the other in the file itself; else 0: to be decoded */
    uint64_t swapped;  /* in the other byte order than that of the processor */
    uint64_t offset;   /* of the first in the file */
} rt_token_place;

/* Looks at what HDF5 says of the data set, and reads no id: an rt_token_place, or RT_DATA. */
rt_status rt_token_dataset_find(void *source, unsigned char **place_new,
                                size_t *size) RT_MUST_CHECK;

/* Writes all ids, in the byte order of the processor, one after the other. No answer. */
rt_status rt_token_dataset_decode(void *source, unsigned char **nothing,
                                  size_t *size) RT_MUST_CHECK;

#endif
