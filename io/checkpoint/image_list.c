#include "io/checkpoint/image_private.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/checkpoint/checksummed.h"
#include "text/process.h"

#include <stdio.h>
#include <string.h>

/* ---- HDF5 on borrowed memory ---- */

/* Callbacks that let HDF5 read a file in the caller's memory instead of copying it twice: each
 * allocation or copy returns the same bytes. */

static void *borrow_bytes(size_t size, H5FD_file_image_op_t operation, void *bytes)
{
    (void)size;
    (void)operation;
    return bytes;
}

static void *keep_bytes(void *to, const void *from, size_t size, H5FD_file_image_op_t operation,
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

static herr_t forget_borrowed(void *memory, H5FD_file_image_op_t operation, void *bytes)
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

static herr_t free_borrowed(void *bytes)
{
    (void)bytes;
    return 0;
}

/* Opens borrowed bytes as a file with a unique name, because the core driver identifies files by
 * name. */
static hid_t open_borrowed_bytes(unsigned char *bytes, size_t size)
{
    char unique[64];
    hid_t file = H5I_INVALID_HID, access = H5Pcreate(H5P_FILE_ACCESS);
    H5FD_file_image_callbacks_t borrowing = {borrow_bytes,   keep_bytes,
                                             refuse_to_grow, forget_borrowed,
                                             same_bytes,     free_borrowed,
                                             bytes};
    snprintf(unique, sizeof unique, "image of rotor at %p", (void *)bytes);
    if (H5Pset_fapl_core(access, RT_HDF5_GROWTH, false) >= 0 &&
        H5Pset_file_image_callbacks(access, &borrowing) >= 0 &&
        H5Pset_file_image(access, bytes, size) >= 0)
        file = H5Fopen(unique, H5F_ACC_RDONLY, access);
    if (access >= 0)
        H5Pclose(access);
    return file;
}

/* ---- the list ---- */

/* Limits far above the largest model. */
enum { MOST_ITEMS = 1 << 19, MOST_DEPTH = 32 };

typedef struct list {
    rt_image *image;
    const char *file;
    rt_parse parse;
    unsigned char *bytes;
    size_t size, limit;
    int items;
    int depth;
    char path[RT_ITEM_PATH_SIZE]; /* path of the current object, "" for the root */
} list;

/* Returns the limit for the list of a file, in bytes. A dataset needs more in the file. */
static size_t list_limit(size_t file_size)
{
    return file_size + (1 << 20);
}

/* Fails the image with a message about the current object. */
static herr_t fail(list *l, const char *fact)
{
    rt_image_fail(l->image, RT_CHECKPOINT, "%s%s", l->path, fact);
    return -1;
}

/* Appends an item for `name` in the current object. Returns the place for its value, NULL if a
 * limit is exceeded. */
static void *add_item(list *l, const char *name, rt_item item)
{
    const size_t length = strlen(l->path), more = strlen(name);
    item.path_size = length + more + 1;
    const size_t path = rt_item_padded(item.path_size), value = rt_item_padded(item.value_size);
    if (item.value_size > l->limit || l->limit - l->size < sizeof item + path + value ||
        l->items++ == MOST_ITEMS) {
        rt_image_fail(l->image, RT_CHECKPOINT, "holds more than a checkpoint can");
        return NULL;
    }
    unsigned char *at = l->bytes + l->size;
    l->size += sizeof item + path + value;
    memcpy(at, &item, sizeof item);
    at = memset(at + sizeof item, 0, path);
    memcpy(at, l->path, length);
    memcpy(at + length, name, more);
    if (value)
        memset(at + path + value - 8, 0, 8);
    return at + path;
}

/* Returns the kind of an attribute, with the type and size to read it. */
static rt_item_kind attribute_kind(hid_t type, hid_t *memory, size_t *size)
{
    *size = 8;
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        *memory = H5Tget_sign(type) == H5T_SGN_NONE ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
        return H5Tget_size(type) > 8               ? RT_ITEM_OTHER
               : H5Tget_sign(type) == H5T_SGN_NONE ? RT_ITEM_UNSIGNED
                                                   : RT_ITEM_INTEGER;
    case H5T_FLOAT:
        *memory = H5T_NATIVE_DOUBLE;
        return H5Tget_size(type) > 8 ? RT_ITEM_OTHER : RT_ITEM_NUMBER;
    case H5T_STRING:
        *memory = type;
        *size = H5Tget_size(type);
        return *size < RT_WORD_SIZE && H5Tis_variable_str(type) == 0 ? RT_ITEM_WORD : RT_ITEM_OTHER;
    default:
        return RT_ITEM_OTHER;
    }
}

