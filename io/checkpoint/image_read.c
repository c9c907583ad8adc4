#include "io/checkpoint/image_private.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/checkpoint/checksummed.h"
#include "util/process.h"

#include <string.h>

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

/* Opens the bytes of an image as a file. */
static void open_file(rt_image *image)
{
    unsigned char *bytes = image->bytes;
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5FD_file_image_callbacks_t borrowing = {borrow_bytes,   keep_bytes,
                                             refuse_to_grow, forget_borrowed,
                                             same_bytes,     free_borrowed,
                                             bytes};
    if (H5Pset_fapl_core(access, RT_HDF5_GROWTH, false) >= 0 &&
        H5Pset_file_image_callbacks(access, &borrowing) >= 0 &&
        H5Pset_file_image(access, bytes, image->size) >= 0)
        image->file = H5Fopen(UNIQUE_NAME(bytes), H5F_ACC_RDONLY, access);
    if (access >= 0)
        H5Pclose(access);
    if (image->file < 0)
        rt_image_fail(image, RT_CHECKPOINT, "HDF5 cannot open it");
}

typedef enum attribute_kind {
    ATTRIBUTE_OTHER,
    ATTRIBUTE_INTEGER,
    ATTRIBUTE_UNSIGNED,
    ATTRIBUTE_NUMBER,
    ATTRIBUTE_WORD
} attribute_kind;

typedef union attribute {
    int64_t integer;
    uint64_t whole;
    double number;
    char word[RT_WORD_SIZE];
} attribute;

