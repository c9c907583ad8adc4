#include "io/checkpoint/image_private.h"

#include "core/memory.h"
#include "io/checkpoint/sealed.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rt_prepare_hdf5(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* Memory grows by so many bytes at a time. */
enum { GROWTH = 1 << 20 };

rt_image *rt_image_of_nothing(const char *name)
{
    rt_image *image = rt_alloc(1, sizeof *image);
    if (!image)
        return NULL;
    image->file = H5I_INVALID_HID;
    snprintf(image->name, sizeof image->name, "%s", name);
    return image;
}

bool rt_image_failed(const rt_image *image)
{
    return !image || image->status.code != RT_OK;
}

rt_status rt_image_status(const rt_image *image)
{
    return image ? image->status : rt_out_of_memory("an HDF5 file");
}

void rt_image_fail(rt_image *image, rt_code code, const char *format, ...)
{
    if (rt_image_failed(image))
        return;
    char message[RT_MESSAGE_SIZE - NAME_MAX - 3];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    image->status = rt_error(code, "%s%s%s", image->name, image->name[0] ? ": " : "", message);
}

void rt_image_fail_as(rt_image *image, rt_status status)
{
    if (status.code)
        rt_image_fail(image, status.code == RT_MEMORY ? RT_MEMORY : RT_CHECKPOINT, "%s",
                      status.message);
}

/* An ordinary file of HDF5 1.8: superblock 2. Of a newer one the bytes in memory are
 * not a file that opens. Nothing that needs an extension of the superblock is set (a
 * smaller chunk index would): that would hold the time. */
static hid_t create_file(held *h, const char *unique)
{
    hid_t creation = hold(h, H5Pcreate(H5P_FILE_CREATE));
    hid_t access = hold(h, H5Pcreate(H5P_FILE_ACCESS));
    if (H5Pset_userblock(creation, RT_SEAL_SIZE) < 0 ||
        H5Pset_obj_track_times(creation, false) < 0 ||
        H5Pset_fapl_core(access, GROWTH, false) < 0 ||
        H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18) < 0)
        return H5I_INVALID_HID;
    return H5Fcreate(unique, H5F_ACC_TRUNC, creation, access);
}

/* Files of the core driver are told apart by their names, so each has its own. */
rt_image *rt_image_new(void)
{
    char unique[64];
    rt_image *image = rt_image_of_nothing("");
    if (!image)
        return NULL;
    rt_prepare_hdf5();
    snprintf(unique, sizeof unique, "image of rotor at %p", (void *)image);
    held h = {0};
    image->file = create_file(&h, unique);
    let_go(&h);
    if (image->file < 0)
        rt_image_fail(image, RT_MEMORY, "HDF5 cannot make a file in memory");
    return image;
}

void rt_image_close(rt_image *image)
{
    if (!image)
        return;
    if (image->file >= 0)
        H5Fclose(image->file);
    rt_free(image->bytes);
    rt_free(image->list);
    rt_free(image->items);
    rt_free(image->sorted);
    rt_free(image);
}

size_t rt_image_size(const rt_image *image)
{
    return image ? image->size : 0;
}

/* The bytes are taken from where the core driver keeps them, the user block before
 * them: a copy by H5Fget_file_image does not open again. */
rt_status rt_image_write(rt_image *image, rt_durable_file *file)
{
    if (rt_image_failed(image))
        return rt_image_status(image);
    void *memory = NULL;
    ssize_t size = 0;
    if (H5Fflush(image->file, H5F_SCOPE_GLOBAL) >= 0 &&
        H5Fget_vfd_handle(image->file, H5P_DEFAULT, &memory) >= 0)
        size = H5Fget_file_image(image->file, NULL, 0);
    if (size <= 0)
        return rt_error(RT_MEMORY, "HDF5 cannot complete %s in memory", file->path);
    const unsigned char *bytes = *(unsigned char **)memory;
    return rt_sealed_write(file, bytes + RT_SEAL_SIZE, (size_t)size);
}
