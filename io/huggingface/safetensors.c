#include "io/huggingface/safetensors.h"

#include "core/memory.h"
#include "core/path.h"
#include "io/huggingface/safetensors_header.h"
#include "text/quote.h"
#include "text/text_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH_BYTES = 8, BLOCK = 2048 };

struct rt_safetensors {
    FILE *stream; /* read by its descriptor alone */
    char *name;
    rt_safetensors_list list;
};

/* ---- opening ---- */

/* Reads from a place of the file; fewer bytes than asked for are an error. */
static rt_status read_at(const rt_safetensors *file, uint64_t place, void *bytes, size_t size)
{
    char *to = bytes;
    while (size) {
        const ssize_t got = pread(fileno(file->stream), to, size, (off_t)place);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rt_error(RT_CHECKPOINT, "%s: cannot be read: %s", file->name, strerror(errno));
        if (got == 0)
            return rt_error(RT_CHECKPOINT,
                            "%s: it ends at byte %" PRIu64 ": it was shortened while being read",
                            file->name, place);
        to += got;
        place += (uint64_t)got;
        size -= (size_t)got;
    }
    return rt_ok();
}

/* Returns whether the bytes of the length are letters. As a length they would exceed 10^18 bytes. */
static bool is_text(const unsigned char bytes[LENGTH_BYTES])
{
    for (int i = 0; i < LENGTH_BYTES; i++)
        if (bytes[i] < ' ' || bytes[i] > '~')
            return false;
    return true;
}

static rt_status refuse_text(const rt_safetensors *file, uint64_t file_size)
{
    char begin[64] = "", quoted[RT_QUOTE_SIZE];
    const size_t size = file_size < sizeof begin ? (size_t)file_size : sizeof begin - 1;
    rt_status status = read_at(file, 0, begin, size);
    if (status.code)
        return status;
    if (rt_is_lfs_pointer(begin, size))
        return rt_error(RT_CHECKPOINT, "%s: " RT_LFS_POINTER, file->name);
    return rt_error(RT_CHECKPOINT, "%s: not a safetensors file: it is a text that begins with %s",
                    file->name, rt_quote(quoted, begin));
}

static rt_status read_length(const rt_safetensors *file, uint64_t file_size, uint64_t *length)
{
    unsigned char bytes[LENGTH_BYTES];
    if (file_size < LENGTH_BYTES)
        return rt_error(RT_CHECKPOINT, "%s: too short: %" PRIu64 " bytes, at least %d expected",
                        file->name, file_size, LENGTH_BYTES);
    rt_status status = read_at(file, 0, bytes, sizeof bytes);
    *length = 0;
    for (int i = 0; i < LENGTH_BYTES && !status.code; i++)
        *length |= (uint64_t)bytes[i] << 8 * i;
    if (!status.code && is_text(bytes))
        return refuse_text(file, file_size);
    if (!status.code && (*length > RT_SAFETENSORS_HEADER || *length > file_size - LENGTH_BYTES))
        status = rt_error(RT_CHECKPOINT,
                          "%s: its header would have %" PRIu64 " bytes; the file has %" PRIu64
                          ", a header at most %d",
                          file->name, *length, file_size, RT_SAFETENSORS_HEADER);
    return status;
}

static rt_status read_header(rt_safetensors *file)
{
    struct stat facts;
    uint64_t length = 0;
    if (fstat(fileno(file->stream), &facts))
        return rt_error(RT_CHECKPOINT, "%s: cannot be read: %s", file->name, strerror(errno));
    const uint64_t size = (uint64_t)facts.st_size;
    rt_status status = read_length(file, size, &length);
    if (status.code)
        return status;
    char *header = rt_alloc_unset((size_t)length + 1, 1);
    if (!header)
        return rt_out_of_memory(file->name);
    status = read_at(file, LENGTH_BYTES, header, (size_t)length);
    if (!status.code)
        status = rt_safetensors_parse(&file->list, file->name, header, (size_t)length,
                                      size - LENGTH_BYTES - length);
    rt_free(header);
    for (size_t i = 0; i < file->list.count; i++)
        file->list.tensors[i].begin += LENGTH_BYTES + length;
    return status;
}