/* Lists an attribute; skips kinds that rotor does not write. */
static herr_t list_attribute(hid_t owner, const char *name, const H5A_info_t *info, void *context)
{
    list *l = context;
    hdf5_handles h = {0};
    char at_name[RT_WORD_SIZE];
    unsigned char value[RT_WORD_SIZE];
    size_t size;
    hid_t memory = H5I_INVALID_HID;
    if (info->data_size >= RT_WORD_SIZE || !rt_item_is_printable(name) ||
        strlen(name) >= sizeof at_name - 1)
        return 0;
    snprintf(at_name, sizeof at_name, "@%s", name);
    const hid_t attribute = keep_handle(&h, H5Aopen(owner, name, H5P_DEFAULT));
    const hid_t space = keep_handle(&h, H5Aget_space(attribute));
    const hid_t type = keep_handle(&h, H5Aget_type(attribute));
    const rt_item_kind kind = attribute_kind(type, &memory, &size);
    const bool read = kind != RT_ITEM_OTHER && H5Sget_simple_extent_npoints(space) == 1 &&
                      H5Aread(attribute, memory, value) >= 0;
    release_handles(&h);
    if (!read)
        return 0;
    void *to = add_item(l, at_name, (rt_item){.kind = kind, .value_size = size});
    if (to)
        memcpy(to, value, size);
    return to ? 0 : -1;
}

static bool list_attributes(list *l, hid_t object)
{
    hsize_t at = 0;
    return H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, list_attribute, l) >= 0;
}

/* ---- datasets ---- */

/* Returns whether the file itself holds all `bytes` of a dataset. HDF5 would read missing data as
 * zeros of any size, and follow links to external files. */
static bool is_held(hid_t dataset, hsize_t bytes)
{
    hid_t creation = H5Dget_create_plist(dataset);
    const bool here =
        H5Pget_layout(creation) != H5D_VIRTUAL && H5Pget_external_count(creation) == 0;
    if (creation >= 0)
        H5Pclose(creation);
    return here && H5Dget_storage_size(dataset) >= bytes;
}

/* Returns the kind of a dataset, as attribute_kind. Numbers keep the precision of the file. */
static rt_item_kind dataset_kind(hid_t type, uint64_t ndim, hid_t *memory)
{
    const size_t size = H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:
        *memory = size == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
        return size == 4 ? RT_ITEM_FLOATS : size == 8 ? RT_ITEM_DOUBLES : RT_ITEM_OTHER;
    case H5T_INTEGER:
        *memory = H5T_NATIVE_UINT8;
        return size == 1 && ndim == 1 ? RT_ITEM_BYTES : RT_ITEM_OTHER;
    case H5T_STRING:
        *memory = type;
        return ndim == 0 && H5Tis_variable_str(type) == 0 ? RT_ITEM_TEXT : RT_ITEM_OTHER;
    default:
        return RT_ITEM_OTHER;
    }
}

/* Computes the bytes of all elements. Returns false if they exceed the limit. */
static bool fits(const rt_item *item, size_t width, size_t limit, uint64_t *bytes)
{
    *bytes = width;
    for (uint64_t i = 0; i < item->ndim; i++) {
        if (item->axes[i] && *bytes > limit / item->axes[i])
            return false;
        *bytes *= item->axes[i];
    }
    return *bytes <= limit;
}

/* Returns the item of a dataset: its axes, and its kind if the file holds all of its bytes. */
static rt_item describe(const list *l, hid_t dataset, hid_t type, hid_t *memory)
{
    hdf5_handles h = {0};
    rt_item item = {.kind = RT_ITEM_OTHER, .ndim = RT_MAX_AXES + 1};
    hsize_t axes[RT_MAX_AXES] = {0};
    const hid_t space = keep_handle(&h, H5Dget_space(dataset));
    const int ndim = H5Sget_simple_extent_ndims(space);
    if (ndim >= 0 && ndim <= RT_MAX_AXES && H5Sget_simple_extent_dims(space, axes, NULL) == ndim &&
        H5Sget_simple_extent_type(space) != H5S_NULL)
        item.ndim = (uint64_t)ndim;
    for (int i = 0; i < RT_MAX_AXES; i++)
        item.axes[i] = axes[i];
    const rt_item_kind kind = dataset_kind(type, item.ndim, memory);
    uint64_t bytes = 0;
    if (item.ndim <= RT_MAX_AXES && kind != RT_ITEM_OTHER &&
        fits(&item, H5Tget_size(type), l->limit, &bytes) && is_held(dataset, bytes)) {
        item.kind = kind;
        item.value_size = bytes;
    }
    release_handles(&h);
    return item;
}

/* Returns whether the list stores the value of the current dataset, which is of this kind. */
static bool has_value(const list *l, uint64_t kind)
{
    static const char optimizer[] = RT_OPTIMIZER_GROUP "/";
    if (kind != RT_ITEM_FLOATS && kind != RT_ITEM_DOUBLES)
        return kind != RT_ITEM_OTHER;
    return l->parse == RT_PARSE_APART ||
           (l->parse == RT_PARSE_MODEL && strncmp(l->path, optimizer, strlen(optimizer)) != 0);
}

static herr_t list_dataset(list *l, hid_t dataset)
{
    hdf5_handles h = {0};
    hid_t memory = H5I_INVALID_HID;
    const hid_t type = keep_handle(&h, H5Dget_type(dataset));
    rt_item item = describe(l, dataset, type, &memory);
    const bool valued = has_value(l, item.kind);
    if (!valued)
        item.value_size = 0;
    void *to = add_item(l, "", item);
    const bool read =
        to && (!valued || H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0) &&
        list_attributes(l, dataset);
    release_handles(&h);
    return read ? 0 : fail(l, " cannot be read");
}

