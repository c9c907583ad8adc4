/* A safetensors file of any bytes is opened, and every tensor of it read, or refused. The tensors
 * of an opened file lie in it and cover all bytes after the header. */

#include "fuzz.h"

#include "io/huggingface/safetensors.h"

static void read_all(const rt_safetensor *t)
{
    enum { BLOCK = 64 };
    double block[BLOCK];
    for (uint64_t first = 0; first < t->count && first < 4096; first += BLOCK) {
        const uint64_t left = t->count - first;
        rt_status status =
            rt_safetensors_doubles(t, first, left < BLOCK ? (size_t)left : BLOCK, block);
        must((status.code != RT_OK) == (t->dtype > RT_DTYPE_BF16));
    }
}

FUZZ(safetensors)
{
    rt_safetensors *file;
    uint64_t sum = 0;
    rt_status status = rt_safetensors_open(&file, fuzz_file(bytes, size));
    must((status.code == RT_OK) == (file != NULL));
    must(!status.code || status.code == RT_CHECKPOINT);
    for (size_t i = 0; file && i < file->count; i++) {
        const rt_safetensor *t = file->tensors + i;
        must(rt_safetensors_find(file, t->name) == t);
        must(t->begin <= size && t->bytes <= size - t->begin);
        read_all(t);
        sum += t->bytes;
    }
    must(!file || sum <= size - 8);
    rt_safetensors_close(file);
    return 0;
}
