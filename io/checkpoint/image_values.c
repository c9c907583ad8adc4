#include "io/checkpoint/image_private.h"

#include "core/memory.h"

#include <stdio.h>
#include <stdlib.h>
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

/* ---- the list, of which nothing is trusted ---- */

/* Returns whether a path ends with its zero and is printable. */
static bool is_path(const char *path, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        if ((unsigned char)path[i] < ' ' || path[i] == 127)
            return false;
    return size > 0 && !path[size - 1];
}

/* The item at an offset, which is moved behind it; false if there is none that is whole. */
static bool take_item(const rt_image *image, size_t *at, rt_item *item)
{
    rt_item_header h;
    size_t left = image->size - *at;
    if (left < sizeof h)
        return false;
    memcpy(&h, image->list + *at, sizeof h);
    left -= sizeof h;
    const size_t path = h.path_size <= RT_ITEM_PATH_SIZE ? rt_item_padded(h.path_size) : SIZE_MAX;
    if (path > left)
        return false;
    left -= path;
    if (h.value_size > left || rt_item_padded(h.value_size) > left)
        return false;
    item->path = (const char *)image->list + *at + sizeof h;
    item->value = image->list + *at + sizeof h + path;
    item->size = (size_t)h.value_size;
    item->kind = h.kind;
    item->ndim = h.ndim;
    memcpy(item->axes, h.axes, sizeof h.axes);
    *at += sizeof h + path + rt_item_padded(h.value_size);
    return is_path(item->path, (size_t)h.path_size);
}

static int by_path(const void *a, const void *b)
{
    return strcmp((*(const rt_item *const *)a)->path, (*(const rt_item *const *)b)->path);
}

static bool count_items(rt_image *image)
{
    rt_item item;
    size_t at = 0;
    image->count = 0;
    while (at < image->size && take_item(image, &at, &item))
        image->count++;
    return at == image->size;
}

void rt_image_index(rt_image *image)
{
    if (!count_items(image)) {
        rt_image_fail(image, RT_CHECKPOINT, "it is damaged: the parser returned an invalid reply");
        return;
    }
    image->items = rt_alloc(image->count, sizeof *image->items);
    image->sorted = rt_alloc(image->count, sizeof *image->sorted);
    if (!image->items || !image->sorted) {
        rt_image_fail(image, RT_MEMORY, "out of memory for what is in it");
        return;
    }
    size_t at = 0;
    for (size_t i = 0; i < image->count && take_item(image, &at, &image->items[i]); i++)
        image->sorted[i] = &image->items[i];
    qsort(image->sorted, image->count, sizeof *image->sorted, by_path);
}

static const rt_item *find(const rt_image *image, const char *path)
{
    const rt_item wanted = {.path = path}, *key = &wanted;
    const rt_item *const *found =
        image->count ? bsearch(&key, image->sorted, image->count, sizeof key, by_path) : NULL;
    return found ? *found : NULL;
}

/* ---- attributes ---- */

static const rt_item *find_attribute(rt_image *image, const char *group, const char *name)
{
    char path[RT_ITEM_PATH_SIZE];
    if (rt_image_failed(image))
        return NULL;
    const int length = snprintf(path, sizeof path, "%s@%s", strcmp(group, "/") ? group : "", name);
    return length < (int)sizeof path ? find(image, path) : NULL;
}

bool rt_image_has_attribute(rt_image *image, const char *group, const char *name)
{
    return find_attribute(image, group, name) != NULL;
}

static void no_attribute(rt_image *image, const char *group, const char *name)
{
    rt_image_fail(image, RT_CHECKPOINT, "attribute %s of %s is missing or not as expected", name,
                  group);
}

/* Eight bytes, if the kind is one of the two and the number not beyond the most of the other. */
static uint64_t get_whole(rt_image *image, const char *group, const char *name, rt_item_kind other)
{
    const rt_item *item = find_attribute(image, group, name);
    uint64_t bits = 0;
    if (item && item->size == sizeof bits &&
        (item->kind == RT_ITEM_INTEGER || item->kind == RT_ITEM_UNSIGNED)) {
        memcpy(&bits, item->value, sizeof bits);
        if (item->kind != other || bits <= INT64_MAX)
            return bits;
    }
    no_attribute(image, group, name);
    return 0;
}

int64_t rt_image_integer(rt_image *image, const char *group, const char *name)
{
    return (int64_t)get_whole(image, group, name, RT_ITEM_UNSIGNED);
}

uint64_t rt_image_unsigned(rt_image *image, const char *group, const char *name)
{
    return get_whole(image, group, name, RT_ITEM_INTEGER);
}

double rt_image_number(rt_image *image, const char *group, const char *name)
{
    const rt_item *item = find_attribute(image, group, name);
    double value = 0;
    if (item && item->kind == RT_ITEM_NUMBER && item->size == sizeof value)
        memcpy(&value, item->value, sizeof value);
    else
        no_attribute(image, group, name);
    return value;
}

