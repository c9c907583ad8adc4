#ifndef ROTOR_TESTS_OPS_NUMBERS_H
#define ROTOR_TESTS_OPS_NUMBERS_H

/* Numbers from -1 to 1 for the tests of products, the same for a seed. */

#include "core/real.h"

#include <stddef.h>
#include <stdint.h>

static inline void fill(real *x, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (real)((double)(seed >> 8) / (1 << 23) - 1);
    }
}

#endif
