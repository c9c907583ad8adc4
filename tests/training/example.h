#ifndef ROTOR_TESTS_TRAINING_EXAMPLE_H
#define ROTOR_TESTS_TRAINING_EXAMPLE_H

/* An image with something of every kind in it, for the tests of images and of the
 * sealed files that hold them. */

#include "sealing.h"
#include "training/scratch.h"

#include <hdf5.h>
#include <math.h>

static const real some_reals[24] = {0,           (real)-0.0, 1, (real)0.1, -3, (real)1e-30,
                                    RT_REAL_MAX, -5,         8, 9,         10, 11};

static inline void fill(rt_image *image)
{
    rt_image_put_integer(image, "/", "least", INT64_MIN);
    rt_image_put_unsigned(image, "/", "greatest", UINT64_MAX);
    rt_image_put_number(image, "/", "none_yet", INFINITY);
    rt_image_put_word(image, "/", "form", "log");
    rt_image_put_word(image, "/a/b", "empty", "");
    rt_image_put_reals(image, "/a/scalar", some_reals, RT_SCALAR);
    rt_image_put_reals(image, "/a/b/vector", some_reals, RT_SHAPE_OF(7));
    rt_image_put_reals(image, "/a/b/four", some_reals, RT_SHAPE_OF(2, 3, 1, 4));
    rt_image_put_text(image, "/text", "[run]\nname = \xce\xb8\n");
    rt_image_put_text(image, "/nothing", "");
    rt_image_put_bytes(image, "/bytes", "\0\xff\0x", 4);
    rt_image_put_bytes(image, "/no_bytes", NULL, 0);
}

static inline rt_status write_status(const char *path)
{
    rt_image *image = rt_image_new();
    fill(image);
    rt_status status = write_image(image, path);
    rt_image_close(image);
    return status;
}

static inline void write_example(const char *name)
{
    expect_ok(write_status(in_scratch(name)));
}

RELEASER(close_image, rt_image_close)

/* Opens a file of the scratch folder, which is closed after the test. */
static inline rt_image *opened(const char *name, rt_parse parse)
{
    return owned(rt_image_open(in_scratch(name), parse), close_image);
}

/* Writes an image as a file of the scratch folder, and opens it. */
static inline rt_image *written_and_opened(rt_image *image, const char *name)
{
    const rt_status status = write_image(image, in_scratch(name));
    rt_image_close(image);
    expect_ok(status);
    return opened(name, RT_PARSE_HERE);
}

static inline rt_status open_status(const char *path)
{
    rt_image *image = rt_image_open(path, RT_PARSE_HERE);
    rt_status status = rt_image_status(image);
    rt_image_close(image);
    return status;
}

static inline void no_handle_is_open(void)
{
    ck_assert_int_eq(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

#endif