void rt_image_word(rt_image *image, const char *group, const char *name, char word[RT_WORD_SIZE])
{
    const rt_item *item = find_attribute(image, group, name);
    memset(word, 0, RT_WORD_SIZE);
    if (item && item->kind == RT_ITEM_WORD && item->size < RT_WORD_SIZE)
        memcpy(word, item->value, item->size);
    else
        no_attribute(image, group, name);
}

/* ---- data sets ---- */

static bool is_dataset(const rt_item *item)
{
    return item && item->kind >= RT_ITEM_FLOATS && item->kind <= RT_ITEM_OTHER;
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
    const rt_item *item = find(image, path);
    if (!is_dataset(item) || item->ndim > RT_MAX_AXES)
        return false;
    for (uint64_t i = 0; i < item->ndim; i++)
        if (item->axes[i] > INT_MAX)
            return false;
    shape->ndim = (int)item->ndim;
    for (int i = 0; i < shape->ndim; i++)
        shape->axis[i] = (int)item->axes[i];
    return true;
}

/* A data set of numbers, of that shape; NULL if there is none. */
static const rt_item *find_numbers(rt_image *image, const char *path, rt_shape shape)
{
    rt_shape there;
    if (!rt_image_shape(image, path, &there))
        return NULL;
    const rt_item *item = find(image, path);
    const bool is_double = item->kind == RT_ITEM_DOUBLES;
    const size_t width = is_double ? sizeof(double) : sizeof(float);
    const bool numbers = is_double || item->kind == RT_ITEM_FLOATS;
    const bool whole = image->file >= 0 || item->size == rt_shape_size(shape) * width;
    return numbers && whole && rt_shapes_equal(there, shape) ? item : NULL;
}

/* Reads them from the file that was parsed here, as numbers of the type in memory. */
static void read_numbers(rt_image *image, const char *path, hid_t type, void *values)
{
    const hid_t dataset = H5Dopen2(image->file, path, H5P_DEFAULT);
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        rt_image_fail(image, RT_CHECKPOINT, "%s cannot be read", path);
    if (dataset >= 0)
        H5Dclose(dataset);
}

static double number_at(const unsigned char *from, bool is_double, size_t i)
{
    float single;
    double value;
    if (is_double) {
        memcpy(&value, from + i * sizeof value, sizeof value);
        return value;
    }
    memcpy(&single, from + i * sizeof single, sizeof single);
    return (double)single;
}

void rt_image_reals(rt_image *image, const char *path, real *values, rt_shape shape)
{
    const size_t size = rt_shape_size(shape);
    const rt_item *item = find_numbers(image, path, shape);
    const bool is_double = item && item->kind == RT_ITEM_DOUBLES;
    if (!item)
        not_readable(image, path);
    else if (image->file >= 0)
        read_numbers(image, path, RT_REAL_IN_MEMORY, values);
    else if (is_double == (sizeof *values == sizeof(double)))
        memcpy(values, item->value, size * sizeof *values);
    else
        for (size_t i = 0; i < size; i++)
            values[i] = (real)number_at(item->value, is_double, i);
}

void rt_image_doubles(rt_image *image, const char *path, double *values, rt_shape shape)
{
    const rt_item *item = find_numbers(image, path, shape);
    if (!item)
        not_readable(image, path);
    else if (image->file >= 0)
        read_numbers(image, path, H5T_NATIVE_DOUBLE, values);
    else
        for (size_t i = 0; i < rt_shape_size(shape); i++)
            values[i] = number_at(item->value, item->kind == RT_ITEM_DOUBLES, i);
}

/* A copy of a value of that kind, with a zero behind it. */
static void *copy_new(rt_image *image, const char *path, rt_item_kind kind, size_t *size)
{
    *size = 0;
    if (rt_image_failed(image))
        return NULL;
    const rt_item *item = find(image, path);
    if (!item || item->kind != kind) {
        not_readable(image, path);
        return NULL;
    }
    unsigned char *bytes = rt_alloc(item->size + 1, 1);
    if (!bytes) {
        rt_image_fail(image, RT_MEMORY, "out of memory for %s", path);
        return NULL;
    }
    memcpy(bytes, item->value, item->size);
    *size = item->size;
    return bytes;
}

char *rt_image_text(rt_image *image, const char *path)
{
    size_t size;
    return copy_new(image, path, RT_ITEM_TEXT, &size);
}

unsigned char *rt_image_bytes(rt_image *image, const char *path, size_t *size)
{
    return copy_new(image, path, RT_ITEM_BYTES, size);
}

/* ---- visiting ---- */

void rt_image_visit(rt_image *image, const char *group, rt_image_visitor *each, void *context)
{
    if (rt_image_failed(image))
        return;
    const rt_item *start = find(image, group);
    const size_t length = strcmp(group, "/") ? strlen(group) : 0;
    if (!start || start->kind != RT_ITEM_GROUP) {
        not_readable(image, group);
        return;
    }
    for (size_t i = 0; i < image->count; i++) {
        const rt_item *item = &image->items[i];
        if (is_dataset(item) && !strncmp(item->path, group, length) && item->path[length] == '/')
            each(context, item->path + length + 1);
    }
}
