#include "io/huggingface/safetensors.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/huggingface/json.h"
#include "util/files.h"
#include "util/number.h"
#include "util/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Converts IEEE 754 binary16: 1 bit of sign, 5 of exponent (biased by 15), 10 of fraction. */
double rt_half_value(const unsigned char *bytes)
{
    const uint64_t bits = rt_little_endian(bytes, 2);
    const double sign = bits & 0x8000 ? -1 : 1;
    const int exponent = (int)(bits >> 10 & 0x1f);
    const double fraction = (double)(bits & 0x3ff);
    if (exponent == 0x1f)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

static double float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void read_f64(const unsigned char *bytes, double *value)
{
    const uint64_t bits = rt_little_endian(bytes, 8);
    memcpy(value, &bits, sizeof *value);
}

static void read_f32(const unsigned char *bytes, double *value)
{
    *value = float_of((uint32_t)rt_little_endian(bytes, 4));
}

static void read_f16(const unsigned char *bytes, double *value)
{
    *value = rt_half_value(bytes);
}

static void read_bf16(const unsigned char *bytes, double *value) /* the upper half of a float */
{
    *value = float_of((uint32_t)rt_little_endian(bytes, 2) << 16);
}

/* All types of the format. The first are those of rt_dtype. */
const rt_number_type rt_number_types[] = {
    [RT_DTYPE_F64] = {"F64", 1, 8, read_f64},
    [RT_DTYPE_F32] = {"F32", 1, 4, read_f32},
    [RT_DTYPE_F16] = {"F16", 1, 2, read_f16},
    [RT_DTYPE_BF16] = {"BF16", 1, 2, read_bf16},
    {"C64", 1, 8, NULL},
    {"I64", 1, 8, NULL},
    {"U64", 1, 8, NULL},
    {"I32", 1, 4, NULL},
    {"U32", 1, 4, NULL},
    {"I16", 1, 2, NULL},
    {"U16", 1, 2, NULL},
    {"I8", 1, 1, NULL},
    {"U8", 1, 1, NULL},
    {"BOOL", 1, 1, NULL},
    {"F8_E5M2", 1, 1, NULL},
    {"F8_E4M3", 1, 1, NULL},
    {"F8_E8M0", 1, 1, NULL},
    {"F6_E3M2", 4, 3, NULL},
    {"F6_E2M3", 4, 3, NULL},
    {"F4", 2, 1, NULL},
};
enum { DTYPES = sizeof rt_number_types / sizeof *rt_number_types };

static const char metadata_key[] = "__metadata__";

enum { LENGTH_BYTES = 8, BLOCK = 2048 };

static rt_status refuse(const rt_safetensor *t, const char *what)
{
    return rt_error(RT_CHECKPOINT, "%s: tensor %s: %s", t->file->name, RT_QUOTED(t->name), what);
}

/* Reads a whole number from 0 on; Jansson distinguishes 20 from 20.0. */
static bool read_whole(const json_t *json, uint64_t *value)
{
    if (!json_is_integer(json) || json_integer_value(json) < 0)
        return false;
    *value = (uint64_t)json_integer_value(json);
    return true;
}

/* Reads the header of a tensor. As in the format's own library, axes after an axis of 0 may have
 * any length, but those before it must not overflow. */
static rt_status read_tensor(const json_t *json, rt_safetensor *t, uint64_t *shape)
{
    const char *word = json_string_value(json_object_get(json, "dtype"));
    const json_t *axes = json_object_get(json, "shape");
    const json_t *offsets = json_object_get(json, "data_offsets");
    int dtype = 0;
    uint64_t bits, end;
    while (dtype < DTYPES && (!word || strcmp(rt_number_types[dtype].name, word) != 0))
        dtype++;
    if (!json_is_object(json))
        return refuse(t, "it must be an object, in braces");
    if (dtype == DTYPES)
        return refuse(t, word ? "its dtype is none of the format's" : "it has no dtype");
    if (!json_is_array(axes))
        return refuse(t, "its shape is no list");
    t->dtype = (rt_dtype)dtype;
    t->type = rt_number_types + dtype;
    t->axes = (int)json_array_size(axes);
    t->shape = shape;
    for (int i = 0; i < t->axes; i++)
        if (!read_whole(json_array_get(axes, (size_t)i), shape + i))
            return refuse(t, "its shape must have whole numbers from 0 on");
    t->count = 1;
    bool overflows = false;
    for (int i = 0; i < t->axes; i++)
        overflows |= __builtin_mul_overflow(t->count, t->shape[i], &t->count);
    const uint64_t numbers = (uint64_t)t->type->numbers;
    if (overflows || __builtin_mul_overflow(t->count, 8 * (uint64_t)t->type->bytes, &bits))
        return refuse(t, "its shape overflows");
    if (t->count % numbers)
        return refuse(t, "it does not end with a byte");
    t->bytes = t->count / numbers * (uint64_t)t->type->bytes;
    if (json_array_size(offsets) != 2 || !read_whole(json_array_get(offsets, 0), &t->begin) ||
        !read_whole(json_array_get(offsets, 1), &end))
        return refuse(t, "its data_offsets must be two whole numbers from 0 on");
    if (end < t->begin || end > t->file->data_bytes)
        return refuse(t, "its data_offsets are not in the file");
    if (end - t->begin != t->bytes)
        return refuse(t, "its data_offsets do not fit its shape");
    return rt_ok();
}

static int by_place(const void *one, const void *other)
{
    const rt_safetensor *a = one, *b = other;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes); /* empty tensors come first */
}

