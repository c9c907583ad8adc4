#ifndef ROTOR_IO_HUGGINGFACE_SAFETENSORS_H
#define ROTOR_IO_HUGGINGFACE_SAFETENSORS_H

/* The file format safetensors: a header that names tensors, then their numbers.
 *
 *     8 bytes   N, little endian, at most 100,000,000
 *     N bytes   JSON, UTF-8: {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
 *               ..., "__metadata__": {"key": "value"}}
 *     the rest  numbers, little endian, row-major, each tensor at its offsets
 *
 * The tensors must cover the rest exactly, without a hole or an overlap, and no name may occur
 * twice. The header is checked when a file is opened. Numbers are read on request, a few at a time:
 * a file that shrinks meanwhile is an error, not a crash.
 *
 * Errors are RT_CHECKPOINT and begin with the file's name without its folder; RT_MEMORY. */

#include "core/status.h"
#include "core/tensor.h"
#include "util/durable_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Types of numbers that rt_safetensors_doubles reads. The format's other types have higher values,
 * without a name. */
typedef enum rt_dtype { RT_DTYPE_F64, RT_DTYPE_F32, RT_DTYPE_F16, RT_DTYPE_BF16 } rt_dtype;

enum { RT_SAFETENSORS_HEADER = 100000000, RT_SHAPE_OF_FILE_SIZE = 96 };

/* Layout of numbers in a file: blocks of `numbers`, at most RT_MOST_IN_BLOCK, in `bytes` bytes. */
enum { RT_MOST_IN_BLOCK = 256 };
typedef struct rt_number_type {
    const char *name;
    int numbers, bytes;
    void (*read)(const unsigned char *block, double *values); /* NULL: it cannot be read */
} rt_number_type;

/* Types of the format, by rt_dtype. */
extern const rt_number_type rt_number_types[];

/* Returns the value of an IEEE 754 binary16. */
double rt_half_value(const unsigned char *bytes);

typedef struct rt_safetensor {
    const struct rt_safetensors *file;
    const char *name;
    rt_dtype dtype; /* in this format; above RT_DTYPE_BF16: another type */
    const rt_number_type *type;
    int axes;
    const uint64_t *shape;
    uint64_t count; /* number of elements */
    uint64_t begin; /* offset of the first byte in the file */
    uint64_t bytes;
} rt_safetensor;

/* An open file with tensors, of this format or another (io/gguf). */
typedef struct rt_safetensors {
    FILE *stream;           /* only its descriptor is used */
    char *name;             /* without its folder */
    uint64_t data_bytes;    /* bytes after the header */
    rt_safetensor *tensors; /* sorted by name */
    size_t count;
    uint64_t *shapes; /* memory of all shapes, as `names` of all names */
    char *names;
} rt_safetensors;

/* Opens a regular file and checks its header. */
rt_status rt_safetensors_open(rt_safetensors **file_new, const char *path) RT_MUST_CHECK;
void rt_safetensors_close(rt_safetensors *file);

/* Sorts the tensors by name, for rt_safetensors_find. */
void rt_safetensors_sort(rt_safetensors *file);

/* Returns the tensor of a name; NULL if there is none. */
const rt_safetensor *rt_safetensors_find(const rt_safetensors *file, const char *name);

/* Writes a shape for a message, "(2, 3)", with at most three axes. Returns `text`. */
const char *rt_safetensor_shape(const rt_safetensor *t, char text[RT_SHAPE_OF_FILE_SIZE]);

/* Reads `count` numbers of a tensor from number `first` on. */
rt_status rt_safetensors_doubles(const rt_safetensor *t, uint64_t first, size_t count,
                                 double *values) RT_MUST_CHECK;

/* Writes `count` numbers of a tensor to `values`, from number `first` on. */
typedef void rt_safetensors_fill(const void *context, size_t first, size_t count, float *values);

typedef struct rt_safetensors_entry {
    const char *name;
    rt_shape shape;
    rt_safetensors_fill *fill; /* NULL: zeros */
    const void *context;
} rt_safetensors_entry;

/* Writes a file durably (RT_IO), with all tensors as F32 in both builds, and sorts them as the
 * format's own library does. The metadata is {"format": "pt"}: the layout of PyTorch.
 * RT_NONFINITE names a tensor with a number that is not finite as a float. */
rt_status rt_safetensors_write(const char *path, rt_safetensors_entry *entries,
                               int count) RT_MUST_CHECK;

/* Returns the number of elements of an entry, which may be too large for a tensor of rotor. */
size_t rt_entry_count(const rt_safetensors_entry *e);

/* Writes the numbers of an entry, as halves or floats. RT_NONFINITE for a number that is not finite
 * in this type, which the message calls `type`; RT_IO. */
rt_status rt_entry_write(rt_durable_file *file, const rt_safetensors_entry *e, bool halves,
                         const char *type) RT_MUST_CHECK;

#endif
