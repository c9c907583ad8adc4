#include "train/checkpoint/image_private.h"

#include "core/memory.h"

#include <stdio.h>
#include <string.h>

#ifdef RT_DOUBLE
#define REAL_IN_FILE   H5T_IEEE_F64LE
#define REAL_IN_MEMORY H5T_NATIVE_DOUBLE
#else
#define REAL_IN_FILE   H5T_IEEE_F32LE
#define REAL_IN_MEMORY H5T_NATIVE_FLOAT
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

/* Opens the group that a path of `length` bytes names, and makes what is missing on
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
                    ? H5Gopen2(group, name, H5P_DEFAULT)
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

/* Opens an attribute that is one value of the class wanted and at most `size` bytes;
 * *type is the one in the file. */
static hid_t open_attribute(held *h, rt_image *image, const char *group, const char *name,
                            H5T_class_t class, size_t size, hid_t *type)
{
    hid_t owner = hold(h, H5Gopen2(image->file, group, H5P_DEFAULT));
    hid_t attribute = hold(h, H5Aopen(owner, name, H5P_DEFAULT));
    hid_t space = hold(h, H5Aget_space(attribute));
    *type = hold(h, H5Aget_type(attribute));
    if (H5Sget_simple_extent_npoints(space) != 1 || H5Tget_class(*type) != class ||
        H5Tget_size(*type) > size || H5Tis_variable_str(*type) > 0)
        return H5I_INVALID_HID;
    return attribute;
}

/* Reads into `value`, of `size` bytes and all zero; `in_memory` of 0: as in the file. */
static void get_attribute(rt_image *image, const char *group, const char *name, H5T_class_t class,
                          hid_t in_memory, void *value, size_t size)
{
    if (rt_image_failed(image))
        return;
    held h = {0};
    hid_t in_file;
    hid_t attribute = open_attribute(&h, image, group, name, class, size, &in_file);
    if (H5Aread(attribute, in_memory ? in_memory : in_file, value) < 0)
        rt_image_fail(image, RT_CHECKPOINT, "attribute %s of %s is missing or not as expected",
                      name, group);
    let_go(&h);
}

int64_t rt_image_integer(rt_image *image, const char *group, const char *name)
{
    int64_t value = 0;
    get_attribute(image, group, name, H5T_INTEGER, H5T_NATIVE_INT64, &value, sizeof value);
    return value;
}

uint64_t rt_image_unsigned(rt_image *image, const char *group, const char *name)
{
    uint64_t value = 0;
    get_attribute(image, group, name, H5T_INTEGER, H5T_NATIVE_UINT64, &value, sizeof value);
    return value;
}

double rt_image_number(rt_image *image, const char *group, const char *name)
{
    double value = 0;
    get_attribute(image, group, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, &value, sizeof value);
    return value;
}

void rt_image_word(rt_image *image, const char *group, const char *name, char word[RT_WORD_SIZE])
{
    memset(word, 0, RT_WORD_SIZE);
    get_attribute(image, group, name, H5T_STRING, 0, word, RT_WORD_SIZE - 1);
}

/* ---- datasets ---- */

/* Fletcher32 needs chunks, and chunks need an element. The longest axis is halved
 * until a chunk is small enough. */
