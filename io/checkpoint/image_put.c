#include "io/checkpoint/image_private.h"

#include <stdio.h>
#include <string.h>

#ifdef RT_DOUBLE
#define REAL_IN_FILE H5T_IEEE_F64LE
#else
#define REAL_IN_FILE H5T_IEEE_F32LE
#endif

/* A chunk is written and read in one piece and has a checksum of its own; a dataset
 * that is not larger is a single chunk. */
enum { CHUNK_BYTES = 16 << 20 };

static void cannot_put(rt_image *image, const char *what)
{
    rt_image_fail(image, RT_MEMORY, "HDF5 cannot put %s into a file in memory", what);
}

/* A text has a fixed length (at least 1, as HDF5 wants) and no 0 at its end. */
static hid_t text_type(const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    size_t length = strlen(text);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return H5Tset_size(type, length ? length : 1) < 0 ? H5I_INVALID_HID : type;
}

/* Opens what a path of `length` bytes names, and makes the groups that are missing on
 * the way. (HDF5 could do that by itself, but would store the time.) */
static hid_t make_group(hid_t file, const char *path, size_t length)
{
    held lists = {0};
    hid_t creation = hold(&lists, H5Pcreate(H5P_GROUP_CREATE));
    H5Pset_obj_track_times(creation, false);
    hid_t group = H5Gopen2(file, "/", H5P_DEFAULT);
    for (const char *part = path, *end = path + length; part < end;) {
        size_t size = strcspn(part, "/");
        if (size > (size_t)(end - part))
            size = (size_t)(end - part);
        char name[NAME_MAX + 1];
        snprintf(name, sizeof name, "%.*s", (int)size, part);
        part += size + 1;
        if (!size)
            continue;
        held parent = {.handles = {group}, .count = 1};
        group = H5Lexists(group, name, H5P_DEFAULT) > 0
                    ? H5Oopen(group, name, H5P_DEFAULT)
                    : H5Gcreate2(group, name, H5P_DEFAULT, creation, H5P_DEFAULT);
        let_go(&parent);
    }
    let_go(&lists);
    return group;
}

/* ---- attributes ---- */

static void put_attribute(rt_image *image, const char *group, const char *name, hid_t in_file,
                          hid_t in_memory, const void *value)
{
    if (rt_image_failed(image))
        return;
    held h = {0};
    hid_t owner = hold(&h, make_group(image->file, group, strlen(group)));
    hid_t space = hold(&h, H5Screate(H5S_SCALAR));
    hid_t attribute = hold(&h, H5Acreate2(owner, name, in_file, space, H5P_DEFAULT, H5P_DEFAULT));
    bool written = H5Awrite(attribute, in_memory, value) >= 0;
    if (!let_go(&h) || !written)
        cannot_put(image, name);
}

void rt_image_put_integer(rt_image *image, const char *group, const char *name, int64_t value)
{
    put_attribute(image, group, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void rt_image_put_unsigned(rt_image *image, const char *group, const char *name, uint64_t value)
{
    put_attribute(image, group, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

void rt_image_put_number(rt_image *image, const char *group, const char *name, double value)
{
    put_attribute(image, group, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

void rt_image_put_word(rt_image *image, const char *group, const char *name, const char *word)
{
    if (rt_image_failed(image))
        return;
    held h = {0};
    hid_t type = hold(&h, text_type(word));
    put_attribute(image, group, name, type, type, word);
    let_go(&h);
}

/* ---- datasets ---- */

/* Cuts a chunk: the longest axis is halved until the chunk is small enough. Returns its bytes. */
static hsize_t cut_chunk(hsize_t chunk[RT_MAX_AXES], int ndim, const hsize_t *axes, size_t element)
{
    hsize_t bytes = element;
    for (int i = 0; i < ndim; i++)
        bytes *= chunk[i] = axes[i];
    while (bytes > CHUNK_BYTES) {
        int longest = 0;
        for (int i = 1; i < ndim; i++)
            if (chunk[i] > chunk[longest])
                longest = i;
        bytes /= chunk[longest];
        chunk[longest] = (chunk[longest] + 1) / 2;
        bytes *= chunk[longest];
    }
    return bytes;
}

/* Fletcher32 needs chunks, and chunks need an element. */
static hid_t dataset_creation(held *h, int ndim, const hsize_t *axes, size_t element)
{
    hid_t creation = hold(h, H5Pcreate(H5P_DATASET_CREATE));
    hsize_t chunk[RT_MAX_AXES];
    bool good = H5Pset_obj_track_times(creation, false) >= 0;
    if (ndim > 0 && cut_chunk(chunk, ndim, axes, element) > 0)
        good = good && H5Pset_chunk(creation, ndim, chunk) >= 0 && H5Pset_fletcher32(creation) >= 0;
    return good ? creation : H5I_INVALID_HID;
}

static void put_dataset(rt_image *image, const char *path, hid_t in_file, hid_t in_memory, int ndim,
                        const hsize_t *axes, const void *values)
{
    if (rt_image_failed(image))
        return;
    held h = {0};
    const char *leaf = strrchr(path, '/') + 1;
    hid_t group = hold(&h, make_group(image->file, path, (size_t)(leaf - path)));
    hid_t space = hold(&h, ndim ? H5Screate_simple(ndim, axes, NULL) : H5Screate(H5S_SCALAR));
    hid_t creation = dataset_creation(&h, ndim, axes, H5Tget_size(in_file));
    hid_t dataset =
        hold(&h, H5Dcreate2(group, leaf, in_file, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    bool written = H5Dwrite(dataset, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    if (!let_go(&h) || !written)
        cannot_put(image, path);
}

static void list_axes(hsize_t axes[RT_MAX_AXES], rt_shape shape)
{
    for (int i = 0; i < shape.ndim; i++)
        axes[i] = (hsize_t)shape.axis[i];
}

static void put_numbers(rt_image *image, const char *path, hid_t in_file, hid_t in_memory,
                        const void *values, rt_shape shape)
{
    hsize_t axes[RT_MAX_AXES] = {0};
    list_axes(axes, shape);
    put_dataset(image, path, in_file, in_memory, shape.ndim, axes, values);
}

size_t rt_image_chunk_bytes(rt_shape shape)
{
    hsize_t axes[RT_MAX_AXES] = {0}, chunk[RT_MAX_AXES];
    list_axes(axes, shape);
    return (size_t)cut_chunk(chunk, shape.ndim, axes, sizeof(real));
}

void rt_image_put_reals(rt_image *image, const char *path, const real *values, rt_shape shape)
{
    put_numbers(image, path, REAL_IN_FILE, RT_REAL_IN_MEMORY, values, shape);
}

void rt_image_put_doubles(rt_image *image, const char *path, const double *values, rt_shape shape)
{
    put_numbers(image, path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values, shape);
}

void rt_image_put_text(rt_image *image, const char *path, const char *text)
{
    if (rt_image_failed(image))
        return;
    held h = {0};
    hid_t type = hold(&h, text_type(text));
    put_dataset(image, path, type, type, 0, NULL, text);
    let_go(&h);
}

void rt_image_put_bytes(rt_image *image, const char *path, const void *bytes, size_t size)
{
    hsize_t axis = size;
    put_dataset(image, path, H5T_STD_U8LE, H5T_NATIVE_UINT8, 1, &axis, bytes);
}