static int by_name(const void *one, const void *other)
{
    const rt_safetensor *a = one, *b = other;
    return strcmp(a->name, b->name);
}

void rt_safetensors_sort(rt_safetensors *file)
{
    qsort(file->tensors, file->count, sizeof *file->tensors, by_name);
}

/* Checks that each tensor begins where the one before it ends. Then sorts tensors by name. */
static rt_status check_cover(rt_safetensors *file)
{
    uint64_t end = 0;
    qsort(file->tensors, file->count, sizeof *file->tensors, by_place);
    for (size_t i = 0; i < file->count; i++) {
        const rt_safetensor *t = file->tensors + i;
        if (t->begin != end)
            return refuse(t, t->begin < end ? "it overlaps another one"
                                            : "there is a hole before its numbers");
        end += t->bytes;
    }
    if (end != file->data_bytes)
        return rt_error(RT_CHECKPOINT,
                        "%s: its tensors take %" PRIu64 " bytes, behind its header are %" PRIu64,
                        file->name, end, file->data_bytes);
    rt_safetensors_sort(file);
    return rt_ok();
}

static rt_status check_metadata(const rt_safetensors *file, json_t *json)
{
    const char *key;
    json_t *value;
    if (!json_is_object(json) && !json_is_null(json))
        return rt_error(RT_CHECKPOINT, "%s: %s must be an object", file->name, metadata_key);
    json_object_foreach(json, key, value)
    {
        if (!json_is_string(value))
            return rt_error(RT_CHECKPOINT, "%s: %s: %s must be a string", file->name, metadata_key,
                            RT_QUOTED(key));
    }
    return rt_ok();
}

static rt_status read_tensors(rt_safetensors *file, json_t *header)
{
    const char *key;
    json_t *value;
    size_t axes = 0, letters = 0;
    json_object_foreach(header, key, value)
    {
        axes += json_array_size(json_object_get(value, "shape"));
        letters += strlen(key) + 1;
    }
    file->tensors = rt_alloc(json_object_size(header), sizeof *file->tensors);
    uint64_t *shape = file->shapes = rt_alloc(axes, sizeof *shape);
    char *name = file->names = rt_alloc(letters, 1);
    RT_TRY(rt_allocated(file->tensors && shape && name, "the header of a safetensors file"));
    json_object_foreach(header, key, value)
    {
        rt_safetensor *t = file->tensors + file->count;
        if (!strcmp(key, metadata_key)) {
            RT_TRY(check_metadata(file, value));
            continue;
        }
        *t = (rt_safetensor){.file = file, .name = strcpy(name, key)};
        RT_TRY(read_tensor(value, t, shape));
        name += strlen(key) + 1;
        shape += t->axes;
        file->count++;
    }
    return check_cover(file);
}

/* Reads bytes from an offset on. Fewer bytes than requested are an error. */
static rt_status read_at(const rt_safetensors *file, uint64_t place, void *bytes, size_t size)
{
    const ssize_t got = rt_read_at(fileno(file->stream), bytes, size, (off_t)place);
    if (got < 0)
        return rt_error(RT_CHECKPOINT, "%s: cannot be read: %s", file->name, strerror(errno));
    if ((size_t)got < size)
        return rt_error(RT_CHECKPOINT,
                        "%s: it ends at byte %" PRIu64 ": it was shortened while being read",
                        file->name, place + (uint64_t)got);
    return rt_ok();
}

/* Reads and checks the header. A file that begins with text is refused: as the size of a header, 8
 * printable characters would exceed 10^18 bytes. */
