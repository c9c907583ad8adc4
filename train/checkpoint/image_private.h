#ifndef ROTOR_TRAIN_CHECKPOINT_IMAGE_PRIVATE_H
#define ROTOR_TRAIN_CHECKPOINT_IMAGE_PRIVATE_H

/* What the files of an image share: image.c, its life; image_put.c, what is put into one that is
 * built; image_list.c, what HDF5 finds in one that is read; image_get.c, what is read of that. */

#include "train/checkpoint/image.h"
#include "train/checkpoint/image_list.h"

#include <hdf5.h>
#include <limits.h>

/* An item of the list, in which the path and the value are. */
typedef struct rt_item {
    const char *path;
    const unsigned char *value;
    size_t size;
    uint64_t kind;
    uint64_t ndim;
    uint64_t axes[RT_MAX_AXES];
} rt_item;

struct rt_image {
    rt_status status;
    char name[NAME_MAX + 1]; /* for messages; "" if it is being built */
    hid_t file;              /* that is being built; invalid if it is read */

    /* of one that is read */
    unsigned char *list;
    size_t size;
    rt_item *items;         /* in the order of the list */
    const rt_item **sorted; /* by path */
    size_t count;
};

/* Finds the items of the list. */
void rt_image_index(rt_image *image);

/* The handles of HDF5 that one call holds. A function of HDF5 that is given a failed
 * handle fails as well, so only the last of a chain is checked. */
typedef struct held {
    hid_t handles[8];
    int count;
} held;

static inline hid_t hold(held *h, hid_t handle)
{
    h->handles[h->count++] = handle;
    return handle;
}

/* False if closing one failed; then something may not have been written. */
static inline bool let_go(held *h)
{
    bool good = true;
    while (h->count > 0) {
        hid_t handle = h->handles[--h->count];
        if (handle >= 0 && H5Idec_ref(handle) < 0)
            good = false;
    }
    return good;
}

#endif