rt_status rt_safetensors_open(rt_safetensors **file_new, const char *path)
{
    *file_new = NULL;
    rt_safetensors *file = rt_alloc(1, sizeof *file);
    char *name = rt_copy_text(rt_path_name(path));
    if (!file || !name) {
        rt_free(file);
        rt_free(name);
        return rt_out_of_memory("a safetensors file");
    }
    file->name = name;
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
    rt_safetensors_list_free(&file->list);
    rt_free(file->name);
    rt_free(file);
}

/* ---- the list ---- */

const char *rt_safetensors_name(const rt_safetensors *file)
{
    return file->name;
}

const rt_safetensor *rt_safetensors_at(const rt_safetensors *file, size_t i)
{
    return i < file->list.count ? file->list.tensors + i : NULL;
}

static int compare_name(const void *name, const void *tensor)
{
    return strcmp(name, ((const rt_safetensor *)tensor)->name);
}

const rt_safetensor *rt_safetensors_find(const rt_safetensors *file, const char *name)
{
    return bsearch(name, file->list.tensors, file->list.count, sizeof *file->list.tensors,
                   compare_name);
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

/* ---- numbers ---- */

static uint64_t bits_at(const unsigned char *bytes, int size)
{
    uint64_t bits = 0;
    for (int i = 0; i < size; i++)
        bits |= (uint64_t)bytes[i] << 8 * i;
    return bits;
}

static double float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16: 1 bit of sign, 5 of exponent (biased by 15), 10 of fraction. */
static double half_of(uint32_t bits)
{
    const double sign = bits & 0x8000 ? -1 : 1;
    const int exponent = (int)(bits >> 10 & 0x1f);
    const double fraction = (double)(bits & 0x3ff);
    if (exponent == 0x1f)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

static double value_at(rt_dtype dtype, const unsigned char *bytes)
{
    switch (dtype) {
    case RT_DTYPE_F64:
        return double_of(bits_at(bytes, 8));
    case RT_DTYPE_F32:
        return float_of((uint32_t)bits_at(bytes, 4));
    case RT_DTYPE_BF16: /* the upper half of a float */
        return float_of((uint32_t)bits_at(bytes, 2) << 16);
    default:
        return half_of((uint32_t)bits_at(bytes, 2));
    }
}

rt_status rt_safetensors_doubles(const rt_safetensors *file, const rt_safetensor *t, uint64_t first,
                                 size_t count, double *values)
{
    unsigned char bytes[BLOCK * sizeof(double)];
    const size_t width = (size_t)rt_dtype_bits[t->dtype] / 8;
    char quoted[RT_QUOTE_SIZE];
    if (t->dtype > RT_DTYPE_BF16)
        return rt_error(RT_CHECKPOINT,
                        "%s: tensor %s: its dtype is %s; F32, F16, BF16 and F64 can be read",
                        file->name, rt_quote(quoted, t->name), rt_dtype_words[t->dtype]);
    if (first > t->count || count > t->count - first)
        return rt_error(RT_CHECKPOINT, "%s: tensor %s has %" PRIu64 " numbers", file->name,
                        rt_quote(quoted, t->name), t->count);
    while (count) {
        const size_t part = count < BLOCK ? count : BLOCK;
        rt_status status = read_at(file, t->begin + first * width, bytes, part * width);
        if (status.code)
            return status;
        for (size_t i = 0; i < part; i++)
            *values++ = value_at(t->dtype, bytes + i * width);
        first += part;
        count -= part;
    }
    return rt_ok();
}

rt_status rt_safetensors_reals(const rt_safetensors *file, const rt_safetensor *t, uint64_t first,
                               size_t count, real *values)
{
    double block[BLOCK] = {0};
    while (count) {
        const size_t part = count < BLOCK ? count : BLOCK;
        rt_status status = rt_safetensors_doubles(file, t, first, part, block);
        if (status.code)
            return status;
        for (size_t i = 0; i < part; i++)
            *values++ = (real)block[i];
        first += part;
        count -= part;
    }
    return rt_ok();
}