static rt_status read_header(rt_safetensors *file)
{
    char begin[64] = "";
    int printable = 0;
    struct stat facts;
    if (fstat(fileno(file->stream), &facts))
        return rt_error(RT_CHECKPOINT, "%s: cannot be read: %s", file->name, strerror(errno));
    const uint64_t size = (uint64_t)facts.st_size;
    const size_t shown = size < sizeof begin ? (size_t)size : sizeof begin - 1;
    if (size < LENGTH_BYTES)
        return rt_error(RT_CHECKPOINT, "%s: too short: %" PRIu64 " bytes, at least %d expected",
                        file->name, size, LENGTH_BYTES);
    RT_TRY(read_at(file, 0, begin, shown));
    const uint64_t length = rt_little_endian((const unsigned char *)begin, LENGTH_BYTES);
    while (printable < LENGTH_BYTES && begin[printable] >= ' ' && begin[printable] <= '~')
        printable++;
    if (rt_is_lfs_pointer(begin, shown))
        return rt_error(RT_CHECKPOINT, "%s: " RT_LFS_POINTER, file->name);
    if (printable == LENGTH_BYTES)
        return rt_error(RT_CHECKPOINT,
                        "%s: not a safetensors file: it is a text that begins with %s", file->name,
                        RT_QUOTED(begin));
    if (length > RT_SAFETENSORS_HEADER || length > size - LENGTH_BYTES)
        return rt_error(RT_CHECKPOINT,
                        "%s: its header would have %" PRIu64 " bytes; the file has %" PRIu64
                        ", a header at most %d",
                        file->name, length, size, RT_SAFETENSORS_HEADER);
    RT_OWNED char *header = rt_alloc_unset((size_t)length + 1, 1);
    RT_TRY(rt_allocated(header, file->name));
    json_auto_t *json = NULL;
    file->data_bytes = size - LENGTH_BYTES - length;
    RT_TRY(read_at(file, LENGTH_BYTES, header, (size_t)length));
    RT_TRY(rt_json_read(&json, file->name, header, (size_t)length));
    const rt_status status = read_tensors(file, json);
    for (size_t i = 0; i < file->count; i++)
        file->tensors[i].begin += LENGTH_BYTES + length;
    return status;
}

rt_status rt_safetensors_open(rt_safetensors **file_new, const char *path)
{
    *file_new = NULL;
    rt_safetensors *file = rt_alloc(1, sizeof *file);
    if (file)
        file->name = rt_copy_text(rt_path_name(path));
    if (!file || !file->name) {
        rt_free(file);
        return rt_out_of_memory("a safetensors file");
    }
    file->stream = rt_open_regular(path);
    rt_status status = file->stream
                           ? read_header(file)
                           : rt_error(RT_CHECKPOINT, "%s: cannot be opened: %s", path,
                                      errno == EINVAL ? "not a regular file" : strerror(errno));
    if (status.code)
        rt_safetensors_close(file);
    else
        *file_new = file;
    return status;
}

void rt_safetensors_close(rt_safetensors *file)
{
    if (!file)
        return;
    if (file->stream)
        fclose(file->stream);
    rt_free(file->tensors);
    rt_free(file->shapes);
    rt_free(file->names);
    rt_free(file->name);
    rt_free(file);
}

const rt_safetensor *rt_safetensors_find(const rt_safetensors *file, const char *name)
{
    const rt_safetensor key = {.name = name};
    return bsearch(&key, file->tensors, file->count, sizeof key, by_name);
}

const char *rt_safetensor_shape(const rt_safetensor *t, char text[RT_SHAPE_OF_FILE_SIZE])
{
    enum { MOST_AXES = 3 };
    int length = snprintf(text, RT_SHAPE_OF_FILE_SIZE, "(");
    for (int i = 0; i < t->axes && i < MOST_AXES; i++)
        length += snprintf(text + length, (size_t)(RT_SHAPE_OF_FILE_SIZE - length), "%s%" PRIu64,
                           i ? ", " : "", t->shape[i]);
    snprintf(text + length, (size_t)(RT_SHAPE_OF_FILE_SIZE - length), "%s)",
             t->axes > MOST_AXES ? ", ..." : "");
    return text;
}

rt_status rt_safetensors_doubles(const rt_safetensor *t, uint64_t first, size_t count,
                                 double *values)
{
    unsigned char bytes[BLOCK * sizeof(double)];
    double numbers[RT_MOST_IN_BLOCK];
    const rt_number_type *type = t->type;
    const size_t size = (size_t)type->numbers, width = (size_t)type->bytes;
    if (!type->read)
        return rt_error(RT_CHECKPOINT,
                        "%s: tensor %s: its dtype is %s; F32, F16, BF16 and F64 can be read",
                        t->file->name, RT_QUOTED(t->name), type->name);
    if (first > t->count || count > t->count - first)
        return rt_error(RT_CHECKPOINT, "%s: tensor %s has %" PRIu64 " numbers", t->file->name,
                        RT_QUOTED(t->name), t->count);
    while (count) {
        size_t skipped = (size_t)(first % size);
        const size_t needed = (skipped + count + size - 1) / size, most = sizeof bytes / width;
        const size_t blocks = needed < most ? needed : most;
        RT_TRY(read_at(t->file, t->begin + first / size * width, bytes, blocks * width));
        for (size_t i = 0; i < blocks; i++, skipped = 0) {
            const size_t used = size - skipped < count ? size - skipped : count;
            type->read(bytes + i * width, numbers);
            memcpy(values, numbers + skipped, used * sizeof *values);
            values += used;
            first += used;
            count -= used;
        }
    }
    return rt_ok();
}

