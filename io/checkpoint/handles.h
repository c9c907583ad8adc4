#ifndef ROTOR_IO_CHECKPOINT_HANDLES_H
#define ROTOR_IO_CHECKPOINT_HANDLES_H

#include <hdf5.h>
#include <stdbool.h>

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
