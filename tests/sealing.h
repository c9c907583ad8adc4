#ifndef ROTOR_TESTS_SEALING_H
#define ROTOR_TESTS_SEALING_H

/* Whole files of one's own in one call: bytes that are sealed, an image that was built. */

#include "io/checkpoint/checksummed.h"
#include "io/checkpoint/image.h"

static inline rt_status write_sealed(const char *path, const void *bytes, size_t size)
{
    rt_durable_file file;
    rt_status status = rt_durable_open(&file, path);
    if (!status.code)
        status = rt_checksummed_write(&file, bytes, size);
    return rt_durable_close(&file, status);
}

static inline rt_status write_image(rt_image *image, const char *path)
{
    rt_durable_file file;
    rt_status status = rt_durable_open(&file, path);
    if (!status.code)
        status = rt_image_write(image, &file);
    return rt_durable_close(&file, status);
}

#endif
