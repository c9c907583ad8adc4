#include "io/gguf/private.h"

#include "text/durable_file.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { VERSION = 3, ALIGNMENT = 32, BLOCK = 4096 };

bool rt_is_gguf(const char *path)
{
    return rt_path_ends_in(path, ".gguf");
}

/* ---- numbers ---- */

/* The nearest half, ties to even; infinity for what is too large. */
static uint16_t half_of(float value)
{
    const uint32_t bits = rt_gguf_float_bits(value), sign = bits >> 16 & 0x8000;
    const float size = fabsf(value);
    if (size >= 65520)
        return (uint16_t)(sign | 0x7c00);
    if (size < 0x1p-14f) /* a multiple of 2^-24, which this sum rounds to */
        return (uint16_t)(sign | (rt_gguf_float_bits(size + 0.5f) & 0x7ff));
    const uint32_t exponent = (bits >> 23 & 0xff) - 112, fraction = bits & 0x7fffff;
    const uint32_t half = exponent << 10 | fraction >> 13, rest = fraction & 0x1fff;
    return (uint16_t)(sign | (half + (rest > 0x1000 || (rest == 0x1000 && half & 1))));
}

static size_t count_of(const rt_safetensors_entry *e)
{
    size_t count = 1;
    for (int i = 0; i < e->axes; i++)
        count *= (size_t)e->shape[i];
    return count;
}

/* Vectors are F32 always. */
static rt_gguf_dtype dtype_of(const rt_safetensors_entry *e, rt_gguf_dtype dtype)
{
    return e->axes > 1 ? dtype : RT_GGUF_F32;
}

static size_t size_of(const rt_safetensors_entry *e, rt_gguf_dtype dtype)
{
    return count_of(e) * (dtype_of(e, dtype) == RT_GGUF_F16 ? 2 : 4);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static rt_status write_numbers(rt_durable_file *file, const rt_safetensors_entry *e,
                               rt_gguf_dtype dtype)
{
    float values[BLOCK];
    unsigned char bytes[sizeof values];
    const bool halves = dtype_of(e, dtype) == RT_GGUF_F16;
    const size_t count = count_of(e), size = halves ? 2 : 4;
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t part = count - first < BLOCK ? count - first : BLOCK;
        e->fill(e->context, first, part, values);
        for (size_t i = 0; i < part; i++) {
            const uint32_t bits = halves ? half_of(values[i]) : rt_gguf_float_bits(values[i]);
            if (!isfinite(values[i]) || (halves && (bits & 0x7c00) == 0x7c00))
                return rt_error(RT_NONFINITE, "%s: %s has a number that is not finite as %s",
                                rt_path_name(file->path), e->name, halves ? "f16" : "f32");
            for (size_t b = 0; b < size; b++)
                bytes[size * i + b] = (unsigned char)(bits >> 8 * b);
        }
        rt_status status = rt_durable_write(file, bytes, size * part);
        if (status.code)
            return status;
    }
    return rt_ok();
}

/* ---- the file ---- */

static void put_padding(rt_gguf_bytes *b)
{
    static const unsigned char zeros[ALIGNMENT];
    rt_gguf_add(b, zeros, aligned(b->length) - b->length);
}

/* The axes are there from the last to the first. */
static void put_tensors(rt_gguf_bytes *b, const rt_tensor_list *list, rt_gguf_dtype dtype)
{
    uint64_t begin = 0;
    for (int n = 0; n < list->count; n++) {
        const rt_safetensors_entry *e = list->entries + n;
        rt_gguf_string(b, e->name, strlen(e->name));
        rt_gguf_number(b, (uint64_t)e->axes, 4);
        for (int i = e->axes; i--;)
            rt_gguf_number(b, (uint64_t)e->shape[i], 8);
        rt_gguf_number(b, dtype_of(e, dtype), 4);
        rt_gguf_number(b, begin, 8);
        begin += aligned(size_of(e, dtype));
    }
}

static void put_header(rt_gguf_bytes *b, const rt_gguf_keys *keys, const rt_tensor_list *list,
                       rt_gguf_dtype dtype)
{
    rt_gguf_add(b, "GGUF", 4);
    rt_gguf_number(b, VERSION, 4);
    rt_gguf_number(b, (uint64_t)list->count, 8);
    rt_gguf_number(b, keys->count, 8);
    rt_gguf_add(b, keys->bytes.at, keys->bytes.length);
    put_tensors(b, list, dtype);
    put_padding(b);
    b->failed |= keys->bytes.failed;
}

static rt_status write_all(rt_durable_file *file, const rt_gguf_bytes *header,
                           const rt_tensor_list *list, rt_gguf_dtype dtype)
{
    static const unsigned char zeros[ALIGNMENT];
    rt_status status = rt_durable_write(file, header->at, header->length);
    for (int n = 0; n < list->count && !status.code; n++) {
        const size_t size = size_of(list->entries + n, dtype);
        status = write_numbers(file, list->entries + n, dtype);
        if (!status.code)
            status = rt_durable_write(file, zeros, aligned(size) - size);
    }
    return status;
}

static rt_status write_file(const char *path, const rt_gguf_keys *keys, const rt_tensor_list *list,
                            rt_gguf_dtype dtype)
{
    rt_durable_file file;
    rt_gguf_bytes header = {0};
    put_header(&header, keys, list, dtype);
    rt_status status = header.failed ? rt_out_of_memory("a header") : rt_ok();
    if (!status.code) {
        status = rt_durable_open(&file, path);
        if (!status.code)
            status = write_all(&file, &header, list, dtype);
        status = rt_durable_close(&file, status);
    }
    rt_gguf_free(&header);
    return status;
}

rt_status rt_gguf_write(const char *path, const rt_transformer *model,
                        const rt_huggingface_export *export, rt_gguf_dtype dtype)
{
    const rt_family *family;
    rt_gguf_keys keys = {0};
    rt_tensor_list list = {0};
    rt_status status = rt_family_find(&family, rt_gguf_families, &model->options);
    if (!status.code)
        status = rt_output_check(path, export->overwrite, NULL);
    if (!status.code) {
        rt_gguf_put_model(&keys, family, model, export, dtype);
        status = rt_gguf_put_vocabulary(&keys, model, export);
    }
    if (!status.code)
        status = rt_tensor_list_open(&list, family, model, export->length);
    if (!status.code)
        status = write_file(path, &keys, &list, dtype);
    rt_tensor_list_close(&list);
    rt_gguf_free(&keys.bytes);
    return status;
}
