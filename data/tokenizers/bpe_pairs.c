#include "data/tokenizers/bpe_pairs.h"

#include "core/memory.h"

#include <string.h>

enum { FIRST_CAPACITY = 1 << 12 };
#define NO_KEY UINT64_MAX

void rt_bpe_pairs_free(rt_bpe_pairs *pairs)
{
    rt_free(pairs->slots);
    *pairs = (rt_bpe_pairs){0};
}

/* The finalizer of SplitMix64 (Steele et al. 2014). */
static uint64_t hash(uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return key ^ key >> 31;
}

/* Where a key is, or would be. */
static rt_bpe_pair *find(const rt_bpe_pairs *pairs, uint64_t key)
{
    const size_t mask = pairs->capacity - 1;
    size_t at = (size_t)hash(key) & mask;
    while (pairs->slots[at].key != key && pairs->slots[at].key != NO_KEY)
        at = (at + 1) & mask;
    return pairs->slots + at;
}

static bool grow(rt_bpe_pairs *pairs)
{
    rt_bpe_pairs larger = {.capacity = pairs->capacity ? 2 * pairs->capacity : FIRST_CAPACITY,
                           .count = pairs->count};
    larger.slots = rt_alloc_unset(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < larger.capacity; i++)
        larger.slots[i].key = NO_KEY;
    for (size_t i = 0; i < pairs->capacity; i++)
        if (pairs->slots[i].key != NO_KEY)
            *find(&larger, pairs->slots[i].key) = pairs->slots[i];
    rt_free(pairs->slots);
    *pairs = larger;
    return true;
}

rt_bpe_pair *rt_bpe_pairs_at(rt_bpe_pairs *pairs, uint64_t key)
{
    if (2 * pairs->count >= pairs->capacity && !grow(pairs))
        return NULL;
    rt_bpe_pair *pair = find(pairs, key);
    if (pair->key == NO_KEY) {
        *pair = (rt_bpe_pair){.key = key};
        pairs->count++;
    }
    return pair;
}
