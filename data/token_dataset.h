#ifndef ROTOR_DATA_TOKEN_DATASET_H
#define ROTOR_DATA_TOKEN_DATASET_H

/* Description of an HDF5 dataset of token ids. Both functions run in a child process
 * (text/process.h), since HDF5 crashes on some forged files. */

#include "data/token_format.h"

#include <stddef.h>

/* The data set `dataset` of the file at `path`, which the key `key` names; errors begin with
 * `name`. */
typedef struct rt_token_source {
    const char *name;
    const char *key;
    const char *path;
    const char *dataset;
    int to; /* a descriptor that the ids are written to */
} rt_token_source;

/* Looks at what HDF5 says of the data set, and reads no id: an rt_token_place, or RT_DATA. */
rt_status rt_token_dataset_find(void *source, unsigned char **place_new,
                                size_t *size) RT_MUST_CHECK;

/* Writes all ids, in the byte order of the processor, one after the other. No answer. */
rt_status rt_token_dataset_decode(void *source, unsigned char **nothing,
                                  size_t *size) RT_MUST_CHECK;

#endif
