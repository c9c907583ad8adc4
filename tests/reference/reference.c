#include "reference.h"

#include "core/gradcheck.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATH_SIZE = 512 };

#define FORMAT_INTO(text, format)                                                                  \
    do {                                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        vsnprintf(text, sizeof(text), format, arguments);                                          \
        va_end(arguments);                                                                         \
    } while (0)

reference reference_open(const char *name)
{
    char path[PATH_SIZE];
    const char *folder = getenv("ROTOR_VECTORS");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : TEST_SOURCES "/vectors", name);
    return reference_open_at(name, path);
}

reference reference_open_at(const char *name, const char *path)
{
    reference r = {.name = name};
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    r.file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    ck_assert_msg(r.file >= 0, "%s: cannot be read as HDF5", path);
    r.graph = rt_graph_new();
    ck_assert_ptr_nonnull(r.graph);
    return r;
}

void reference_close(reference *r)
{
    H5Fclose(r->file);
    rt_arena_free(&r->memory);
    rt_graph_free(r->graph);
    ck_assert_msg(r->cases > 0, "%s has no case", r->name);
    if (!r->quiet)
        printf("%-32s %3d cases, largest error of values %.1e, of gradients %.1e\n", r->name,
               r->cases, r->value_error, r->gradient_error);
}

