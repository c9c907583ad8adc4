#include "data/order.h"

#include <assert.h>

/* Numbers of permutations; those of blocks come after them. */
enum { OF_BATCHES, OF_BOUNDS, OF_BLOCKS };

/* Batches of a block: a sixteenth of an epoch, so that a small file is sorted as well, but enough
 * that the rows of a batch change from epoch to epoch, and no more than these need. */
enum { FEWEST_BATCHES = 4, MOST_BATCHES = 64, PARTS = 16 };

enum { ROUNDS = 6 };

/* ---- permutations ---- */

static uint32_t mix(rt_random random, uint32_t number, int round, uint32_t half)
{
    uint32_t words[4];
    rt_random_words(random, (uint64_t)number << 32 | (uint32_t)round << 16 | half, words);
    return words[0];
}

uint32_t rt_permuted(rt_random random, uint32_t number, uint32_t n, uint32_t i)
{
    int bits = 1; /* of a half */
    assert(i < n);
    while (bits < 16 && n > UINT32_C(1) << 2 * bits)
        bits++;
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    do {
        uint32_t left = i >> bits, right = i & mask;
        for (int round = 0; round < ROUNDS; round++) {
            const uint32_t next = left ^ (mix(random, number, round, right) & mask);
            left = right;
            right = next;
        }
        i = left << bits | right;
    } while (i >= n);
    return i;
}

/* ---- an epoch ---- */

static uint32_t batches_of(rt_order o)
{
    return o.rows / o.batch + (o.rows % o.batch > 0);
}

static uint64_t block_size(rt_order o)
{
    const uint32_t part = batches_of(o) / PARTS;
    return (uint64_t)o.batch * (part < FEWEST_BATCHES ? FEWEST_BATCHES
                                : part > MOST_BATCHES ? MOST_BATCHES
                                                      : part);
}

/* The row at a place of an epoch. The first block ends at a bound that is drawn. */
static uint32_t row_at(rt_order o, rt_random epoch, uint32_t place)
{
    const uint64_t size = block_size(o), part = mix(epoch, OF_BOUNDS, 0, 0);
    const uint64_t bound = 1 + (part * size >> 32);
    const uint64_t block = place < bound ? 0 : 1 + (place - bound) / size;
    const uint64_t first = block ? bound + (block - 1) * size : 0;
    const uint64_t end = block ? first + size : bound, last = end < o.rows ? end : o.rows;
    return (uint32_t)first + rt_permuted(epoch, OF_BLOCKS + (uint32_t)block,
                                         (uint32_t)(last - first), place - (uint32_t)first);
}

uint32_t rt_order_training(rt_order o, uint64_t seed, uint32_t step, uint32_t sequence)
{
    const uint32_t batches = batches_of(o);
    const rt_random epoch = {seed, step / batches, RT_STREAM_ORDER};
    const uint64_t batch = rt_permuted(epoch, OF_BATCHES, batches, step % batches);
    return row_at(o, epoch, (uint32_t)((batch * o.batch + sequence) % o.rows));
}

uint32_t rt_order_evaluation(rt_order o, uint64_t seed, uint32_t sequence)
{
    const uint32_t full = o.rows / o.batch, at = sequence % o.rows, batch = at / o.batch;
    const rt_random random = {seed, UINT32_MAX, RT_STREAM_ORDER};
    return batch < full ? rt_permuted(random, OF_BATCHES, full, batch) * o.batch + at % o.batch
                        : at;
}
