#ifndef ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H
#define ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H

/* Private declarations of an image: image.c (creation and writing), image_read.c (reading). */

#include "core/status.h"
#include "io/checkpoint/image.h"
#include "util/writer.h"

#include <hdf5.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A name for the file at an address, because the core driver of HDF5 identifies files by name. */
#define UNIQUE_NAME(address) RT_PRINTED(64, "image of rotor at %p", (void *)(address))

/* Step in bytes by which memory of the HDF5 core driver grows. */
enum { RT_HDF5_GROWTH = 1 << 20 };

/* HDF5 handles to be released at the end of a call. A function of HDF5 fails if it gets a failed
 * handle, so only the last of a chain is checked. */
typedef struct hdf5_handles {
    hid_t handles[8];
    int count;
} hdf5_handles;

static inline hid_t keep_handle(hdf5_handles *h, hid_t handle)
{
    h->handles[h->count++] = handle;
    return handle;
}

/* Releases the handles. Returns false if one could not be closed; data may then be unwritten. */
static inline bool release_handles(hdf5_handles *h)
{
    bool good = true;
    while (h->count > 0) {
        hid_t handle = h->handles[--h->count];
        if (handle >= 0 && H5Idec_ref(handle) < 0)
            good = false;
    }
    return good;
}

struct rt_image {
    rt_status status;
    char name[NAME_MAX + 1]; /* prefix of messages; "" while being built */
    hid_t file;              /* file that HDF5 has open; invalid if it could not be opened */

    /* of an image that was read */
    rt_parse parse;
    unsigned char *bytes; /* bytes of the file, which HDF5 borrows */
    size_t size;
};

/* Prepares HDF5 and creates an image without a file; `name` is the prefix of messages. NULL if
 * memory is exhausted. */
rt_image *rt_image_of_nothing(const char *name);

#endif