static void *take(reference *r, size_t bytes)
{
    void *memory = rt_arena_take(&r->memory, bytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

bool reference_has(const reference *r, const char *format, ...)
{
    char path[PATH_SIZE];
    FORMAT_INTO(path, format);
    hid_t object = H5Oopen(r->file, path, H5P_DEFAULT);
    if (object >= 0)
        H5Oclose(object);
    return object >= 0;
}

array reference_array(reference *r, const char *format, ...)
{
    char path[PATH_SIZE];
    hsize_t axes[H5S_MAX_RANK];
    array a = {.size = 1, .axis = {1, 1, 1, 1}};
    FORMAT_INTO(path, format);
    hid_t set = H5Dopen2(r->file, path, H5P_DEFAULT);
    ck_assert_msg(set >= 0, "%s: there is no dataset %s", r->name, path);
    hid_t space = H5Dget_space(set);
    a.ndim = H5Sget_simple_extent_ndims(space);
    ck_assert_msg(a.ndim >= 0 && a.ndim <= RT_MAX_AXES, "%s: %s has %d axes", r->name, path,
                  a.ndim);
    H5Sget_simple_extent_dims(space, axes, NULL);
    for (int i = 0; i < a.ndim; i++) {
        a.axis[i] = (int)axes[i];
        a.size *= (size_t)axes[i];
    }
    a.values = take(r, a.size * sizeof *a.values);
    herr_t read = H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, a.values);
    H5Sclose(space);
    H5Dclose(set);
    ck_assert_msg(read >= 0 && a.size > 0, "%s: %s cannot be read", r->name, path);
    return a;
}

int32_t *reference_ids(reference *r, array a)
{
    int32_t *ids = take(r, a.size * sizeof *ids);
    for (size_t i = 0; i < a.size; i++)
        ids[i] = (int32_t)a.values[i];
    return ids;
}

static hid_t open_attribute(const reference *r, const char *path, const char *name)
{
    hid_t attribute = H5Aopen_by_name(r->file, path, name, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert_msg(attribute >= 0, "%s: %s has no attribute %s", r->name, path, name);
    return attribute;
}

double reference_number(const reference *r, const char *path, const char *name)
{
    double value = 0;
    hid_t attribute = open_attribute(r, path, name);
    herr_t read = H5Aread(attribute, H5T_NATIVE_DOUBLE, &value);
    H5Aclose(attribute);
    ck_assert_msg(read >= 0, "%s: attribute %s of %s is no number", r->name, name, path);
    return value;
}

bool reference_says(const reference *r, const char *path, const char *name, const char *value)
{
    char text[PATH_SIZE] = "";
    hid_t attribute = open_attribute(r, path, name);
    hid_t type = H5Aget_type(attribute);
    bool fits = H5Tget_class(type) == H5T_STRING && H5Tget_size(type) < sizeof text &&
                !H5Tis_variable_str(type) && H5Aread(attribute, type, text) >= 0;
    H5Tclose(type);
    H5Aclose(attribute);
    ck_assert_msg(fits, "%s: attribute %s of %s is no text", r->name, name, path);
    return !strcmp(text, value);
}

typedef struct collecting {
    reference *r;
    name_list *list;
} collecting;

static herr_t collect(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    const collecting *c = context;
    (void)group, (void)info;
    c->list->names[c->list->count] = take(c->r, strlen(name) + 1);
    strcpy(c->list->names[c->list->count++], name);
    return 0;
}

name_list reference_members(reference *r, const char *path)
{
    H5G_info_t info;
    name_list list = {0};
    ck_assert_msg(H5Gget_info_by_name(r->file, path, &info, H5P_DEFAULT) >= 0,
                  "%s: there is no group %s", r->name, path);
    list.names = take(r, (size_t)(info.nlinks + 1) * sizeof(char *));
    collecting c = {r, &list};
    herr_t walked = H5Literate_by_name(r->file, path, H5_INDEX_NAME, H5_ITER_INC, NULL, collect, &c,
                                       H5P_DEFAULT);
    ck_assert_msg(walked >= 0, "%s: %s cannot be listed", r->name, path);
    return list;
}

rt_tensor *reference_leaf(reference *r, array a)
{
    rt_shape shape = {.ndim = a.ndim};
    rt_tensor *leaf = take(r, sizeof *leaf);
    real *data = take(r, a.size * sizeof *data), *grad = take(r, a.size * sizeof *grad);
    memcpy(shape.axis, a.axis, sizeof shape.axis);
    for (size_t i = 0; i < a.size; i++) {
        data[i] = (real)a.values[i];
        grad[i] = 0;
    }
    *leaf = rt_tensor_of(data, grad, shape);
    return leaf;
}

rt_tensor *reference_input(reference *r, const char *path, const char *name)
{
    return reference_leaf(r, reference_array(r, "%s/%s", path, name));
}

rt_tensor *reference_heads(reference *r, const char *path, const char *name)
{
    return reference_leaf(r, reference_swap_heads(r, reference_array(r, "%s/%s", path, name)));
}

uint8_t *reference_mask(reference *r, size_t size, const char *format, ...)
{
    char path[PATH_SIZE];
    FORMAT_INTO(path, format);
    array a = reference_array(r, "%s", path);
    uint8_t *mask = take(r, a.size);
    check_size(r, a, size, path);
    for (size_t i = 0; i < a.size; i++)
        mask[i] = a.values[i] != 0;
    return mask;
}

real *reference_zeros(reference *r, size_t size)
{
    return memset(take(r, size * sizeof(real)), 0, size * sizeof(real));
}

array reference_row(array a, int t)
{
    const size_t size = a.size / (size_t)a.axis[0];
    return (array){a.values + (size_t)t * size, .ndim = 1, .axis = {(int)size}, .size = size};
}

const real *reference_upstream(reference *r, const rt_tensor *output, array g, const char *what)
{
    check_status(r, rt_graph_status(r->graph), what);
    check_size(r, g, rt_size(output), what);
    return reference_leaf(r, g)->data;
}

array reference_swap_heads(reference *r, array a)
{
    array swapped = {.ndim = 4,
                     .size = a.size,
                     .axis = {a.axis[0], a.axis[2], a.axis[1], a.axis[3]}};
    const size_t X = (size_t)a.axis[1], Y = (size_t)a.axis[2], D = (size_t)a.axis[3];
    ck_assert_msg(a.ndim == 4, "%s: an array of heads has %d axes", r->name, a.ndim);
    swapped.values = take(r, a.size * sizeof *a.values);
    for (size_t b = 0; b < (size_t)a.axis[0]; b++)
        for (size_t x = 0; x < X; x++)
            for (size_t y = 0; y < Y; y++)
                memcpy(swapped.values + ((b * Y + y) * X + x) * D,
                       a.values + ((b * X + x) * Y + y) * D, D * sizeof *a.values);
    return swapped;
}

void check_size(const reference *r, array a, size_t size, const char *what)
{
    ck_assert_msg(a.size == size, "%s: %s: %zu elements expected, the file has %zu", r->name, what,
                  size, a.size);
}

typedef struct difference {
    double error; /* largest, absolute */
    size_t at;
    double largest; /* expected value */
} difference;

static difference differ(const real *got, array expected)
{
    difference d = {0};
    for (size_t i = 0; i < expected.size; i++) {
        const double error = fabs((double)got[i] - expected.values[i]);
        d.largest = rt_larger_error(d.largest, fabs(expected.values[i]));
        if (!(error <= d.error) && !isnan(d.error)) { /* nothing is worse than a NaN */
            d.error = error;
            d.at = i;
        }
    }
    return d;
}

void check_values(reference *r, const real *got, size_t size, array expected, double tolerance,
                  const char *format, ...)
{
    char what[PATH_SIZE];
    FORMAT_INTO(what, format);
    if (sizeof(real) < sizeof(double))
        tolerance = fmax(tolerance, 1e-4);
    tolerance = fmax(tolerance, r->slack);
    check_size(r, expected, size, what);
    const difference d = differ(got, expected);
    r->value_error = rt_larger_error(r->value_error, d.error);
    ck_assert_msg(d.error <= tolerance, "%s: %s, element %zu: expected %.15g, got %.15g", r->name,
                  what, d.at, expected.values[d.at], (double)got[d.at]);
}

void check_gradient(reference *r, const real *got, size_t size, array expected, const char *format,
                    ...)
{
    char what[PATH_SIZE];
    FORMAT_INTO(what, format);
    check_size(r, expected, size, what);
    const difference d = differ(got, expected);
    /* A gradient that is zero by symmetry is rounding on both sides. */
    const double error = d.error / rt_larger_error(d.largest, 1e-5);
    r->gradient_error = rt_larger_error(r->gradient_error, error);
    ck_assert_msg(error <= fmax(GRADIENT_TOLERANCE, r->slack),
                  "%s: %s, element %zu: expected %.15g, got %.15g (relative error %.1e)", r->name,
                  what, d.at, expected.values[d.at], (double)got[d.at], error);
}

void check_output(reference *r, const rt_tensor *result, const char *path, const char *name)
{
    check_values(r, result->data, rt_size(result), reference_array(r, "%s/%s", path, name),
                 VALUE_TOLERANCE, "%s %s", path, name);
}

void check_input(reference *r, const rt_tensor *leaf, const char *path, const char *name)
{
    check_gradient(r, leaf->grad, rt_size(leaf), reference_array(r, "%s/%s", path, name), "%s %s",
                   path, name);
}

void check_number(reference *r, double got, double expected, double tolerance, const char *what)
{
    const double error = fabs(got - expected);
    r->value_error = rt_larger_error(r->value_error, error);
    ck_assert_msg(error <= tolerance, "%s: %s: expected %.15g, got %.15g", r->name, what, expected,
                  got);
}

void check_status(const reference *r, rt_status status, const char *what)
{
    ck_assert_msg(!status.code, "%s: %s: %s", r->name, what, status.message);
}