/* Reads an attribute with a single element of a kind that rotor writes, padded with zeros. */
static attribute_kind read_attribute(hid_t file, const char *group, const char *name,
                                     attribute *value)
{
    hdf5_handles h = {0};
    const hid_t id = keep_handle(&h, H5Aopen_by_name(file, group, name, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t space = keep_handle(&h, H5Aget_space(id));
    const hid_t type = keep_handle(&h, H5Aget_type(id));
    const size_t size = H5Tget_size(type), most = sizeof value->integer;
    attribute_kind kind = ATTRIBUTE_OTHER;
    hid_t memory = type;
    memset(value, 0, sizeof *value);
    if (H5Tget_class(type) == H5T_INTEGER && size <= most) {
        const bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
        kind = is_signed ? ATTRIBUTE_INTEGER : ATTRIBUTE_UNSIGNED;
        memory = is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
    } else if (H5Tget_class(type) == H5T_FLOAT && size <= most) {
        kind = ATTRIBUTE_NUMBER;
        memory = H5T_NATIVE_DOUBLE;
    } else if (H5Tget_class(type) == H5T_STRING && size < RT_WORD_SIZE &&
               H5Tis_variable_str(type) == 0) {
        kind = ATTRIBUTE_WORD;
    }
    if (kind && (H5Sget_simple_extent_npoints(space) != 1 || H5Aread(id, memory, value) < 0))
        kind = ATTRIBUTE_OTHER;
    release_handles(&h);
    return kind;
}

bool rt_image_has_attribute(rt_image *image, const char *group, const char *name)
{
    attribute value;
    return !rt_image_failed(image) && read_attribute(image->file, group, name, &value);
}

/* Returns the value of an attribute, zeros after a failure. An integer of the other kind is
 * accepted if it is in the range of both. */
static attribute get_attribute(rt_image *image, const char *group, const char *name,
                               attribute_kind wanted)
{
    attribute value = {0};
    if (rt_image_failed(image))
        return value;
    const attribute_kind kind = read_attribute(image->file, group, name, &value);
    const bool whole = kind == ATTRIBUTE_INTEGER || kind == ATTRIBUTE_UNSIGNED;
    if (kind == wanted || (whole && wanted <= ATTRIBUTE_UNSIGNED && value.integer >= 0))
        return value;
    rt_image_fail(image, RT_CHECKPOINT, "attribute %s of %s is missing or not as expected", name,
                  group);
    return (attribute){0};
}

int64_t rt_image_integer(rt_image *image, const char *group, const char *name)
{
    return get_attribute(image, group, name, ATTRIBUTE_INTEGER).integer;
}

uint64_t rt_image_unsigned(rt_image *image, const char *group, const char *name)
{
    return get_attribute(image, group, name, ATTRIBUTE_UNSIGNED).whole;
}

double rt_image_number(rt_image *image, const char *group, const char *name)
{
    return get_attribute(image, group, name, ATTRIBUTE_NUMBER).number;
}

void rt_image_word(rt_image *image, const char *group, const char *name, char word[RT_WORD_SIZE])
{
    const attribute value = get_attribute(image, group, name, ATTRIBUTE_WORD);
    memcpy(word, value.word, RT_WORD_SIZE);
}

/* A dataset that is open. */
typedef struct dataset {
    hdf5_handles handles;
    hid_t id;
    H5T_class_t kind; /* H5T_NO_CLASS: not a kind that rotor writes, or not all is in the file */
    hid_t type;       /* type of an element in the file */
    int ndim;         /* -1: too many axes, or a dataspace that is not simple */
    hsize_t axes[RT_MAX_AXES];
    size_t bytes; /* of all elements, in the precision of the file */
} dataset;

/* Returns whether the file itself holds all bytes of a dataset: HDF5 would read missing data as
 * zeros of any size, and follow links to external files. */
static bool is_held(const rt_image *image, dataset *d)
{
    const hid_t creation = keep_handle(&d->handles, H5Dget_create_plist(d->id));
    d->bytes = H5Tget_size(d->type);
    for (int i = 0; i < d->ndim; i++) {
        if (d->axes[i] && d->bytes > image->size / d->axes[i])
            return false;
        d->bytes *= d->axes[i];
    }
    return d->bytes <= image->size && H5Pget_layout(creation) != H5D_VIRTUAL &&
           H5Pget_external_count(creation) == 0 && H5Dget_storage_size(d->id) >= d->bytes;
}

/* Opens a dataset, which is closed also after an error. Returns false if there is none. */
static bool open_dataset(const rt_image *image, const char *path, dataset *d)
{
    hdf5_handles *h = &d->handles;
    *d = (dataset){.kind = H5T_NO_CLASS, .ndim = -1};
    d->id = rt_image_failed(image) ? H5I_INVALID_HID
                                   : keep_handle(h, H5Dopen2(image->file, path, H5P_DEFAULT));
    if (d->id < 0)
        return false;
    const hid_t space = keep_handle(h, H5Dget_space(d->id));
    const int ndim = H5Sget_simple_extent_ndims(space);
    d->type = keep_handle(h, H5Dget_type(d->id));
    if (ndim > RT_MAX_AXES || H5Sget_simple_extent_type(space) == H5S_NULL ||
        H5Sget_simple_extent_dims(space, d->axes, NULL) != ndim)
        return true;
    d->ndim = ndim;
    const H5T_class_t kind = H5Tget_class(d->type);
    const size_t width = H5Tget_size(d->type);
    const bool known = kind == H5T_FLOAT     ? width == sizeof(float) || width == sizeof(double)
                       : kind == H5T_INTEGER ? width == 1 && ndim == 1
                       : kind == H5T_STRING  ? ndim == 0 && H5Tis_variable_str(d->type) == 0
                                             : false;
    if (ndim >= 0 && known && is_held(image, d))
        d->kind = kind;
    return true;
}

/* Reads a dataset of a known kind in the precision of the file. A conversion that HDF5 makes on the
 * way is thus the same in the child process and in this one. */
static void read_dataset(rt_image *image, const char *path, const dataset *d, void *values)
{
    const bool is_float = H5Tget_size(d->type) == sizeof(float);
    const hid_t memory = d->kind == H5T_STRING    ? d->type
                         : d->kind == H5T_INTEGER ? H5T_NATIVE_UINT8
                         : is_float               ? H5T_NATIVE_FLOAT
                                                  : H5T_NATIVE_DOUBLE;
    if (H5Dread(d->id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        rt_image_fail(image, RT_CHECKPOINT, "%s cannot be read", path);
}

static void not_readable(rt_image *image, const char *path)
{
    rt_image_fail(image, RT_CHECKPOINT, "%s is missing or not as expected", path);
}

static bool shape_of(const dataset *d, rt_shape *shape)
{
    *shape = (rt_shape){.ndim = d->ndim > 0 ? d->ndim : 0};
    for (int i = 0; i < d->ndim; i++) {
        if (d->axes[i] > INT_MAX)
            return false;
        shape->axis[i] = (int)d->axes[i];
    }
    return d->ndim >= 0;
}

bool rt_image_shape(rt_image *image, const char *path, rt_shape *shape)
{
    dataset d;
    const bool known = open_dataset(image, path, &d) && shape_of(&d, shape);
    release_handles(&d.handles);
    if (!known)
        *shape = RT_SCALAR;
    return known;
}

/* Returns whether these numbers were not parsed in the child process. */
static bool is_left_out(const rt_image *image, const char *path)
{
    static const char optimizer[] = RT_OPTIMIZER_GROUP "/";
    return image->parse == RT_PARSE_MODEL && !strncmp(path, optimizer, strlen(optimizer));
}

/* Reads the numbers of a dataset of this shape, stored in either precision. `width` is the size of
 * a number of `values`. */
static void get_numbers(rt_image *image, const char *path, size_t width, void *values,
                        rt_shape shape)
{
    const size_t count = rt_shape_size(shape);
    dataset d;
    rt_shape stored;
    RT_OWNED void *others = NULL; /* numbers of the other precision */
    if (!open_dataset(image, path, &d) || d.kind != H5T_FLOAT || is_left_out(image, path) ||
        !shape_of(&d, &stored) || !rt_shapes_equal(stored, shape))
        not_readable(image, path);
    else if (H5Tget_size(d.type) == width)
        read_dataset(image, path, &d, values);
    else if (!(others = rt_alloc_unset(d.bytes, 1)))
        rt_image_fail(image, RT_MEMORY, "out of memory for %s", path);
    else
        read_dataset(image, path, &d, others);
    for (size_t i = 0; i < count && others && !rt_image_failed(image); i++)
        if (width == sizeof(double))
            ((double *)values)[i] = (double)((const float *)others)[i];
        else
            ((float *)values)[i] = (float)((const double *)others)[i];
    release_handles(&d.handles);
}

void rt_image_reals(rt_image *image, const char *path, real *values, rt_shape shape)
{
    get_numbers(image, path, sizeof *values, values, shape);
}

void rt_image_doubles(rt_image *image, const char *path, double *values, rt_shape shape)
{
    get_numbers(image, path, sizeof *values, values, shape);
}

/* Returns the bytes of a dataset of this kind, with a zero appended. */
static void *get_new(rt_image *image, const char *path, H5T_class_t kind, size_t *size)
{
    dataset d;
    unsigned char *bytes = NULL;
    *size = 0;
    if (!open_dataset(image, path, &d) || d.kind != kind)
        not_readable(image, path);
    else if (!(bytes = rt_alloc(d.bytes + 1, 1)))
        rt_image_fail(image, RT_MEMORY, "out of memory for %s", path);
    else
        read_dataset(image, path, &d, bytes);
    release_handles(&d.handles);
    if (!rt_image_failed(image)) {
        *size = d.bytes;
        return bytes;
    }
    rt_free(bytes);
    return NULL;
}

char *rt_image_text(rt_image *image, const char *path)
{
    size_t size;
    return get_new(image, path, H5T_STRING, &size);
}

unsigned char *rt_image_bytes(rt_image *image, const char *path, size_t *size)
{
    return get_new(image, path, H5T_INTEGER, size);
}

typedef struct visit {
    rt_image_visitor *each;
    void *context;
} visit;

static herr_t visit_object(hid_t group, const char *path, const H5O_info_t *info, void *context)
{
    const visit *v = context;
    (void)group;
    if (info->type == H5O_TYPE_DATASET && strcmp(path, ".") != 0)
        v->each(v->context, path);
    return strcmp(path, ".") || info->type == H5O_TYPE_GROUP ? 0 : -1;
}

void rt_image_visit(rt_image *image, const char *group, rt_image_visitor *each, void *context)
{
    visit v = {each, context};
    if (!rt_image_failed(image) &&
        H5Ovisit_by_name2(image->file, group, H5_INDEX_NAME, H5_ITER_INC, visit_object, &v,
                          H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        not_readable(image, group);
}

enum { MOST_DEPTH = 32, PATH_SIZE = 1024 };

/* A walk through the groups and datasets of a file. */
typedef struct walk {
    rt_image *image;
    bool reads; /* reads all attributes and datasets that rotor may read later */
    int depth;
    char path[PATH_SIZE]; /* path of the current object, "" for the root */
} walk;

/* Fails the image with a message about the current object. */
static herr_t fail(walk *w, const char *fact)
{
    rt_image_fail(w->image, RT_CHECKPOINT, "%s%s", w->path, fact);
    return -1;
}

static herr_t check_attribute(hid_t owner, const char *name, const H5A_info_t *info, void *context)
{
    attribute value;
    (void)info;
    (void)context;
    read_attribute(owner, ".", name, &value);
    return 0;
}

static void check_dataset(walk *w)
{
    dataset d;
    const bool open = open_dataset(w->image, w->path, &d);
    const bool reads = open && d.kind != H5T_NO_CLASS && !is_left_out(w->image, w->path);
    RT_OWNED void *values = reads ? rt_alloc_unset(d.bytes, 1) : NULL;
    if (!open)
        fail(w, " cannot be opened");
    else if (reads && !values)
        rt_image_fail(w->image, RT_MEMORY, "out of memory for %s", w->path);
    else if (reads)
        read_dataset(w->image, w->path, &d, values);
    release_handles(&d.handles);
}

static herr_t check_link(hid_t group, const char *name, const H5L_info_t *info, void *context);

/* Checks the current object and what is in it. One with two names is refused, as it could contain
 * itself without end. */
static herr_t check_object(walk *w)
{
    const hid_t file = w->image->file;
    const char *path = *w->path ? w->path : "/";
    H5O_info_t info;
    hsize_t first = 0, next = 0;
    if (H5Oget_info_by_name2(file, path, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return fail(w, " cannot be opened");
    const bool is_group = info.type == H5O_TYPE_GROUP;
    if (info.rc > 1)
        rt_image_fail(w->image, RT_CHECKPOINT, "%s has %u names", w->path, info.rc);
    else if (is_group && w->depth == MOST_DEPTH)
        rt_image_fail(w->image, RT_CHECKPOINT, "%.60s... is more than %d groups deep", w->path,
                      MOST_DEPTH);
    else if (info.type == H5O_TYPE_DATASET && w->reads)
        check_dataset(w);
    if (rt_image_failed(w->image))
        return -1;
    w->depth++;
    const bool good =
        (!w->reads || H5Aiterate_by_name(file, path, H5_INDEX_NAME, H5_ITER_INC, &first,
                                         check_attribute, w, H5P_DEFAULT) >= 0) &&
        (!is_group || H5Literate_by_name(file, path, H5_INDEX_NAME, H5_ITER_INC, &next, check_link,
                                         w, H5P_DEFAULT) >= 0);
    w->depth--;
    return good ? 0 : fail(w, is_group ? "/ cannot be read" : " cannot be read");
}

static herr_t check_link(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    walk *w = context;
    const size_t length = strlen(w->path), more = strlen(name);
    bool good = length + more + 2 <= sizeof w->path;
    (void)group;
    for (const char *c = name; *c; c++)
        good = good && (unsigned char)*c >= ' ' && *c != 127;
    if (!good)
        return fail(w, " holds a name that no checkpoint has");
    w->path[length] = '/';
    memcpy(w->path + length + 1, name, more + 1);
    const herr_t result =
        info->type == H5L_TYPE_HARD ? check_object(w) : fail(w, " is a link to another place");
    w->path[length] = '\0';
    return result;
}

/* Opens and reads the whole file, in the child process. */
static rt_status read_all(void *context, unsigned char **answer_new, size_t *size)
{
    walk w = {.image = context, .reads = true};
    *answer_new = NULL;
    *size = 0;
    open_file(w.image);
    if (!rt_image_failed(w.image))
        check_object(&w);
    return w.image->status;
}

/* Reads the file in a child process: HDF5 then does the same in this process without a crash. */
static rt_status check_apart(rt_image *image)
{
    RT_OWNED unsigned char *answer = NULL;
    size_t size;
    const rt_child_limits limits = {.memory = 3 * image->size + ((size_t)256 << 20),
                                    .seconds = rt_child_seconds(image->size),
                                    .keep = -1};
    const rt_status status = rt_child_run(read_all, image, &limits, &answer, &size);
    return status.code == RT_IO ? rt_error(RT_IO, "%s: %s", image->name, status.message)
           : status.code == RT_CHECK
               ? rt_error(RT_CHECKPOINT, "%s: it is damaged: %s", image->name, status.message)
               : status;
}

rt_image *rt_image_open(const char *path, rt_parse parse)
{
    rt_image *image = rt_image_of_nothing(rt_path_name(path));
    if (!image)
        return NULL;
    image->parse = parse;
    image->status = rt_checksummed_read(path, &image->bytes, &image->size);
    if (image->status.code == RT_IO) /* a named file must be readable */
        image->status.code = RT_CHECKPOINT;
    if (parse != RT_PARSE_HERE && !image->status.code)
        image->status = check_apart(image);
    if (!image->status.code)
        open_file(image);
    if (parse == RT_PARSE_HERE && !image->status.code)
        check_object(&(walk){.image = image});
    return image;
}
