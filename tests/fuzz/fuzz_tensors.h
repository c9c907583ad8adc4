#ifndef ROTOR_TESTS_FUZZ_TENSORS_H
#define ROTOR_TESTS_FUZZ_TENSORS_H

/* The tensors of a file that was opened. */

#include "fuzz.h"

#include "io/huggingface/safetensors.h"

/* Finds and reads each tensor, which must lie in the `size` bytes of the file; one of another type
 * than floats is refused. Returns the sum of their bytes; 0 for NULL. */
static inline uint64_t read_tensors(const rt_safetensors *file, size_t size)
{
    enum { BLOCK = 64 };
    double block[BLOCK];
    uint64_t sum = 0;
    for (size_t i = 0; file && i < file->count; i++) {
        const rt_safetensor *t = file->tensors + i;
        must(rt_safetensors_find(file, t->name) == t);
        must(t->begin <= size && t->bytes <= size - t->begin);
        sum += t->bytes;
        for (uint64_t first = 0; first < t->count && first < 4096; first += BLOCK) {
            const uint64_t left = t->count - first;
            const rt_status status =
                rt_safetensors_doubles(t, first, left < BLOCK ? (size_t)left : BLOCK, block);
            must((status.code != RT_OK) == (t->dtype > RT_DTYPE_BF16));
        }
    }
    return sum;
}

#endif
