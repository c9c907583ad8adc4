#include "ops/private.h"

#include "core/memory.h"
#include "core/row_kernels.h"

#include <pthread.h>
#include <string.h>

/* Rounds to bfloat16: adds half of the lowest kept bit, less one if that bit is even, and
 * truncates. */
static RT_ROW_KERNEL(round_row, (rt_bf16 *restrict to, const real *restrict from, size_t size),
                     (to, from, size))
{
    for (size_t i = 0; i < size; i++) {
        const float x = (float)from[i];
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        const uint32_t half = x == x ? 0x7fff + (bits >> 16 & 1) : 0;
        const uint32_t quiet = x == x ? 0 : 0x400000;
        to[i] = (rt_bf16)(((bits + half) | quiet) >> 16);
    }
}

void rt_engine_round(uint16_t *rounded, const real *values, size_t size)
{
    round_row(rounded, values, size);
}

typedef struct places {
    rt_bf16 *at[RT_BF16_PLACES];
    size_t sizes[RT_BF16_PLACES];
} places;

static pthread_key_t key;
static bool has_key;

static void end_thread(void *context)
{
    places *p = context;
    for (int i = 0; i < RT_BF16_PLACES; i++)
        rt_free(p->at[i]);
    rt_free(p);
}

static void make_key(void)
{
    has_key = !pthread_key_create(&key, end_thread);
}

rt_bf16 *rt_bf16_place(int place, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    places *p = has_key ? pthread_getspecific(key) : NULL;
    if (!p && has_key && (p = rt_alloc(1, sizeof *p)) && pthread_setspecific(key, p)) {
        rt_free(p);
        p = NULL;
    }
    if (!p || p->sizes[place] >= size)
        return p ? p->at[place] : NULL;
    rt_free(p->at[place]);
    p->at[place] = rt_alloc_unset(size, sizeof(rt_bf16));
    p->sizes[place] = p->at[place] ? size : 0;
    return p->at[place];
}

/* Rows, heads and sequences in memory order; neighbours without a gap are merged into one run. */
typedef struct runs {
    size_t count[3], step[3], size;
} runs;

static runs runs_of(rt_batch_size batch, rt_operand x, size_t height, size_t width)
{
    const bool side = rt_side_by_side(batch, x.stride, x.step);
    const size_t stride = (size_t)x.stride, inner = (size_t)batch.inner;
    runs r = {.count = {(size_t)batch.outer, side ? height : inner, side ? inner : height},
              .step = {x.step.outer, side ? stride : x.step.inner, side ? x.step.inner : stride},
              .size = width};
    for (int d = 2; d >= 0 && (r.count[d] == 1 || r.step[d] == r.size); d--) {
        r.size *= r.count[d];
        r.count[d] = 1;
    }
    return r;
}

const rt_bf16 *rt_bf16_operand(rt_batch_size batch, rt_operand x, int rows, int columns, int place)
{
    const size_t height = (size_t)(x.transposed ? columns : rows);
    const size_t width = (size_t)(x.transposed ? rows : columns);
    const runs r = runs_of(batch, x, height, width);
    const size_t count = r.count[0] * r.count[1] * r.count[2];
    if (x.stored && count == 1)
        return x.stored;
    rt_bf16 *const memory = rt_bf16_place(place, count * r.size), *to = memory;
    for (size_t i = 0; memory && i < r.count[0]; i++)
        for (size_t j = 0; j < r.count[1]; j++)
            for (size_t k = 0; k < r.count[2]; k++, to += r.size) {
                const size_t at = i * r.step[0] + j * r.step[1] + k * r.step[2];
                if (x.stored)
                    memcpy(to, x.stored + at, r.size * sizeof *to);
                else
                    round_row(to, x.data + at, r.size);
            }
    return memory;
}

static struct {
    const real *values;
    const rt_bf16 *rounded;
    size_t size;
} held;

void rt_engine_hold(const real *values, const uint16_t *rounded, size_t size)
{
    held.values = values;
    held.rounded = rounded;
    held.size = rounded ? size : 0;
}

const rt_bf16 *rt_bf16_parameters(rt_operand x, int rows, int columns)
{
    const size_t height = (size_t)(x.transposed ? columns : rows);
    const size_t width = (size_t)(x.transposed ? rows : columns);
    const uintptr_t first = (uintptr_t)held.values, at = (uintptr_t)x.data;
    if (at < first || at >= first + held.size * sizeof(real))
        return NULL;
    return height == 1 || width == (size_t)x.stride ? held.rounded + (x.data - held.values) : NULL;
}

const rt_bf16 *rt_bf16_of(rt_batch_size batch, rt_operand x, int rows, int columns, int place)
{
    if (x.rounded)
        return x.rounded;
    const bool single = batch.outer == 1 && batch.inner == 1;
    const rt_bf16 *there = single ? rt_bf16_parameters(x, rows, columns) : NULL;
    return there ? there : rt_bf16_operand(batch, x, rows, columns, place);
}