static herr_t list_group(list *l, hid_t group);

/* Lists an object. One with two names is refused, as it could contain itself without end. */
static herr_t list_object(list *l, hid_t object)
{
    H5O_info_t info;
    if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0)
        return fail(l, " cannot be opened");
    if (info.rc > 1) {
        rt_image_fail(l->image, RT_CHECKPOINT, "%s has %u names", l->path, info.rc);
        return -1;
    }
    switch (info.type) {
    case H5O_TYPE_GROUP:
        return list_group(l, object);
    case H5O_TYPE_DATASET:
        return list_dataset(l, object);
    default:
        return 0;
    }
}

static herr_t list_link(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    list *l = context;
    const size_t length = strlen(l->path), more = strlen(name);
    if (length + more + 2 > sizeof l->path || !rt_item_is_printable(name))
        return fail(l, " holds a name that no checkpoint has");
    l->path[length] = '/';
    memcpy(l->path + length + 1, name, more + 1);
    if (info->type != H5L_TYPE_HARD)
        return fail(l, " is a link to another place");
    const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    herr_t result = object < 0 ? fail(l, " cannot be opened") : list_object(l, object);
    if (object >= 0)
        H5Oclose(object);
    l->path[length] = '\0';
    return result;
}

static herr_t list_group(list *l, hid_t group)
{
    hsize_t at = 0;
    if (l->depth == MOST_DEPTH) {
        rt_image_fail(l->image, RT_CHECKPOINT, "%.60s... is more than %d groups deep", l->path,
                      MOST_DEPTH);
        return -1;
    }
    if (!add_item(l, *l->path ? "" : "/", (rt_item){.kind = RT_ITEM_GROUP}))
        return -1;
    l->depth++;
    const bool listed = list_attributes(l, group) &&
                        H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, list_link, l) >= 0;
    l->depth--;
    return listed ? 0 : fail(l, "/ cannot be read");
}

/* Reads a checksummed file, or with bytes = NULL its size. A named file must be readable:
 * RT_CHECKPOINT in place of RT_IO. */
static rt_status read_named_file(const char *path, unsigned char **bytes, size_t *size)
{
    rt_status status = rt_checksummed_read(path, bytes, size);
    if (status.code == RT_IO)
        status.code = RT_CHECKPOINT;
    return status;
}

/* Reads and lists a file, in the child or in this process. The image owns the bytes and the open
 * file, from which numbers are read on demand. The list reserves memory for its limit, which costs
 * nothing where it is never written. */
static rt_status list_file(void *context, unsigned char **list_new, size_t *size)
{
    list *l = context;
    rt_image *image = l->image;
    size_t bytes;
    rt_status status = read_named_file(l->file, &image->bytes, &bytes);
    if (status.code)
        return status;
    l->limit = list_limit(bytes);
    *list_new = l->bytes = rt_alloc_unset(l->limit, 1);
    if (!l->bytes)
        return rt_out_of_memory(image->name);
    rt_prepare_hdf5();
    image->file = open_borrowed_bytes(image->bytes, bytes);
    const hid_t root = H5Gopen2(image->file, "/", H5P_DEFAULT);
    if (root < 0)
        rt_image_fail(image, RT_CHECKPOINT, "HDF5 cannot open it");
    else
        list_group(l, root);
    if (root >= 0)
        H5Gclose(root);
    *size = l->size;
    return image->status;
}

/* Returns the memory to parse a file: its bytes, the list, a stored and a decoded chunk, and a
 * reserve for HDF5. */
static size_t memory_for(size_t size)
{
    return 3 * size + ((size_t)256 << 20);
}

/* Reads and lists a file in a child process; this process never holds its bytes. */
static rt_status list_apart(list *l)
{
    rt_image *image = l->image;
    size_t bytes;
    rt_status status = read_named_file(l->file, NULL, &bytes);
    if (status.code)
        return status;
    const rt_child_limits limits = {.memory = memory_for(bytes),
                                    .answer = list_limit(bytes),
                                    .seconds = rt_child_seconds(bytes),
                                    .keep = -1};
    status = rt_child_run(list_file, l, &limits, &image->list, &image->size);
    if (status.code == RT_IO)
        status = rt_error(RT_IO, "%s: %s", image->name, status.message);
    if (status.code == RT_CHECK)
        status = rt_error(RT_CHECKPOINT, "%s: it is damaged: %s", image->name, status.message);
    return status;
}

rt_image *rt_image_open(const char *path, rt_parse parse)
{
    rt_image *image = rt_image_of_nothing(rt_path_name(path));
    if (!image)
        return NULL;
    list l = {.image = image, .file = path, .parse = parse};
    image->status =
        parse == RT_PARSE_HERE ? list_file(&l, &image->list, &image->size) : list_apart(&l);
    if (image->status.code == RT_OK)
        rt_image_index(image);
    return image;
}
