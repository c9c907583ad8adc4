/* A GGUF file of any bytes is imported, and every tensor of it read, or refused. Each tensor lies
 * in the file, and none overlaps another. */

#include "fuzz.h"

#include "io/gguf/gguf.h"
#include "io/huggingface/folder.h"

FUZZ(gguf)
{
    enum { BLOCK = 64 };
    double block[BLOCK];
    rt_huggingface *there;
    rt_status status = rt_gguf_import(&there, fuzz_file(bytes, size));
    must((status.code == RT_OK) == (there != NULL));
    must(!status.code || status.code == RT_CHECKPOINT);
    const rt_safetensors *file = there ? there->files->weights.files[0] : NULL;
    uint64_t sum = 0;
    for (size_t i = 0; file && i < file->count; i++) {
        const rt_safetensor *t = file->tensors + i;
        must(rt_safetensors_find(file, t->name) == t);
        must(t->begin <= size && t->bytes <= size - t->begin);
        sum += t->bytes;
        for (uint64_t first = 0; first < t->count && first < 4096; first += BLOCK) {
            const uint64_t left = t->count - first;
            status = rt_safetensors_doubles(t, first, left < BLOCK ? (size_t)left : BLOCK, block);
            must(!status.code);
        }
    }
    must(sum <= size);
    rt_huggingface_close(there);
    return 0;
}
