#include "core/memory.h"
#include "io/checkpoint/image_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list, of which nothing is trusted ---- */

/* It ends where it says, and can be printed. */
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
