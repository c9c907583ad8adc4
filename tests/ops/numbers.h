#ifndef ROTOR_TESTS_OPS_NUMBERS_H
#define ROTOR_TESTS_OPS_NUMBERS_H

/* Numbers and engines for the tests of products. */

#include "ops/engine.h"
#include "suite.h"

#include <stddef.h>
#include <stdint.h>

/* Fills x with numbers from -1 to 1, the same for a seed. */
static inline void fill(real *x, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (real)((double)(seed >> 8) / (1 << 23) - 1);
    }
}

typedef struct engine {
    rt_engine engine;
    rt_math math;
} engine;

enum { ENGINES = 3, IN_BF16 = 2 };
static const engine engines[ENGINES] = {{RT_ENGINE_OPENBLAS, RT_MATH_FLOAT},
                                        {RT_ENGINE_ONEDNN, RT_MATH_FLOAT},
                                        {RT_ENGINE_ONEDNN, RT_MATH_BF16}};

/* Returns whether there is the engine, which is then in use. */
static inline bool use(const engine *e)
{
    const rt_status status = rt_engine_use(e->engine, e->math);
#ifndef RT_DOUBLE
    if (status.code)
        printf("SKIP products in %s: needs oneDNN and a processor that has them (%s)\n",
               e->math == RT_MATH_BF16 ? "bf16" : "float", status.message);
#endif
    return !status.code;
}

/* Expects no product to have failed, and goes back to the first engine. */
static inline void back(void)
{
    expect_ok(rt_engine_status());
    expect_ok(rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT));
}

#endif
