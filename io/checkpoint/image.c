#include "io/checkpoint/image_private.h"

#include "core/memory.h"
#include "io/checkpoint/checksummed.h"

#include <stdio.h>
#include <string.h>

#ifdef RT_DOUBLE
#define REAL_IN_FILE   H5T_IEEE_F64LE
#define REAL_IN_MEMORY H5T_NATIVE_DOUBLE
#else
#define REAL_IN_FILE   H5T_IEEE_F32LE
#define REAL_IN_MEMORY H5T_NATIVE_FLOAT
#endif

rt_image *rt_image_of_nothing(const char *name)
{
    rt_image *image = rt_alloc(1, sizeof *image);
    if (!image)
        return NULL;
    H5dont_atexit(); /* HDF5's cleanup at exit would repeat failed work and crash */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* callers report errors */
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

void rt_image_fail_with(rt_image *image, rt_status status)
{
    if (status.code && !rt_image_failed(image))
        image->status = rt_error(status.code, "%s%s%s", image->name, image->name[0] ? ": " : "",
                                 status.message);
}

void rt_image_fail_as(rt_image *image, rt_status status)
{
    if (status.code && status.code != RT_MEMORY)
        status.code = RT_CHECKPOINT;
    rt_image_fail_with(image, status);
}

/* Creates a file. Its format is that of HDF5 1.8 (superblock 2): the memory of a newer one is not a
 * valid file. Properties that need a superblock extension, such as a smaller chunk index, stay
 * unset because the extension stores the time. */
rt_image *rt_image_new(void)
{
    rt_image *image = rt_image_of_nothing("");
    if (!image)
        return NULL;
    hdf5_handles h = {0};
    hid_t creation = keep_handle(&h, H5Pcreate(H5P_FILE_CREATE));
    hid_t access = keep_handle(&h, H5Pcreate(H5P_FILE_ACCESS));
    if (H5Pset_userblock(creation, RT_CHECKSUM_BLOCK_SIZE) >= 0 &&
        H5Pset_obj_track_times(creation, false) >= 0 &&
        H5Pset_fapl_core(access, RT_HDF5_GROWTH, false) >= 0 &&
        H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18) >= 0)
        image->file = H5Fcreate(UNIQUE_NAME(image), H5F_ACC_TRUNC, creation, access);
    release_handles(&h);
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
    rt_free(image);
}

size_t rt_image_size(const rt_image *image)
{
    return image ? image->size : 0;
}

/* Writes the memory of the core driver, behind its user block: a copy by H5Fget_file_image cannot
 * be opened. */
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
    return rt_checksummed_write(file, bytes + RT_CHECKSUM_BLOCK_SIZE, (size_t)size);
}

/* Largest chunk. A chunk is written and read as a whole and has its own checksum. */
enum { CHUNK_BYTES = 16 << 20 };

static void cannot_put(rt_image *image, const char *what)
{
    rt_image_fail(image, RT_MEMORY, "HDF5 cannot put %s into a file in memory", what);
}

/* Returns a type of fixed length (at least 1, as HDF5 requires) without a final zero. */
static hid_t text_type(const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    size_t length = strlen(text);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return H5Tset_size(type, length ? length : 1) < 0 ? H5I_INVALID_HID : type;
}

/* Opens the object at the first `length` bytes of a path and creates missing groups. HDF5 could
 * create them, but would store the time. */
static hid_t make_group(hid_t file, const char *path, size_t length)
{
    hdf5_handles lists = {0};
    hid_t creation = keep_handle(&lists, H5Pcreate(H5P_GROUP_CREATE));
    H5Pset_obj_track_times(creation, false);
    hid_t group = H5Gopen2(file, "/", H5P_DEFAULT);
    for (const char *part = path, *end = path + length; part < end;) {
        size_t size = strcspn(part, "/");
        if (size > (size_t)(end - part))
            size = (size_t)(end - part);
        const char *name = RT_PRINTED(NAME_MAX + 1, "%.*s", (int)size, part);
        part += size + 1;
        if (!size)
            continue;
        hdf5_handles parent = {.handles = {group}, .count = 1};
        group = H5Lexists(group, name, H5P_DEFAULT) > 0
                    ? H5Oopen(group, name, H5P_DEFAULT)
                    : H5Gcreate2(group, name, H5P_DEFAULT, creation, H5P_DEFAULT);
        release_handles(&parent);
    }
    release_handles(&lists);
    return group;
}

static void put_attribute(rt_image *image, const char *group, const char *name, hid_t in_file,
                          hid_t in_memory, const void *value)
{
    if (rt_image_failed(image))
        return;
    hdf5_handles h = {0};
    hid_t owner = keep_handle(&h, make_group(image->file, group, strlen(group)));
    hid_t space = keep_handle(&h, H5Screate(H5S_SCALAR));
    hid_t attribute =
        keep_handle(&h, H5Acreate2(owner, name, in_file, space, H5P_DEFAULT, H5P_DEFAULT));
    bool written = H5Awrite(attribute, in_memory, value) >= 0;
    if (!release_handles(&h) || !written)
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
    hdf5_handles h = {0};
    hid_t type = keep_handle(&h, text_type(word));
    put_attribute(image, group, name, type, type, word);
    release_handles(&h);
}

/* Halves the longest axis until a chunk is small enough. Returns the bytes of the chunk. */
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

/* Writes a dataset. Fletcher32 needs chunks, and chunks need an element. */
static void put_dataset(rt_image *image, const char *path, hid_t in_file, hid_t in_memory, int ndim,
                        const hsize_t *axes, const void *values)
{
    if (rt_image_failed(image))
        return;
    hdf5_handles h = {0};
    const char *leaf = strrchr(path, '/') + 1;
    hid_t group = keep_handle(&h, make_group(image->file, path, (size_t)(leaf - path)));
    hid_t space =
        keep_handle(&h, ndim ? H5Screate_simple(ndim, axes, NULL) : H5Screate(H5S_SCALAR));
    hid_t creation = keep_handle(&h, H5Pcreate(H5P_DATASET_CREATE));
    hsize_t chunk[RT_MAX_AXES];
    bool written = H5Pset_obj_track_times(creation, false) >= 0;
    if (ndim > 0 && cut_chunk(chunk, ndim, axes, H5Tget_size(in_file)) > 0)
        written =
            written && H5Pset_chunk(creation, ndim, chunk) >= 0 && H5Pset_fletcher32(creation) >= 0;
    hid_t dataset = keep_handle(&h, H5Dcreate2(group, leaf, in_file, space, H5P_DEFAULT, creation,
                                               H5P_DEFAULT));
    written = written && H5Dwrite(dataset, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    if (!release_handles(&h) || !written)
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
    put_numbers(image, path, REAL_IN_FILE, REAL_IN_MEMORY, values, shape);
}

void rt_image_put_doubles(rt_image *image, const char *path, const double *values, rt_shape shape)
{
    put_numbers(image, path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values, shape);
}

void rt_image_put_text(rt_image *image, const char *path, const char *text)
{
    hdf5_handles h = {0};
    hid_t type = keep_handle(&h, text_type(text));
    put_dataset(image, path, type, type, 0, NULL, text);
    release_handles(&h);
}

void rt_image_put_bytes(rt_image *image, const char *path, const void *bytes, size_t size)
{
    hsize_t axis = size;
    put_dataset(image, path, H5T_STD_U8LE, H5T_NATIVE_UINT8, 1, &axis, bytes);
}
