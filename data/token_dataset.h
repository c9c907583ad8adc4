#ifndef ROTOR_DATA_TOKEN_DATASET_H
#define ROTOR_DATA_TOKEN_DATASET_H

/* A data set of an HDF5 file that may be read as token ids. Whoever calls has HDF5 to
 * itself. */

#include "core/status.h"

#include <hdf5.h>
#include <stddef.h>

/* Zeroed where nothing is open. */
typedef struct rt_token_dataset {
    hid_t file;
    hid_t ids;
    hid_t space;
    size_t count;
} rt_token_dataset;

/* Opens `dataset` of the file at `path` and looks at what HDF5 says of it; no id is read.
 * RT_DATA begins with `name`. To be closed also after an error. */
rt_status rt_token_dataset_open(rt_token_dataset *d, const char *name, const char *path,
                                const char *dataset) RT_MUST_CHECK;
void rt_token_dataset_close(rt_token_dataset *d);

#endif