enum { ALIGNMENT = 8 };

size_t rt_entry_count(const rt_safetensors_entry *e)
{
    size_t count = 1;
    for (int i = 0; i < e->shape.ndim; i++)
        count *= (size_t)e->shape.axis[i];
    return count;
}

/* Compares names. The library sorts by alignment before that, but all tensors are F32. */
static int by_entry_name(const void *one, const void *other)
{
    const rt_safetensors_entry *a = one, *b = other;
    return strcmp(a->name, b->name);
}

/* Writes the header. Names are those of parameters: no character needs an escape. */
static void write_header(rt_writer *w, const rt_safetensors_entry *entries, int count)
{
    uint64_t begin = 0;
    rt_writer_add(w, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int n = 0; n < count; n++) {
        const rt_safetensors_entry *e = entries + n;
        const uint64_t end = begin + rt_entry_count(e) * sizeof(float);
        rt_writer_add(w, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[", e->name);
        for (int i = 0; i < e->shape.ndim; i++)
            rt_writer_add(w, "%s%d", i ? "," : "", e->shape.axis[i]);
        rt_writer_add(w, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, end);
        begin = end;
    }
    rt_writer_add(w, "}");
    while (w->length % ALIGNMENT && !w->failed)
        rt_writer_add(w, " ");
}

/* Converts to the nearest half, ties to even; infinity if the value is too large. */
static uint32_t half_bits(uint32_t bits, float value)
{
    const uint32_t sign = bits >> 16 & 0x8000;
    float size = fabsf(value);
    if (size >= 65520)
        return sign | 0x7c00;
    if (size < 0x1p-14f) { /* a multiple of 2^-24, to which this sum rounds */
        size += 0.5f;
        memcpy(&bits, &size, sizeof bits);
        return sign | (bits & 0x7ff);
    }
    const uint32_t exponent = (bits >> 23 & 0xff) - 112, fraction = bits & 0x7fffff;
    const uint32_t half = exponent << 10 | fraction >> 13, rest = fraction & 0x1fff;
    return sign | (half + (rest > 0x1000 || (rest == 0x1000 && half & 1)));
}

rt_status rt_entry_write(rt_durable_file *file, const rt_safetensors_entry *e, bool halves,
                         const char *type)
{
    float values[BLOCK] = {0};
    unsigned char bytes[sizeof values];
    const size_t count = rt_entry_count(e), size = halves ? 2 : 4;
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t block = count - first < BLOCK ? count - first : BLOCK;
        if (e->fill)
            e->fill(e->context, first, block, values);
        for (size_t i = 0; i < block; i++) {
            uint32_t bits;
            memcpy(&bits, values + i, sizeof bits);
            bits = halves ? half_bits(bits, values[i]) : bits;
            if (!isfinite(values[i]) || (halves && (bits & 0x7c00) == 0x7c00))
                return rt_error(RT_NONFINITE, "%s: %s has a number that is not finite as %s",
                                rt_path_name(file->path), e->name, type);
            rt_put_little_endian(bytes + size * i, bits, size);
        }
        RT_TRY(rt_durable_write(file, bytes, size * block));
    }
    return rt_ok();
}

rt_status rt_safetensors_write(const char *path, rt_safetensors_entry *entries, int count)
{
    rt_durable_file file;
    RT_CLOSED_BY(rt_writer_free) rt_writer header = {0};
    unsigned char length[LENGTH_BYTES];
    qsort(entries, (size_t)count, sizeof *entries, by_entry_name);
    write_header(&header, entries, count);
    rt_put_little_endian(length, header.length, sizeof length);
    RT_TRY(rt_allocated(!header.failed, "a header"));
    rt_status status = rt_durable_open(&file, path);
    if (!status.code)
        status = rt_durable_write(&file, length, sizeof length);
    if (!status.code)
        status = rt_durable_write(&file, header.bytes, header.length);
    for (int n = 0; n < count && !status.code; n++)
        status = rt_entry_write(&file, entries + n, false, "a float");
    return rt_durable_close(&file, status);
}