static hid_t dataset_creation(held *h, int ndim, const hsize_t *axes, size_t element)
{
    hid_t creation = hold(h, H5Pcreate(H5P_DATASET_CREATE));
    hsize_t chunk[RT_MAX_AXES];
    hsize_t bytes = element;
    for (int i = 0; i < ndim; i++)
        bytes *= chunk[i] = axes[i];
    bool good = H5Pset_obj_track_times(creation, false) >= 0;
    if (ndim == 0 || bytes == 0)
        return good ? creation : H5I_INVALID_HID;
    while (bytes > CHUNK_BYTES) {
        int longest = 0;
        for (int i = 1; i < ndim; i++)
            if (chunk[i] > chunk[longest])
                longest = i;
        bytes /= chunk[longest];
        chunk[longest] = (chunk[longest] + 1) / 2;
        bytes *= chunk[longest];
    }
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

static void put_numbers(rt_image *image, const char *path, hid_t in_file, hid_t in_memory,
                        const void *values, rt_shape shape)
{
    hsize_t axes[RT_MAX_AXES] = {0};
    for (int i = 0; i < shape.ndim; i++)
        axes[i] = (hsize_t)shape.axis[i];
    put_dataset(image, path, in_file, in_memory, shape.ndim, axes, values);
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

/* A dataset as it was found. */
typedef struct found {
    held h;
    hid_t dataset;
    hid_t type;
    int ndim; /* below 0 if there is none, or its space is not simple */
    hsize_t axes[RT_MAX_AXES];
} found;

/* Close with let_go(&f.h). */
static found find_dataset(rt_image *image, const char *path)
{
    found f = {.ndim = -1};
    f.dataset = hold(&f.h, H5Dopen2(image->file, path, H5P_DEFAULT));
    f.type = hold(&f.h, H5Dget_type(f.dataset));
    hid_t space = hold(&f.h, H5Dget_space(f.dataset));
    int ndim = H5Sget_simple_extent_ndims(space);
    if (ndim <= RT_MAX_AXES)
        f.ndim = H5Sget_simple_extent_dims(space, f.axes, NULL);
    return f;
}

/* Whether the file holds the dataset's `bytes`. HDF5 would read what was never written as
 * zeros, whatever its size, and what lies in other files from there. */
static bool is_held(const found *f, hsize_t bytes)
{
    hid_t creation = H5Dget_create_plist(f->dataset);
    bool here = H5Pget_layout(creation) != H5D_VIRTUAL && H5Pget_external_count(creation) == 0;
    if (creation >= 0)
        H5Pclose(creation);
    return here && H5Dget_storage_size(f->dataset) >= bytes;
}

static void not_readable(rt_image *image, const char *path)
{
    rt_image_fail(image, RT_CHECKPOINT, "%s is missing or not as expected", path);
}

bool rt_image_shape(rt_image *image, const char *path, rt_shape *shape)
{
    *shape = RT_SCALAR;
    if (rt_image_failed(image))
        return false;
    found f = find_dataset(image, path);
    let_go(&f.h);
    bool fits = f.ndim >= 0;
    for (int i = 0; i < f.ndim; i++)
        fits = fits && f.axes[i] <= INT_MAX;
    if (!fits)
        return false;
    shape->ndim = f.ndim;
    for (int i = 0; i < f.ndim; i++)
        shape->axis[i] = (int)f.axes[i];
    return true;
}

static void read_numbers(rt_image *image, const char *path, hid_t in_memory, void *values,
                         rt_shape shape)
{
    if (rt_image_failed(image))
        return;
    found f = find_dataset(image, path);
    bool good = f.ndim == shape.ndim && H5Tget_class(f.type) == H5T_FLOAT;
    for (int i = 0; i < shape.ndim; i++)
        good = good && f.axes[i] == (hsize_t)shape.axis[i];
    good = good && is_held(&f, rt_shape_size(shape) * H5Tget_size(f.type)) &&
           H5Dread(f.dataset, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    let_go(&f.h);
    if (!good)
        not_readable(image, path);
}

void rt_image_reals(rt_image *image, const char *path, real *values, rt_shape shape)
{
    read_numbers(image, path, REAL_IN_MEMORY, values, shape);
}

void rt_image_doubles(rt_image *image, const char *path, double *values, rt_shape shape)
{
    read_numbers(image, path, H5T_NATIVE_DOUBLE, values, shape);
}

/* Reads a whole dataset of `size` bytes in memory; one more is kept 0. */
static void *read_new(rt_image *image, const char *path, const found *f, hid_t in_memory,
                      size_t size)
{
    if (!is_held(f, size)) {
        not_readable(image, path);
        return NULL;
    }
    unsigned char *bytes = rt_alloc(size + 1, 1);
    if (!bytes) {
        rt_image_fail(image, RT_MEMORY, "out of memory for %s", path);
        return NULL;
    }
    if (H5Dread(f->dataset, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0)
        return bytes;
    rt_free(bytes);
    not_readable(image, path);
    return NULL;
}

char *rt_image_text(rt_image *image, const char *path)
{
    if (rt_image_failed(image))
        return NULL;
    char *text = NULL;
    found f = find_dataset(image, path);
    if (f.ndim == 0 && H5Tget_class(f.type) == H5T_STRING && H5Tis_variable_str(f.type) == 0)
        text = read_new(image, path, &f, f.type, H5Tget_size(f.type));
    else
        not_readable(image, path);
    let_go(&f.h);
    return text;
}

unsigned char *rt_image_bytes(rt_image *image, const char *path, size_t *size)
{
    *size = 0;
    if (rt_image_failed(image))
        return NULL;
    unsigned char *bytes = NULL;
    found f = find_dataset(image, path);
    if (f.ndim == 1 && H5Tget_class(f.type) == H5T_INTEGER && H5Tget_size(f.type) == 1)
        bytes = read_new(image, path, &f, H5T_NATIVE_UINT8, (size_t)f.axes[0]);
    else
        not_readable(image, path);
    if (bytes)
        *size = (size_t)f.axes[0];
    let_go(&f.h);
    return bytes;
}

/* ---- visiting ---- */

typedef struct visit {
    rt_image_visitor *each;
    void *context;
} visit;

static herr_t visit_link(hid_t group, const char *path, const H5L_info_t *info, void *context)
{
    (void)info;
    const visit *v = context;
    hid_t object = H5Oopen(group, path, H5P_DEFAULT);
    if (object < 0)
        return -1;
    if (H5Iget_type(object) == H5I_DATASET)
        v->each(v->context, path);
    return H5Oclose(object);
}

void rt_image_visit(rt_image *image, const char *group, rt_image_visitor *each, void *context)
{
    if (rt_image_failed(image))
        return;
    held h = {0};
    hid_t start = hold(&h, H5Gopen2(image->file, group, H5P_DEFAULT));
    visit v = {each, context};
    if (H5Lvisit(start, H5_INDEX_NAME, H5_ITER_INC, visit_link, &v) < 0)
        not_readable(image, group);
    let_go(&h);
}
