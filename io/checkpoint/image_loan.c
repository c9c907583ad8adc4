/* A file in memory that HDF5 reads where it is. HDF5 would copy the bytes twice; the memory that it
 * asks for is theirs, and filled already. */

#include "io/checkpoint/image_list.h"

#include <stdio.h>

/* Memory of the core driver grows by so many bytes at a time. */
enum { GROWTH = 1 << 20 };

static void *lend(size_t size, H5FD_file_image_op_t operation, void *bytes)
{
    (void)size;
    (void)operation;
    return bytes;
}

static void *leave(void *to, const void *from, size_t size, H5FD_file_image_op_t operation,
                   void *bytes)
{
    (void)from;
    (void)size;
    (void)operation;
    (void)bytes;
    return to;
}

static void *refuse_to_grow(void *memory, size_t size, H5FD_file_image_op_t operation, void *bytes)
{
    (void)memory;
    (void)size;
    (void)operation;
    (void)bytes;
    return NULL;
}

static herr_t take_back(void *memory, H5FD_file_image_op_t operation, void *bytes)
{
    (void)memory;
    (void)operation;
    (void)bytes;
    return 0;
}

static void *same_bytes(void *bytes)
{
    return bytes;
}

static herr_t end_loan(void *bytes)
{
    (void)bytes;
    return 0;
}

/* Files of the core driver are told apart by their names, so each has its own. */
hid_t rt_lend_to_hdf5(unsigned char *bytes, size_t size)
{
    char unique[64];
    hid_t file = H5I_INVALID_HID, access = H5Pcreate(H5P_FILE_ACCESS);
    H5FD_file_image_callbacks_t loan = {lend,       leave,    refuse_to_grow, take_back,
                                        same_bytes, end_loan, bytes};
    snprintf(unique, sizeof unique, "image of rotor at %p", (void *)bytes);
    if (H5Pset_fapl_core(access, GROWTH, false) >= 0 &&
        H5Pset_file_image_callbacks(access, &loan) >= 0 &&
        H5Pset_file_image(access, bytes, size) >= 0)
        file = H5Fopen(unique, H5F_ACC_RDONLY, access);
    if (access >= 0)
        H5Pclose(access);
    return file;
}
