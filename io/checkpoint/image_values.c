#include "io/checkpoint/image_private.h"

#include "core/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the untrusted list ---- */

/* Returns the size in bytes of the item at an offset; 0 if it is incomplete or its path is not
 * printable. */
static size_t item_size(const rt_image *image, size_t at)
{
    const rt_item *item = (const void *)(image->list + at);
    size_t left = image->size - at;
    if (left < sizeof *item || item->path_size > RT_ITEM_PATH_SIZE)
        return 0;
    left -= sizeof *item;
    const size_t path = rt_item_padded(item->path_size);
    if (path > left || item->value_size > left - path ||
        rt_item_padded(item->value_size) > left - path ||
        strnlen(rt_item_path(item), item->path_size) + 1 != item->path_size ||
        !rt_item_is_printable(rt_item_path(item)))
        return 0;
    return sizeof *item + path + rt_item_padded(item->value_size);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(rt_item_path(*(const rt_item *const *)a),
                  rt_item_path(*(const rt_item *const *)b));
}

void rt_image_index(rt_image *image)
{
    size_t at = 0, size = 1;
    for (; size && at < image->size; at += size, image->count++)
        size = item_size(image, at);
    if (!size) {
        image->count = 0;
        rt_image_fail(image, RT_CHECKPOINT, "it is damaged: the parser returned an invalid reply");
        return;
    }
    image->items = rt_alloc(image->count, sizeof *image->items);
    if (!image->items) {
        rt_image_fail(image, RT_MEMORY, "out of memory for what is in it");
        return;
    }
    at = 0;
    for (size_t i = 0; i < image->count; i++, at += item_size(image, at))
        image->items[i] = (const void *)(image->list + at);
    qsort(image->items, image->count, sizeof *image->items, by_path);
}

static int has_path(const void *path, const void *item)
{
    return strcmp(path, rt_item_path(*(const rt_item *const *)item));
}

static const rt_item *find(const rt_image *image, const char *path)
{
    const rt_item **found = NULL;
    if (!rt_image_failed(image) && image->count)
        found = bsearch(path, image->items, image->count, sizeof *image->items, has_path);
    return found ? *found : NULL;
}

/* ---- attributes ---- */

static const rt_item *find_attribute(const rt_image *image, const char *group, const char *name)
{
    char path[RT_ITEM_PATH_SIZE];
    const int length = snprintf(path, sizeof path, "%s@%s", strcmp(group, "/") ? group : "", name);
    return length < (int)sizeof path ? find(image, path) : NULL;
}

bool rt_image_has_attribute(rt_image *image, const char *group, const char *name)
{
    return find_attribute(image, group, name) != NULL;
}

/* Copies the value of an attribute of this kind and `size`; a word may be shorter. */
static bool get_attribute(const rt_item *item, rt_item_kind kind, void *to, size_t size)
{
    const bool fits = item && item->kind == kind &&
                      (kind == RT_ITEM_WORD ? item->value_size <= size : item->value_size == size);
    if (fits)
        memcpy(to, rt_item_value(item), item->value_size);
    return fits;
}

static void no_attribute(rt_image *image, const char *group, const char *name)
{
    rt_image_fail(image, RT_CHECKPOINT, "attribute %s of %s is missing or not as expected", name,
                  group);
}

/* Returns an integer of this kind, or of the other kind if it is in the range of both. */
static uint64_t get_whole(rt_image *image, const char *group, const char *name, rt_item_kind kind)
{
    const rt_item *item = find_attribute(image, group, name);
    uint64_t bits = 0;
    if (get_attribute(item, kind, &bits, sizeof bits))
        return bits;
    if ((get_attribute(item, RT_ITEM_INTEGER, &bits, sizeof bits) ||
         get_attribute(item, RT_ITEM_UNSIGNED, &bits, sizeof bits)) &&
        bits <= INT64_MAX)
        return bits;
    no_attribute(image, group, name);
    return 0;
}

int64_t rt_image_integer(rt_image *image, const char *group, const char *name)
{
    return (int64_t)get_whole(image, group, name, RT_ITEM_INTEGER);
}

