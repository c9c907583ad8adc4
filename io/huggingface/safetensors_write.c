#include "core/memory.h"
#include "io/huggingface/safetensors.h"
#include "text/durable_file.h"
#include "text/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, ALIGNMENT = 8 };

static size_t count_of(const rt_safetensors_entry *e)
{
    size_t count = 1;
    for (int i = 0; i < e->axes; i++)
        count *= (size_t)e->shape[i];
    return count;
}

/* All tensors are F32 and so aligned alike: what is left of the library's order is the name. */
static int by_name(const void *one, const void *other)
{
    const rt_safetensors_entry *const *a = one, *const *b = other;
    return strcmp((*a)->name, (*b)->name);
}

static void put_bytes(unsigned char *at, uint64_t number, int size)
{
    for (int i = 0; i < size; i++)
        at[i] = (unsigned char)(number >> 8 * i);
}

/* Names are those of parameters: no character of theirs needs an escape. */
static void write_header(rt_writer *w, const rt_safetensors_entry *const *sorted, int count)
{
    uint64_t begin = 0;
    rt_writer_add(w, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int n = 0; n < count; n++) {
        const rt_safetensors_entry *e = sorted[n];
        const uint64_t end = begin + count_of(e) * sizeof(float);
        rt_writer_add(w, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[", e->name);
        for (int i = 0; i < e->axes; i++)
            rt_writer_add(w, "%s%d", i ? "," : "", e->shape[i]);
        rt_writer_add(w, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, end);
        begin = end;
    }
    rt_writer_add(w, "}");
    while (w->length % ALIGNMENT && !w->failed)
        rt_writer_add(w, " ");
}

static rt_status write_numbers(rt_durable_file *file, const rt_safetensors_entry *e)
{
    float values[BLOCK];
    unsigned char bytes[sizeof values];
    const size_t count = count_of(e);
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t part = count - first < BLOCK ? count - first : BLOCK;
        e->fill(e->context, first, part, values);
        for (size_t i = 0; i < part; i++) {
            uint32_t bits;
            if (!isfinite(values[i]))
                return rt_error(RT_NONFINITE, "%s: %s has a number that is not finite as a float",
                                rt_path_name(file->path), e->name);
            memcpy(&bits, values + i, sizeof bits);
            put_bytes(bytes + 4 * i, bits, 4);
        }
        rt_status status = rt_durable_write(file, bytes, 4 * part);
        if (status.code)
            return status;
    }
    return rt_ok();
}

static rt_status write_all(rt_durable_file *file, const rt_safetensors_entry *const *sorted,
                           int count)
{
    rt_writer w = {0};
    unsigned char length[8];
    write_header(&w, sorted, count);
    put_bytes(length, w.length, sizeof length);
    rt_status status =
        w.failed ? rt_out_of_memory("a header") : rt_durable_write(file, length, sizeof length);
    if (!status.code)
        status = rt_durable_write(file, w.bytes, w.length);
    rt_writer_free(&w);
    for (int n = 0; n < count && !status.code; n++)
        status = write_numbers(file, sorted[n]);
    return status;
}

rt_status rt_safetensors_write(const char *path, const rt_safetensors_entry *entries, int count)
{
    rt_durable_file file;
    const rt_safetensors_entry **sorted = rt_alloc((size_t)count, sizeof *sorted);
    if (!sorted)
        return rt_out_of_memory("a list of tensors");
    for (int n = 0; n < count; n++)
        sorted[n] = entries + n;
    qsort(sorted, (size_t)count, sizeof *sorted, by_name);
    rt_status status = rt_durable_open(&file, path);
    if (!status.code)
        status = write_all(&file, sorted, count);
    status = rt_durable_close(&file, status);
    rt_free(sorted);
    return status;
}