uint64_t rt_image_unsigned(rt_image *image, const char *group, const char *name)
{
    return get_whole(image, group, name, RT_ITEM_UNSIGNED);
}

double rt_image_number(rt_image *image, const char *group, const char *name)
{
    double value = 0;
    if (!get_attribute(find_attribute(image, group, name), RT_ITEM_NUMBER, &value, sizeof value))
        no_attribute(image, group, name);
    return value;
}

void rt_image_word(rt_image *image, const char *group, const char *name, char word[RT_WORD_SIZE])
{
    memset(word, 0, RT_WORD_SIZE);
    if (!get_attribute(find_attribute(image, group, name), RT_ITEM_WORD, word, RT_WORD_SIZE - 1))
        no_attribute(image, group, name);
}

/* ---- datasets ---- */

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

/* Reads numbers from a file parsed in this process. */
static void read_numbers(rt_image *image, const char *path, bool doubles, void *values)
{
    const hid_t dataset = H5Dopen2(image->file, path, H5P_DEFAULT);
    if (H5Dread(dataset, doubles ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL,
                H5P_DEFAULT, values) < 0)
        rt_image_fail(image, RT_CHECKPOINT, "%s cannot be read", path);
    if (dataset >= 0)
        H5Dclose(dataset);
}

/* Reads the numbers of a dataset of this shape, stored in either precision, as doubles or floats.
 */
static void get_numbers(rt_image *image, const char *path, bool doubles, void *values,
                        rt_shape shape)
{
    const size_t size = rt_shape_size(shape);
    const rt_item *item = find(image, path);
    const bool stored = item && item->kind == RT_ITEM_DOUBLES;
    const size_t width = stored ? sizeof(double) : sizeof(float);
    rt_shape there;
    if (!rt_image_shape(image, path, &there) || !rt_shapes_equal(there, shape) ||
        (!stored && item->kind != RT_ITEM_FLOATS) ||
        (image->file < 0 && item->value_size != size * width)) {
        not_readable(image, path);
        return;
    }
    const void *from = rt_item_value(item);
    if (image->file >= 0)
        read_numbers(image, path, doubles, values);
    else if (stored == doubles)
        memcpy(values, from, size * width);
    else
        for (size_t i = 0; i < size; i++)
            if (doubles)
                ((double *)values)[i] = (double)((const float *)from)[i];
            else
                ((float *)values)[i] = (float)((const double *)from)[i];
}

void rt_image_reals(rt_image *image, const char *path, real *values, rt_shape shape)
{
    get_numbers(image, path, sizeof *values == sizeof(double), values, shape);
}

void rt_image_doubles(rt_image *image, const char *path, double *values, rt_shape shape)
{
    get_numbers(image, path, true, values, shape);
}

/* Returns a copy of a value of this kind, with a zero appended. */
static void *copy_new(rt_image *image, const char *path, rt_item_kind kind, size_t *size)
{
    const rt_item *item = find(image, path);
    *size = 0;
    if (!item || item->kind != kind) {
        not_readable(image, path);
        return NULL;
    }
    unsigned char *bytes = rt_alloc(item->value_size + 1, 1);
    if (!bytes) {
        rt_image_fail(image, RT_MEMORY, "out of memory for %s", path);
        return NULL;
    }
    *size = item->value_size;
    return memcpy(bytes, rt_item_value(item), item->value_size);
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

void rt_image_visit(rt_image *image, const char *group, rt_image_visitor *each, void *context)
{
    const rt_item *start = find(image, group);
    const size_t length = strcmp(group, "/") ? strlen(group) : 0;
    if (!start || start->kind != RT_ITEM_GROUP) {
        not_readable(image, group);
        return;
    }
    for (size_t i = 0; i < image->count; i++) {
        const char *path = rt_item_path(image->items[i]);
        if (is_dataset(image->items[i]) && !strncmp(path, group, length) && path[length] == '/')
            each(context, path + length + 1);
    }
}
